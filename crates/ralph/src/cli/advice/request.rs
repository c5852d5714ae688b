//! A run that cannot be started as it was asked for.

use crate::error::{CliError, Code};
use crate::request::RequestError;
use crate::request::prompt::PromptError;
use crate::request::root::{self, RefusesRoot};
use crate::request::stories::StoriesError;
use crate::request::tasks::TasksError;
use ralph_loop::dialect::{CommandLineError, Dialect};
use ralph_loop::done_pattern::DonePatternError;

impl From<&RequestError> for CliError {
    fn from(error: &RequestError) -> CliError {
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            RequestError::AgentMissing { program } => {
                usage.hint(format!("{}, or give another program after --", how_to_install(program)))
            }
            RequestError::NoModel { .. } => {
                usage.hint("set it with -m, RALPH_MODEL or agent.model in the settings")
            }
            RequestError::ModelWithoutPlace { model, .. } => usage
                .cause(format!("the model is {model}, but the command has no {{model}} placeholder"))
                .hint("put {model} where it belongs: -- COMMAND --model {model}"),
            RequestError::NotInteractive { cause: CommandLineError::NoSystemPrompt { .. }, .. } => {
                usage.hint("leave out --append-system-prompt")
            }
            RequestError::NotInteractive { .. } => usage.hint("or run it without --interactive"),
            RequestError::Root(error) => error.into(),
            RequestError::EmptyCheck => usage.hint("give it a command: --check \"make test\""),
            RequestError::CheckMissing { check, .. } => usage
                .cause(format!("the check is: {check}"))
                .hint("install it, fix the name, or write ./NAME if the agent will create it"),
            RequestError::LogFile(_) => usage,
            RequestError::Place(error) => error.into(),
            RequestError::Sandbox(error) => error.into(),
            RequestError::Guard(error) => error.into(),
        }
    }
}

pub fn how_to_install(program: &str) -> &'static str {
    let install = Dialect::KNOWN.into_iter().find(|known| known.name() == program);
    match (install, program) {
        (Some(known), _) => known.spec().install,
        (None, "gemini") => "npm install -g @google/gemini-cli",
        (None, _) => "install it",
    }
}

impl From<&RefusesRoot> for CliError {
    fn from(error: &RefusesRoot) -> CliError {
        CliError::from_error(error, Code::Usage).hint(root::ADVICE)
    }
}

impl From<&PromptError> for CliError {
    fn from(error: &PromptError) -> CliError {
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            PromptError::NoLimit => usage.hint("unattended runs need a limit, such as -n 20"),
            PromptError::NoPromptFile => {
                usage.hint("`ralph init prompt` creates one; or pass the text with --prompt")
            }
            PromptError::NoPrompt => usage.hint(
                "say what to do: ralph run \"fix the failing test\", or pass a file with --prompt-file",
            ),
            PromptError::SeveralPrompts(_) => usage.hint("give one of TASK, --prompt, --prompt-file, --spec"),
            PromptError::FileNotFound(_) => usage,
            PromptError::CannotRead { flag, .. } => {
                usage.hint(format!("pass a readable file with {flag}, or the text with --prompt"))
            }
            PromptError::EmptyFile(_) => {
                usage.hint("write what to do in it; `ralph template` prints a starter prompt")
            }
            PromptError::Empty => usage.hint("say what to do: ralph run \"fix the failing test\""),
            PromptError::NothingToCheck => {
                usage.hint("add one with --check COMMAND or `guardrails` in .ralph/settings.json")
            }
            PromptError::DonePattern(error) => error.into(),
            PromptError::EmptyResponse => {
                usage.hint("set the word the agent says when it is done, or pass --checks-only")
            }
            PromptError::LongResponse { .. } => usage,
            PromptError::Request(error) => error.into(),
        }
    }
}

impl From<&DonePatternError> for CliError {
    fn from(error: &DonePatternError) -> CliError {
        CliError::from_error(error, Code::Usage).hint(match error {
            DonePatternError::Unsupported(_) => "rewrite the pattern without it",
            DonePatternError::Empty | DonePatternError::Invalid(_) => {
                "plain text such as \"All tasks complete\" works too"
            }
        })
    }
}

impl From<&StoriesError> for CliError {
    fn from(error: &StoriesError) -> CliError {
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            StoriesError::BranchWithWorktree => {
                usage.hint("a worktree gets its own branch, named after the run")
            }
            StoriesError::CommitOutsideRepository(_) => {
                usage.hint("run `git init`, or drop --commit and `stories.commit`")
            }
            StoriesError::Uncommitted { changes, count, left_by } => {
                let (them, they) = if *count == 1 { ("it", "it") } else { ("them", "they") };
                usage.cause(changes).hint(match left_by {
                    Some(id) => format!(
                        "run {id} stopped here: continue it with `ralph resume {id}`, or commit or stash {them}"
                    ),
                    None => format!(
                        "commit {them}, or stash {them} with `git stash -u`: {they} would end up in a \
                         story's commit"
                    ),
                })
            }
            StoriesError::InvalidOrder(_) => usage.hint("`ralph config show` shows which file it is in"),
            StoriesError::NoSpecs(_) => {
                usage.hint("`ralph init stories` creates them; -C chooses another project")
            }
            StoriesError::Problems(problems) => usage.hint(match &problems[..] {
                [problem] if !problem.hint.is_empty() => &problem.hint,
                _ => "fix them (`ralph stories check` lists all), or skip these stories with --keep-going",
            }),
            StoriesError::Unknown(_) => usage.hint("`ralph stories list` lists them"),
            StoriesError::CannotReadState(_)
            | StoriesError::Git(_)
            | StoriesError::CannotReadSpecs { .. }
            | StoriesError::CannotReadTemplate { .. }
            | StoriesError::TemplateNotText { .. }
            | StoriesError::InvalidTemplate { .. } => usage,
            StoriesError::Request(error) => error.into(),
        }
    }
}

impl From<&TasksError> for CliError {
    fn from(error: &TasksError) -> CliError {
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            TasksError::OutsideProject(_) => {
                usage.hint("choose a directory inside the project with --ralph-dir, or the project with -C")
            }
            TasksError::NoTaskList(error) => error.into(),
            TasksError::Invalid { .. } => usage.hint("`ralph tasks check` lists all problems"),
            TasksError::InvalidOnBranch { .. } => {
                usage.hint("switch to that branch and fix it there, or stay on this branch with --stay")
            }
            TasksError::CannotRun { branch, .. } => {
                let there = branch.as_ref();
                usage.hint_if(there.map(|branch| format!("run `git switch {branch}` and fix it there")))
            }
            TasksError::InvalidBranch(_) => usage.hint("fix branchName in tasks.json, or pass --stay"),
            TasksError::Uncommitted { .. } => {
                usage.hint("commit or stash them, or stay on this branch with --stay")
            }
            TasksError::CannotOpenDir { .. }
            | TasksError::CannotFindDir { .. }
            | TasksError::CannotRead { .. }
            | TasksError::Unreadable { .. } => usage,
            TasksError::Request(error) => error.into(),
        }
    }
}
