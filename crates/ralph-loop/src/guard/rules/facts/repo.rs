//! What a git command would do to history and to the repository.

use crate::guard::arg::Arg;
use crate::guard::paths::{Zone, locate};
use crate::guard::repo::{behind, branch_name, directory, global_values};
use crate::guard::walk::EVERY_BRANCH;
use crate::guard::{GitQuestion, Invocation, Site, World};

/// Asks about the repository that a command works in.
pub fn ask(invocation: &Invocation, world: &World<'_>, question: GitQuestion<'_>) -> Option<bool> {
    let dir = directory(invocation).filter(|_| invocation.site == Site::Here)?;
    (world.git)(&invocation.repo.asked_in(dir)?, question)
}

/// Operands behind the subcommand.
pub fn subjects(invocation: &Invocation) -> Vec<&Arg> {
    invocation.operands().into_iter().skip(1).collect()
}

/// `git push origin :branch`
pub fn pushes_deletion(invocation: &Invocation, _: &World<'_>) -> bool {
    subjects(invocation).iter().skip(1).any(|spec| {
        let text = spec.text().trim_start_matches('+');
        text.starts_with(':') && text.len() > 1
    })
}

fn is_main_branch(name: &str) -> bool {
    matches!(name, "main" | "master" | "develop" | "production" | "prod" | "trunk" | "staging")
        || name.starts_with("release")
}

/// A branch that others work on, or a copy of which is on a remote.
pub fn deletes_shared_branch(invocation: &Invocation, world: &World<'_>) -> bool {
    let is_forced = invocation.has_flag("-D") || invocation.has_flag("--force") || invocation.has_flag("-f");
    let is_remote_tracking = invocation.has_any_flag(&["-r", "--remotes"]);
    !is_remote_tracking
        && subjects(invocation).iter().any(|branch| {
            is_main_branch(branch.text())
                || (is_forced && branch.text() == EVERY_BRANCH)
                || (is_forced
                    && ask(invocation, world, GitQuestion::HasRemoteBranch(branch_name(branch.text())))
                        == Some(true))
        })
}

/// `git branch -M main old`: the branch that others know is gone.
pub fn renames_main_branch(invocation: &Invocation, _: &World<'_>) -> bool {
    let subjects = subjects(invocation);
    subjects.len() > 1 && subjects.first().is_some_and(|from| is_main_branch(from.text()))
}

/// What git would keep for weeks goes at once.
pub fn forgets_history(invocation: &Invocation, _: &World<'_>) -> bool {
    let is_soon = |age: &str| {
        let is_long = ["week", "month", "year", "never", "day"].iter().any(|unit| age.contains(unit));
        !age.is_empty() && !is_long
    };
    let expires = |key: &str| {
        let key = key.to_lowercase();
        key == "gc.pruneexpire" || (key.starts_with("gc.") && key.contains("reflogexpire"))
    };
    let once = global_values(invocation, "-c");
    let mut once = once.iter().filter_map(|set| set.text().split_once('='));
    let is_set_once = once.any(|(key, value)| expires(key) && is_soon(value));
    match invocation.operand(0).map(Arg::text) {
        Some("gc" | "maintenance") => {
            is_set_once || invocation.flag_values("--prune").iter().any(|age| is_soon(age.text()))
        }
        Some("config") => {
            written_setting(invocation).is_some_and(|(key, value)| expires(&key) && is_soon(&value))
        }
        _ => true,
    }
}

/// Keys that make git run a program, read another configuration, or trust what it should not.
fn is_dangerous_key(key: &str) -> bool {
    const KEYS: [&str; 19] = [
        "core.hookspath",
        "core.fsmonitor",
        "core.sshcommand",
        "core.gitproxy",
        "core.askpass",
        "core.worktree",
        "core.alternaterefscommand",
        "credential.helper",
        "diff.external",
        "init.templatedir",
        "include.path",
        "http.proxy",
        "https.proxy",
        "gpg.program",
        "user.signingkey",
        "sequence.editor",
        "uploadpack.packobjectshook",
        "gpg.ssh.defaultkeycommand",
        "receive.denynonfastforwards",
    ];
    let key = key.to_lowercase();
    let starts = |section: &str| key.starts_with(section);
    KEYS.contains(&&*key)
        || starts("filter.")
        || starts("includeif.")
        || starts("protocol.")
        || (starts("url.") && key.ends_with("insteadof"))
        || (starts("credential.") && key.ends_with(".helper"))
        || (starts("diff.") && (key.ends_with(".command") || key.ends_with(".textconv")))
        || (starts("merge.") && key.ends_with(".driver"))
        || (starts("submodule.") && key.ends_with(".update"))
        || (starts("remote.")
            && [".url", "pushurl", "pack", ".push", ".mirror"].iter().any(|end| key.ends_with(end)))
}

/// A key that is dangerous with some value.
pub fn may_run_program(key: &str) -> bool {
    let lower = key.to_lowercase();
    is_dangerous_key(key)
        || matches!(&*lower, "core.editor" | "core.pager")
        || ["alias.", "pager."].iter().any(|section| lower.starts_with(section))
        || lower.ends_with("sslverify")
}

/// A setting that is dangerous with its value.
fn is_dangerous_setting(key: &str, value: &str) -> bool {
    let lower = key.to_lowercase();
    let is_code = value.contains([';', '|', '&', '`', '$', '!']);
    is_dangerous_key(key)
        || (lower.starts_with("alias.") && value.starts_with('!'))
        || (matches!(&*lower, "core.editor" | "core.pager") && is_code)
        || (lower.starts_with("pager.") && is_code)
        || (lower.ends_with("sslverify") && matches!(value, "false" | "0" | "no" | "off"))
}

