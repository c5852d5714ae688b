//! `claude --session-id ID --settings FILE` in a terminal, the prompt on stdin.
//!
//! With a prompt on stdin it stays interactive and takes keys from the terminal. A prompt that begins with `/` would be
//! one of its commands, also behind spaces and newlines.

use super::command::SKIP;
use crate::dialect::Dialect;
use crate::dialect::command::{
    AnswerIn, Built, CommandLine, Flags, HandedOver, Invocation, Prompt, PromptAs, PromptVia, Terminal,
};

/// So much was taken whole.
const STDIN_MAX: usize = 1 << 20;
/// What makes a `/` at the beginning a text.
const LEAD_IN: &str = "Task:\n";

/// Flags that only work without a terminal.
const HEADLESS: [&str; 9] = [
    "-p",
    "--print",
    "--output-format",
    "--input-format",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "--json-schema",
    "--max-turns",
    "--max-budget-usd",
];

pub(super) fn command_line(
    invocation: &Invocation<'_>,
    terminal: &Terminal<'_>,
    prompt: &Prompt<'_>,
) -> Built {
    let user = Flags::of(invocation);
    user.have_none_of(&HEADLESS)?;
    let mut argv = vec![invocation.program.to_owned()];
    if invocation.autonomous && !user.has_any(&[SKIP, "--permission-mode"]) {
        argv.push(SKIP.to_owned());
    }
    let mut add = |flag: &str, value: &str| argv.extend([flag.to_owned(), value.to_owned()]);
    if let Some(model) = invocation.model.filter(|_| !user.has("--model")) {
        add("--model", model);
    }
    let continues = user.has_any(&["--session-id", "--resume", "-r", "--continue", "-c"]);
    if let Some(session) = invocation.session.filter(|_| !continues) {
        add("--session-id", session);
    }
    if let Some(hooks) = invocation.hooks.filter(|_| !user.has("--settings")) {
        add("--settings", hooks.settings);
    }
    let handed_over = match terminal.prompt_as {
        PromptAs::SystemPrompt => {
            add("--append-system-prompt-file", prompt.file);
            HandedOver::new("Begin.", "")
        }
        PromptAs::Question => question(prompt),
    };
    argv.extend(user.0);
    let stdin = if handed_over.text.is_empty() { PromptVia::Argument } else { PromptVia::Stdin };
    let handed_over = Some(handed_over);
    Ok(CommandLine { argv, stdin, output: Dialect::Claude, answer: AnswerIn::Stdout, handed_over })
}

fn question(prompt: &Prompt<'_>) -> HandedOver {
    let lead_in = if prompt.text.trim_start().starts_with('/') { LEAD_IN } else { "" };
    if lead_in.len() + prompt.text.len() > STDIN_MAX {
        return HandedOver::file(prompt.file);
    }
    HandedOver::new(prompt.text, lead_in)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::command::tests::{ASK, Ask, TERMINAL, build, build_for};
    use crate::dialect::command::{CommandLineError, Hooks, Wants};
    use crate::money::Usd;

    const IN_TERMINAL: Ask<'_> = Ask { wants: TERMINAL, ..ASK };

    #[track_caller]
    fn check(ask: &Ask<'_>, typed: &str) {
        let line = build("claude", ask).unwrap();
        assert_eq!((line.argv.join(" "), line.stdin), (typed.to_owned(), PromptVia::Stdin));
        assert_eq!(line.output, Dialect::Claude);
    }

    #[test]
    fn claude_in_a_terminal_gets_no_flag_of_a_headless_one() {
        check(&IN_TERMINAL, "claude --dangerously-skip-permissions");
        let all = Ask {
            model: Some("opus"),
            session: Some("s"),
            budget: Some(Usd::from_dollars(1.0)),
            hooks: Some(Hooks { settings: "/h.json", config: &[] }),
            args: &["--verbose"],
            ..IN_TERMINAL
        };
        check(
            &all,
            "claude --dangerously-skip-permissions --model opus --session-id s --settings /h.json --verbose",
        );
        let own =
            Ask { args: &["--model sonnet", "--permission-mode=plan", "--resume x", "--settings={}"], ..all };
        check(&own, "claude --model sonnet --permission-mode=plan --resume x --settings={}");
    }

    #[test]
    fn flags_of_a_headless_claude_are_refused() {
        for flag in ["-p", "--print", "--output-format=json", "--max-turns 3", "--max-budget-usd 1"] {
            let refused = build("claude", &Ask { args: &[flag], ..IN_TERMINAL }).unwrap_err();
            let CommandLineError::NotInTerminal { flag: named } = refused else { panic!("{refused}") };
            assert!(flag.starts_with(&named), "{flag}");
        }
    }

    #[test]
    fn a_prompt_that_would_be_a_command_gets_a_lead_in() {
        for (prompt, lead_in) in [
            ("/help me", LEAD_IN),
            ("\n /help", LEAD_IN),
            ("!ls", ""),
            ("#1", ""),
            ("- a list", ""),
            ("\tx\n", ""),
            ("a /b", ""),
        ] {
            let handed_over = build_for("claude", &IN_TERMINAL, prompt).unwrap().handed_over.unwrap();
            assert_eq!(handed_over, HandedOver { text: format!("{lead_in}{prompt}"), lead_in });
        }
    }

    #[test]
    fn a_prompt_that_is_too_long_is_a_file() {
        let text = |length: usize| {
            build_for("claude", &IN_TERMINAL, &"x".repeat(length)).unwrap().handed_over.unwrap().text
        };
        assert_eq!(text(STDIN_MAX).len(), STDIN_MAX);
        assert_eq!(text(STDIN_MAX + 1), "Read the file /run/prompt.md and do what it says.");
        let empty = build_for("claude", &IN_TERMINAL, "").unwrap();
        assert_eq!((empty.stdin, empty.handed_over), (PromptVia::Argument, Some(HandedOver::default())));
    }

    #[test]
    fn the_prompt_can_be_a_system_prompt() {
        let terminal = Terminal { workspace: "/w", prompt_as: PromptAs::SystemPrompt };
        let ask = Ask { wants: Wants::Terminal(terminal), ..ASK };
        check(&ask, "claude --dangerously-skip-permissions --append-system-prompt-file /run/prompt.md");
        assert_eq!(build("claude", &ask).unwrap().handed_over.unwrap().text, "Begin.");
    }
}
