//! Files that an invocation sends to other machines.

use super::net::reaches_stranger;
use super::repo::ask;
use super::secrets::is_secret_arg;
use super::touch::is_remote_name;
use crate::guard::arg::Arg;
use crate::guard::hosts::{host_of, is_local};
use crate::guard::paths::{Zone, locate};
use crate::guard::{GitQuestion, Invocation, World};
use std::path::Path;

/// The files that `curl`, `wget` and `http` send. `-` is the standard input.
fn uploads(invocation: &Invocation) -> Vec<Arg> {
    let mut files = Vec::new();
    for flag in ["-T", "--upload-file", "--post-file", "--body-file"] {
        files.extend(invocation.flag_values(flag));
    }
    for flag in ["-d", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--json"] {
        for value in invocation.flag_values(flag) {
            let text = value.text();
            let is_named = flag == "--data-urlencode" && !text.contains('=');
            match text.strip_prefix('@') {
                Some(file) => files.push(Arg::new(file)),
                None if is_named => files.extend(text.split_once('@').map(|(_, file)| Arg::new(file))),
                None => {}
            }
        }
    }
    for flag in ["-F", "--form"] {
        for value in invocation.flag_values(flag) {
            let Some((_, content)) = value.text().split_once('=') else { continue };
            if let Some(file) = content.strip_prefix(['@', '<']) {
                files.push(Arg::new(file.split(';').next().unwrap_or(file)));
            }
        }
    }
    if matches!(invocation.name(), "http" | "https" | "xh" | "xhs") {
        let fields = invocation.operands().into_iter().skip(1);
        files.extend(fields.filter_map(|field| {
            let (name, file) = field.text().split_once('@')?;
            (!name.contains(['/', '=', ':']) && !name.is_empty())
                .then(|| Arg::new(file.trim_start_matches('=')))
        }));
        if invocation.stdin.text.is_some() || !invocation.stdin.from.is_empty() {
            files.push(Arg::from("-"));
        }
    }
    files
}

/// A file, or the output of a program that reads files, sent to a stranger. A small request body is none.
pub fn uploads_to_stranger(invocation: &Invocation, world: &World<'_>) -> bool {
    reaches_stranger(invocation)
        && uploads(invocation).iter().any(|file| match file.text() {
            "-" | "." | "/dev/stdin" => is_from_files(invocation, world),
            _ => !is_request_body(file, invocation, world),
        })
}

fn is_request_body(file: &Arg, invocation: &Invocation, world: &World<'_>) -> bool {
    const BODIES: [&str; 10] =
        [".json", ".xml", ".graphql", ".gql", ".txt", ".yaml", ".yml", ".ndjson", ".form", ".html"];
    let place = locate(file, invocation, world);
    let is_here = matches!(place.zone, Zone::Workspace | Zone::Temp | Zone::Sink);
    is_here && !is_secret_arg(file, invocation, world) && BODIES.iter().any(|end| file.text().ends_with(end))
}

/// Whether the standard input is the content of files, of a database or of the environment.
fn is_from_files(invocation: &Invocation, world: &World<'_>) -> bool {
    const READERS: [&str; 27] = [
        "tar",
        "zip",
        "gzip",
        "bzip2",
        "xz",
        "zstd",
        "env",
        "printenv",
        "set",
        "find",
        "pg_dump",
        "pg_dumpall",
        "mysqldump",
        "mongodump",
        "gpg",
        "base64",
        "base32",
        "xxd",
        "od",
        "openssl",
        "history",
        "ps",
        "dd",
        "strings",
        "grep",
        "rg",
        "head",
    ];
    invocation.stdin.from.iter().any(|producer| match producer.name() {
        "cat" => producer.operands().iter().any(|file| !is_request_body(file, producer, world)),
        "git" => matches!(
            producer.operand(0).map(Arg::text),
            Some(
                "archive"
                    | "bundle"
                    | "diff"
                    | "log"
                    | "show"
                    | "format-patch"
                    | "ls-files"
                    | "remote"
                    | "config"
            )
        ),
        "<read>" => producer.args.iter().any(|file| !is_request_body(file, producer, world)),
        name => READERS.contains(&name),
    })
}

