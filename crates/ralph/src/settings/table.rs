//! The one table of settings: what each key is called, may hold, defaults to and means.
//!
//! Validation, defaults, the JSON schema, `ralph config show` and the reference in
//! `docs/settings.md` all follow from it. The typed [`Settings`](super::Settings) mirrors it;
//! a property test holds that whatever passes the table also fits the types.

use ralph_loop::guard::Category;
use ralph_loop::sandbox::SandboxChoice;
use ralph_loop::sandbox::network::NetworkMode;
use serde_json::{Map, Value};

#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub default: Fallback,
    pub doc: &'static str,
}

/// What a key may hold. `null` means the default everywhere.
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

/// The value of a key that is missing or `null`.
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
        doc: "Stop after this many iterations (`-n`).",
    },
    Key {
        name: "completionResponse",
        kind: Kind::Text,
        default: Fallback::Text("DONE"),
        doc: "The word the agent says when it is done (`-c`).",
    },
    Key {
        name: "outputTruncateChars",
        kind: Kind::Count { least: 0 },
        default: Fallback::Count(5_000),
        doc: "How many characters of a failed check's output go into the next prompt.",
    },
    Key {
        name: "streamAgentOutput",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "Show the agent's output while it runs (`--stream-agent-output`).",
    },
    Key {
        name: "includeIterationCountInPrompt",
        kind: Kind::Switch,
        default: Fallback::Switch(false),
        doc: "Start the prompt with `Iteration X of Y, Z remaining.`",
    },
    Key {
        name: "agent",
        kind: Kind::Group(AGENT),
        default: Fallback::Group,
        doc: "The agent that does the work.",
    },
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
        doc: "What to do with the changes of an iteration whose checks all pass.",
    },
    Key {
        name: "maxCost",
        kind: Kind::Number { zero: false },
        default: Fallback::Nothing,
        doc: "Start no more iterations once the agents have cost this many US dollars (`--max-cost`).",
    },
    Key {
        name: "prices",
        kind: Kind::Named(PRICE),
        default: Fallback::EmptyObject,
        doc: "Prices of models, by the start of their names, for agents that report tokens but no dollars.",
    },
    Key {
        name: "maxTime",
        kind: Kind::Number { zero: false },
        default: Fallback::Nothing,
        doc: "Stop the run after this many seconds (`--max-time`).",
    },
    Key {
        name: "timeout",
        kind: Kind::Number { zero: false },
        default: Fallback::Nothing,
        doc: "Stop an agent that takes longer than this many seconds (`-t`).",
    },
    Key {
        name: "checkTimeout",
        kind: Kind::Number { zero: false },
        default: Fallback::Count(120),
        doc: "How many seconds a check may take (`--check-timeout`).",
    },
    Key {
        name: "maxFailures",
        kind: Kind::Count { least: 1 },
        default: Fallback::Count(5),
        doc: "Stop after this many failed agents in a row (`--max-failures`).",
    },
    Key {
        name: "stallAfter",
        kind: Kind::Count { least: 0 },
        default: Fallback::Count(5),
        doc: "Stop after this many iterations in a row without progress: nothing changes and the same \
              checks fail, or no task advances; 0 means never (`--stall-after`).",
    },
    Key {
        name: "proof",
        kind: Kind::Group(PROOF),
        default: Fallback::Group,
        doc: "How a result is proven: see docs/proof.md.",
    },
    Key {
        name: "sandbox",
        kind: Kind::Group(SANDBOX),
        default: Fallback::Group,
        doc: "What keeps agents and checks inside the project: see docs/sandbox.md. A name alone, as in \
              `\"sandbox\": \"none\"`, is its `kind`.",
    },
    Key {
        name: "guard",
        kind: Kind::Group(GUARD),
        default: Fallback::Group,
        doc: "Which tool calls of agents are denied: see docs/guard.md. A run keeps to what it began with.",
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
        doc: "Add to the prompt how to finish, the checks, the diff so far and the progress.",
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
        doc: "MiB; checkpoints skip larger files.",
    },
    Key {
        name: "minFreeSpace",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(500),
        doc: "MiB; while less is free on the disks of the project or of ralph's records, the run waits \
              before the next iteration. 0 turns this off.",
    },
    Key {
        name: "keepRuns",
        kind: Kind::Count { least: 0 },
        default: Fallback::Count(100),
        doc: "How many finished runs of a project are kept. When another ends, the oldest is removed with \
              everything that belongs to it.",
    },
    Key {
        name: "keepCheckpoints",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(500),
        doc: "MiB that the checkpoints of a run may use; beyond that the older half is removed. 0 means no limit.",
    },
    Key {
        name: "keepStreams",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(200),
        doc: "MiB of agent output that are kept per run, and the same for prompts, check logs and a \
              worker's output; the oldest is removed first. Of prompts and logs only the newest 2,000 \
              files are kept. 0 keeps all.",
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
        name: "workers",
        kind: Kind::Group(WORKERS),
        default: Fallback::Group,
        doc: "How workers run their agents: see docs/interactive.md.",
    },
    Key {
        name: "agents",
        kind: Kind::Group(AGENTS),
        default: Fallback::Group,
        doc: "Other agents for reviews and fixes.",
    },
    Key {
        name: "notify",
        kind: Kind::Text,
        default: Fallback::Nothing,
        doc: "Command to run when a run is done, fails, pauses, stalls, or waits for a service or for disk space (`--notify`).",
    },
    Key {
        name: "mask",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Variables of the environment whose values are masked in logs and reports although their names do not \
              look like secrets. A name may end with `*`. See docs/secrets.md.",
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
        doc: "Its arguments; `\"--model opus\"` counts as two.",
    },
    Key { name: "model", kind: Kind::Text, default: Fallback::Nothing, doc: "Its model (`-m`)." },
    Key {
        name: "autonomous",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "Let known agents act without asking.",
    },
];

