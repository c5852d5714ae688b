//! More rights than the user has.

use super::facts::touch::chmod_mode;
use super::{Rule, always};
use crate::guard::arg::Arg;
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "become-root",
        category: Category::Privilege,
        verdict: Verdict::Block,
        patterns: &[
            "sudo !-l|-V|--version|-k|-K|--list",
            "doas|su|pkexec|run0|gksudo|kdesudo|gosu|su-exec|calife|super",
            "runuser -u|-l|--user|-c",
            "osascript ~*administrator*",
            "runas|gsudo|psexec|setuid",
        ],
        when: always,
        why: "runs with the rights of another user",
        instead: "work without them, or ask the user to run it",
        catches: "sudo systemctl restart nginx",
        passes: "sudo -l",
    },
    Rule {
        id: "setuid",
        category: Category::Privilege,
        verdict: Verdict::Block,
        patterns: &["chmod", "install -m|--mode"],
        when: sets_user_id,
        why: "lets a program run with the rights of its owner",
        instead: "leave the bit alone",
        catches: "chmod u+s ./helper",
        passes: "chmod 755 ./helper",
    },
    Rule {
        id: "change-owner",
        category: Category::Privilege,
        verdict: Verdict::Block,
        patterns: &["chown|chgrp"],
        when: gives_to_root,
        why: "gives a file to another user",
        instead: "keep the owner",
        catches: "chown root:root ./helper",
        passes: "chown -R dev:dev build",
    },
    Rule {
        id: "capability",
        category: Category::Privilege,
        verdict: Verdict::Block,
        patterns: &["setcap|capsh|setpriv|newuidmap|newgidmap"],
        when: always,
        why: "gives a program rights of the kernel",
        instead: "leave capabilities to the user",
        catches: "setcap cap_net_raw+ep ./helper",
        passes: "getcap ./helper",
    },
    Rule {
        id: "accounts",
        category: Category::Privilege,
        verdict: Verdict::Block,
        patterns: &[
            "usermod|useradd|userdel|adduser|deluser|groupadd|groupdel",
            "groupmod|addgroup|delgroup|gpasswd|passwd|chpasswd|newusers",
            "visudo|vipw|vigr|chsh|chfn|newgrp|sg|chage",
            "faillock|pwconv|pwck|authconfig|pam-auth-update|realm",
            "dscl ~-create|-append|-passwd|-delete|create|append|passwd|delete",
            "sysadminctl|dseditgroup",
            "net user|localgroup",
        ],
        when: always,
        why: "changes accounts of the machine",
        instead: "leave accounts to the user",
        catches: "usermod -aG docker dev",
        passes: "id dev",
    },
];

/// `u+s`, `4755`, `g=srx`
fn sets_user_id(invocation: &Invocation, _: &World<'_>) -> bool {
    let installed = invocation.flag_value("-m").or_else(|| invocation.flag_value("--mode"));
    let mode = match invocation.name() {
        "install" => installed.as_ref().map_or("", Arg::text),
        _ => chmod_mode(invocation).unwrap_or_default(),
    };
    let digits = mode.trim_start_matches('0');
    let by_number = digits.len() == 4
        && digits.chars().all(|c| c.is_digit(8))
        && digits.starts_with(['2', '4', '6', '3', '5', '7']);
    let by_letters = mode.split(',').any(|clause| {
        let (who, what) = clause.split_at(clause.find(['+', '=']).unwrap_or(0));
        what.contains('s') && who.chars().all(|c| "ugoa".contains(c))
    });
    by_number || by_letters
}

fn gives_to_root(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.operand(0).is_some_and(|owner| {
        let text = owner.text();
        let user = text.split([':', '.']).next().unwrap_or_default();
        matches!(user, "root" | "0") || text == ":root" || text == ":0"
    })
}
