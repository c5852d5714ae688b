//! Loops and functions without an end: those that start more and more, and those that fill a disk.

use crate::guard::invocation::Invocation;
use crate::guard::shell::ast::{
    Command, Compound, List, Part, Pipeline, Redirect, RedirectKind, Simple, Target, Word,
};

/// A loop that goes round so often without waiting is taken for one without end.
const MANY: u64 = 500;

/// What a loop does if nothing stops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Harm {
    StartsProcesses,
    FillsDisk,
}

impl Harm {
    /// What a rule knows it by.
    pub(super) fn name(self) -> &'static str {
        match self {
            Harm::StartsProcesses => "<fork-bomb>",
            Harm::FillsDisk => "<endless-write>",
        }
    }
}

/// What a loop without end comes to, with what is redirected from it.
pub(super) fn harm_without_end(compound: &Compound, redirects: &[Redirect]) -> Option<Harm> {
    let body = match compound {
        Compound::While { condition, body } if is_endless(condition) => body,
        Compound::Counted { header, body } if counts_without_end(header) => body,
        _ => return None,
    };
    match waits(body) {
        true => None,
        false if starts(body) => Some(Harm::StartsProcesses),
        false if fills(body) || (prints(body) && redirects.iter().any(into_file)) => Some(Harm::FillsDisk),
        false => None,
    }
}

/// What a loop over many values comes to.
pub(super) fn harm_of_many(body: &List) -> Option<Harm> {
    (!waits(body) && starts(body)).then_some(Harm::StartsProcesses)
}

/// `seq 1 100000`
pub(super) fn counts_far(invocation: &Invocation) -> bool {
    let last = invocation.args.last().and_then(|arg| arg.text().parse::<u64>().ok());
    invocation.name() == "seq" && last.is_some_and(|last| last >= MANY)
}

/// Whether a function starts itself more than once, or in the background: each copy makes more.
pub(super) fn multiplies(name: &str, body: &Command) -> bool {
    let Command::Compound(Compound::Braces(list) | Compound::Subshell(list), _) = body else { return false };
    let calls = |command: &Command| matches!(command, Command::Simple(simple) if is_plain(simple, &[name]));
    let is_many = |pipeline: &Pipeline| {
        let parts = pipeline.0.iter().filter(|command| calls(command) || any_below(command, &calls));
        parts.count() > 1
    };
    let in_background = all_commands(list).iter().any(|found| found.in_background && calls(found.command));
    pipelines(list).into_iter().any(is_many) || (in_background && !waits(list))
}

/// Whether the program is one of these, written plainly.
pub(super) fn is_plain(simple: &Simple, names: &[&str]) -> bool {
    plain_words(simple).first().is_some_and(|name| names.contains(name))
}

/// A command in a list, however deep.
struct Found<'l> {
    command: &'l Command,
    /// It, or something around it in the list.
    in_background: bool,
}

fn all_commands(list: &List) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    for item in &list.0 {
        for command in item.pipelines.iter().flat_map(|pipeline| &pipeline.0) {
            let below = lists(command).into_iter().flat_map(all_commands);
            found.push(Found { command, in_background: item.in_background });
            found.extend(
                below
                    .map(|found| Found { in_background: found.in_background || item.in_background, ..found }),
            );
        }
    }
    found
}

fn pipelines(list: &List) -> Vec<&Pipeline> {
    let here = list.0.iter().flat_map(|item| &item.pipelines);
    here.flat_map(|pipeline| {
        let below = pipeline.0.iter().flat_map(lists).flat_map(pipelines).collect::<Vec<_>>();
        [vec![pipeline], below].concat()
    })
    .collect()
}

/// The lists in a command.
fn lists(command: &Command) -> Vec<&List> {
    let Command::Compound(compound, _) = command else { return Vec::new() };
    match compound {
        Compound::Braces(list) | Compound::Subshell(list) => vec![list],
        Compound::If { arms, otherwise } => {
            arms.iter().flat_map(|arm| [&arm.condition, &arm.body]).chain(otherwise).collect()
        }
        Compound::While { condition, body } => vec![condition, body],
        Compound::For { body, .. } | Compound::Counted { body, .. } => vec![body],
        Compound::Case { arms, .. } => arms.iter().collect(),
        Compound::Test(_) => Vec::new(),
    }
}

fn any_below(command: &Command, is_meant: &dyn Fn(&Command) -> bool) -> bool {
    lists(command).into_iter().flat_map(all_commands).any(|found| is_meant(found.command))
}

fn plain_text(word: &Word) -> Option<&str> {
    match word.0.as_slice() {
        [Part::Plain(text) | Part::Quoted(text)] => Some(text),
        _ => None,
    }
}

/// The text of parts in which nothing is expanded.
fn constant(parts: &[Part]) -> Option<String> {
    let text = |part: &Part| match part {
        Part::Plain(text) | Part::Quoted(text) => Some(text.clone()),
        Part::Double(parts) => constant(parts),
        Part::Parameter(_) | Part::Output(_) | Part::Process(_) | Part::Number(_) => None,
    };
    parts.iter().map(text).collect()
}

