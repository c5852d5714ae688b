//! The one table of settings: what each key is called, may hold, defaults to and means.
//!
//! Validation, defaults, the JSON schema, `ralph config show` and the reference in
//! `docs/settings.md` all follow from it. The typed [`Settings`](super::Settings) mirrors it;
//! a property test holds that whatever passes the table also fits the types.

use serde_json::{Map, Value};

#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub default: Fallback,
    pub doc: &'static str,
}

/// What a key may hold. `null` stands for the default everywhere.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Switch,
    /// A whole number of at least so much, and at most [`MOST`].
    Count {
        least: u64,
    },
    /// A number from 0, or above 0, and at most [`MOST`].
    Number {
        zero: bool,
    },
    /// Not blank, without NUL.
    Text,
    /// Text that may be blank, which is the same as leaving it out.
    Note,
    /// One of these, in any letter case.
    Choice(&'static [&'static str]),
    /// A list of [`Kind::Text`].
    Texts,
    Group(&'static [Key]),
    /// A list of objects.
    Groups(&'static [Key]),
    /// An object whose names are the user's and whose values are objects of these keys.
    Named(&'static [Key]),
}

/// What stands where a key is missing or `null`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fallback {
    /// The key must be there.
    Required,
    Nothing,
    Switch(bool),
    Count(u64),
    Text(&'static str),
    EmptyList,
    EmptyObject,
    /// An object of its own keys' defaults.
    Group,
}

/// Above every sensible number of anything here, and far below where sums of milliseconds or
/// of billionths of a dollar would overflow.
pub const MOST: u64 = 1_000_000_000;

/// Besides the keys: what editors use to find the schema.
pub const SCHEMA_KEY: &str = "$schema";

pub const FAIL_ACTIONS: &[&str] = &["APPEND", "PREPEND", "REPLACE"];

pub const KEYS: &[Key] = &[
    Key {
        name: "maximumIterations",
        kind: Kind::Count { least: 1 },
        default: Fallback::Count(10),
        doc: "Stop after so many iterations (`-n`).",
    },
    Key {
        name: "completionResponse",
        kind: Kind::Text,
        default: Fallback::Text("DONE"),
        doc: "The word that the agent says when it is done (`-c`).",
    },
    Key {
        name: "outputTruncateChars",
        kind: Kind::Count { least: 0 },
        default: Fallback::Count(5_000),
        doc: "How many characters of a failed guardrail's output the next prompt carries.",
    },
    Key {
        name: "streamAgentOutput",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "Show what the agent does while it works (`--stream-agent-output`).",
    },
    Key {
        name: "includeIterationCountInPrompt",
        kind: Kind::Switch,
        default: Fallback::Switch(false),
        doc: "Begin the prompt with `Iteration X of Y, Z remaining.`",
    },
    Key { name: "agent", kind: Kind::Group(AGENT), default: Fallback::Group, doc: "Who does the work." },
    Key {
        name: "guardrails",
        kind: Kind::Groups(GUARDRAIL),
        default: Fallback::EmptyList,
        doc: "Checks: commands that must succeed before a run is done.",
    },
    Key {
        name: "scm",
        kind: Kind::Group(SCM),
        default: Fallback::Group,
        doc: "What to do with the changes of an iteration whose checks are all green.",
    },
    Key {
        name: "maxCost",
        kind: Kind::Number { zero: false },
        default: Fallback::Nothing,
        doc: "Begin no iteration once agents have cost so many US dollars (`--max-cost`).",
    },
    Key {
        name: "prices",
        kind: Kind::Named(PRICE),
        default: Fallback::EmptyObject,
        doc: "What models cost, by the beginning of their names, for agents that tell tokens and no dollars.",
    },
    Key {
        name: "maxTime",
        kind: Kind::Number { zero: false },
        default: Fallback::Nothing,
        doc: "End the run after so many seconds (`--max-time`).",
    },
    Key {
        name: "timeout",
        kind: Kind::Number { zero: false },
        default: Fallback::Nothing,
        doc: "End an agent that takes longer than so many seconds (`-t`).",
    },
    Key {
        name: "checkTimeout",
        kind: Kind::Number { zero: false },
        default: Fallback::Count(120),
        doc: "Seconds that a check may take.",
    },
    Key {
        name: "maxFailures",
        kind: Kind::Count { least: 1 },
        default: Fallback::Count(5),
        doc: "End the run after so many failed agents in a row (`--max-failures`).",
    },
    Key {
        name: "stallAfter",
        kind: Kind::Count { least: 0 },
        default: Fallback::Count(5),
        doc: "End the run after so many iterations in a row that change nothing and fail alike, or bring \
              no task further; 0 is never (`--stall-after`).",
    },
    Key {
        name: "backoff",
        kind: Kind::Group(BACKOFF),
        default: Fallback::Group,
        doc: "How long to wait after a failed agent; the wait doubles with each failure in a row.",
    },
    Key {
        name: "context",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "End the prompt with how to finish, the checks, the diff so far and the progress.",
    },
    Key {
        name: "checkpoints",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "Record the tree before each iteration, for `ralph diff` and `ralph undo`.",
    },
    Key {
        name: "largestFile",
        kind: Kind::Number { zero: false },
        default: Fallback::Count(10),
        doc: "MiB; checkpoints leave out files that are larger.",
    },
    Key {
        name: "minFreeSpace",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(500),
        doc: "MiB; while less is free where the project or ralph's records lie, no iteration begins and the \
              run waits. 0 is off.",
    },
    Key {
        name: "keepRuns",
        kind: Kind::Count { least: 0 },
        default: Fallback::Count(100),
        doc: "How many finished runs of a project are kept. When another ends, the oldest goes with all that \
              belongs to it.",
    },
    Key {
        name: "keepCheckpoints",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(500),
        doc: "MiB that the checkpoints of a run may take up; beyond that the older half of them goes. 0 is no limit.",
    },
    Key {
        name: "keepStreams",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(200),
        doc: "MiB of what agents printed that are kept of a run, as much of its prompts, of the logs of \
              checks and of a worker's output; the oldest goes first, and of prompts and logs all but the \
              newest 2,000 files. 0 is all.",
    },
    Key {
        name: "stories",
        kind: Kind::Group(STORIES),
        default: Fallback::Group,
        doc: "How `ralph stories` works through `specs/`.",
    },
    Key {
        name: "tasks",
        kind: Kind::Group(TASKS),
        default: Fallback::Group,
        doc: "How `ralph tasks` works through `ralph/tasks.json`.",
    },
    Key {
        name: "agents",
        kind: Kind::Group(AGENTS),
        default: Fallback::Group,
        doc: "Other agents for one kind of work: different eyes see different things.",
    },
    Key {
        name: "notify",
        kind: Kind::Text,
        default: Fallback::Nothing,
        doc: "A command to run when a run is done, failed, paused, stalled, or waits for a service or a disk (`--notify`).",
    },
];

const AGENT: &[Key] = &[
    Key {
        name: "command",
        kind: Kind::Text,
        default: Fallback::Text("claude"),
        doc: "The agent's program (`--agent`).",
    },
    Key {
        name: "flags",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Its arguments; `\"--model opus\"` is two.",
    },
    Key { name: "model", kind: Kind::Text, default: Fallback::Nothing, doc: "Its model (`-m`)." },
    Key {
        name: "autonomous",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "Tell known agents to act without asking.",
    },
];

const GUARDRAIL: &[Key] = &[
    Key {
        name: "command",
        kind: Kind::Text,
        default: Fallback::Required,
        doc: "What `sh -c` is to run; success is exit code 0.",
    },
    Key {
        name: "failAction",
        kind: Kind::Choice(FAIL_ACTIONS),
        default: Fallback::Required,
        doc: "Where a failure stands in the next prompt: after it, before it, or in its place.",
    },
    Key {
        name: "hint",
        kind: Kind::Note,
        default: Fallback::Nothing,
        doc: "What the agent is told beside the output of a failure.",
    },
    Key {
        name: "timeout",
        kind: Kind::Number { zero: false },
        default: Fallback::Nothing,
        doc: "Seconds that it may take, instead of `checkTimeout`.",
    },
];

const PRICE: &[Key] = &[
    Key {
        name: "input",
        kind: Kind::Number { zero: true },
        default: Fallback::Required,
        doc: "US dollars a million tokens that go in.",
    },
    Key {
        name: "cachedInput",
        kind: Kind::Number { zero: true },
        default: Fallback::Nothing,
        doc: "The same for those that come from a cache, instead of `input`.",
    },
    Key {
        name: "cacheWrite",
        kind: Kind::Number { zero: true },
        default: Fallback::Nothing,
        doc: "The same for those that are put into a cache, instead of `input`.",
    },
    Key {
        name: "output",
        kind: Kind::Number { zero: true },
        default: Fallback::Required,
        doc: "US dollars a million tokens that come out.",
    },
];

const SCM: &[Key] = &[
    Key { name: "command", kind: Kind::Text, default: Fallback::Text("git"), doc: "The program." },
    Key {
        name: "tasks",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Its subcommands in their order, such as `commit`, `push`; none is off.",
    },
];

const STORIES: &[Key] = &[
    Key {
        name: "order",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "The ids of the stories to run, in this order; none is by dependencies and numbers.",
    },
    Key {
        name: "rules",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "The project's own rules, told to every agent: `Money is counted in whole cents.`",
    },
    Key {
        name: "verify",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Commands that must succeed before a story is believed to be done. Agents are told them, \
              and they are run after each.",
    },
    Key {
        name: "maxRetries",
        kind: Kind::Count { least: 1 },
        default: Fallback::Count(3),
        doc: "Give up on a story after so many failed attempts (`--max-retries`).",
    },
    Key {
        name: "commit",
        kind: Kind::Switch,
        default: Fallback::Switch(false),
        doc: "Commit each story when it is done, as `[1.1] Title`, on a branch of the run (`--commit`).",
    },
];

const TASKS: &[Key] = &[
    Key {
        name: "commitLeft",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "Commit what an agent has left uncommitted, as `wip: [US-001] …`; else only tell of it.",
    },
    Key {
        name: "hooks",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "Hand ralph's hooks to Claude and Codex, so that they hear of mistakes while they can mend them.",
    },
];

const AGENTS: &[Key] = &[
    Key {
        name: "review",
        kind: Kind::Text,
        default: Fallback::Nothing,
        doc: "Who reviews (`--review-agent`).",
    },
    Key {
        name: "fix",
        kind: Kind::Text,
        default: Fallback::Nothing,
        doc: "Who mends what a review has found.",
    },
];

const BACKOFF: &[Key] = &[
    Key {
        name: "base",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(1),
        doc: "Seconds to wait after a first failure.",
    },
    Key {
        name: "cap",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(300),
        doc: "Seconds to wait at most.",
    },
];

impl Kind {
    /// The keys of an object, or of each object in a list or under a name.
    pub fn keys(self) -> &'static [Key] {
        match self {
            Kind::Group(keys) | Kind::Groups(keys) | Kind::Named(keys) => keys,
            Kind::Switch
            | Kind::Count { .. }
            | Kind::Number { .. }
            | Kind::Text
            | Kind::Note
            | Kind::Choice(_)
            | Kind::Texts => &[],
        }
    }

    /// What stands between a key and the keys inside it, where a path is written for people.
    pub fn way_in(self) -> &'static str {
        match self {
            Kind::Groups(_) => "[].",
            Kind::Named(_) => "[\"…\"].",
            Kind::Group(_)
            | Kind::Switch
            | Kind::Count { .. }
            | Kind::Number { .. }
            | Kind::Text
            | Kind::Note
            | Kind::Choice(_)
            | Kind::Texts => ".",
        }
    }
}

