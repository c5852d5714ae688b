//! Claude as a planner: it may read, and write drafts. All else it has to ask for.
//!
//! Without a person to ask that is refused, so it needs no `--dangerously-skip-permissions` and works
//! for root too.

use super::command::{SKIP, command_line as in_a_loop};
use crate::dialect::Dialect;
use crate::dialect::command::{AnswerIn, Built, CommandLine, Flags, Prompt, PromptVia};
use crate::dialect::planning::{Conversation, Planning, PlanningSession, PlanningSpec, Talk};

pub(super) const SPEC: PlanningSpec = PlanningSpec { command_line, asks: true };

fn command_line(planning: &Planning<'_>) -> Built {
    let Planning { program, args, model, drafts, talk } = *planning;
    // With `=`, as these flags take all words that follow.
    let mut args = args.to_vec();
    args.push(format!("--add-dir={drafts}"));
    // Its own default lets it run much without asking.
    if !Flags::split(&args).has_any(&["--permission-mode", SKIP]) {
        args.push("--permission-mode=default".to_owned());
    }
    args.push(format!("--allowedTools=Edit(/{drafts}/**),Read(/{drafts}/**)"));
    if let Talk::Conversation(conversation) = talk {
        return Ok(conversation_line(program, &args, model, &conversation));
    }
    if let Talk::Asks = talk {
        args.extend(["--input-format", "stream-json", "--permission-prompt-tool", "stdio"].map(String::from));
    }
    in_a_loop(&planning.invocation(&args, false), &Prompt { text: "", file: "" })
}

fn conversation_line(
    program: &str,
    args: &[String],
    model: Option<&str>,
    conversation: &Conversation<'_>,
) -> CommandLine {
    let Conversation { session, instructions, opening, settings, .. } = *conversation;
    let user = Flags::split(args);
    let mut argv = vec![program.to_owned()];
    let mut add = |flag: &str, value: &str| argv.extend([flag.to_owned(), value.to_owned()]);
    if let Some(model) = model.filter(|_| !user.has("--model")) {
        add("--model", model);
    }
    if !user.has("--settings") {
        add("--settings", settings);
    }
    add("--append-system-prompt-file", instructions);
    match session {
        PlanningSession::New(id) => add("--session-id", id),
        PlanningSession::Resumed(id) => add("--resume", id),
    }
    argv.extend(user.0);
    if let PlanningSession::New(_) = session {
        argv.extend(["--".to_owned(), opening.to_owned()]);
    }
    CommandLine {
        argv,
        stdin: PromptVia::Argument,
        output: Dialect::Claude,
        answer: AnswerIn::Stdout,
        handed_over: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::planning::tests::{ALONE, CONVERSATION, check};

    const DRAFTS: &str = "--add-dir=/home/plan/draft --permission-mode=default \
        --allowedTools=Edit(//home/plan/draft/**),Read(//home/plan/draft/**)";

    #[test]
    fn claude_may_write_drafts_and_nothing_else() {
        let stream = "claude -p --output-format stream-json --verbose --include-partial-messages";
        check("claude", &ALONE, &format!("{stream} {DRAFTS}"));
        let asks = Planning { talk: Talk::Asks, model: Some("opus"), ..ALONE };
        check(
            "claude",
            &asks,
            &format!(
                "{stream} --model opus {DRAFTS} --input-format stream-json --permission-prompt-tool stdio"
            ),
        );
    }

    #[test]
    fn a_conversation_is_named_and_can_be_continued() {
        let talk = Planning { talk: Talk::Conversation(CONVERSATION), ..ALONE };
        let flags =
            "--settings /home/plan/settings.json --append-system-prompt-file /home/plan/instructions.md";
        check("claude", &talk, &format!("claude {flags} --session-id s-1 {DRAFTS} -- Plan it"));
        let again = Conversation { session: PlanningSession::Resumed("s-1"), ..CONVERSATION };
        let again = Planning { talk: Talk::Conversation(again), ..ALONE };
        check("claude", &again, &format!("claude {flags} --resume s-1 {DRAFTS}"));
    }

    #[test]
    fn the_users_own_settings_and_model_win() {
        let args = ["--settings mine.json".to_owned(), "--model=opus".to_owned()];
        let talk =
            Planning { talk: Talk::Conversation(CONVERSATION), args: &args, model: Some("sonnet"), ..ALONE };
        check(
            "claude",
            &talk,
            &format!(
                "claude --append-system-prompt-file /home/plan/instructions.md --session-id s-1 \
                 --settings mine.json --model=opus {DRAFTS} -- Plan it"
            ),
        );
    }
}