const GUARDRAIL: &[Key] = &[
    Key {
        name: "command",
        kind: Kind::Text,
        default: Fallback::Required,
        doc: "The command, run with `/bin/sh -c`; exit code 0 means success.",
    },
    Key {
        name: "failAction",
        kind: Kind::Choice(FAIL_ACTIONS),
        default: Fallback::Required,
        doc: "Where the output of a failure goes in the next prompt: after it, before it, or instead of it.",
    },
    Key {
        name: "hint",
        kind: Kind::Note,
        default: Fallback::Nothing,
        doc: "A hint for the agent, next to the output of a failure.",
    },
    Key {
        name: "timeout",
        kind: Kind::Number { zero: false },
        default: Fallback::Nothing,
        doc: "How many seconds it may take, instead of `checkTimeout`.",
    },
];

const PRICE: &[Key] = &[
    Key {
        name: "input",
        kind: Kind::Number { zero: true },
        default: Fallback::Required,
        doc: "US dollars per million input tokens.",
    },
    Key {
        name: "cachedInput",
        kind: Kind::Number { zero: true },
        default: Fallback::Nothing,
        doc: "The same for input tokens read from a cache, instead of `input`.",
    },
    Key {
        name: "cacheWrite",
        kind: Kind::Number { zero: true },
        default: Fallback::Nothing,
        doc: "The same for input tokens written to a cache, instead of `input`.",
    },
    Key {
        name: "output",
        kind: Kind::Number { zero: true },
        default: Fallback::Required,
        doc: "US dollars per million output tokens.",
    },
];

const SCM: &[Key] = &[
    Key {
        name: "command",
        kind: Kind::Text,
        default: Fallback::Text("git"),
        doc: "The version control program.",
    },
    Key {
        name: "tasks",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Its subcommands in order, such as `commit` and `push`; an empty list turns this off.",
    },
];

