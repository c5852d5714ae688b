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
        id: "endless-loop",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &["<endless-write>"],
        when: always,
        why: "writes without end, until the disk is full",
        instead: "bound the loop, or let it wait",
        catches: "while :; do cat x >> x; done",
        passes: "while :; do date >> log; sleep 1; done",
    },
    Rule {
        id: "many-processes",
        category: Category::Denial,
        verdict: Verdict::Block,
        patterns: &["xargs|gxargs|parallel"],
        when: starts_too_many,
        why: "starts hundreds of processes at once",
        instead: "bound them: `xargs -P 4`",
        catches: "seq 100000 | xargs -P 0 -I{} sleep 1000",
        passes: "seq 10 | xargs -P 0 -I{} curl localhost:3000/{}",
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
        patterns: &["yes", "cat|pv|base64|xxd|od|tr|hexdump|dd|cp|tee"],
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

/// Files that have no end.
fn is_endless(text: &str) -> bool {
    matches!(text, "/dev/zero" | "/dev/urandom" | "/dev/random")
}

/// Whether a program reads one of them.
fn reads_endless(invocation: &Invocation) -> bool {
    let is_given = |arg: &Arg| is_endless(arg.text().strip_prefix("if=").unwrap_or(arg.text()));
    let is_redirected =
        |from: &Invocation| from.name() == "<read>" && from.args.iter().any(|arg| is_endless(arg.text()));
    invocation.args.iter().any(is_given) || invocation.stdin.from.iter().any(is_redirected)
}

/// Programs that keep all of their input in memory, with one that has no end.
fn keeps_without_end(invocation: &Invocation, _: &World<'_>) -> bool {
    reads_endless(invocation) && !invocation.has_flag("-c")
}

/// `dd` without a count, into a file.
fn reads_without_end(invocation: &Invocation, world: &World<'_>) -> bool {
    let target = invocation.args.iter().find_map(|arg| arg.text().strip_prefix("of=")).map(Arg::new);
    let is_kept = target.is_some_and(|target| locate(&target, invocation, world).zone != Zone::Sink);
    reads_endless(invocation) && !has_count(invocation) && is_kept
}

fn has_count(invocation: &Invocation) -> bool {
    invocation.args.iter().any(|arg| arg.text().starts_with("count="))
}

/// Whether output without an end is kept in a file, and nothing before that cuts it off.
fn is_kept_without_end(invocation: &Invocation, world: &World<'_>) -> bool {
    let name = invocation.name();
    // `od -N 4`, `xxd -l 16`, `hexdump -n 16`
    let is_bounded = match name {
        "od" | "xxd" | "hexdump" => invocation.has_any_flag(&["-N", "-l", "-n", "--read-bytes", "-len"]),
        "dd" => has_count(invocation),
        _ => false,
    };
    let is_cut =
        invocation.stdout.through.iter().any(|next| matches!(next.name(), "head" | "timeout" | "dd"));
    if is_bounded || is_cut || !(name == "yes" || reads_endless(invocation)) {
        return false;
    }
    let is_file = |file: &Arg| locate(file, invocation, world).zone != Zone::Sink;
    let operands = invocation.operands();
    let printed = match &invocation.stdout.end {
        End::File(file) => is_file(file),
        End::Shown | End::Captured => {
            invocation.stdout.through.iter().any(|next| matches!(next.name(), "tee" | "sponge"))
        }
    };
    match name {
        "cp" => operands.len() > 1 && operands.last().is_some_and(|file| is_file(file)),
        "tee" => operands.iter().any(|file| is_file(file)) || printed,
        _ => printed,
    }
}

/// As many processes at once as there are lines, and there are very many.
fn starts_too_many(invocation: &Invocation, _: &World<'_>) -> bool {
    const MANY: u64 = 500;
    let flags: &[&str] = match invocation.name() {
        "parallel" => &["-j", "--jobs", "-P", "--max-procs"],
        _ => &["-P", "--max-procs"],
    };
    let at_once = flags.iter().find_map(|flag| invocation.flag_value(flag));
    let is_unbounded = at_once
        .is_some_and(|number| number.text().parse::<u64>().is_ok_and(|number| number == 0 || number >= MANY));
    let is_long = |from: &Invocation| match from.name() {
        "yes" => true,
        "seq" => from.args.last().and_then(|last| last.text().parse::<u64>().ok()).is_some_and(|n| n >= MANY),
        _ => false,
    };
    is_unbounded && invocation.stdin.from.iter().any(is_long)
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
