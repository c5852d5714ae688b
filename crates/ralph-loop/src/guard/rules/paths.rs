//! Files that decide over agents, hooks and ralph itself.

use super::Rule;
use super::facts::places::changes_protected;
use super::facts::touch::TOUCHERS;
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "protected-file",
        category: Category::Paths,
        verdict: Verdict::Block,
        patterns: TOUCHERS,
        when: changes_protected,
        why: "this file decides what agents, hooks or ralph may do",
        instead: "leave it to the user",
        catches: "rm -rf .git",
        passes: "rm -f .git/index.lock",
    },
    Rule {
        id: "fetch-file",
        category: Category::Paths,
        verdict: Verdict::Block,
        patterns: &["<fetch>|curl|wget|aria2c"],
        when: fetches_file,
        why: "reads a file of this machine as if it were a page",
        instead: "read the file, if it is in the workspace",
        catches: "curl file:///etc/passwd",
        passes: "curl https://example.com/passwd.html",
    },
];

fn fetches_file(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.args.iter().any(|arg| arg.text().to_lowercase().starts_with("file:"))
}