const STORIES: &[Key] = &[
    Key {
        name: "order",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "The ids of the stories to run, in this order; if empty, dependencies and numbers decide.",
    },
    Key {
        name: "rules",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Rules of the project for every agent: `Money is counted in whole cents.`",
    },
    Key {
        name: "verify",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Checks of every story: agents get the commands in their prompt, and ralph runs them after \
              each agent.",
    },
    Key {
        name: "maxRetries",
        kind: Kind::Count { least: 1 },
        default: Fallback::Count(3),
        doc: "Stop after this many failed attempts at a story (`--max-retries`).",
    },
    Key {
        name: "commit",
        kind: Kind::Switch,
        default: Fallback::Switch(false),
        doc: "Commit each story when it is done, as `[1.1] Title`, on a branch for the run (`--commit`).",
    },
];

const WORKERS: &[Key] = &[
    Key {
        name: "interactive",
        kind: Kind::Switch,
        default: Fallback::Switch(false),
        doc: "Run the agents of workers on a terminal that people can watch and type into (`--interactive`).",
    },
    Key {
        name: "readyTimeout",
        kind: Kind::Number { zero: false },
        default: Fallback::Count(30),
        doc: "Seconds until an agent that shows no sign of being ready is reported as waiting for you \
              (`--ready-timeout`).",
    },
    Key {
        name: "permissions",
        kind: Kind::Choice(&["ask", "allow"]),
        default: Fallback::Text("ask"),
        doc: "What becomes of an interactive agent's request for a permission: `ask` waits for you, `allow` \
              grants it (`--permissions`).",
    },
];

const TASKS: &[Key] = &[
    Key {
        name: "commitLeft",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "Commit what an agent leaves uncommitted, as `wip: [US-001] …`; otherwise only report it.",
    },
    Key {
        name: "hooks",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "Pass ralph's hooks to Claude and Codex, so that they can fix mistakes before they stop.",
    },
];

const AGENTS: &[Key] = &[
    Key {
        name: "review",
        kind: Kind::Text,
        default: Fallback::Nothing,
        doc: "The agent for reviews (`--review-agent`).",
    },
    Key {
        name: "fix",
        kind: Kind::Text,
        default: Fallback::Nothing,
        doc: "The agent that fixes what a review found.",
    },
];

pub const PROOF_MODES: &[&str] = &["auto", "in-place", "clean", "strict"];

const PROOF: &[Key] = &[
    Key {
        name: "mode",
        kind: Kind::Choice(PROOF_MODES),
        default: Fallback::Text("auto"),
        doc: "`auto` runs the checks on a clean copy where it can, `clean` only there, `in-place` never; \
              `strict` also refuses what passes only with changed tests (`--proof`).",
    },
    Key {
        name: "baseline",
        kind: Kind::Switch,
        default: Fallback::Switch(true),
        doc: "Run the checks once before the first agent (`--no-baseline`).",
    },
    Key {
        name: "carry",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Ignored paths that the copy uses as they are in the working tree, beside `node_modules`, \
              `.venv` and the like; `*` and `{a,b}` as in a shell, from the top of the repository.",
    },
    Key {
        name: "setup",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Commands that install dependencies into the copy, if the agent has changed them.",
    },
    Key {
        name: "pin",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Globs of files that decide over a verdict, beside tests and well-known configuration: `*.snap`, \
              `ci/**`, `{a,b}.sh`.",
    },
    Key {
        name: "junit",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Globs of JUnit XML files that the checks write.",
    },
];

pub const ENV_RULES: &[&str] = &["most", "only"];

