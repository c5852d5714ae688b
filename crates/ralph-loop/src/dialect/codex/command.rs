//! `codex exec --json --sandbox workspace-write --skip-git-repo-check -`, the prompt on stdin.
//!
//! Outside a sandbox of ralph's Codex gets its own: it may write where it works, and does not ask.
//! Inside one it gets none, as its own cannot be set up there.
//! `--full-auto`, once the name for that, ends today's Codex with exit code 2. A user who writes
//! it anyway has a Codex that knows it.

use super::interactive;
use crate::dialect::Dialect;
use crate::dialect::command::{AnswerIn, Built, CommandLine, Flags, Invocation, Prompt, PromptVia, Wants};

pub(super) const BYPASS: &str = "--dangerously-bypass-approvals-and-sandbox";
const SANDBOX: [&str; 5] = ["--sandbox", "-s", BYPASS, "--yolo", "--full-auto"];
pub(super) const JSON: [&str; 2] = ["--json", "--experimental-json"];
pub(super) const TRUST_HOOKS: &str = "--dangerously-bypass-hook-trust";
pub(super) const OUTPUT_FILE: [&str; 2] = ["-o", "--output-last-message"];

pub(super) fn command_line(invocation: &Invocation<'_>, prompt: &Prompt<'_>) -> Built {
    if let Wants::Terminal(terminal) = invocation.wants {
        return interactive::command_line(invocation, &terminal, prompt);
    }
    let mut user = Flags::of(invocation);
    let streams = invocation.wants == Wants::Events || user.has_any(&JSON);
    let mut ours = Vec::new();
    if streams && !user.has_any(&JSON) {
        ours.push("--json");
    }
    let mut answer = AnswerIn::Stdout;
    if let Wants::LastWords { file } = invocation.wants {
        let theirs = OUTPUT_FILE.iter().find_map(|flag| user.value(flag));
        if theirs.is_none() {
            ours.extend(["-o", file]);
        }
        answer = AnswerIn::File(theirs.unwrap_or(file).to_owned());
    }
    if invocation.autonomous && !chooses_sandbox(&user) {
        match invocation.sandboxed {
            true => ours.push(BYPASS),
            false => ours.extend(["--sandbox", "workspace-write"]),
        }
    }
    // Codex refuses to work outside a repository, where ralph does work.
    if !user.has("--skip-git-repo-check") {
        ours.push("--skip-git-repo-check");
    }
    if let Some(model) = invocation.model
        && !user.has_any(&["--model", "-m"])
    {
        ours.extend(["--model", model]);
    }
    if let Some(hooks) = invocation.hooks.filter(|hooks| !hooks.config.is_empty()) {
        for line in hooks.config {
            ours.extend(["-c", line]);
        }
        // Unreviewed hooks are skipped silently.
        if !user.has(TRUST_HOOKS) {
            ours.push(TRUST_HOOKS);
        }
    }
    // What stands before the subcommand is the whole program's and stays there.
    let (before, exec) = match subcommand(&user.0) {
        Some(at) => (user.0.drain(..at).collect(), user.0.remove(0)),
        None => (Vec::new(), "exec".to_owned()),
    };
    let asks_stdin = user.0.last().is_some_and(|arg| arg == "-");
    let mut argv = vec![invocation.program.to_owned()];
    argv.extend(before);
    argv.push(exec);
    argv.extend(ours.into_iter().map(str::to_owned));
    argv.extend(user.0);
    if !asks_stdin {
        argv.push("-".to_owned());
    }
    let output = if streams { Dialect::Codex } else { Dialect::Plain };
    Ok(CommandLine { argv, stdin: PromptVia::Stdin, output, answer, handed_over: None })
}

/// Also in `-c sandbox_mode=read-only`.
pub(super) fn chooses_sandbox(user: &Flags) -> bool {
    let config = |arg: &str| arg.trim_start_matches("--config=").starts_with("sandbox_mode");
    user.has_any(&SANDBOX) || user.given().any(config)
}

/// In each of its own sandboxes `.git` can only be read.
pub(super) fn can_commit(user: &Flags, sandboxed: bool) -> bool {
    const ALL: &str = "danger-full-access";
    let config =
        |arg: &str| arg.trim_start_matches("--config=").starts_with("sandbox_mode") && arg.contains(ALL);
    let sandbox = user.value("--sandbox").or_else(|| user.value("-s"));
    (sandboxed && !chooses_sandbox(user))
        || user.has_any(&[BYPASS, "--yolo"])
        || sandbox == Some(ALL)
        || user.given().any(config)
}