/// Files or program output piped into a raw connection. A typed request (`echo`, `printf`) is fine.
pub fn pipes_into_connection(invocation: &Invocation, world: &World<'_>) -> bool {
    let operands = invocation.operands();
    let host = match invocation.name() {
        "socat" => operands.iter().map(|word| word.text()).find_map(|word| {
            let lower = word.to_lowercase();
            let is_net = ["tcp", "udp", "openssl", "ssl", "sctp"].iter().any(|kind| lower.starts_with(kind));
            is_net
                .then(|| word.split_once(':'))
                .flatten()
                .map(|(_, rest)| rest.split(':').next().unwrap_or(rest))
        }),
        "openssl" => None,
        _ => operands.first().map(|host| host.text()),
    };
    let connect = invocation.flag_value("-connect");
    let host = host.or_else(|| connect.as_ref().map(|to| host_of(to.text())));
    let is_probe = invocation
        .stdin
        .from
        .iter()
        .all(|from| matches!(from.name(), "echo" | "printf" | "yes" | "true" | ":" | "sleep"));
    let reads_file = match (&invocation.stdin.text, invocation.stdin.from.is_empty()) {
        (_, false) => !is_probe || is_from_files(invocation, world),
        (Some(text), true) => !text.is_known() && !text.text().is_empty(),
        (None, true) => false,
    };
    reads_file && host.is_some_and(|host| !is_local(host))
}

/// `host:path` as the target, of a machine that is not this one.
pub fn copies_to_host(invocation: &Invocation, _: &World<'_>) -> bool {
    let operands = invocation.operands();
    let Some(target) = operands.last().filter(|_| operands.len() > 1) else { return false };
    let text = target.text();
    let is_url = text.starts_with("rsync://") || text.starts_with("scp://") || text.starts_with("sftp://");
    let is_here = matches!(host_of(text), "localhost" | "127.0.0.1" | "::1");
    let is_trial = invocation.name() == "rsync" && invocation.has_any_flag(&["-n", "--dry-run"]);
    (is_url || is_remote_name(target)) && !is_here && !is_trial
}

/// `put` on the standard input or in a batch of commands.
pub fn puts_files(invocation: &Invocation, _: &World<'_>) -> bool {
    let typed = invocation.stdin.text.as_ref().is_some_and(|text| text.text().contains("put"));
    let by_flag = invocation.args.iter().any(|arg| {
        let text = arg.text();
        text.contains("put ") || text.contains("mirror -R") || text.contains("mirror --reverse")
    });
    let by_batch = invocation.name() == "sftp" && invocation.has_flag("-b");
    typed || by_flag || by_batch
}

/// A push to a URL, or to something that no remote is called.
pub fn pushes_to_stranger(invocation: &Invocation, world: &World<'_>) -> bool {
    let operands = invocation.operands();
    let by_flag = invocation.flag_value("--repo");
    let Some(target) = by_flag.as_ref().or_else(|| operands.get(1).copied()) else { return false };
    let Some(text) = target.known() else { return text_is_url(target.text()) };
    match ask(invocation, world, GitQuestion::IsRemote(text)) {
        // The usual names are nothing strange, also where no remote has them yet; `.` is the repository itself.
        Some(is_remote) => !is_remote && !matches!(text, "origin" | "upstream" | "."),
        None => text_is_url(text) || text.contains(['/', ':']),
    }
}

fn text_is_url(text: &str) -> bool {
    text.contains("://") || (text.contains('@') && text.contains(':'))
}

/// A copy from here to a bucket or another remote store: whole directories, archives, secrets, or for everyone to see.
pub fn copies_to_bucket(invocation: &Invocation, world: &World<'_>) -> bool {
    let Some((source, _)) = bucket_copy(invocation) else { return false };
    let place = locate(&source, invocation, world);
    let is_public = invocation.flag_values("--acl").iter().any(|acl| acl.text().starts_with("public"));
    let is_archive = [".tar", ".tgz", ".gz", ".zip", ".sql", ".dump", ".db", ".sqlite", ".bak", ".7z"]
        .iter()
        .any(|end| source.text().ends_with(end));
    is_public
        || is_archive
        || source.text() == "-"
        || is_secret_arg(&source, invocation, world)
        || !matches!(place.zone, Zone::Workspace | Zone::Temp)
}

/// Built files, to a place that the user may well have meant.
pub fn copies_build_to_bucket(invocation: &Invocation, world: &World<'_>) -> bool {
    bucket_copy(invocation).is_some() && !copies_to_bucket(invocation, world)
}

/// Source and target of a copy to a store.
fn bucket_copy(invocation: &Invocation) -> Option<(Arg, Arg)> {
    let mut words = invocation.operands().into_iter().skip_while(|word| {
        matches!(
            word.text(),
            "s3" | "cp" | "sync" | "mv" | "copy" | "copyto" | "move" | "rsync" | "put" | "storage" | "mirror"
        )
    });
    let (source, target) = (words.next()?, words.next()?);
    let is_store = |arg: &Arg| match invocation.name() {
        "rclone" => is_remote_name(arg),
        "mc" => {
            arg.text().contains('/') && !Path::new(arg.text()).is_absolute() && !arg.text().starts_with('.')
        }
        _ => {
            ["s3://", "gs://", "az://", "b2://", "r2://"].iter().any(|scheme| arg.text().starts_with(scheme))
        }
    };
    (!is_store(source) && is_store(target)).then(|| (source.clone(), target.clone()))
}
