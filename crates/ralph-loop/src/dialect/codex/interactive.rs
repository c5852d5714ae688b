//! `codex --no-daemon --sandbox workspace-write --ask-for-approval never -- PROMPT` in a terminal.
//!
//! It refuses a stdin that is no terminal, so the prompt is an argument, or a file that a short prompt names. A prompt
//! that begins with `!` would run as a command.

use super::command::{BYPASS, JSON, OUTPUT_FILE, TRUST_HOOKS, chooses_sandbox, subcommand};
use crate::dialect::Dialect;
use crate::dialect::command::{
    AnswerIn, Built, CommandLine, CommandLineError, Flags, HandedOver, Invocation, Prompt, PromptAs,
    PromptVia, Terminal,
};

/// So much was taken whole, and is below what one argument may be.
const ARGUMENT_BYTES: usize = 120 << 10;
/// What makes a `!` at the beginning a text.
const LEAD_IN: &str = "\n";
/// It asks users of these models whether they want the newer one, unless they were asked; that goes by both names. A
/// model that is not here makes it wait for a person, once.
const SEEN_MODELS: &str = r#"notice.model_migrations={"gpt-5.5"="gpt-6-sol","gpt-5.6-sol"="gpt-6-sol","gpt-5.6-terra"="gpt-6-sol","gpt-5.6-luna"="gpt-6-luna"}"#;
/// Flags of `exec`.
const HEADLESS: [&str; 2] = ["--skip-git-repo-check", "--output-schema"];
const APPROVAL: [&str; 3] = ["--ask-for-approval", "-a", "--approve-for-me"];

pub(super) fn command_line(
    invocation: &Invocation<'_>,
    terminal: &Terminal<'_>,
    prompt: &Prompt<'_>,
) -> Built {
    let user = Flags::of(invocation);
    if let Some(at) = subcommand(&user.0) {
        return Err(CommandLineError::NotInTerminal { flag: user.0[at].clone() });
    }
    user.have_none_of(&JSON)?;
    user.have_none_of(&OUTPUT_FILE)?;
    user.have_none_of(&HEADLESS)?;
    if terminal.prompt_as == PromptAs::SystemPrompt {
        return Err(CommandLineError::NoSystemPrompt { program: invocation.program.to_owned() });
    }
    // Without it a server that other sessions share goes on when the terminal is gone.
    let mut argv = vec![invocation.program.to_owned()];
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    if !user.has("--no-daemon") {
        add(&["--no-daemon"]);
    }
    if invocation.autonomous && !chooses_sandbox(&user) {
        match invocation.sandboxed {
            true => add(&[BYPASS]),
            false => add(&["--sandbox", "workspace-write"]),
        }
        // As `exec` does: what its sandbox refuses is refused.
        if !invocation.sandboxed && !user.has_any(&APPROVAL) {
            add(&["--ask-for-approval", "never"]);
        }
    }
    if let Some(model) = invocation.model.filter(|_| !user.has_any(&["--model", "-m"])) {
        add(&["--model", model]);
    }
    // JSON's strings are TOML's too.
    let trusted =
        format!("projects={{{}={{trust_level=\"trusted\"}}}}", serde_json::json!(terminal.workspace));
    if !user.given().any(|arg| arg.trim_start_matches("--config=").starts_with("projects")) {
        add(&["-c", &trusted]);
    }
    add(&["-c", SEEN_MODELS]);
    if let Some(hooks) = invocation.hooks.filter(|hooks| !hooks.config.is_empty()) {
        for line in hooks.config {
            add(&["-c", line]);
        }
        if !user.has(TRUST_HOOKS) {
            add(&[TRUST_HOOKS]);
        }
    }
    argv.extend(user.0);
    let handed_over = question(prompt);
    if !handed_over.text.is_empty() {
        argv.extend(["--".to_owned(), handed_over.text.clone()]);
    }
    Ok(CommandLine {
        argv,
        stdin: PromptVia::Argument,
        output: Dialect::Codex,
        answer: AnswerIn::Stdout,
        handed_over: Some(handed_over),
    })
}

