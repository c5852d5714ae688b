//! The hosts that an invocation talks to, and secrets that it sends there.

use crate::guard::arg::{Arg, SECRET, UNKNOWN};
use crate::guard::hosts::{host_of, is_address, is_local};
use crate::guard::{Invocation, World};

/// Programs that send what they are given.
pub const SENDERS: &[&str] = &[
    "curl|wget|wget2|http|https|xh|xhs|nc|ncat",
    "netcat|socat|ftp|sftp|tftp|lftp|scp|rsync|rclone",
    "telnet|dig|nslookup|host|drill|ping|ping6|openssl",
];

/// Where `curl`, `wget` and `http` send to.
fn urls(invocation: &Invocation) -> Vec<&str> {
    let mut operands: Vec<&str> = invocation.operands().into_iter().map(Arg::text).collect();
    if matches!(invocation.name(), "http" | "https" | "xh" | "xhs") {
        // `http POST host field=value`
        operands.retain(|text| !text.chars().all(|c| c.is_ascii_uppercase()));
        operands.truncate(1);
    }
    let named = invocation.args.iter().zip(invocation.args.iter().skip(1));
    let by_flag = named.filter(|(flag, _)| flag.text() == "--url").map(|(_, url)| url.text());
    operands.extend(by_flag);
    operands
}

/// Whether some host that it talks to is neither local nor an empty word. One that is not known counts as such.
pub fn reaches_stranger(invocation: &Invocation) -> bool {
    urls(invocation).iter().any(|url| !url.starts_with("file:") && !is_local(host_of(url)))
}

/// Places where anything can be dropped for anyone to pick up.
const DROPS: [&str; 34] = [
    "transfer.sh",
    "file.io",
    "0x0.st",
    "pastebin.com",
    "webhook.site",
    "requestbin",
    "requestcatcher.com",
    "pipedream.net",
    "ngrok",
    "termbin.com",
    "oshi.at",
    "paste.rs",
    "ix.io",
    "sprunge.us",
    "dpaste",
    "hastebin",
    "temp.sh",
    "bashupload.com",
    "gofile.io",
    "anonfiles",
    "catbox.moe",
    "uguu.se",
    "tmpfiles.org",
    "burpcollaborator",
    "oastify.com",
    "interact.sh",
    "oast.",
    "dnslog",
    "beeceptor.com",
    "hookbin",
    "ptsv",
    "trycloudflare.com",
    "serveo.net",
    "loca.lt",
];

fn is_drop(host: &str) -> bool {
    DROPS.iter().any(|drop| host.contains(drop))
}

/// Anything sent to a drop.
pub fn posts_to_drop(invocation: &Invocation, _: &World<'_>) -> bool {
    let sends = has_body(invocation) || invocation.stdin.text.is_some() || !invocation.stdin.from.is_empty();
    let hosts: Vec<&str> = match invocation.name() {
        "nc" | "ncat" | "netcat" | "socat" | "telnet" => {
            invocation.operands().into_iter().map(Arg::text).collect()
        }
        _ => urls(invocation).into_iter().map(host_of).collect(),
    };
    sends && hosts.iter().any(|host| is_drop(host))
}

fn has_body(invocation: &Invocation) -> bool {
    const BODY: [&str; 22] = [
        "-d",
        "--data",
        "--data-raw",
        "--data-binary",
        "--data-urlencode",
        "--data-ascii",
        "--json",
        "-F",
        "--form",
        "--form-string",
        "-T",
        "--upload-file",
        "--post-data",
        "--post-file",
        "--body-data",
        "--body-file",
        "--method=POST",
        "--method=PUT",
        "-XPOST",
        "-XPUT",
        "--request=POST",
        "--request=PUT",
    ];
    let by_flag = invocation.args.iter().any(|arg| {
        let text = arg.text();
        BODY.iter().any(|flag| text == *flag || (flag.len() == 2 && text.starts_with(flag)))
            || BODY.iter().any(|flag| text.starts_with(flag) && text[flag.len()..].starts_with('='))
    });
    by_flag
        || invocation.flag_values("-X").iter().any(|method| matches!(method.text(), "POST" | "PUT" | "PATCH"))
        || invocation.args.iter().any(|arg| matches!(arg.text(), "POST" | "PUT" | "PATCH"))
}

