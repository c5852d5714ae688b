//! Commands that are hidden or computed, and traces that are removed.

use super::facts::places::{deletes_outside, deletes_unknown, deletes_workspace};
use super::facts::variables::{SETTERS, drops_history};
use super::{Rule, UNJUDGED, always};
use crate::guard::arg::Arg;
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "computed-code",
        category: Category::Obfuscation,
        verdict: Verdict::Block,
        patterns: &["<computed-code>"],
        when: always,
        why: "runs text that cannot be known before",
        instead: "write the command out",
        catches: r#"eval "$(base64 -d payload.b64)""#,
        passes: "echo cHJpbnQ= | base64 -d",
    },
    Rule {
        id: "computed-program",
        category: Category::Obfuscation,
        verdict: Verdict::Block,
        patterns: &["*"],
        when: would_be_dangerous,
        why: "a program whose name is computed would do damage as one of several",
        instead: "write the program's name out",
        catches: "$UNSET_TOOL -rf ~/Documents",
        passes: "$UNSET_RUNNER test",
    },
    Rule {
        id: "no-shell",
        category: Category::Obfuscation,
        verdict: Verdict::Block,
        patterns: &["<unparsed>"],
        when: always,
        why: "is no valid shell, and so cannot be judged",
        instead: "check its quotes, and write it more simply",
        catches: r#"echo "unfinished"#,
        passes: r#"echo "finished""#,
    },
    Rule {
        id: UNJUDGED,
        category: Category::Obfuscation,
        verdict: Verdict::Block,
        patterns: &["<too-deep>|<too-long>|<unreadable>"],
        when: always,
        why: "cannot be judged as a whole",
        instead: "write it more simply, or in several commands",
        catches: "$($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($($(x))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))",
        passes: "echo $(echo $(pwd))",
    },
    Rule {
        id: "no-history",
        category: Category::Obfuscation,
        verdict: Verdict::Block,
        patterns: SETTERS,
        when: drops_history,
        why: "hides the commands that follow",
        instead: "leave the history on",
        catches: "export HISTFILE=/dev/null",
        passes: "export HISTCONTROL=ignoredups",
    },
    Rule {
        id: "history-removed",
        category: Category::Obfuscation,
        verdict: Verdict::Block,
        patterns: &["history -c|-w|-d", "unset HISTFILE", "set", "rm|shred|truncate|<write>|cp|mv|ln|tee"],
        when: removes_history,
        why: "removes the record of commands",
        instead: "leave the history alone",
        catches: "history -c",
        passes: "set -o pipefail",
    },
];

/// `rm` with these arguments would be stopped, or they are code.
fn would_be_dangerous(invocation: &Invocation, world: &World<'_>) -> bool {
    if !invocation.program.has_unknown() {
        return false;
    }
    // A command that was received.
    if invocation.program.is_remote() {
        return true;
    }
    let as_rm = Invocation { program: Arg::from("rm"), ..invocation.clone() };
    let is_destructive = deletes_outside(&as_rm, world)
        && as_rm.has_any_flag(&["-r", "-R", "-f", "--recursive"])
        || deletes_workspace(&as_rm, world) && as_rm.has_any_flag(&["-r", "-R"])
        || deletes_unknown(&as_rm, world);
    // Code for a shell whose name is not known: `$X -c '…'`.
    let is_code = invocation
        .args
        .windows(2)
        .any(|pair| matches!(pair[0].text(), "-c" | "-e") && pair[1].text().contains(char::is_whitespace));
    is_destructive || is_code
}

fn removes_history(invocation: &Invocation, _: &World<'_>) -> bool {
    let names_history = invocation.args.iter().any(|arg| {
        matches!(
            arg.base_name(),
            ".bash_history"
                | ".zsh_history"
                | ".sh_history"
                | "fish_history"
                | ".python_history"
                | "HISTFILE"
        )
    });
    match invocation.name() {
        "history" => true,
        "set" => invocation.args.windows(2).any(|pair| pair[0].text() == "+o" && pair[1].text() == "history"),
        _ => names_history,
    }
}