/// Key and value that `git config` would write. Without a value, the key is removed.
fn written_setting(invocation: &Invocation) -> Option<(String, String)> {
    if invocation.has_any_flag(&[
        "--get",
        "--get-all",
        "--get-regexp",
        "-l",
        "--list",
        "--get-urlmatch",
        "--show-origin",
    ]) {
        return None;
    }
    let words: Vec<&str> = subjects(invocation).into_iter().map(Arg::text).collect();
    let removes = invocation.has_any_flag(&["--unset", "--unset-all", "--remove-section"]);
    match words.as_slice() {
        ["get" | "list", ..] => None,
        ["set" | "unset", key, rest @ ..] => Some(((*key).to_owned(), rest.join(" "))),
        [key, value, ..] => Some(((*key).to_owned(), (*value).to_owned())),
        [key] if removes => Some(((*key).to_owned(), String::new())),
        _ => None,
    }
}

pub fn sets_dangerous_setting(invocation: &Invocation, _: &World<'_>) -> bool {
    written_setting(invocation).is_some_and(|(key, value)| is_dangerous_setting(&key, &value))
}

/// For all repositories of the user.
pub fn sets_global_setting(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.has_any_flag(&["--global", "--system"])
        && written_setting(invocation).is_some_and(|(key, _)| key.to_lowercase() != "safe.directory")
}

/// `git -c core.sshCommand=… fetch`
pub fn has_dangerous_setting(invocation: &Invocation, _: &World<'_>) -> bool {
    let mut given = global_values(invocation, "-c");
    given.extend(global_values(invocation, "--config-env"));
    given.iter().any(|setting| {
        let (key, value) = setting.text().split_once('=').unwrap_or((setting.text(), "true"));
        is_dangerous_setting(key, value) && !runs_less(key, value)
    })
}

/// Without a helper or an editor, less is run than before. Hooks are the user's checks, and stay.
fn runs_less(key: &str, value: &str) -> bool {
    match &*key.to_lowercase() {
        "credential.helper" => matches!(value, "" | "/dev/null" | "false"),
        "diff.external" => value.is_empty(),
        "core.fsmonitor" => matches!(value, "" | "false" | "true" | "0" | "1"),
        "sequence.editor" => matches!(value, ":" | "true" | "cat"),
        // What submodules of local paths need since git 2.38.
        "protocol.file.allow" => true,
        _ => false,
    }
}

/// A repository that is not in the workspace, named by its path or after a `cd`.
pub fn changes_other_repository(invocation: &Invocation, world: &World<'_>) -> bool {
    const CHANGES: [&str; 21] = [
        "add",
        "am",
        "apply",
        "branch",
        "checkout",
        "cherry-pick",
        "clean",
        "commit",
        "config",
        "gc",
        "merge",
        "mv",
        "pull",
        "push",
        "rebase",
        "reset",
        "restore",
        "revert",
        "rm",
        "stash",
        "tag",
    ];
    let Some(subcommand) = invocation.operand(0) else { return false };
    if !CHANGES.contains(&subcommand.text())
        || (subcommand.text() == "branch" && subjects(invocation).is_empty())
    {
        return false;
    }
    let mut places: Vec<Arg> =
        ["-C", "--git-dir", "--work-tree"].iter().flat_map(|flag| global_values(invocation, flag)).collect();
    if places.is_empty() && invocation.site == Site::Here && invocation.cwd.is_some() {
        places.push(Arg::new("."));
    }
    let is_outside = places
        .iter()
        .any(|dir| matches!(locate(dir, invocation, world).zone, Zone::Home | Zone::Outside | Zone::System));
    is_outside
        && (discards_changes(invocation)
            || ask(invocation, world, GitQuestion::IsUsersWorktree) != Some(true))
}

/// In another worktree of the same repository, commits are ordinary work. What is not committed there is the user's.
fn discards_changes(invocation: &Invocation) -> bool {
    let git = behind(invocation);
    let operands: Vec<&str> = git.operands().into_iter().map(Arg::text).collect();
    match operands.as_slice() {
        ["clean" | "restore" | "rm" | "stash" | "mv" | "config" | "gc", ..] => true,
        ["reset", ..] => !git.has_flag("--soft"),
        ["checkout", "." | "./"] => true,
        ["checkout", _] => {
            git.has_any_flag(&["-f", "--force"]) || git.args.iter().any(|arg| arg.text() == "--")
        }
        ["checkout", ..] => !git.has_any_flag(&["-b"]),
        _ => false,
    }
}

/// `git rm -rf .`
pub fn removes_everything(invocation: &Invocation, world: &World<'_>) -> bool {
    !invocation.has_any_flag(&["--cached", "-n", "--dry-run"])
        && subjects(invocation)
            .iter()
            .any(|path| is_every_file(path) || locate(path, invocation, world).zone == Zone::WholeWorkspace)
}

/// Patterns that git matches itself: quoted, no shell expands them.
fn is_every_file(path: &Arg) -> bool {
    matches!(path.text(), "*" | "**" | "./*" | "*.*" | ":/" | ":/*" | ":/." | ":(top)" | ":(top)*")
}

/// Whether the current or a named branch is one that others work on: `git update-ref refs/heads/main`.
pub fn moves_main_ref(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.has_any_flag(&["-d", "--delete", "--stdin"])
        || subjects(invocation)
            .first()
            .is_some_and(|name| name.text().strip_prefix("refs/heads/").is_some_and(is_main_branch))
}

/// Sets or deletes it; with one name it is only shown.
pub fn writes_symbolic_ref(invocation: &Invocation, _: &World<'_>) -> bool {
    subjects(invocation).len() > 1 || invocation.has_any_flag(&["-d", "--delete"])
}
