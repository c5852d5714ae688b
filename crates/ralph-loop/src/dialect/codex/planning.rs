//! Codex as a planner: its own sandbox lets it write where it works, so it works in the drafts and only
//! reads the project.

use super::command::command_line as in_a_loop;
use crate::dialect::Dialect;
use crate::dialect::command::{AnswerIn, Built, CommandLine, Flags, Prompt, PromptVia};
use crate::dialect::planning::{Conversation, Planning, PlanningSession, PlanningSpec, Talk};

pub(super) const SPEC: PlanningSpec = PlanningSpec { command_line, asks: false };

fn command_line(planning: &Planning<'_>) -> Built {
    let Planning { program, args, model, drafts, talk } = *planning;
    if let Talk::Conversation(conversation) = talk {
        return Ok(conversation_line(program, args, model, drafts, &conversation));
    }
    let mut args = args.to_vec();
    args.extend(["--cd".to_owned(), drafts.to_owned()]);
    in_a_loop(&planning.invocation(&args, true), &Prompt { text: "", file: "" })
}

fn conversation_line(
    program: &str,
    args: &[String],
    model: Option<&str>,
    drafts: &str,
    conversation: &Conversation<'_>,
) -> CommandLine {
    let Conversation { session, instructions, config, .. } = *conversation;
    let user = Flags::split(args);
    // Without the first, a server that other sessions share goes on when the terminal is gone.
    let mut argv: Vec<String> = vec![program.to_owned(), "--no-daemon".to_owned()];
    let mut add = |flag: &str, value: &str| argv.extend([flag.to_owned(), value.to_owned()]);
    if let Some(model) = model.filter(|_| !user.has_any(&["--model", "-m"])) {
        add("--model", model);
    }
    if !super::command::chooses_sandbox(&user) {
        add("--sandbox", "workspace-write");
    }
    add("--cd", drafts);
    // It is ralph's own directory: the user is not asked whether to trust it.
    add("-c", &format!("projects={{{drafts:?}={{trust_level=\"trusted\"}}}}"));
    for line in config {
        add("-c", line);
    }
    if !config.is_empty() {
        argv.push("--dangerously-bypass-hook-trust".to_owned());
    }
    argv.extend(user.0);
    match session {
        PlanningSession::New(_) => argv.push(format!("Read {instructions} and plan with me as it says.")),
        PlanningSession::Resumed(id) => argv.extend(["resume".to_owned(), id.to_owned()]),
    }
    CommandLine {
        argv,
        stdin: PromptVia::Argument,
        output: Dialect::Codex,
        answer: AnswerIn::Stdout,
        handed_over: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::planning::tests::{ALONE, CONVERSATION, check};

    #[test]
    fn codex_works_in_the_drafts() {
        check(
            "codex",
            &Planning { model: Some("o9"), ..ALONE },
            "codex exec --json --sandbox workspace-write --skip-git-repo-check --model o9 \
             --cd /home/plan/draft -",
        );
    }

    #[test]
    fn a_conversation_has_its_hook_and_can_be_continued() {
        let config = ["hooks.Stop=[]".to_owned()];
        let conversation = Conversation { config: &config, ..CONVERSATION };
        let flags = "codex --no-daemon --sandbox workspace-write --cd /home/plan/draft \
            -c projects={\"/home/plan/draft\"={trust_level=\"trusted\"}} -c hooks.Stop=[] \
            --dangerously-bypass-hook-trust";
        let talk = Planning { talk: Talk::Conversation(conversation), ..ALONE };
        check(
            "codex",
            &talk,
            &format!("{flags} Read /home/plan/instructions.md and plan with me as it says."),
        );
        let again = Conversation { session: PlanningSession::Resumed("s-1"), ..conversation };
        let again = Planning { talk: Talk::Conversation(again), ..ALONE };
        check("codex", &again, &format!("{flags} resume s-1"));
    }
}
