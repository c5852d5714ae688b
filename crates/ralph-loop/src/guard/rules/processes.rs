//! ralph, its agents, or everything killed.

use super::{Rule, always};
use crate::guard::arg::{Arg, BRACKET, STAR};
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "kill-agents",
        category: Category::Processes,
        verdict: Verdict::Block,
        patterns: &["kill|killall|pkill|skill|slay|xkill|killall5|pkill5"],
        when: kills_vital,
        why: "kills ralph, the agent itself, or everything",
        instead: "kill the process that you have started, by its id",
        catches: "pkill -f claude",
        passes: "kill $SERVER_PID",
    },
    Rule {
        id: "kill-user",
        category: Category::Processes,
        verdict: Verdict::Block,
        patterns: &[
            "killall|pkill|skill -u|-U|--user|--euid",
            "killall5",
            "loginctl terminate-*|kill-*",
            "systemctl kill",
            "xkill",
        ],
        when: always,
        why: "kills everything that the user runs",
        instead: "kill the process that you have started, by its id",
        catches: "pkill -u dev",
        passes: r#"pkill -f "vite --port 5173""#,
    },
    Rule {
        id: "kill-by-file",
        category: Category::Processes,
        verdict: Verdict::Block,
        patterns: &["fuser -k|--kill|-K"],
        when: frees_mount,
        why: "kills every process that uses a file or mount",
        instead: "kill the process that you have started, by its id",
        catches: "fuser -km /home",
        passes: "fuser -k 3000/tcp",
    },
    Rule {
        id: "kill-sessions",
        category: Category::Processes,
        verdict: Verdict::Block,
        patterns: &[
            "tmux kill-server",
            "tmux kill-session -a",
            "tmux ~kill-session|kill-window|kill-pane ~ralph*|=ralph*",
            "screen -X ~quit|kill !-S",
            "screen -X ~quit|kill ~ralph*",
            "byobu kill-server",
            "zellij kill-all-sessions|delete-all-sessions",
            "pm2 kill",
        ],
        when: always,
        why: "ends sessions that ralph or the user work in",
        instead: "end the session that you have started, by its name",
        catches: "tmux kill-server",
        passes: "tmux kill-session -t dev-server",
    },
    Rule {
        id: "ralph",
        category: Category::Processes,
        verdict: Verdict::Block,
        patterns: &["ralph pause|resume|kill|set|say|rm|undo|clean|archive|attach !--help|-h"],
        when: always,
        why: "an agent does not steer the run that it is part of",
        instead: "say in your answer what should happen",
        catches: "ralph kill worker-1",
        passes: "ralph status",
    },
    Rule {
        id: "ralph-guard",
        category: Category::Processes,
        verdict: Verdict::Block,
        patterns: &[
            "ralph guard allow|deny|off|set",
            "ralph config set|unset",
            "ralph hook",
            "ralph plugin uninstall|remove",
        ],
        when: always,
        why: "an agent does not change what guards it",
        instead: "say in your answer what should be allowed",
        catches: "ralph config set guard.git off",
        passes: "ralph guard check 'rm -rf build'",
    },
    Rule {
        id: "priorities",
        category: Category::Processes,
        verdict: Verdict::Warn,
        patterns: &["renice|ionice|chrt|cpulimit ~-p|--pid", "swapoff|disown"],
        when: always,
        why: "changes how other processes run",
        instead: "leave other processes alone",
        catches: "renice -n 19 -p 1234",
        passes: "nice -n 10 cargo build",
    },
];

/// Names that an agent, ralph or the user's session may run under. Bare interpreters are among them: the agent may be one.
const VITAL: [&str; 36] = [
    "ralph",
    "claude",
    "codex",
    "node",
    "nodejs",
    "python",
    "python3",
    "java",
    "ruby",
    "php",
    "deno",
    "bun",
    "bash",
    "sh",
    "zsh",
    "fish",
    "tmux",
    "tmux:",
    "screen",
    "ssh",
    "sshd",
    "systemd",
    "dockerd",
    "docker",
    "containerd",
    "Xorg",
    "gnome-shell",
    "launchd",
    "cron",
    "init",
    "gemini",
    "aider",
    "login",
    "Finder",
    "WindowServer",
    "dbus-daemon",
];

fn is_vital(pattern: &str, is_full: bool) -> bool {
    let pattern = pattern.trim_start_matches('^').trim_end_matches('$').replace(['[', ']'], "");
    let is_everything = matches!(&*pattern, "" | "." | ".*" | ".+" | "*");
    let names_agent = ["claude", "codex", "ralph"].iter().any(|name| {
        pattern.to_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == *name)
    });
    let is_path =
        is_full && pattern.contains('/') && VITAL.contains(&pattern.rsplit('/').next().unwrap_or_default());
    is_everything || names_agent || is_path || VITAL.contains(&&*pattern)
}

fn kills_vital(invocation: &Invocation, _: &World<'_>) -> bool {
    let only_asks = invocation.args.iter().any(|arg| matches!(arg.text(), "-0" | "-l" | "-L" | "--list"));
    if only_asks {
        return false;
    }
    if invocation.name() != "kill" {
        let is_full = invocation.has_any_flag(&["-f", "--full"]);
        // `-STOP` is a signal, and no flag with a value.
        let is_signal = |arg: &&Arg| {
            arg.text().strip_prefix('-').is_some_and(|name| {
                name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            })
        };
        let args = invocation.args.iter().filter(|arg| !is_signal(arg)).cloned().collect();
        let named = Invocation { program: invocation.program.clone(), args, ..Invocation::default() };
        return named.operands().iter().any(|pattern| is_vital(pattern.text(), is_full));
    }
    let mut args = invocation.args.iter();
    let mut is_first = true;
    let mut targets: Vec<&str> = Vec::new();
    while let Some(arg) = args.next() {
        let text = arg.text();
        match text {
            "-s" | "-n" | "--signal" => {
                args.next();
            }
            "--" => targets.extend(args.by_ref().map(Arg::text)),
            // The signal comes first: `kill -9 -1`.
            _ if is_first && text.starts_with('-') => {}
            _ => targets.push(text),
        }
        is_first = false;
    }
    // `kill -1` alone is a signal without a target; `kill -9 -1` is everyone.
    targets.iter().any(|target| match target.strip_prefix("pid:") {
        Some("parent" | "everything") => true,
        Some(name) => is_vital(name, true),
        None => {
            matches!(*target, "-1" | "1" | "0" | "-0")
                || target.contains([STAR, BRACKET])
                || target.starts_with("/proc")
        }
    })
}

/// A port that the agent's own server uses is fine, a file system is not.
fn frees_mount(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.args.iter().any(|arg| {
        matches!(arg.text(), "-m" | "--mount" | "-M" | "-km" | "-mk" | "-kM" | "-kmv" | "-vkm" | "-kim")
    }) || invocation
        .operands()
        .iter()
        .any(|word| word.text().starts_with('/') && !word.text().ends_with("/tcp"))
}
