//! Which branches and tags a git command puts somewhere, and where.

use crate::guard::arg::Arg;
use crate::guard::invocation::Invocation;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ref {
    /// The branch that HEAD is.
    Current,
    Branch(String),
    /// `+refs/heads/*:refs/heads/*`
    EveryBranch,
    Tag(String),
}

impl Ref {
    /// Its name in full, if it has one.
    pub fn full(&self) -> Option<String> {
        match self {
            Ref::Branch(name) => Some(format!("refs/heads/{name}")),
            Ref::Tag(name) => Some(format!("refs/tags/{name}")),
            Ref::Current | Ref::EveryBranch => None,
        }
    }
}

/// Whether a branch that is there already is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// Then the command fails.
    IfNew,
    Forced,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub name: Ref,
    /// As written. Nothing if it cannot be known.
    pub to: Option<String>,
    pub strength: Strength,
}

/// The values of a flag before the subcommand: `git -c a=b commit -c HEAD` has one.
pub fn global_values(invocation: &Invocation, flag: &str) -> Vec<Arg> {
    let args = invocation.args[..subcommand_at(invocation)].to_vec();
    Invocation { args, ..Invocation::default() }.flag_values(flag)
}

/// The subcommand and what is behind it: of `git -C dir branch -C a b` only the last `-C` is a flag of the subcommand.
pub fn behind(invocation: &Invocation) -> Invocation {
    let args = invocation.args[subcommand_at(invocation)..].to_vec();
    Invocation { program: Arg::new("git"), args, ..Invocation::default() }
}

fn subcommand_at(invocation: &Invocation) -> usize {
    let subcommand = invocation.operand(0);
    let at = invocation.args.iter().position(|arg| subcommand.is_some_and(|word| std::ptr::eq(arg, word)));
    at.unwrap_or(invocation.args.len())
}

/// The directory that git works in, if it can be known.
pub fn directory(invocation: &Invocation) -> Option<PathBuf> {
    let mut dir = invocation.cwd.clone()?;
    for part in global_values(invocation, "-C") {
        dir = dir.join(part.known()?);
    }
    Some(dir)
}

/// What a git command puts somewhere. `git` begins with the subcommand ([`behind`]).
pub fn placed(git: &Invocation) -> Vec<Placed> {
    let operands = git.operands();
    let Some((subcommand, subjects)) = operands.split_first() else { return Vec::new() };
    match subcommand.text() {
        "checkout" => created(git, subjects, &["-b"], &["-B"]),
        "switch" => created(git, subjects, &["-c", "--create"], &["-C", "--force-create"]),
        "worktree" if subjects.first().is_some_and(|word| word.text() == "add") => worktree(git, subjects),
        "branch" => branch(git, subjects),
        "tag" => tag(git, subjects),
        "reset" => reset(git, subjects),
        "update-ref" => updated(git, subjects),
        "fetch" | "pull" => fetched(git, subjects),
        // The repository itself is the remote.
        "push" if subjects.first().is_some_and(|remote| remote.text() == ".") => fetched(git, subjects),
        _ => Vec::new(),
    }
}

fn is_forced(git: &Invocation) -> bool {
    git.has_any_flag(&["-f", "--force"])
}

fn strength(is_forced: bool) -> Strength {
    if is_forced { Strength::Forced } else { Strength::IfNew }
}

fn known(arg: &Arg) -> Option<String> {
    arg.known().map(str::to_owned)
}

/// The commit that is named, or else HEAD.
fn or_head(start: Option<&&Arg>) -> Option<String> {
    start.map_or_else(|| Some("HEAD".to_owned()), |start| known(start))
}

/// The new branch of a flag, and the operands without it.
fn new_branch<'a>(
    git: &Invocation,
    subjects: &[&'a Arg],
    new: &[&str],
    forced: &[&str],
) -> Option<(String, Strength, Vec<&'a Arg>)> {
    let by = |flags: &[&str]| flags.iter().find_map(|flag| git.flag_value(flag));
    let (name, strength) = match by(forced) {
        Some(name) => (name, Strength::Forced),
        None => (by(new)?, Strength::IfNew),
    };
    let mut rest = subjects.to_vec();
    if let Some(at) = rest.iter().position(|word| **word == name) {
        rest.remove(at);
    }
    Some((known(&name)?, strength, rest))
}

fn created(git: &Invocation, subjects: &[&Arg], new: &[&str], forced: &[&str]) -> Vec<Placed> {
    let Some((name, strength, rest)) = new_branch(git, subjects, new, forced) else { return Vec::new() };
    vec![Placed { name: Ref::Branch(name), to: or_head(rest.first()), strength }]
}

