//! Code that runs later, by itself.

use super::facts::places::writes_startup;
use super::facts::touch::TOUCHERS;
use super::on_a_machine;
use super::{Rule, always};
use crate::guard::arg::Arg;
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "startup-file",
        category: Category::Persistence,
        verdict: Verdict::Block,
        patterns: TOUCHERS,
        when: writes_startup,
        why: "this file is run or obeyed later, by itself",
        instead: "show the line to the user, who can add it",
        catches: r#"echo 'alias ll="ls -l"' >> ~/.bashrc"#,
        passes: r#"echo 'alias ll="ls -l"' >> docs/aliases.sh"#,
    },
    Rule {
        id: "crontab",
        category: Category::Persistence,
        verdict: Verdict::Block,
        patterns: &["crontab !-l"],
        when: always,
        why: "runs commands later, by itself",
        instead: "leave schedules to the user",
        catches: "crontab jobs.txt",
        passes: "crontab -l",
    },
    Rule {
        id: "at",
        category: Category::Persistence,
        verdict: Verdict::Block,
        patterns: &["at|batch|atd", "anacron|fcron|incrontab|systemd-tmpfiles"],
        when: schedules,
        why: "runs commands later, by itself",
        instead: "leave schedules to the user",
        catches: r#"echo "make test" | at now + 1 hour"#,
        passes: "at -l",
    },
    Rule {
        id: "unit",
        category: Category::Persistence,
        verdict: Verdict::Block,
        patterns: &[
            "systemd-run",
            "systemctl enable|link|add-wants|add-requires|preset|edit",
            "loginctl enable-linger",
            "update-rc.d|chkconfig|rc-update|insserv|initctl|systemd-sysv-install !--list|show|list",
            "launchctl load|bootstrap|submit|enable|asuser|setenv|config",
            "pm2 startup|save|resurrect",
            "brew services start",
            "schtasks|sc.exe ~/create|create|/change|config",
            r#"osascript ~*"login item"*"#,
        ],
        when: always,
        why: "starts a program by itself, also after this session",
        instead: "start it for this session, or leave it to the user",
        catches: "systemctl --user enable sync.timer",
        passes: "systemctl --user list-timers",
    },
    Rule {
        id: "authorized-key",
        category: Category::Persistence,
        verdict: Verdict::Block,
        patterns: &["ssh-copy-id|ssh-import-id|ssh-import-id-gh"],
        when: on_a_machine,
        why: "lets a key log in",
        instead: "leave keys to the user",
        catches: "ssh-copy-id deploy@example.com",
        passes: "ssh-keygen -lf key.pub",
    },
    Rule {
        id: "key-in-home",
        category: Category::Persistence,
        verdict: Verdict::Block,
        patterns: &["ssh-keygen"],
        when: makes_key_in_home,
        why: "makes or changes a key of the user",
        instead: "make the key in the workspace with -f",
        catches: "ssh-keygen -t ed25519 -f ~/.ssh/id_ed25519",
        passes: r#"ssh-keygen -t ed25519 -f ./test_key -N """#,
    },
];

/// Without a listing or a removal, something is scheduled.
fn schedules(invocation: &Invocation, _: &World<'_>) -> bool {
    !invocation.has_any_flag(&["-l", "-c", "-V"])
}

/// Without `-f`, a key is made in `~/.ssh`.
fn makes_key_in_home(invocation: &Invocation, world: &World<'_>) -> bool {
    if invocation.has_any_flag(&["-l", "-y", "-F", "-B", "-H", "-i", "-e", "-L", "-Y", "-A"]) {
        return false;
    }
    let file =
        invocation.flag_value("-f").unwrap_or_else(|| Arg::new(world.home.join(".ssh/id").to_string_lossy()));
    file.text().contains("/.ssh/") || file.text().starts_with("~/.ssh")
}
