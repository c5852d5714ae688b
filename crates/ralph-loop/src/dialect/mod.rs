//! What agents print, read as one kind of events.
//!
//! A [`StreamReader`] takes an agent's output in reads of any size, hands [`AgentEvent`]s to a
//! sink while it goes, and ends with [`StreamSummary`], the small record that a journal keeps.
//! [`answer`] judges that record together with the exit code, since either alone may lie.
//!
//! Invariants: no input is an error, only data (`Unparsed`); how the stream is cut into reads
//! changes nothing; memory is bounded by one line.
//!
//! Deliberately absent: pipes and processes. Bytes come in, events go out.

mod amp;
mod api_error;
mod claim_scanner;
mod claude;
mod codex;
mod command;
mod event;
mod json;
mod lines;
mod loose;
mod own_line;
mod plain;
mod planning;
mod questions;
mod refusal;
mod spec;
mod stream_summary;
mod task_tools;

pub use claim_scanner::ScanFor;
pub use command::{
    AnswerIn, CommandLine, CommandLineError, HandedOver, Hooks, Invocation, PromptAs, PromptVia, Terminal,
    Wants, can_commit, claude_settings, command_line, named_model, skips_permissions, stated_model,
    without_model,
};
pub use event::{AgentEvent, ResultInfo, TodoItem, TodoStatus, ToolInput};
pub use lines::{Line, Lines};
pub(crate) use own_line::OwnLine;
pub use own_line::{Awaited, NeedsPerson};
pub use planning::{Conversation, Planning, PlanningSession, Talk, can_ask, can_plan, planning_command};
pub(crate) use questions::questions_of;
pub use questions::{
    Control, PermissionAsked, Question, QuestionChoice, QuestionsAsked, allow_answers, control_request, deny,
    user_message,
};
pub use refusal::{Blocker, Complaint, Refusal, complaint};
pub use spec::{DialectSpec, OutputKind};
pub use stream_summary::{Answer, Exit, StreamSummary, Tokens, answer};

use crate::done_pattern::DonePattern;
use claude::Claude;
use codex::Codex;
use own_line::Person;
use plain::Plain;
use serde::{Deserialize, Serialize};
use spec::Listener;

/// Which language an agent speaks: its flags and its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Claude Code's `stream-json`.
    Claude,
    /// Codex's `exec --json`.
    Codex,
    /// Amp's `--stream-json`.
    Amp,
    /// Any other command: its output is text, its exit code the only verdict.
    Plain,
}

impl Dialect {
    /// The dialect of a program, known by its base name.
    pub fn of_program(program: &str) -> Dialect {
        let base = program.rsplit('/').next();
        Dialect::KNOWN.into_iter().find(|known| Some(known.name()) == base).unwrap_or(Dialect::Plain)
    }

    /// Those of programs that ralph knows, in the order in which they are listed.
    pub const KNOWN: [Dialect; 3] = [Dialect::Claude, Dialect::Codex, Dialect::Amp];

    pub fn spec(self) -> &'static DialectSpec {
        match self {
            Dialect::Claude => &claude::SPEC,
            Dialect::Codex => &codex::SPEC,
            Dialect::Amp => &amp::SPEC,
            Dialect::Plain => &plain::SPEC,
        }
    }

    pub fn name(self) -> &'static str {
        self.spec().name
    }
}