fn question(prompt: &Prompt<'_>) -> HandedOver {
    let lead_in = if prompt.text.starts_with('!') { LEAD_IN } else { "" };
    // An argument ends at a zero.
    if lead_in.len() + prompt.text.len() > ARGUMENT_BYTES || prompt.text.contains('\0') {
        return HandedOver::file(prompt.file);
    }
    HandedOver::new(prompt.text, lead_in)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::command::tests::{ASK, Ask, TERMINAL, build, build_for};
    use crate::dialect::command::{Hooks, Wants};

    const IN_TERMINAL: Ask<'_> = Ask { wants: TERMINAL, ..ASK };
    const TRUSTED: &str = r#"-c projects={"/w"={trust_level="trusted"}}"#;

    #[track_caller]
    fn check(ask: &Ask<'_>, typed: &str) {
        let line = build("codex", ask).unwrap();
        let (seen_models, typed) = (format!(" -c {SEEN_MODELS}"), format!("codex {typed} -- say {{model}}"));
        assert_eq!(line.argv.join(" ").replacen(&seen_models, "", 1), typed);
        assert_eq!((line.stdin, line.output), (PromptVia::Argument, Dialect::Codex));
    }

    #[test]
    fn codex_in_a_terminal_asks_for_nothing_that_exec_would_not() {
        const SANDBOX: &str = "--sandbox workspace-write --ask-for-approval never";
        check(&IN_TERMINAL, &format!("--no-daemon {SANDBOX} {TRUSTED}"));
        check(&Ask { sandboxed: true, ..IN_TERMINAL }, &format!("--no-daemon {BYPASS} {TRUSTED}"));
        check(&Ask { autonomous: false, ..IN_TERMINAL }, &format!("--no-daemon {TRUSTED}"));
        let config = ["hooks.Stop=[1]".to_owned()];
        let hooks = Some(Hooks { settings: "/h.json", config: &config });
        let all = Ask { model: Some("o9"), hooks, args: &["--search"], ..IN_TERMINAL };
        let rest = format!("{SANDBOX} --model o9 {TRUSTED} -c hooks.Stop=[1] {TRUST_HOOKS} --search");
        check(&all, &format!("--no-daemon {rest}"));
        let own =
            Ask { args: &["-s read-only", "--no-daemon", "-c", "projects={}", "-m", "o3"], ..IN_TERMINAL };
        check(&own, "-s read-only --no-daemon -c projects={} -m o3");
    }

    #[test]
    fn flags_of_exec_are_refused() {
        for flag in ["exec", "--json", "-o file", "--output-schema s", "--skip-git-repo-check"] {
            let refused = build("codex", &Ask { args: &[flag], ..IN_TERMINAL }).unwrap_err();
            let CommandLineError::NotInTerminal { flag: named } = refused else { panic!("{refused}") };
            assert!(flag.starts_with(&named), "{flag}");
        }
        let terminal = Terminal { workspace: "/w", prompt_as: PromptAs::SystemPrompt };
        let refused = build("codex", &Ask { wants: Wants::Terminal(terminal), ..ASK }).unwrap_err();
        assert_eq!(refused, CommandLineError::NoSystemPrompt { program: "codex".into() });
    }

    #[test]
    fn a_prompt_is_an_argument_or_a_file() {
        for (prompt, lead_in) in [("!ls", LEAD_IN), ("/help", ""), ("-x", ""), ("a\n!b", "")] {
            let line = build_for("codex", &IN_TERMINAL, prompt).unwrap();
            assert_eq!(line.argv[line.argv.len() - 2..], ["--".to_owned(), format!("{lead_in}{prompt}")]);
            assert_eq!(line.handed_over.unwrap().lead_in, lead_in);
        }
        let text = |prompt: &str| build_for("codex", &IN_TERMINAL, prompt).unwrap().handed_over.unwrap().text;
        assert_eq!(text(&"x".repeat(ARGUMENT_BYTES)).len(), ARGUMENT_BYTES);
        let file = "Read the file /run/prompt.md and do what it says.";
        assert_eq!((&*text(&"x".repeat(ARGUMENT_BYTES + 1)), &*text("a\0b")), (file, file));
        let empty = build_for("codex", &IN_TERMINAL, "").unwrap();
        assert!(!empty.argv.contains(&"--".to_owned()));
    }

    #[test]
    fn a_path_with_quotes_is_one_key() {
        let terminal = Terminal { workspace: "/a \"b\"", prompt_as: PromptAs::Question };
        let line = build("codex", &Ask { wants: Wants::Terminal(terminal), ..ASK }).unwrap();
        assert!(
            line.argv.contains(&r#"projects={"/a \"b\""={trust_level="trusted"}}"#.to_owned()),
            "{:?}",
            line.argv
        );
    }
}