/// A secret in the arguments or the input of a program that talks to a stranger.
pub fn sends_secret(invocation: &Invocation, _: &World<'_>) -> bool {
    if !invocation.carries_secret() {
        return false;
    }
    match invocation.name() {
        "curl" | "wget" | "wget2" | "http" | "https" | "xh" | "xhs" => {
            reaches_stranger(invocation) && !is_login(invocation)
        }
        "nc" | "ncat" | "netcat" | "telnet" => {
            invocation.operand(0).is_none_or(|host| !is_local(host.text()))
        }
        // The standard input of these is not sent.
        "dig" | "nslookup" | "host" | "drill" | "ping" | "ping6" => {
            invocation.args.iter().any(Arg::has_secret)
        }
        // A password for a login.
        "rsync" | "scp" | "sftp" | "lftp" | "rclone" | "ftp" => {
            invocation.stdin.text.as_ref().is_some_and(Arg::has_secret)
        }
        _ => true,
    }
}

/// Whether secrets are only used to log in, in a header that is meant for them, over a connection that keeps them.
fn is_login(invocation: &Invocation) -> bool {
    const HEADERS: [&str; 10] = [
        "authorization:",
        "private-token:",
        "x-api-key:",
        "api-key:",
        "x-auth-token:",
        "x-vault-token:",
        "x-goog-api-key:",
        "circle-token:",
        "job-token:",
        "dd-api-key:",
    ];
    let is_safe_host = urls(invocation).iter().all(|url| {
        let host = host_of(url);
        is_local(host) || (!url.starts_with("http://") && !is_drop(host) && !is_address(host))
    });
    let mut before = "";
    let in_place = invocation.args.iter().all(|arg| {
        let text = arg.text();
        let is_flag = matches!(before, "-u" | "--user" | "--oauth2-bearer" | "-a" | "--auth")
            || text.starts_with("--user=")
            || text.starts_with("--password=");
        let lower = text.trim_start_matches("-H").trim_start_matches("--header=").trim_start().to_lowercase();
        let is_header = HEADERS.iter().any(|header| lower.starts_with(header));
        before = text;
        !arg.has_secret() || is_flag || is_header
    });
    is_safe_host && in_place && !invocation.stdin.text.as_ref().is_some_and(Arg::has_secret)
}

/// A name to look up that is partly computed: data in a subdomain.
pub fn looks_up_computed_name(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.operands().iter().any(|word| {
        let text = word.text();
        let is_followed = text
            .char_indices()
            .any(|(at, c)| [UNKNOWN, SECRET].contains(&c) && text[at + c.len_utf8()..].contains('.'));
        // The walker's number for what `whoami`, `hostname` and the like print.
        let stands_in = text.starts_with("4242.");
        is_followed || stands_in || word.has_secret()
    })
}

/// Addresses at which a cloud tells its machines their keys, in the ways they can be written.
pub fn asks_for_metadata(invocation: &Invocation, _: &World<'_>) -> bool {
    const ADDRESSES: [&str; 8] = [
        "169.254.169.254",
        "169.254.170.2",
        "metadata.google.internal",
        "fd00:ec2::254",
        "100.100.100.200",
        "2852039166",
        "0xa9fea9fe",
        "[::ffff:a9fe:a9fe]",
    ];
    invocation
        .args
        .iter()
        .any(|arg| ADDRESSES.iter().any(|address| arg.text().to_lowercase().contains(address)))
}

/// Load on a host that is not ours.
pub fn loads_stranger(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.operands().iter().any(|word| {
        let text = word.text();
        // A flood goes nowhere by chance.
        if invocation.name() == "ping" && word.has_unknown() {
            return true;
        }
        (text.contains("://") || text.contains('.'))
            && !text.ends_with(".js")
            && !text.ends_with(".lua")
            && !is_local(host_of(text))
    })
}
