//! The environment of programs inside: without what leads to the user's session, and without secrets.

use super::{Role, layout};
use crate::process::Command;
use ralph_loop::sandbox::variables::{Allowed, Pass, Who, sort};
use ralph_loop::sandbox::{SandboxKind, SandboxSpec};
use std::env;
use std::ffi::OsString;

/// Tells a ralph that it is started in the sandbox of another one, and which. It is believed only in what
/// is said to the user: an agent can set it, and so can the user.
pub const INSIDE: &str = "RALPH_INSIDE";

/// So many variables are named.
const MOST_NAMED: usize = 8;

/// Which variables agents do not get, and how to let them in.
pub fn withheld(spec: &SandboxSpec) -> Option<String> {
    let names: Vec<String> = env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sorted = sort(&names, Who::Agent(None), spec.allowed());
    let kept: Vec<&str> = sorted.of(Pass::Secret).chain(sorted.of(Pass::Socket)).collect();
    let shown = kept.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = kept.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!kept.is_empty()).then(|| {
        format!("the sandbox does not pass these variables on: {shown}{more} (sandbox.variables does)")
    })
}

/// The names of all variables that checks do not get.
pub fn withheld_from_checks(spec: &SandboxSpec) -> Vec<String> {
    let names: Vec<String> = env::vars().map(|(name, _)| name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let removed = sort(&names, Who::Check, spec.allowed()).removed;
    removed.into_iter().map(|(name, _)| name.to_string()).collect()
}

/// What is set for the command stays: it is ralph's own.
/// `keys` are variables of this program beside those that are known.
pub fn cleaned(mut command: Command, role: Role, spec: &SandboxSpec, keys: &[String]) -> Command {
    let names: Vec<OsString> = env::vars_os().map(|(name, _)| name).collect();
    let text: Vec<&str> = names.iter().filter_map(|name| name.to_str()).collect();
    let who = match role {
        Role::Agent(agent) => Who::Agent(agent),
        Role::Check | Role::Commit | Role::User => Who::Check,
    };
    let let_in = [&spec.variables[..], keys].concat();
    let removed = sort(&text, who, Allowed { variables: &let_in, ..spec.allowed() }).removed;
    command.env_remove.extend(removed.into_iter().map(|(name, _)| OsString::from(name)));
    // What is no text looks like nothing.
    let odd = names.iter().filter(|name| name.to_str().is_none());
    command.env_remove.extend(odd.cloned());
    // Another directory of the user's is read-only or hidden.
    command.env.push(("TMPDIR".into(), "/tmp".into()));
    command.env.push((INSIDE.into(), spec.kind.name().into()));
    // A ralph that an agent starts keeps its records apart, where there is room for them.
    match spec.kind {
        SandboxKind::Bwrap => command.env.push(("RALPH_HOME".into(), layout::RALPH_HOME.into())),
        SandboxKind::Landlock => {}
    }
    if let Role::Agent(Some(agent)) = role {
        command.env.extend(
            agent
                .env
                .iter()
                .filter(|(_, value)| !value.contains('{'))
                .map(|(name, value)| (name.into(), value.into())),
        );
    }
    command
}
