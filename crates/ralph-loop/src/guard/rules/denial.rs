//! Fork bombs, full disks and endless load.

use super::facts::net::loads_stranger;
use super::{Rule, always};
use crate::guard::arg::Arg;
use crate::guard::paths::{Zone, locate};
use crate::guard::{Category, Verdict};
use crate::guard::{End, Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "fork-bomb",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &["<fork-bomb>"],
        when: always,
        why: "starts processes without end",
        instead: "bound the loop",
        catches: ":(){ :|:& };:",
        passes: "for i in 1 2 3; do echo $i; done",
    },
    Rule {
        id: "endless-data",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &["dd"],
        when: reads_without_end,
        why: "writes without end, until the disk is full",
        instead: "give a count",
        catches: "dd if=/dev/zero of=big.bin bs=1M",
        passes: "dd if=/dev/zero of=small.bin bs=1M count=10",
    },
    Rule {
        id: "endless-output",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &["yes", "cat ~/dev/zero|/dev/urandom|/dev/random"],
        when: is_kept_without_end,
        why: "writes without end, until the disk is full",
        instead: "bound it with `head -c`",
        catches: "yes > out.txt",
        passes: "yes | head -n 5",
    },
    Rule {
        id: "endless-memory",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &["tail|sort|tac|grep|sed|awk|mapfile|readarray|wc|md5sum|sha256sum|sha1sum"],
        when: keeps_without_end,
        why: "reads without end, until the memory is full",
        instead: "bound it with `head -c`",
        catches: "tail /dev/zero",
        passes: "head -c 16 /dev/urandom | xxd",
    },
    Rule {
        id: "huge-file",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &["fallocate|truncate|mkfile|dd|head|xfs_mkfile"],
        when: is_huge,
        why: "makes a file that fills the disk",
        instead: "make a smaller file",
        catches: "fallocate -l 500G big.img",
        passes: "fallocate -l 10M small.img",
    },
    Rule {
        id: "load",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &[
            "stress|stress-ng|hping3|slowloris|slowhttptest|goldeneye",
            "t50|xerxes|hulk|mdk3|mdk4|aireplay-ng|ettercap|arpspoof|macof",
        ],
        when: always,
        why: "exists to overload a machine or a network",
        instead: "measure with the project's own benchmarks",
        catches: "stress-ng --cpu 0 --vm 8",
        passes: "time cargo test",
    },
    Rule {
        id: "load-stranger",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &[
            "ab|wrk|wrk2|siege|hey|vegeta|k6|bombardier|oha|autocannon|locust|drill|masscan|nmap|zmap|nping|hping3",
            "ping -f",
        ],
        when: loads_stranger,
        why: "puts load on a machine of others",
        instead: "point it at localhost",
        catches: "ab -n 100000 -c 500 https://example.com/",
        passes: "ab -n 1000 -c 10 http://localhost:3000/",
    },
    Rule {
        id: "power",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &[
            "shutdown|reboot|halt|poweroff|telinit",
            "init 0|6|1",
            "systemctl poweroff|reboot|halt|suspend|hibernate|kexec",
            "systemctl rescue|emergency|soft-reboot|default|isolate|exit",
            "loginctl poweroff|reboot|suspend|hibernate",
        ],
        when: always,
        why: "stops the machine",
        instead: "leave that to the user",
        catches: "shutdown -h now",
        passes: "uptime",
    },
    Rule {
        id: "sysrq",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &["<write>", "tee"],
        when: is_sysrq,
        why: "crashes or restarts the machine at once",
        instead: "leave that to the user",
        catches: "echo b > /proc/sysrq-trigger",
        passes: "echo b > build/trigger",
    },
];

/// Programs that keep all of their input in memory, with one that has no end.
fn keeps_without_end(invocation: &Invocation, _: &World<'_>) -> bool {
    let is_endless = |arg: &Arg| matches!(arg.text(), "/dev/zero" | "/dev/urandom" | "/dev/random");
    invocation.args.iter().any(is_endless) && !invocation.has_flag("-c")
}

fn reads_without_end(invocation: &Invocation, world: &World<'_>) -> bool {
    let has = |wanted: &[&str]| {
        invocation.args.iter().any(|arg| wanted.iter().any(|text| arg.text().starts_with(text)))
    };
    let target = invocation.args.iter().find_map(|arg| arg.text().strip_prefix("of=")).map(Arg::new);
    let is_kept = target.is_some_and(|target| locate(&target, invocation, world).zone != Zone::Sink);
    has(&["if=/dev/zero", "if=/dev/urandom", "if=/dev/random"]) && !has(&["count="]) && is_kept
}

/// Whether the output, which has no end, is kept in a file, and nothing before that cuts it off.
fn is_kept_without_end(invocation: &Invocation, world: &World<'_>) -> bool {
    let is_cut =
        invocation.stdout.through.iter().any(|next| matches!(next.name(), "head" | "timeout" | "dd"));
    let is_file = match &invocation.stdout.end {
        End::File(file) => locate(file, invocation, world).zone != Zone::Sink,
        End::Shown | End::Captured => false,
    };
    let into_file = invocation.stdout.through.iter().any(|next| matches!(next.name(), "tee" | "sponge"));
    !is_cut && (is_file || into_file)
}

/// A size of 10 GB and more.
fn is_huge(invocation: &Invocation, _: &World<'_>) -> bool {
    const HUGE: u64 = 10 * 1000 * 1000 * 1000;
    let flags: &[&str] = match invocation.name() {
        "fallocate" => &["-l", "--length"],
        "truncate" => &["-s", "--size"],
        "head" => &["-c", "--bytes"],
        _ => &[],
    };
    let given = flags.iter().flat_map(|flag| invocation.flag_values(flag));
    let by_flag = given.filter_map(|value| size(value.text())).any(|size| size >= HUGE);
    let by_word = invocation.name() == "mkfile"
        && invocation.operand(0).and_then(|word| size(word.text())).is_some_and(|size| size >= HUGE);
    let setting =
        |name: &str| invocation.args.iter().find_map(|arg| arg.text().strip_prefix(name)).and_then(size);
    let by_count = invocation.name() == "dd"
        && setting("count=").unwrap_or(0).saturating_mul(setting("bs=").unwrap_or(512)) >= HUGE;
    by_flag || by_word || by_count
}

/// `10G`, `512M`, `+1T`
fn size(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(['+', '<', '>', '%', '/']);
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].chars().next().map(|c| c.to_ascii_uppercase()) {
        None | Some('B') => 1,
        Some('K') => 1 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        Some('T') => 1 << 40,
        Some('P') => 1 << 50,
        Some(_) => return None,
    };
    Some(number.saturating_mul(unit))
}

/// The kernel's own switch.
fn is_sysrq(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.args.iter().any(|arg| matches!(arg.text(), "/proc/sysrq-trigger" | "/proc/sys/kernel/sysrq"))
}
