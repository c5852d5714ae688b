//! The agent's questions, asked by ralph.

use crate::cli::ask::{Asker, Stopped};
use ralph_loop::dialect::{Question, QuestionsAsked};
use ralph_loop::text::{one_line, printable};

/// An answer for each question; nothing if the user wants to stop. The asker is made with the first question.
pub fn ask(asker: &mut Option<Asker>, asked: &QuestionsAsked) -> Option<Vec<String>> {
    let asker = ready(asker).ok()?;
    asked.questions.iter().map(|question| one(asker, question).ok()).collect()
}

/// A question of ralph's own.
pub fn yes(asker: &mut Option<Asker>, question: &str) -> Result<bool, Stopped> {
    ready(asker)?.yes(question)
}

/// What was typed before the question is no answer.
fn ready(asker: &mut Option<Asker>) -> Result<&mut Asker, Stopped> {
    if asker.is_none() {
        *asker = Asker::new().ok();
    }
    let asker = asker.as_mut().ok_or(Stopped)?;
    asker.forget_typed();
    Ok(asker)
}

fn one(asker: &mut Asker, question: &Question) -> Result<String, Stopped> {
    let clean = |text: &str| one_line(&printable(text));
    asker.say("");
    asker.say(&clean(&question.text));
    for (number, choice) in (1..).zip(&question.choices) {
        let description = match choice.description.trim() {
            "" => String::new(),
            text => format!(": {}", clean(text)),
        };
        asker.say(&format!("  {number}. {}{description}", clean(&choice.label)));
    }
    let prompt = match (question.choices.is_empty(), question.many) {
        (true, _) => "Your answer: ".to_owned(),
        (false, false) => format!("1-{}, or your own words [1]: ", question.choices.len()),
        (false, true) => {
            format!("1-{}, several with commas, or your own words [1]: ", question.choices.len())
        }
    };
    asker.until(&prompt, |line| answer(question, line))
}

/// Numbers stand for their choices; anything else is an answer of its own.
fn answer(question: &Question, line: &str) -> Result<String, String> {
    let Some(first) = question.choices.first() else {
        return if line.is_empty() {
            Err("Please answer, or press Ctrl+C to stop.".to_owned())
        } else {
            Ok(line.to_owned())
        };
    };
    if line.is_empty() {
        return Ok(first.label.clone());
    }
    let words: Vec<&str> = line.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let numbers: Option<Vec<usize>> = words.iter().map(|word| word.parse().ok()).collect();
    let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else { return Ok(line.to_owned()) };
    if numbers.len() > 1 && !question.many {
        return Err("Please choose one.".to_owned());
    }
    let label = |number: &usize| {
        let choice = number.checked_sub(1).and_then(|at| question.choices.get(at));
        choice.map(|choice| choice.label.as_str())
    };
    let labels: Option<Vec<&str>> = numbers.iter().map(label).collect();
    labels
        .map(|labels| labels.join(", "))
        .ok_or_else(|| format!("Please choose a number from 1 to {}.", question.choices.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_loop::dialect::QuestionChoice;

    fn question(labels: &[&str], many: bool) -> Question {
        let choice = |label: &&str| QuestionChoice { label: (*label).to_owned(), description: String::new() };
        Question { text: "Which?".to_owned(), choices: labels.iter().map(choice).collect(), many }
    }

    #[test]
    fn an_answer_is_a_number_or_words_of_its_own() {
        let one = question(&["SQLite", "Postgres"], false);
        let many = question(&["Web", "CLI", "API"], true);
        let free = question(&[], false);
        for (question, line, expected) in [
            (&one, "", Ok("SQLite")),
            (&one, "2", Ok("Postgres")),
            (&one, "both, later", Ok("both, later")),
            (&one, "3", Err("Please choose a number from 1 to 2.")),
            (&one, "0", Err("Please choose a number from 1 to 2.")),
            (&one, "1,2", Err("Please choose one.")),
            (&many, "1, 3", Ok("Web, API")),
            (&free, "a file", Ok("a file")),
            (&free, "", Err("Please answer, or press Ctrl+C to stop.")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(answer(question, line), expected, "{line}");
        }
    }
}