impl Key {
    pub fn default_value(&self) -> Value {
        match self.default {
            Fallback::Required | Fallback::Nothing => Value::Null,
            Fallback::Switch(on) => on.into(),
            Fallback::Count(count) => count.into(),
            Fallback::Text(text) => text.into(),
            Fallback::EmptyList => Value::Array(Vec::new()),
            Fallback::EmptyObject => Value::Object(Map::new()),
            Fallback::Group => complete(Value::Null, self.kind.keys()),
        }
    }
}

/// A checked value with every default put in, and nothing that the table does not know.
pub fn complete(value: Value, keys: &[Key]) -> Value {
    let mut given = match value {
        Value::Object(given) => given,
        _ => Map::new(),
    };
    let mut full = |key: &Key| match (key.kind, given.remove(key.name).unwrap_or(Value::Null)) {
        (Kind::Group(keys), value) => complete(value, keys),
        (_, Value::Null) => key.default_value(),
        (Kind::Groups(keys), Value::Array(items)) => {
            items.into_iter().map(|item| complete(item, keys)).collect()
        }
        (Kind::Named(keys), Value::Object(entries)) => {
            let given = entries.into_iter().filter(|(_, entry)| !entry.is_null());
            given.map(|(name, entry)| (name, complete(entry, keys))).collect()
        }
        (_, value) => value,
    };
    keys.iter().map(|key| (key.name.to_string(), full(key))).collect()
}
