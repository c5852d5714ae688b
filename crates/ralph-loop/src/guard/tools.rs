//! Tool calls of agents: which of them run commands, write files or fetch.

use super::invocation::Invocation;
use super::policy::Policy;
use super::walk::Walk;
use super::world::World;
use super::{Finding, Judgement, Verdict, rules};
use serde_json::Value;

/// A tool call as an agent's PreToolUse hook hands it over.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    pub name: &'a str,
    pub input: &'a Value,
}

/// Commands longer than this are not looked at: they are denied.
const LONGEST: usize = 1 << 20;

/// The verdict on a call.
pub fn judge(call: ToolCall<'_>, world: &World<'_>, policy: &Policy) -> Judgement {
    let mut walk = Walk::new(world);
    let text = |key: &str| call.input.get(key).and_then(Value::as_str);
    // Codex names the directory of a command beside it.
    if let Some(dir) = text("workdir").or_else(|| text("cwd")) {
        walk.start_in(dir);
    }
    match call.name {
        "Bash" | "shell" | "exec_command" | "local_shell" | "unified_exec" => match command(call.input) {
            Some(command) if command.len() <= LONGEST => walk.command(&command),
            Some(_) => walk.refuse("<too-long>", "a command of more than 1 MB"),
            None => walk.refuse("<unreadable>", "a call without a command"),
        },
        "apply_patch" => match text("command").or_else(|| text("input")).or_else(|| text("patch")) {
            Some(patch) => patched_files(patch).for_each(|file| walk.write(file)),
            None => walk.refuse("<unreadable>", "a patch without a text"),
        },
        "Write"
        | "Edit"
        | "MultiEdit"
        | "NotebookEdit"
        | "str_replace_based_edit_tool"
        | "write_file"
        | "edit" => match text("file_path").or_else(|| text("notebook_path")).or_else(|| text("path")) {
            Some(path) => walk.write(path),
            None => walk.refuse("<unreadable>", "a call without a path"),
        },
        // A search prints lines of what it reads.
        "Read" | "NotebookRead" | "read_file" | "Grep" => {
            if let Some(path) = text("file_path").or_else(|| text("path")) {
                walk.read(path);
            }
        }
        "WebFetch" | "fetch" => {
            if let Some(url) = text("url") {
                walk.fetch(url);
            }
        }
        _ => {}
    }
    let (invocations, steps) = walk.end();
    let found = |invocation: &Invocation| {
        let mut found = rules::find(invocation, world, policy);
        if let Some(dir) = &invocation.stayed {
            let there = Invocation { cwd: Some(dir.clone()), ..invocation.clone() };
            found.extend(rules::find(&there, world, policy));
        }
        found
    };
    let findings: Vec<Finding> = invocations.iter().flat_map(found).collect();
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        if !kept.iter().any(|other| other.rule == finding.rule && other.what == finding.what) {
            kept.push(finding);
        }
    }
    let verdict = kept.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Allow);
    Judgement { verdict, findings: kept, steps }
}

/// Claude hands over a text, Codex sometimes the words of an argv.
fn command(input: &Value) -> Option<String> {
    let given = input.get("command").or_else(|| input.get("cmd"))?;
    match given {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
            Some(words.into_iter().map(quoted).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// A word as shell reads it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The files that a patch of Codex adds, changes, deletes or moves to.
pub(super) fn patched_files(patch: &str) -> impl Iterator<Item = &str> {
    const HEADS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    patch
        .lines()
        .filter_map(|line| HEADS.iter().find_map(|head| line.trim().strip_prefix(head.trim_end())))
        .map(str::trim)
}
