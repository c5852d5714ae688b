//! Whether a git command loses commits, or rewrites those that a remote has.

use super::repo::{ask, subjects};
use crate::guard::arg::Arg;
use crate::guard::repo::{Branch, Origin, Placed, Ref, Strength, behind, branch_name, global_values, placed};
use crate::guard::{GitQuestion, Invocation, World};

/// Whether the old commits of a branch are nowhere else once it was moved. Nothing if it cannot be known.
fn loses(invocation: &Invocation, world: &World<'_>, moved: &Placed) -> Option<bool> {
    let repo = &invocation.repo;
    let branch = match (&moved.name, &repo.head.branch) {
        _ if repo.origin == Origin::Cloned => return Some(false),
        (Ref::Tag(_), _) | (Ref::Current, Branch::Detached) => return Some(false),
        (Ref::EveryBranch, _) => return Some(true),
        (Ref::Branch(name), _) => branch_name(name),
        (Ref::Current, _) => repo.head.name()?,
    };
    // To a commit that cannot be known, everything is lost that nothing else has.
    let to = moved.to.as_deref().and_then(|to| repo.resolve(to));
    if branch == "HEAD" && to.as_deref() == Some("HEAD") {
        return Some(false);
    }
    let mut kept: Vec<&str> = to.as_deref().into_iter().collect();
    let loses = ask(invocation, world, GitQuestion::LosesWork { branch, kept: &kept })?;
    let before = kept.len();
    kept.extend(made_before(invocation, world, branch).filter(|_| loses));
    match kept.len() > before {
        true => ask(invocation, world, GitQuestion::LosesWork { branch, kept: &kept }),
        false => Some(loses),
    }
}

/// Commits that the line itself has put other branches or tags at: `git branch backup && git reset --hard HEAD~3`.
fn made_before<'a>(
    invocation: &'a Invocation,
    world: &'a World<'_>,
    moved: &'a str,
) -> impl Iterator<Item = &'a str> {
    let made = invocation.repo.made.iter();
    made.filter(move |made| match (&made.name, made.name.full(), made.strength) {
        (Ref::Branch(name), ..) if name == moved => false,
        (_, Some(_), Strength::Forced) => true,
        // If there was one before, making it has failed.
        (_, Some(full), Strength::IfNew) => ask(invocation, world, GitQuestion::HasRef(&full)) == Some(false),
        (_, None, _) => false,
    })
    .filter_map(|made| made.commit.as_deref())
}

/// A reset that loses commits, or may.
pub fn resets_over_commits(invocation: &Invocation, world: &World<'_>) -> bool {
    placed(&behind(invocation)).iter().any(|moved| match (loses(invocation, world, moved), &moved.to) {
        (Some(loses), _) => loses,
        (None, Some(to)) => !is_near_head(to),
        (None, None) => true,
    })
}

/// `HEAD`, and up to three commits before it.
fn is_near_head(text: &str) -> bool {
    matches!(
        text,
        "HEAD"
            | "@"
            | "HEAD^"
            | "HEAD^^"
            | "HEAD~"
            | "HEAD~0"
            | "HEAD~1"
            | "HEAD~2"
            | "HEAD~3"
            | "@~1"
            | "@~"
            | "@^"
            | "ORIG_HEAD"
    )
}

/// A branch that is there, put somewhere else by force: `git checkout -B main origin/main`.
pub fn moves_over_commits(invocation: &Invocation, world: &World<'_>) -> bool {
    let moved = placed(&behind(invocation));
    let mut forced = moved.iter().filter(|moved| moved.strength == Strength::Forced);
    forced.any(|moved| loses(invocation, world, moved) == Some(true))
}

/// An amended commit that some remote has.
pub fn amends_published(invocation: &Invocation, world: &World<'_>) -> bool {
    let commit = invocation.repo.head.old_commit();
    commit.is_some_and(|commit| ask(invocation, world, GitQuestion::IsPublished(commit)) == Some(true))
}

/// A rebase rewrites everything that is not in its upstream.
pub fn rebases_published(invocation: &Invocation, world: &World<'_>) -> bool {
    const STEPS: [&str; 6] =
        ["--continue", "--abort", "--skip", "--quit", "--edit-todo", "--show-current-patch"];
    let git = behind(invocation);
    if git.has_any_flag(&STEPS) {
        return false;
    }
    let is_root = git.has_flag("--root");
    let repo = &invocation.repo;
    let resolved = |arg: &Arg| repo.resolve(arg.known()?);
    let mut subjects = subjects(&git).into_iter();
    let upstream = match is_root {
        true => None,
        false => {
            let given = subjects.next();
            let upstream = given.map_or_else(|| repo.resolve("@{upstream}"), resolved);
            let Some(upstream) = upstream else { return false };
            Some(upstream)
        }
    };
    let tip = subjects.next().map_or_else(|| repo.head.base().map(str::to_owned), resolved);
    let Some(tip) = tip else { return false };
    let question = GitQuestion::AnyPublished { upstream: upstream.as_deref(), tip: &tip };
    match (ask(invocation, world, question), is_root) {
        (Some(any), _) => any,
        // All of a history is a lot.
        (None, is_root) => is_root,
    }
}

/// Forced, and not only onto branches that no remote has.
pub fn forces_published(invocation: &Invocation, world: &World<'_>) -> bool {
    let git = behind(invocation);
    let by_flag = git.args.iter().any(|arg| arg.text().starts_with("--force")) || git.has_flag("-f");
    let subjects = subjects(&git);
    let specs: Vec<&str> = subjects.iter().skip(1).map(|spec| spec.text()).collect();
    let by_refspec = specs.iter().any(|spec| spec.starts_with('+'));
    // The repository itself: its own branches are moved.
    let is_here = subjects.first().is_some_and(|remote| remote.text() == ".");
    let is_trial = git.has_any_flag(&["-n", "--dry-run"]);
    if !(by_flag || by_refspec) || is_here || is_trial {
        return false;
    }
    let is_all = git.has_any_flag(&["--all", "--branches", "--tags", "--mirror"]);
    // Tags are for all.
    let is_wide = specs.iter().any(|spec| spec.contains('*') || is_tag(spec));
    if is_all || is_wide {
        return true;
    }
    let head = invocation.repo.head.name();
    if specs.is_empty() {
        // `git -c push.default=matching push -f`
        let says_where =
            |set: &Arg| ["push.", "remote.", "branch."].iter().any(|key| set.text().starts_with(key));
        let over = head.and_then(|head| ask(invocation, world, GitQuestion::PushesOver(head)));
        return over != Some(false) || global_values(invocation, "-c").iter().any(says_where);
    }
    specs.iter().any(|spec| {
        let branch = match pushed_to(spec) {
            "HEAD" | "@" => head,
            branch => Some(branch_name(branch)),
        };
        branch.and_then(|branch| ask(invocation, world, GitQuestion::HasRemoteBranch(branch))) != Some(false)
    })
}

/// The branch that a refspec writes to.
fn pushed_to(spec: &str) -> &str {
    let text = spec.trim_start_matches('+');
    let target = text.rsplit_once(':').map_or(text, |(_, target)| target);
    target.strip_prefix("refs/heads/").unwrap_or(target)
}

/// `v1.0`, `refs/tags/nightly`
fn is_tag(spec: &str) -> bool {
    let name = spec.trim_start_matches('+');
    let number = name.strip_prefix('v').unwrap_or_default();
    name.starts_with("refs/tags/") || number.starts_with(|c: char| c.is_ascii_digit())
}