/// Where events go while the stream is read.
type Sink<'s> = &'s mut dyn FnMut(AgentEvent<'_>);

/// Reads one agent's output from beginning to end.
#[derive(Debug)]
pub struct StreamReader {
    lines: Lines,
    reader: Reader,
    person: Person,
    seen: StreamSummary,
}

#[derive(Debug)]
enum Reader {
    /// Amp's too.
    Claude(Claude),
    Codex(Codex),
    Plain(Box<Plain>),
}

impl StreamReader {
    /// `prompt` is what the agent was sent. Only a plain agent's reader looks at it, to tell its
    /// echo from the agent's own words.
    pub fn new(dialect: Dialect, prompt: &str, listen: ScanFor) -> StreamReader {
        StreamReader::watching(dialect, prompt, listen, None)
    }

    /// As `new`, for a run that ends when the agent's words match a pattern.
    pub fn watching(
        dialect: Dialect,
        prompt: &str,
        listen: ScanFor,
        pattern: Option<DonePattern>,
    ) -> StreamReader {
        let reader = (dialect.spec().reader)(Listener { prompt, listen, pattern });
        StreamReader {
            lines: Lines::default(),
            reader,
            person: Person::default(),
            seen: StreamSummary::default(),
        }
    }

    /// For an agent in a terminal: lines of ralph's own count, also between those of a plain one. What that one prints
    /// is only what was on its screen.
    pub fn in_terminal(mut self) -> StreamReader {
        self.person.is_heard = true;
        self
    }

    /// The next bytes of output. Events are lent to `sink` for the length of the call.
    pub fn feed(&mut self, bytes: &[u8], sink: Sink<'_>) {
        let StreamReader { lines, reader, person, seen } = self;
        lines.feed(bytes, &mut |line| reader.line(line, person, seen, sink));
    }

    /// A line of standard error. Only a plain agent has words there that count.
    pub fn feed_stderr(&mut self, line: &Line<'_>) {
        match &mut self.reader {
            Reader::Claude(_) | Reader::Codex(_) => {}
            Reader::Plain(plain) => plain.error_line(line),
        }
    }

    /// What keeps the agent from going on, by what it has reported so far.
    pub fn blocked(&self) -> Option<Blocker> {
        if self.person.awaited.is_some() {
            return Some(Blocker::Person);
        }
        match &self.reader {
            Reader::Claude(claude) => claude.blocked(),
            Reader::Codex(codex) => codex.blocked(),
            Reader::Plain(_) => None,
        }
    }

    /// What a person is to do about an agent that is blocked by one.
    pub fn awaited(&self) -> Option<&Awaited> {
        self.person.awaited.as_ref()
    }

    /// The output is over; what it came to.
    pub fn finish(mut self, sink: Sink<'_>) -> StreamSummary {
        let StreamReader { lines, reader, person, seen } = &mut self;
        lines.finish(&mut |line| reader.line(line, person, seen, sink));
        match self.reader {
            Reader::Claude(claude) => claude.finish(&mut self.seen),
            Reader::Codex(codex) => codex.finish(&mut self.seen),
            Reader::Plain(plain) => plain.finish(&mut self.seen),
        }
        self.seen
    }
}

impl Reader {
    fn line(&mut self, line: Line<'_>, person: &mut Person, seen: &mut StreamSummary, sink: Sink<'_>) {
        // What a plain agent prints can be anything, also a line like one of ralph's.
        let is_heard = person.is_heard || !matches!(self, Reader::Plain(_));
        if is_heard && matches!(line, Line::Whole(bytes) if person.takes(bytes, seen, sink)) {
            return;
        }
        match self {
            Reader::Claude(claude) => claude.line(line, seen, sink),
            Reader::Codex(codex) => codex.line(line, seen, sink),
            Reader::Plain(plain) => plain.line(line, seen, sink),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_base_name() {
        for (program, dialect) in [
            ("claude", Dialect::Claude),
            ("/usr/local/bin/claude", Dialect::Claude),
            ("codex", Dialect::Codex),
            ("./node_modules/.bin/codex", Dialect::Codex),
            ("amp", Dialect::Amp),
            ("./claude.sh", Dialect::Plain),
            ("claude/run", Dialect::Plain),
            ("amplify", Dialect::Plain),
            ("", Dialect::Plain),
        ] {
            assert_eq!(Dialect::of_program(program), dialect, "{program}");
        }
    }
}

#[cfg(test)]
mod pattern_tests {
    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, prompt: &str, output: &str, expected: bool) {
        let pattern = DonePattern::new("All tasks complete").ok();
        let mut reader = StreamReader::watching(dialect, prompt, ScanFor::Completion, pattern);
        for piece in output.as_bytes().chunks(7) {
            reader.feed(piece, &mut |_| ());
        }
        assert_eq!(reader.finish(&mut |_| ()).matched, expected, "{output}");
    }

    #[test]
    fn only_the_agents_own_words_match_a_pattern() {
        let text =
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"All tasks complete"}]}}"#;
        check(Dialect::Claude, "", text, true);
        check(Dialect::Claude, "", &text.replace(r#""text":"All"#, r#""text":"Not all"#), false);
        let tool = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"All tasks complete"}]}}"#;
        check(Dialect::Claude, "", tool, false);
        let own = r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"All tasks complete"}}"#;
        check(Dialect::Codex, "", own, true);
        let command =
            own.replace("agent_message", "command_execution").replace(r#""text""#, r#""aggregated_output""#);
        check(Dialect::Codex, "", &command, false);
    }

    #[test]
    fn an_echo_of_the_prompt_does_not_match_and_an_honest_line_does() {
        let prompt = "Work.\nSay when:\nAll tasks complete\nNot before.\n";
        check(Dialect::Plain, prompt, prompt, false);
        check(Dialect::Plain, prompt, &format!("{prompt}\x1b[1mAll tasks complete\x1b[0m"), true);
        // A tag that was heard does not keep the pattern from being heard.
        check(Dialect::Plain, "", "<response>DONE</response>\nAll tasks complete\n", true);
    }
}