/// `git worktree add -B branch path start`
fn worktree(git: &Invocation, subjects: &[&Arg]) -> Vec<Placed> {
    let Some((name, strength, rest)) = new_branch(git, subjects, &["-b"], &["-B"]) else { return Vec::new() };
    vec![Placed { name: Ref::Branch(name), to: or_head(rest.get(2)), strength }]
}

fn branch(git: &Invocation, subjects: &[&Arg]) -> Vec<Placed> {
    const OTHERWISE: [&str; 17] = [
        "-d",
        "-D",
        "--delete",
        "-l",
        "--list",
        "-a",
        "--all",
        "-r",
        "--remotes",
        "--merged",
        "--no-merged",
        "--contains",
        "--no-contains",
        "--points-at",
        "-u",
        "--set-upstream-to",
        "--unset-upstream",
    ];
    if git.has_any_flag(&OTHERWISE) {
        return Vec::new();
    }
    let by_letter = git.has_any_flag(&["-M", "-C"]);
    let renames = by_letter || git.has_any_flag(&["-m", "--move", "-c", "--copy"]);
    let strength = strength(by_letter || is_forced(git));
    let (name, to) = match subjects {
        [from, to] if renames => (to, known(from)),
        [name, start @ ..] => (name, or_head(start.first())),
        [] => return Vec::new(),
    };
    known(name).map(|name| Placed { name: Ref::Branch(name), to, strength }).into_iter().collect()
}

fn tag(git: &Invocation, subjects: &[&Arg]) -> Vec<Placed> {
    let only_looks =
        git.has_any_flag(&["-d", "--delete", "-l", "--list", "-v", "--verify", "-n", "--points-at"]);
    match subjects {
        [name, commit @ ..] if !only_looks && name.is_known() => vec![Placed {
            name: Ref::Tag(name.text().to_owned()),
            to: or_head(commit.first()),
            strength: strength(is_forced(git)),
        }],
        _ => Vec::new(),
    }
}

/// Whether paths are named behind `--`.
pub fn has_paths(git: &Invocation) -> bool {
    git.args.iter().rev().skip(1).any(|arg| arg.text() == "--")
}

/// `git reset --hard origin/main`. With paths it moves nothing.
fn reset(git: &Invocation, subjects: &[&Arg]) -> Vec<Placed> {
    let has_mode = git.has_any_flag(&["--hard", "--keep", "--merge", "--soft", "--mixed"]);
    let to = match subjects {
        [] if has_mode => Some("HEAD".to_owned()),
        [commit] if has_mode || commit.text().starts_with(['@', 'H']) => known(commit),
        _ => return Vec::new(),
    };
    match has_paths(git) {
        true => Vec::new(),
        false => vec![Placed { name: Ref::Current, to, strength: Strength::Forced }],
    }
}

fn updated(git: &Invocation, subjects: &[&Arg]) -> Vec<Placed> {
    let [name, to, ..] = subjects else { return Vec::new() };
    let name = match name.known() {
        Some("HEAD" | "@") => Ref::Current,
        Some(name) => match name.strip_prefix("refs/heads/") {
            Some(branch) => Ref::Branch(branch.to_owned()),
            None => return Vec::new(),
        },
        None => return Vec::new(),
    };
    match git.has_any_flag(&["-d", "--delete", "--stdin"]) {
        true => Vec::new(),
        false => vec![Placed { name, to: known(to), strength: Strength::Forced }],
    }
}

/// `git fetch origin +main:main`: what was fetched into a local branch with force.
fn fetched(git: &Invocation, subjects: &[&Arg]) -> Vec<Placed> {
    let Some((remote, specs)) = subjects.split_first() else { return Vec::new() };
    let is_forced = is_forced(git);
    let is_here = remote.text() == ".";
    let specs = specs.iter().map(|spec| spec.as_written());
    specs
        .filter_map(|spec| {
            let strong = spec.strip_prefix('+');
            let (from, to) = strong.unwrap_or(&spec).split_once(':')?;
            let branch = to.strip_prefix("refs/heads/").unwrap_or(to);
            if branch.is_empty() || branch.starts_with("refs/") || !(is_forced || strong.is_some()) {
                return None;
            }
            let name = match branch.contains('*') {
                true => Ref::EveryBranch,
                false => Ref::Branch(branch.to_owned()),
            };
            // What a remote has by now cannot be known.
            let to = is_here.then(|| from.to_owned());
            Some(Placed { name, to, strength: Strength::Forced })
        })
        .collect()
}
