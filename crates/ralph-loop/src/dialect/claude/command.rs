//! `claude -p --output-format stream-json --verbose --include-partial-messages`, the prompt on stdin.

use super::interactive;
use crate::dialect::Dialect;
use crate::dialect::command::{AnswerIn, Built, CommandLine, Flags, Invocation, Prompt, PromptVia, Wants};

pub(super) const SKIP: &str = "--dangerously-skip-permissions";

/// By our flag or by one of the user's.
pub(super) fn skips_permissions(user: &Flags, autonomous: bool) -> bool {
    let bypasses = user.value("--permission-mode").map(|mode| mode == "bypassPermissions");
    user.has_any(&[SKIP, "--allow-dangerously-skip-permissions"]) || bypasses.unwrap_or(autonomous)
}

pub(super) fn command_line(invocation: &Invocation<'_>, prompt: &Prompt<'_>) -> Built {
    if let Wants::Terminal(terminal) = invocation.wants {
        return interactive::command_line(invocation, &terminal, prompt);
    }
    let user = Flags::of(invocation);
    let mut argv = vec![invocation.program.to_owned()];
    if !user.has_any(&["-p", "--print"]) {
        argv.push("-p".to_owned());
    }
    let ours = match invocation.wants {
        Wants::Events => "stream-json",
        Wants::LastWords { .. } | Wants::Terminal(_) => "text",
    };
    let format = user.value("--output-format").unwrap_or(ours).to_owned();
    if !user.has("--output-format") {
        argv.extend(["--output-format".to_owned(), format.clone()]);
    }
    // Claude refuses to stream without it; with the other formats it changes what they are.
    if format == "stream-json" && !user.has("--verbose") {
        argv.push("--verbose".to_owned());
    }
    // Without them Claude prints nothing while the model thinks or writes one long tool call.
    if format == "stream-json" && !user.has("--include-partial-messages") {
        argv.push("--include-partial-messages".to_owned());
    }
    if invocation.autonomous && !user.has_any(&[SKIP, "--permission-mode"]) {
        argv.push(SKIP.to_owned());
    }
    if let Some(model) = invocation.model
        && !user.has("--model")
    {
        argv.extend(["--model".to_owned(), model.to_owned()]);
    }
    if let Some(session) = invocation.session
        && !user.has_any(&["--session-id", "--resume", "-r", "--continue", "-c"])
    {
        argv.extend(["--session-id".to_owned(), session.to_owned()]);
    }
    if let Some(budget) = invocation.budget
        && !user.has("--max-budget-usd")
    {
        argv.extend(["--max-budget-usd".to_owned(), format!("{:.4}", budget.dollars())]);
    }
    if let Some(hooks) = invocation.hooks
        && !user.has("--settings")
    {
        argv.extend(["--settings".to_owned(), hooks.settings.to_owned()]);
    }
    argv.extend(user.0);
    let output = if format == "text" { Dialect::Plain } else { Dialect::Claude };
    Ok(CommandLine { argv, stdin: PromptVia::Stdin, output, answer: AnswerIn::Stdout, handed_over: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::command::Hooks;
    use crate::dialect::command::tests::{ASK, Ask, WORDS, build, check};
    use crate::money::Usd;

    #[track_caller]
    fn claude(ask: &Ask<'_>, typed: &str) {
        check("claude", ask, typed, PromptVia::Stdin);
    }

    #[test]
    fn claude_streams_and_gets_the_prompt_on_stdin() {
        const STREAM: &str = "claude -p --output-format stream-json --verbose --include-partial-messages";
        claude(&ASK, &format!("{STREAM} --dangerously-skip-permissions"));
        claude(&Ask { autonomous: false, ..ASK }, STREAM);
        let asked = Ask { model: Some("opus"), args: &["--max-turns", "3"], ..ASK };
        claude(&asked, &format!("{STREAM} --dangerously-skip-permissions --model opus --max-turns 3"));
    }

    #[test]
    fn a_session_and_a_budget_are_passed_unless_the_user_has_their_own() {
        const STREAM: &str = "claude -p --output-format stream-json --verbose --include-partial-messages \
            --dangerously-skip-permissions";
        let ask = Ask { session: Some("s-1"), budget: Some(Usd::from_dollars(0.5)), ..ASK };
        claude(&ask, &format!("{STREAM} --session-id s-1 --max-budget-usd 0.5000"));
        let hooked = Ask { hooks: Some(Hooks { settings: "/h.json", config: &[] }), ..ASK };
        claude(&hooked, &format!("{STREAM} --settings /h.json"));
        let own = ["--settings", "mine.json"];
        claude(&Ask { args: &own, ..hooked }, &format!("{STREAM} --settings mine.json"));
        let told_of_hooks = |ask: &Ask<'_>| hooked.hooks.unwrap().are_in(&build("claude", ask).unwrap().argv);
        assert!(told_of_hooks(&hooked) && !told_of_hooks(&Ask { args: &own, ..hooked }));
        let own = ["--resume", "abc", "--max-budget-usd=9"];
        claude(&Ask { args: &own, ..ask }, &format!("{STREAM} --resume abc --max-budget-usd=9"));
    }

    #[test]
    fn without_a_stream_its_output_is_plain_text() {
        let ask = Ask { autonomous: false, ..ASK };
        for (ask, typed, output) in [
            (Ask { wants: WORDS, ..ask }, "claude -p --output-format text", Dialect::Plain),
            (
                Ask { args: &["--output-format=json"], ..ask },
                "claude -p --output-format=json",
                Dialect::Claude,
            ),
        ] {
            claude(&ask, typed);
            let line = build("claude", &ask).unwrap();
            assert_eq!((line.output, line.answer), (output, AnswerIn::Stdout));
        }
    }

    #[test]
    fn permissions_are_skipped_by_our_flag_or_the_users() {
        for (args, autonomous, expected) in [
            (&[][..], true, true),
            (&[][..], false, false),
            (&["--permission-mode", "plan"][..], true, false),
            (&["--permission-mode=bypassPermissions"][..], false, true),
            (&["--dangerously-skip-permissions"][..], false, true),
            (&["--permission-mode plan", "--allow-dangerously-skip-permissions"][..], true, true),
        ] {
            let flags = Flags::split(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
            assert_eq!(skips_permissions(&flags, autonomous), expected, "{args:?}");
        }
    }

    #[test]
    fn what_the_user_wrote_is_not_doubled_and_wins() {
        let args = &["--model sonnet", "--verbose", "--include-partial-messages"];
        let asked = Ask { args, model: Some("opus"), autonomous: false, ..ASK };
        claude(
            &asked,
            "claude -p --output-format stream-json --model sonnet --verbose --include-partial-messages",
        );
        let plan = Ask { args: &["--permission-mode", "plan"], ..ASK };
        let streams = "claude -p --output-format stream-json --verbose --include-partial-messages";
        claude(&plan, &format!("{streams} --permission-mode plan"));
    }
}