/// Also in `-c model=o3`.
pub(super) fn model(user: &Flags) -> Option<&str> {
    let config = |arg| config_model(str::strip_prefix(arg, "--config=").unwrap_or(arg));
    let flag = user.value("--model").or_else(|| user.value("-m"));
    flag.or_else(|| user.given().find_map(config)).map(|model| model.trim_matches(['"', '\'']))
}

/// The model in a line of configuration, which is TOML: `model=o3`, `model = "o3"`.
pub(super) fn config_model(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("model")?.trim_start().strip_prefix('=').map(str::trim)
}

/// Where the user says `exec` or `e`. So short a word may also be a flag's value.
pub(super) fn subcommand(args: &[String]) -> Option<usize> {
    let stated = |at: usize| at == 0 || !args[at - 1].starts_with('-');
    (0..args.len()).find(|&at| args[at] == "exec" || (args[at] == "e" && stated(at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::command::tests::{ASK, Ask, WORDS, build, check};
    use crate::dialect::command::{self, Hooks, stated_model};

    #[track_caller]
    fn codex(ask: &Ask<'_>, typed: &str) {
        check("codex", ask, typed, PromptVia::Stdin);
    }

    #[test]
    fn codex_streams_in_its_own_sandbox_and_gets_the_prompt_on_stdin() {
        codex(&ASK, "codex exec --json --sandbox workspace-write --skip-git-repo-check -");
        codex(&Ask { autonomous: false, ..ASK }, "codex exec --json --skip-git-repo-check -");
        codex(
            &Ask { model: Some("o9"), args: &["--search"], ..ASK },
            "codex exec --json --sandbox workspace-write --skip-git-repo-check --model o9 --search -",
        );
    }

    #[test]
    fn in_a_sandbox_of_ralphs_codex_gets_none_of_its_own() {
        let sandboxed = Ask { sandboxed: true, ..ASK };
        codex(&sandboxed, &format!("codex exec --json {BYPASS} --skip-git-repo-check -"));
        codex(&Ask { autonomous: false, ..sandboxed }, "codex exec --json --skip-git-repo-check -");
        let own = Ask { args: &["--sandbox read-only"], ..sandboxed };
        codex(&own, "codex exec --json --skip-git-repo-check --sandbox read-only -");
    }

    #[test]
    fn codex_can_commit_only_outside_of_its_sandbox() {
        let check = |flags: &[&str], wanted: bool| {
            let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
            assert_eq!(command::can_commit(Dialect::Codex, &flags, false), wanted, "{flags:?}");
        };
        check(&[], false);
        check(&["--full-auto"], false);
        check(&["--sandbox workspace-write"], false);
        check(&["-sread-only", "-c model=danger-full-access"], false);
        check(&["--sandbox=danger-full-access"], true);
        check(&["-s", "danger-full-access"], true);
        check(&["-c sandbox_mode=\"danger-full-access\""], true);
        check(&["--yolo"], true);
        check(&["--dangerously-bypass-approvals-and-sandbox"], true);
        assert!(command::can_commit(Dialect::Claude, &[], false));
        let sandboxed = |flags: &[&str]| {
            let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
            command::can_commit(Dialect::Codex, &flags, true)
        };
        assert!(sandboxed(&[]) && !sandboxed(&["--sandbox workspace-write"]));
    }

    #[test]
    fn hooks_are_lines_of_its_configuration_and_trusted_for_this_call() {
        const LINE: &str = "codex exec --json --sandbox workspace-write --skip-git-repo-check";
        let config = ["hooks.Stop=[1]".to_owned(), "hooks.SessionStart=[2]".to_owned()];
        let hooked = Ask { hooks: Some(Hooks { settings: "/h.json", config: &config }), ..ASK };
        let ours = "-c hooks.Stop=[1] -c hooks.SessionStart=[2]";
        codex(&hooked, &format!("{LINE} {ours} --dangerously-bypass-hook-trust -"));
        let own = ["--dangerously-bypass-hook-trust"];
        codex(&Ask { args: &own, ..hooked }, &format!("{LINE} {ours} --dangerously-bypass-hook-trust -"));
        let none = Ask { hooks: Some(Hooks { settings: "/h.json", config: &[] }), ..ASK };
        codex(&none, &format!("{LINE} -"));
        let told_of_hooks = |ask: &Ask<'_>| ask.hooks.unwrap().are_in(&build("codex", ask).unwrap().argv);
        assert!(told_of_hooks(&hooked) && !told_of_hooks(&none));
    }

    #[test]
    fn a_sandbox_of_the_users_choice_wins() {
        for flags in [
            "--sandbox read-only",
            "-s danger-full-access",
            "--sandbox=read-only",
            "-sread-only",
            "--dangerously-bypass-approvals-and-sandbox",
            "--yolo",
            "--full-auto",
            "-c sandbox_mode=read-only",
            "--config=sandbox_mode=read-only",
        ] {
            let ask = Ask { args: &[flags], ..ASK };
            codex(&ask, &format!("codex exec --json --skip-git-repo-check {flags} -"));
        }
    }

    #[test]
    fn what_the_user_wrote_is_not_doubled() {
        const OURS: &str = "--sandbox workspace-write --skip-git-repo-check";
        for (args, typed) in [
            (&["exec"][..], format!("codex exec --json {OURS} -")),
            (&["e", "--ephemeral"], format!("codex e --json {OURS} --ephemeral -")),
            (&["-c", "a=b", "exec"], format!("codex -c a=b exec --json {OURS} -")),
            (&["--search", "exec", "-"], format!("codex --search exec --json {OURS} -")),
            (&["-p", "e"], format!("codex exec --json {OURS} -p e -")),
            (&["exec", "resume", "--last"], format!("codex exec --json {OURS} resume --last -")),
            (&["--json"], format!("codex exec {OURS} --json -")),
            (
                &["--skip-git-repo-check"],
                "codex exec --json --sandbox workspace-write --skip-git-repo-check -".into(),
            ),
            (&["-m", "o3"], format!("codex exec --json {OURS} -m o3 -")),
        ] {
            codex(&Ask { args, model: args.contains(&"-m").then_some("o9"), ..ASK }, &typed);
        }
    }

    #[test]
    fn the_model_is_what_the_users_flags_say_or_else_what_was_asked_for() {
        for (args, model) in [
            (&[][..], "o9"),
            (&["--model gpt-5-mini"], "gpt-5-mini"),
            (&["-m", "o3"], "o3"),
            (&["-c", "model=\"o4-mini\""], "o4-mini"),
            (&["--config=model=o3", "exec"], "o3"),
            (&["-c", "model = \"o6\""], "o6"),
            (&["-c model = 'o6'"], "o6"),
            (&["--config=model = o6"], "o6"),
            (&["-c", "model_provider = \"x\""], "o9"),
            (&["-c", "model_reasoning_effort=high"], "o9"),
            (&["exec", "--", "--model", "x"], "o9"),
        ] {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            assert_eq!(stated_model(Dialect::Codex, &args, Some("o9")).unwrap(), model, "{args:?}");
        }
        assert_eq!(stated_model(Dialect::Codex, &[], None), None);
        let own = ["--model=opus".to_string()];
        assert_eq!(stated_model(Dialect::Claude, &own, Some("x")).as_deref(), Some("opus"));
        assert_eq!(stated_model(Dialect::Plain, &own, Some("x")).as_deref(), Some("x"));
    }

    #[test]
    fn last_words_are_in_a_file() {
        const REST: &str = "--sandbox workspace-write --skip-git-repo-check";
        for (args, typed, output, file) in [
            (&[][..], format!("codex exec -o /run/words {REST} -"), Dialect::Plain, "/run/words"),
            (&["-o mine"], format!("codex exec {REST} -o mine -"), Dialect::Plain, "mine"),
            (&["--json"], format!("codex exec -o /run/words {REST} --json -"), Dialect::Codex, "/run/words"),
        ] {
            let ask = Ask { args, wants: WORDS, ..ASK };
            codex(&ask, &typed);
            let line = build("codex", &ask).unwrap();
            assert_eq!((line.output, line.answer), (output, AnswerIn::File(file.into())));
        }
        assert_eq!(build("codex", &ASK).unwrap().answer, AnswerIn::Stdout);
    }
}
