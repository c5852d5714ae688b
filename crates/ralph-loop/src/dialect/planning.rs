//! The command line of an agent that plans.
//!
//! A planner reads the project and writes drafts, and nothing else: it gets no autonomous flag, only leave to
//! write into one directory. Pure, like [`super::command`], and with the same invariant: what the user
//! wrote wins.

use super::Dialect;
use super::command::{CommandLine, CommandLineError, Invocation, Wants};

/// What is asked of an agent that plans, in no agent's words.
#[derive(Clone, Copy, Debug)]
pub struct Planning<'a> {
    pub program: &'a str,
    /// The user's own flags, as in [`super::Invocation`].
    pub args: &'a [String],
    pub model: Option<&'a str>,
    /// The directory that it writes to. It is outside of the project.
    pub drafts: &'a str,
    pub talk: Talk<'a>,
}

impl<'a> Planning<'a> {
    /// The same as in a loop, with these arguments, for an agent without a terminal.
    pub(super) fn invocation(&self, args: &'a [String], autonomous: bool) -> Invocation<'a> {
        Invocation {
            program: self.program,
            args,
            model: self.model,
            autonomous,
            sandboxed: false,
            wants: Wants::Events,
            session: None,
            budget: None,
            hooks: None,
        }
    }
}

/// How it talks with the user.
#[derive(Clone, Copy, Debug)]
pub enum Talk<'a> {
    /// Not at all. Its prompt is on standard input.
    Never,
    /// It asks over its stream, and ralph answers for the user. Standard input has messages, a JSON object
    /// a line.
    Asks,
    /// It has the user's terminal.
    Conversation(Conversation<'a>),
}

#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    pub session: PlanningSession<'a>,
    /// The file with what it has to know.
    pub instructions: &'a str,
    /// What the user sees as the first message.
    pub opening: &'a str,
    /// A file of settings with the hook that checks the drafts after each turn.
    pub settings: &'a str,
    /// The same as lines of a configuration.
    pub config: &'a [String],
}

#[derive(Clone, Copy, Debug)]
pub enum PlanningSession<'a> {
    /// With this name, if the agent lets others name its sessions.
    New(&'a str),
    Resumed(&'a str),
}

pub(super) struct PlanningSpec {
    pub(super) command_line: fn(&Planning<'_>) -> Result<CommandLine, CommandLineError>,
    /// It can ask over its stream.
    pub(super) asks: bool,
}

/// Whether an agent can write drafts of a plan.
pub fn can_plan(dialect: Dialect) -> bool {
    dialect.spec().planning.is_some()
}

/// Whether it can ask questions over its stream.
pub fn can_ask(dialect: Dialect) -> bool {
    dialect.spec().planning.as_ref().is_some_and(|planning| planning.asks)
}

/// `None` for an agent that cannot plan.
pub fn planning_command(
    dialect: Dialect,
    planning: &Planning<'_>,
) -> Option<Result<CommandLine, CommandLineError>> {
    dialect.spec().planning.as_ref().map(|spec| (spec.command_line)(planning))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::dialect) const ALONE: Planning<'_> =
        Planning { program: "", args: &[], model: None, drafts: "/home/plan/draft", talk: Talk::Never };

    pub(in crate::dialect) const CONVERSATION: Conversation<'_> = Conversation {
        session: PlanningSession::New("s-1"),
        instructions: "/home/plan/instructions.md",
        opening: "Plan it",
        settings: "/home/plan/settings.json",
        config: &[],
    };

    /// The command as it would be typed, without any quoting.
    #[track_caller]
    pub(in crate::dialect) fn check(program: &str, planning: &Planning<'_>, typed: &str) {
        let planning = Planning { program, ..*planning };
        let line = planning_command(Dialect::of_program(program), &planning).unwrap().unwrap();
        assert_eq!(line.argv.join(" "), typed);
    }

    #[test]
    fn agents_that_are_not_known_to_plan_do_not() {
        assert!(can_plan(Dialect::Claude) && can_plan(Dialect::Codex));
        assert!(!can_plan(Dialect::Amp) && !can_plan(Dialect::Plain));
        assert!(can_ask(Dialect::Claude) && !can_ask(Dialect::Codex));
    }
}
