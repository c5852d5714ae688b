//! Source control: committing and pushing what has passed its checks.
//!
//! Tasks run in order after an iteration whose checks are green, the completing one
//! included, if anything has changed since they last ran. A failed task ends the tasks of its
//! iteration and nothing else.

use crate::claim::TagScanner;
use crate::echo::EchoFilter;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScmSpec {
    /// The program: `git`.
    pub command: String,
    /// Its subcommands, in order: `commit`, `push`.
    pub tasks: Vec<String>,
}

/// The one task that ralph knows more about: it needs a message and something to commit.
pub const COMMIT: &str = "commit";

/// What an agent is asked for before a commit.
pub const MESSAGE_PROMPT: &str = "Provide a short imperative commit message for the changes. Output only the \
                                  message, no explanation.";

/// The tasks that are due for an iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    pub news: News,
    pub message: Message,
    pub tasks_done: usize,
}

/// Whether anything has changed since the tasks were last done, or since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum News {
    #[default]
    Unknown,
    None,
    Some,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Message {
    #[default]
    Unasked,
    Text(String),
    /// There is nothing to commit.
    Needless,
}

/// What came of asking for a commit message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageOutcome {
    Text(String),
    NothingToCommit,
    Failed { why: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    Done,
    NothingToCommit,
    Failed { why: String },
}

/// The message in an agent's last words: what stands in its first response tag, else the
/// first line with something on it that is not an echo of the prompt.
pub fn message_in(words: &str, tag: Option<&str>) -> Option<String> {
    let given = |tag: Option<&str>| tag.map(str::trim).filter(|tag| !tag.is_empty()).map(String::from);
    if let Some(tag) = given(tag) {
        return Some(tag);
    }
    let (mut first, mut tags) = (None, TagScanner::new());
    let mut take = |line: &str| {
        tags.feed(line);
        tags.feed("\n");
        if first.is_none() && !line.trim().is_empty() {
            first = Some(line.trim().to_string());
        }
    };
    let mut own = EchoFilter::new(MESSAGE_PROMPT);
    for line in words.lines() {
        own.feed_line(line, &mut take);
    }
    own.finish(&mut take);
    given(tags.tag()).or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_wins_over_the_first_line() {
        assert_eq!(message_in("Here it is:\nfix it", Some(" add x ")), Some("add x".into()));
        assert_eq!(message_in("\n  fix it  \nbecause", None), Some("fix it".into()));
        assert_eq!(message_in("\n \n", None), None);
        assert_eq!(message_in("fix", Some("  ")), Some("fix".into()));
        assert_eq!(message_in("Here:\n\"<response>add x</response>\", ok?", None), Some("add x".into()));
    }

    #[test]
    fn an_echo_of_the_prompt_is_no_message() {
        assert_eq!(
            message_in(&format!("{MESSAGE_PROMPT}\nmend the sum\n"), None),
            Some("mend the sum".into())
        );
    }
}
