//! Files whose text becomes a command: `sh -c "$(cat ci/command)"`, `sh < f`, `cat f | xargs make`.
//!
//! Such a file is a script, whatever it is called. Deliberately absent: what programs in between make
//! of the text.

use super::named::{Call, Finder, Runs};
use super::programs::{self, Program};
use super::words::{Output, Simple, is_assignment};

impl Finder<'_> {
    /// The files that the command at this place reads, if their text is run.
    pub(super) fn text_run(&mut self, commands: &[Simple], at: usize, own: &str, depth: usize) {
        let Some(command) = commands.get(at).filter(|_| is_run(commands, at)) else { return };
        let call = Call { dir: &command.dir, own, words: &[], judged: false, depth: depth.saturating_add(1) };
        for read in &command.reads {
            self.run(&call, read, Runs::Shell);
        }
        let mut words = command.words.iter().skip_while(|word| is_assignment(word));
        let prints = words.next().is_some_and(|program| program == "cat");
        for word in words.filter(|word| !word.starts_with('-')) {
            if prints || self.exists(&call, word) {
                self.run(&call, word, Runs::Shell);
            }
        }
    }
}

/// Whether what a command prints, or reads by `<`, is run.
fn is_run(commands: &[Simple], at: usize) -> bool {
    let Some(command) = commands.get(at) else { return false };
    let later = commands.get(at + 1..).unwrap_or_default();
    match command.output {
        Output::Shown if command.reads.is_empty() => false,
        // `while read -r line; do $line; done < f`
        Output::Shown if command.words.is_empty() => commands.iter().any(runs_words),
        Output::Shown => runs_input(command),
        Output::Piped => {
            if runs_input(command) && !command.reads.is_empty() {
                return true;
            }
            let end = later.iter().position(|next| next.output != Output::Piped).unwrap_or(later.len());
            let readers = later.iter().take(end + 1);
            let in_substitution = later.get(end).is_some_and(|last| last.output == Output::Substituted);
            readers.into_iter().any(runs_input)
                || (in_substitution && is_substituted_into_command(&commands[at + 1 + end..]))
        }
        Output::Substituted => is_substituted_into_command(&commands[at..]),
    }
}

/// The first command is a substitution: whether the one around it runs what it prints.
fn is_substituted_into_command(commands: &[Simple]) -> bool {
    let mut around = commands.iter().skip(1).skip_while(|next| next.output == Output::Substituted);
    match around.next() {
        Some(command) if only_keeps(command) => around.any(runs_words),
        Some(command) => runs_words(command),
        None => false,
    }
}

/// `x=$(cat f)`, `for x in $(cat f)`
fn only_keeps(command: &Simple) -> bool {
    let keeps = |word: &String| matches!(word.as_str(), "for" | "local" | "readonly" | "declare" | "export");
    command.words.first().is_some_and(keeps) || command.words.iter().all(|word| is_assignment(word))
}

/// Whether a word of it that is not known here is run, or decides how something is run.
fn runs_words(command: &Simple) -> bool {
    let words: Vec<&String> = command.words.iter().skip_while(|word| is_assignment(word)).collect();
    let Some((first, rest)) = words.split_first() else { return false };
    let has_unknown = rest.iter().any(|word| word.contains('$'));
    let is_unknown = rest.iter().any(|word| *word == "$");
    match first.as_str() {
        "$" => true,
        "eval" => has_unknown,
        "env" | "export" | "xargs" => is_unknown,
        _ => match programs::unwrapped(&command.words).first().map(|word| programs::program(word)) {
            Some(Program::Shell | Program::Interpreter) => {
                let at = rest.iter().position(|word| matches!(word.as_str(), "-c" | "-e" | "--eval"));
                let text = at.and_then(|at| rest.get(at + 1));
                is_unknown || text.is_some_and(|text| text.contains('$'))
            }
            Some(
                Program::Source
                | Program::Make
                | Program::Just
                | Program::Packages
                | Program::Scripts
                | Program::Runner
                | Program::RunnerIf(_)
                | Program::ReadsFrom(_)
                | Program::Looks,
            ) => is_unknown,
            Some(Program::Utility | Program::Compares | Program::Other) | None => false,
        },
    }
}

/// Whether it runs its input: a shell without a script, or `xargs`.
fn runs_input(command: &Simple) -> bool {
    let words: Vec<&String> = command.words.iter().skip_while(|word| is_assignment(word)).collect();
    if words.first().is_some_and(|word| matches!(word.as_str(), "xargs" | "parallel")) {
        return true;
    }
    let words = programs::unwrapped(&command.words);
    let Some((first, rest)) = words.split_first() else { return false };
    let is_input = |word: &String| word.starts_with('-') || word == "/dev/stdin";
    let takes_text = |word: &String| word.ends_with('c') || word == "-e" || word == "-m";
    match programs::program(first) {
        Program::Shell | Program::Source | Program::Interpreter => {
            rest.iter().all(is_input) && !rest.iter().any(takes_text) && first != "$"
        }
        Program::Make
        | Program::Just
        | Program::Packages
        | Program::Scripts
        | Program::Runner
        | Program::RunnerIf(_)
        | Program::ReadsFrom(_)
        | Program::Utility
        | Program::Looks
        | Program::Compares
        | Program::Other => false,
    }
}
