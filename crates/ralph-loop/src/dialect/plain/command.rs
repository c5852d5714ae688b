//! Any command: as the user wrote it, with what its placeholders ask for.

use crate::dialect::Dialect;
use crate::dialect::command::{
    ARGUMENT_MAX, AnswerIn, Built, CommandLine, CommandLineError, Invocation, Prompt, PromptVia, Terminal,
    Wants, typed,
};

pub(super) fn command_line(invocation: &Invocation<'_>, prompt: &Prompt<'_>) -> Built {
    let mut argv = vec![invocation.program.to_owned()];
    let mut stdin = PromptVia::Stdin;
    let mut model_passed = false;
    for argument in invocation.args {
        let mut filled = String::new();
        for part in parts(argument) {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Prompt => {
                    filled.push_str(prompt.text);
                    if stdin == PromptVia::Stdin {
                        stdin = PromptVia::Argument;
                    }
                }
                Part::PromptFile => {
                    filled.push_str(prompt.file);
                    stdin = PromptVia::File;
                }
                Part::Model => {
                    let missing = || CommandLineError::NoModel { argument: argument.clone() };
                    filled.push_str(invocation.model.ok_or_else(missing)?);
                    model_passed = true;
                }
            }
        }
        if filled.len() >= ARGUMENT_MAX {
            return Err(CommandLineError::PromptTooLong { bytes: filled.len() });
        }
        argv.push(filled);
    }
    if invocation.model.is_some() && !model_passed {
        return Err(CommandLineError::NoModelFlag { program: invocation.program.to_owned() });
    }
    // One that has the prompt in its arguments gets a terminal, and nothing is typed.
    if let (Wants::Terminal(Terminal { prompt_as, .. }), PromptVia::Stdin) = (invocation.wants, stdin) {
        return typed(argv, invocation, prompt_as, prompt);
    }
    Ok(CommandLine { argv, stdin, output: Dialect::Plain, answer: AnswerIn::Stdout, handed_over: None })
}

#[derive(Clone, Copy)]
enum Part<'a> {
    Text(&'a str),
    Prompt,
    PromptFile,
    Model,
}

/// An argument's texts and placeholders in their order. What is filled in is not looked at again:
/// a prompt may well say `{model}`.
fn parts(argument: &str) -> Vec<Part<'_>> {
    const PLACEHOLDERS: [(&str, Part<'_>); 3] =
        [("{prompt}", Part::Prompt), ("{prompt_file}", Part::PromptFile), ("{model}", Part::Model)];
    let mut found = Vec::new();
    let mut rest = argument;
    let next = |text: &str| {
        PLACEHOLDERS
            .iter()
            .filter_map(|(name, part)| Some((text.find(name)?, name.len(), *part)))
            .min_by_key(|(at, ..)| *at)
    };
    while let Some((at, len, part)) = next(rest) {
        found.extend([Part::Text(&rest[..at]), part]);
        rest = &rest[at + len..];
    }
    found.push(Part::Text(rest));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::command::tests::{ASK, Ask, TERMINAL, build, build_for, check};

    #[test]
    fn a_plain_command_is_left_as_it_is() {
        let line = build("./agent", &Ask { args: &["--model opus", "-x"], ..ASK }).unwrap();
        assert_eq!(line.argv, ["./agent", "--model opus", "-x"]);
        assert_eq!(line.stdin, PromptVia::Stdin);
    }

    #[test]
    fn placeholders_are_filled_once_and_leave_stdin_empty() {
        let file = Ask { args: &["--file={prompt_file}"], ..ASK };
        check("agent", &file, "agent --file=/run/prompt.md", PromptVia::File);
        let twice = Ask { args: &["{prompt_file}", "{prompt}"], ..ASK };
        check("agent", &twice, "agent /run/prompt.md say {model}", PromptVia::File);
        let both = Ask { args: &["{prompt}!", "-m{model}"], model: Some("m1"), ..ASK };
        check("agent", &both, "agent say {model}! -mm1", PromptVia::Argument);
    }

    #[test]
    fn a_model_that_cannot_be_passed_is_an_error() {
        let no_flag = build("agent", &Ask { model: Some("m1"), ..ASK });
        assert_eq!(no_flag, Err(CommandLineError::NoModelFlag { program: "agent".into() }));
        let no_model = build("agent", &Ask { args: &["-m{model}"], ..ASK });
        assert_eq!(no_model, Err(CommandLineError::NoModel { argument: "-m{model}".into() }));
    }

    #[test]
    fn a_prompt_that_no_argument_can_hold_is_an_error() {
        let ask = Ask { args: &["{prompt}"], ..ASK };
        let prompt = "x".repeat(ARGUMENT_MAX);
        let line = build_for("agent", &ask, &prompt);
        assert_eq!(line, Err(CommandLineError::PromptTooLong { bytes: ARGUMENT_MAX }));
        assert!(build_for("agent", &ask, &prompt[1..]).is_ok());
    }

    #[test]
    fn in_a_terminal_the_prompt_is_typed_unless_an_argument_has_it() {
        let line = build("./agent", &Ask { wants: TERMINAL, args: &["-x"], ..ASK }).unwrap();
        assert_eq!((line.argv.join(" "), line.stdin), ("./agent -x".to_owned(), PromptVia::Typed));
        assert_eq!(line.handed_over.unwrap().text, "say {model}");
        let filled = build("./agent", &Ask { wants: TERMINAL, args: &["{prompt}"], ..ASK }).unwrap();
        assert_eq!((filled.stdin, filled.handed_over), (PromptVia::Argument, None));
    }
}