const SANDBOX: &[Key] = &[
    Key {
        name: "kind",
        kind: Kind::Choice(&SandboxChoice::NAMES),
        default: Fallback::Text("auto"),
        doc: "`auto` takes the first one that works and goes on without if none does; a named one has to work \
              (`--sandbox=NAME`); `none` is no sandbox (`--no-sandbox`).",
    },
    Key {
        name: "read",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Further paths that can be read inside; `~` is the home.",
    },
    Key {
        name: "write",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Further paths that can be written inside, also protected ones of the project (`.vscode`).",
    },
    Key {
        name: "tools",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Further tools of the home that can be used inside, by name or by path.",
    },
    Key {
        name: "env",
        kind: Kind::Choice(ENV_RULES),
        default: Fallback::Text("most"),
        doc: "`most` passes on all variables but sockets of the session and what looks like a secret; `only` a \
              few that every program needs, and `variables`.",
    },
    Key {
        name: "variables",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Variables that are passed on in any case.",
    },
    Key {
        name: "network",
        kind: Kind::Choice(&NetworkMode::NAMES),
        default: Fallback::Text("allowlist"),
        doc: "`allowlist` reaches the services of the agents, the registries of the project and `hosts`; `off` \
              nothing; `open` everything, services on this machine included.",
    },
    Key {
        name: "hosts",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Further hosts that can be reached inside: `example.org`, `*.example.org`, `example.org:8443`, or a \
              group: `npm`, `crates`, `pypi`, `go`, `maven`, `github`, `debian`.",
    },
    Key {
        name: "forward",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Ports of services on this machine that are reached at the same port inside: `5432`, or `redis:6379` \
              with a name for people.",
    },
    Key {
        name: "processes",
        kind: Kind::Count { least: 0 },
        default: Fallback::Count(4096),
        doc: "So many processes at a time; 0 is no limit.",
    },
    Key {
        name: "memory",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(0),
        doc: "MiB of memory; 0 is three quarters of what the machine has.",
    },
    Key {
        name: "fileSize",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(20_480),
        doc: "MiB that one file can have; 0 is no limit.",
    },
    Key {
        name: "tmpSize",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(4096),
        doc: "MiB of temporary files; 0 is half of the memory.",
    },
];

pub const GUARD_LEVELS: &[&str] = &["off", "warn", "block"];

const GUARD: &[Key] = &[
    Key {
        name: "allow",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Commands that are allowed whatever the rules say: `git push --force origin wip/*`. `*` is any text; \
              a `*` of its own at the end, any further words. The lines of `ralph/allowed-commands.txt` are added.",
    },
    Key {
        name: "deny",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Commands that are denied in any case, in the same form: `npm install *`.",
    },
    Key {
        name: "ask",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Categories that you are asked about in your own sessions of Claude. In runs of ralph and in Codex they \
              block: there is no one to ask.",
    },
    Key {
        name: "writable",
        kind: Kind::Texts,
        default: Fallback::EmptyList,
        doc: "Directories outside the project in which agents may delete and overwrite; `~` is the home.",
    },
    Key {
        name: "categories",
        kind: Kind::Group(&GUARD_CATEGORIES),
        default: Fallback::Group,
        doc: "How strict the guard is, per category: `block` denies, `warn` lets it run and says so, `off` looks away.",
    },
];

/// A key per category, in their order.
const GUARD_CATEGORIES: [Key; Category::ALL.len()] = {
    const NONE: Key =
        Key { name: "", kind: Kind::Choice(GUARD_LEVELS), default: Fallback::Text("block"), doc: "" };
    let mut keys = [NONE; Category::ALL.len()];
    let mut at = 0;
    while at < keys.len() {
        let category = Category::ALL[at];
        keys[at] = Key { name: category.name(), doc: category.title(), ..NONE };
        at += 1;
    }
    keys
};

const BACKOFF: &[Key] = &[
    Key {
        name: "base",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(1),
        doc: "Seconds to wait after the first failure.",
    },
    Key {
        name: "cap",
        kind: Kind::Number { zero: true },
        default: Fallback::Count(300),
        doc: "The longest wait, in seconds.",
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

    /// Separates a key from the keys inside it, in paths shown to people.
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