/// The words up to the first that is not plain.
fn plain_words(simple: &Simple) -> Vec<&str> {
    simple.words.iter().map_while(plain_text).collect()
}

/// `true`, `:`, `[ 1 ]`, `(( 1 ))`: a condition that never changes.
fn is_endless(condition: &List) -> bool {
    let commands: Vec<&Command> =
        condition.0.iter().flat_map(|item| &item.pipelines).flat_map(|pipeline| &pipeline.0).collect();
    match commands.as_slice() {
        [Command::Simple(simple)] => {
            let words = plain_words(simple);
            let is_whole = words.len() == simple.words.len();
            match words.as_slice() {
                // `until false`
                ["true" | ":" | "/bin/true" | "false" | "/bin/false", ..] | ["sleep", "0"] => true,
                ["test", rest @ ..] | ["[", rest @ .., "]"] if is_whole => is_constant(rest),
                _ => false,
            }
        }
        [Command::Compound(Compound::Test(words), _)] => {
            let texts: Option<Vec<String>> = words.iter().map(|word| constant(&word.0)).collect();
            texts.is_some_and(|texts| is_constant(&texts.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        _ => false,
    }
}

/// Words of a test that asks for nothing: no variable, no file.
fn is_constant(words: &[&str]) -> bool {
    let is_number = |word: &str| word.trim().bytes().all(|byte| byte.is_ascii_digit());
    match words {
        [one] => is_number(one) || one.trim() == "true",
        [left, _, right] => is_number(left) && is_number(right) || left == right,
        _ => false,
    }
}

/// `for ((;;))`, `for ((i=0; i<100000; i++))`
fn counts_without_end(header: &Word) -> bool {
    let Some(text) = constant(&header.0) else { return false };
    let condition = text.split(';').nth(1).unwrap_or_default().trim();
    let limit = condition.rsplit(['<', '=']).next().unwrap_or_default().trim();
    condition.is_empty() || is_constant(&[condition]) || limit.parse::<u64>().is_ok_and(|limit| limit >= MANY)
}

/// Whether a body waits for something, or can leave the loop.
fn waits(body: &List) -> bool {
    const WAITS: [&str; 15] = [
        "sleep",
        "usleep",
        "wait",
        "read",
        "break",
        "return",
        "exit",
        "exec",
        "inotifywait",
        "fswatch",
        "timeout",
        "nc",
        "ncat",
        "select",
        "flock",
    ];
    let is_wait = |command: &Command| matches!(command, Command::Simple(simple) if is_plain(simple, &WAITS));
    all_commands(body).iter().any(|found| !found.in_background && is_wait(found.command))
}

/// Whether it starts something in the background, or makes a file, each time.
fn starts(body: &List) -> bool {
    const MAKES: [&str; 4] = ["mkdir", "touch", "mktemp", "fallocate"];
    let makes = |command: &Command| matches!(command, Command::Simple(simple) if is_plain(simple, &MAKES));
    all_commands(body).iter().any(|found| found.in_background || makes(found.command))
}

/// Programs that write as fast as the disk does.
const WRITES_FAST: [&str; 16] = [
    "cat", "yes", "head", "dd", "cp", "tee", "echo", "printf", "tr", "openssl", "base64", "seq", "date",
    "tar", "gzip", "xxd",
];

/// Whether it makes a file longer each time, or another one.
fn fills(body: &List) -> bool {
    all_commands(body).iter().any(|found| match found.command {
        Command::Simple(simple) if is_plain(simple, &WRITES_FAST) => {
            let appends = |redirect: &Redirect| {
                into_file(redirect)
                    && (redirect.kind == RedirectKind::Append
                        || matches!(&redirect.target, Target::Word(word) if changes(word)))
            };
            let names_other = (is_plain(simple, &["dd"]) && simple.words.iter().any(changes))
                || (is_plain(simple, &["cp", "tee"]) && simple.words.last().is_some_and(changes));
            let adds = is_plain(simple, &["tee"]) && plain_words(simple).contains(&"-a");
            simple.redirects.iter().any(appends) || names_other || adds
        }
        _ => false,
    })
}

fn prints(body: &List) -> bool {
    all_commands(body)
        .iter()
        .any(|found| matches!(found.command, Command::Simple(simple) if is_plain(simple, &WRITES_FAST)))
}

/// Whether a word may be another one each time.
fn changes(word: &Word) -> bool {
    constant(&word.0).is_none()
}

/// Whether output goes into a file that keeps it.
fn into_file(redirect: &Redirect) -> bool {
    let is_sink = |word: &Word| plain_text(word).is_some_and(|text| text.starts_with("/dev/"));
    let keeps = matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append);
    keeps && matches!(&redirect.target, Target::Word(word) if !is_sink(word))
}
