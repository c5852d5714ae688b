//! `amp --stream-json --dangerously-allow-all -x PROMPT`.
//!
//! The prompt comes last, as `-x` takes it only from right behind. A prompt that cannot be an
//! argument goes to stdin, where Amp's manual lets `-x` alone look for it: one too long, one that
//! would be taken for a flag, one with a zero byte in it. Stdin was not chosen for every prompt,
//! since the argument is the form that was described to us, and neither could be tried.
//!
//! A model goes to `--model`. Most accounts may only choose a `--mode`; that is a flag of the
//! user's, as its words are no models.

use crate::dialect::Dialect;
use crate::dialect::command::{
    ARGUMENT_MAX, AnswerIn, Built, CommandLine, Flags, Invocation, Prompt, PromptVia, Terminal, Wants, typed,
};

const STREAM: [&str; 2] = ["--stream-json", "--stream-json-thinking"];
const EXECUTE: [&str; 2] = ["-x", "--execute"];

pub(super) fn command_line(invocation: &Invocation<'_>, prompt: &Prompt<'_>) -> Built {
    let user = Flags::of(invocation);
    if let Wants::Terminal(_) = invocation.wants {
        user.have_none_of(&[EXECUTE, STREAM].concat())?;
    }
    let streams = invocation.wants == Wants::Events || user.has_any(&STREAM);
    let mut ours = Vec::new();
    if streams && !user.has_any(&STREAM) {
        ours.push("--stream-json");
    }
    if invocation.autonomous && !user.has("--dangerously-allow-all") {
        ours.push("--dangerously-allow-all");
    }
    if let Some(model) = invocation.model
        && !user.has("--model")
    {
        ours.extend(["--model", model]);
    }
    if let Wants::Terminal(Terminal { prompt_as, .. }) = invocation.wants {
        let mut argv = vec![invocation.program.to_owned()];
        argv.extend(ours.into_iter().map(str::to_owned));
        argv.extend(user.0);
        return typed(argv, invocation, prompt_as, prompt);
    }
    ours.push("-x");
    let mut stdin = PromptVia::Stdin;
    if fits_argument(prompt.text) {
        stdin = PromptVia::Argument;
        ours.push(prompt.text);
    }
    let mut argv = vec![invocation.program.to_owned()];
    // Theirs would not stand at the end.
    argv.extend(user.0.into_iter().filter(|arg| !EXECUTE.contains(&arg.as_str())));
    argv.extend(ours.into_iter().map(str::to_owned));
    let output = if streams { Dialect::Amp } else { Dialect::Plain };
    Ok(CommandLine { argv, stdin, output, answer: AnswerIn::Stdout, handed_over: None })
}

fn fits_argument(prompt: &str) -> bool {
    prompt.len() < ARGUMENT_MAX && !prompt.starts_with('-') && !prompt.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::command::tests::{ASK, Ask, WORDS, build, build_for, check};

    #[test]
    fn amp_streams_and_gets_the_prompt_last() {
        for (ask, typed) in [
            (ASK, "amp --stream-json --dangerously-allow-all -x say {model}"),
            (Ask { autonomous: false, ..ASK }, "amp --stream-json -x say {model}"),
            (
                Ask { args: &["--mode rush"], ..ASK },
                "amp --mode rush --stream-json --dangerously-allow-all -x say {model}",
            ),
            (
                Ask { model: Some("m1"), ..ASK },
                "amp --stream-json --dangerously-allow-all --model m1 -x say {model}",
            ),
            (Ask { wants: WORDS, ..ASK }, "amp --dangerously-allow-all -x say {model}"),
            (
                Ask { args: &["-x", "--dangerously-allow-all", "--stream-json-thinking"], ..ASK },
                "amp --dangerously-allow-all --stream-json-thinking -x say {model}",
            ),
        ] {
            check("amp", &ask, typed, PromptVia::Argument);
        }
    }

    #[test]
    fn without_a_stream_its_output_is_plain_text() {
        let line = build("amp", &Ask { wants: WORDS, ..ASK }).unwrap();
        assert_eq!((line.output, line.answer), (Dialect::Plain, AnswerIn::Stdout));
        assert_eq!(build("amp", &ASK).unwrap().output, Dialect::Amp);
    }

    #[test]
    fn a_prompt_that_cannot_be_an_argument_goes_to_stdin() {
        let long = "x".repeat(ARGUMENT_MAX);
        for prompt in [&long, "- a list", "--help", "a\0b"] {
            let line = build_for("amp", &ASK, prompt).unwrap();
            assert_eq!(line.argv, ["amp", "--stream-json", "--dangerously-allow-all", "-x"]);
            assert_eq!(line.stdin, PromptVia::Stdin);
        }
        let line = build_for("amp", &ASK, &long[1..]).unwrap();
        assert_eq!((line.argv.len(), line.stdin), (5, PromptVia::Argument));
    }
}
