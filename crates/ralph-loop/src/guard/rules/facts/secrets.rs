//! Which secrets an invocation reads or shows.

use super::places::matched_names;
use super::touch::touches;
use crate::guard::arg::{ANY_ONE, Arg, STAR};
use crate::guard::paths::{self, Zone, locate};
use crate::guard::{End, Invocation, World};
use std::path::Path;

/// Programs that show or copy what is in the files that they name.
pub const READERS: &[&str] = &[
    "<read>",
    "cat|tac|less|more|most|head|tail|bat|batcat|nl|strings",
    "xxd|od|hexdump|base64|base32|grep|egrep|fgrep|zgrep|rg|ag",
    "awk|gawk|mawk|sed|gsed|cut|sort|uniq|cp|mv|scp|rsync|tar",
    "zip|7z|gzip|openssl|jq|yq|diff|cmp|paste|column|fold|rev",
    "fmt|pr|split|dd|tr|xclip|xsel|pbcopy|python|python3",
    "node|ruby|perl|php|curl|wget|sqlite3|gpg|zcat|look|ln|tee",
    "docker|podman|kubectl|socat",
];

/// Whether an argument leads to a file with keys or passwords.
pub fn is_secret_arg(arg: &Arg, invocation: &Invocation, world: &World<'_>) -> bool {
    let text = arg.text();
    if text.ends_with(".pub") || text.is_empty() {
        return false;
    }
    let place = locate(arg, invocation, world);
    if place.zone == Zone::Unknown {
        return is_secret_name(text, world);
    }
    // `~/.aws/*`
    let is_everything = arg.has_glob() && arg.base_name().trim_matches([STAR, ANY_ONE]).is_empty();
    let dir = place.path.parent().filter(|dir| is_everything && *dir != world.home);
    let everything_in = dir.is_some_and(|dir| paths::has_secrets(dir, world));
    let mut by_pattern =
        matched_names(arg, &place, &[".env", ".env.local", "id_rsa", "id_ed25519"]).into_iter();
    paths::is_secret(&place.path, world)
        || everything_in
        || by_pattern.any(|path| paths::is_secret(&path, world))
}

/// A path whose beginning is not known: `$DIR/.env`, `$HOME_OF/.ssh/id_rsa`.
fn is_secret_name(text: &str, world: &World<'_>) -> bool {
    let known: String = text.chars().skip_while(|c| *c != '/').collect();
    known.len() > 1 && paths::is_secret(&world.home.join(known.trim_start_matches('/')), world)
}

/// Whether what a program prints is read by the agent or kept. What is captured is followed by the walker, and
/// judged where it is used.
pub fn is_exposed(invocation: &Invocation) -> bool {
    let through = &invocation.stdout.through;
    if invocation.stdout.end == End::Captured || through.iter().any(shows_names_only) {
        return false;
    }
    through.last().is_none_or(|last| prints_input(last.name()))
}

/// Programs that print what they read, changed or not.
fn prints_input(name: &str) -> bool {
    const TEXT: [&str; 40] = [
        "cat", "tac", "tee", "head", "tail", "grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk", "cut",
        "sort", "uniq", "base64", "base32", "xxd", "od", "hexdump", "tr", "rev", "fold", "less", "more",
        "jq", "yq", "column", "nl", "strings", "python", "python3", "node", "perl", "ruby", "echo", "printf",
        "xargs", "gzip", "openssl",
    ];
    TEXT.contains(&name)
}

/// Programs that copy files, and print nothing of them.
fn copies_files(name: &str) -> bool {
    matches!(
        name,
        "<read>"
            | "cp"
            | "mv"
            | "ln"
            | "scp"
            | "rsync"
            | "tar"
            | "zip"
            | "7z"
            | "dd"
            | "docker"
            | "podman"
            | "kubectl"
            | "curl"
            | "wget"
            | "split"
            | "socat"
    )
}

/// A copy of a secret in the workspace that is under a secret name as well: `cp .env .env.bak`.
fn stays_secret(invocation: &Invocation, world: &World<'_>) -> bool {
    let operands = invocation.operands();
    matches!(invocation.name(), "cp" | "mv")
        && operands.len() == 2
        && operands.iter().all(|path| {
            let place = locate(path, invocation, world);
            place.zone == Zone::Workspace && paths::is_secret(&place.path, world)
        })
}

/// A secret file is read, and more of it than names.
pub fn reads_secret(invocation: &Invocation, world: &World<'_>) -> bool {
    !shows_names_only(invocation)
        && !edits_own(invocation, world)
        && (copies_files(invocation.name()) || is_exposed(invocation))
        && !stays_secret(invocation, world)
        && read_paths(invocation).iter().any(|arg| {
            is_secret_arg(arg, invocation, world)
                || (reads_directories(invocation)
                    && paths::has_secrets(&locate(arg, invocation, world).path, world))
        })
}

/// `sed -i … .env`: a file of the project is changed, and nothing of it is shown.
fn edits_own(invocation: &Invocation, world: &World<'_>) -> bool {
    if !matches!(invocation.name(), "sed" | "gsed" | "perl" | "ruby" | "yq") {
        return false;
    }
    let touched = touches(invocation);
    !touched.is_empty()
        && touched.iter().all(|touch| locate(&touch.path, invocation, world).zone == Zone::Workspace)
}

/// The arguments that are read, as paths.
fn read_paths(invocation: &Invocation) -> Vec<Arg> {
    let name = invocation.name();
    let operands = invocation.operands();
    let cloned = |words: &[&Arg]| words.iter().map(|word| (*word).clone()).collect::<Vec<Arg>>();
    match name {
        // The last operand is written.
        "cp" | "mv" | "scp" | "rsync" | "ln" => match invocation.flag_value("-t") {
            Some(_) => cloned(&operands),
            None => cloned(&operands[..operands.len().saturating_sub(1)]),
        },
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "sed" | "gsed" | "awk" | "gawk" | "mawk"
        | "jq" | "yq" => {
            let has_script = invocation.has_any_flag(&["-e", "-f", "--regexp", "--expression", "--file"]);
            cloned(operands.get(usize::from(!has_script)..).unwrap_or_default())
        }
        "dd" => stripped(invocation, "if="),
        "socat" => {
            [stripped(invocation, "FILE:"), stripped(invocation, "OPEN:"), stripped(invocation, "GOPEN:")]
                .concat()
        }
        "openssl" => [invocation.flag_values("-in"), invocation.flag_values("-inkey")].concat(),
        "tee" => Vec::new(),
        "curl" | "wget" => {
            let mut paths = stripped(invocation, "file://");
            let values = invocation.args.iter().filter_map(|arg| {
                let text = arg.text();
                let at = text
                    .find('@')
                    .filter(|at| *at == 0 || text[..*at].ends_with('=') || text.starts_with("-"))?;
                Some(Arg::new(&text[at + 1..]))
            });
            paths.extend(values);
            for flag in ["-T", "--upload-file", "--post-file", "--body-file", "-K"] {
                paths.extend(invocation.flag_values(flag));
            }
            paths
        }
        "docker" | "podman" | "kubectl" => match operands.as_slice() {
            [command, source, ..] if command.text() == "cp" => vec![(*source).clone()],
            _ => Vec::new(),
        },
        "python" | "python3" | "node" | "ruby" | "perl" | "php" => {
            if invocation.has_flag("-m") {
                return Vec::new();
            }
            let has_code = invocation.has_any_flag(&["-c", "-e", "-p"]);
            let code_at = usize::from(has_code);
            cloned(operands.get(code_at..).unwrap_or_default())
        }
        _ => cloned(&operands),
    }
}

fn stripped(invocation: &Invocation, prefix: &str) -> Vec<Arg> {
    invocation.args.iter().filter_map(|arg| arg.text().strip_prefix(prefix)).map(Arg::new).collect()
}

/// Whether a directory that it names is read as a whole.
fn reads_directories(invocation: &Invocation) -> bool {
    match invocation.name() {
        "tar" | "rg" | "ag" | "rsync" | "7z" => true,
        "cp" | "scp" => invocation.has_any_flag(&["-r", "-R", "-a", "--recursive", "--archive"]),
        "grep" | "egrep" | "fgrep" => invocation.has_any_flag(&["-r", "-R", "--recursive"]),
        "zip" => invocation.has_flag("-r"),
        _ => false,
    }
}

/// `cut -d= -f1 .env` and its relatives: names of variables, or only whether something is there.
fn shows_names_only(invocation: &Invocation) -> bool {
    let has = |text: &str| invocation.args.iter().any(|arg| arg.text() == text);
    let script = |wanted: &[&str]| {
        invocation.args.iter().any(|arg| {
            let text: String = arg.text().chars().filter(|c| !c.is_whitespace()).collect();
            wanted.iter().any(|part| text.contains(part))
        })
    };
    match invocation.name() {
        "cut" => {
            script(&["-d="]) && (has("-f1") || has("1"))
                || (has("-d") && has("=") && (has("-f1") || has("1")))
        }
        "grep" | "egrep" | "rg" => {
            invocation.has_any_flag(&["-q", "-c", "-l", "-L", "--quiet", "--count", "--files-with-matches"])
                || (invocation.has_any_flag(&["-o", "--only-matching"])
                    && invocation.operands().first().is_some_and(|pattern| {
                        pattern.text().ends_with(['=', ']', '+', '*'])
                            && !pattern.text().contains(".*")
                            && !pattern.text().contains("=.")
                    }))
        }
        "sed" | "gsed" => script(&[
            "s/=.*//",
            "s/=.*/=/",
            "s/=.*$//",
            "s/=.*/=***/",
            "s/=.*/=<redacted>/",
            "s/=.*/=REDACTED/",
        ]),
        "wc" | "sha256sum" | "md5sum" | "shasum" => true,
        "awk" | "gawk" | "mawk" => script(&["{print$1}"]) && (script(&["-F="]) || has("=")),
        _ => false,
    }
}

const SECRET_WORDS: [&str; 14] = [
    "token",
    "secret",
    "passw",
    "passwd",
    "apikey",
    "api_key",
    "_key",
    "credential",
    "private",
    "aws",
    "pwd",
    "auth",
    "key",
    "pass",
];

/// Whether a text is about secrets: the name of a variable, or what is looked for.
fn names_secret(text: &str) -> bool {
    let lower = text.to_lowercase();
    SECRET_WORDS.iter().any(|word| lower.contains(word))
}

/// `printenv GITHUB_TOKEN`
pub fn prints_secret_variable(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.operands().iter().any(|name| {
        let text = name.text();
        (names_secret(text) || name.has_unknown()) && !matches!(text, "PWD" | "OLDPWD" | "SSH_AUTH_SOCK")
    })
}

/// `env | grep -i token`, `history | grep password`
pub fn greps_secrets(invocation: &Invocation, _: &World<'_>) -> bool {
    let lists = invocation.stdin.from.iter().any(|from| match from.name() {
        "env" | "printenv" | "set" | "history" => true,
        "export" | "declare" | "typeset" | "compgen" | "<read>" => {
            from.has_flag("-p") || from.args.is_empty()
        }
        _ => false,
    });
    lists
        && !invocation.has_any_flag(&["-q", "-c", "-v"])
        && invocation.args.iter().any(|arg| names_secret(arg.text()))
        && !shows_names_only(invocation)
}

/// The content of a secret is an argument: `echo "$API_TOKEN"`.
pub fn shows_secret(invocation: &Invocation, _: &World<'_>) -> bool {
    let is_kept = matches!(invocation.stdout.end, End::File(_)) && invocation.stdout.through.is_empty();
    invocation.args.iter().any(Arg::has_secret) && is_exposed(invocation) && !is_kept
}

/// No command, so that `env` prints everything.
pub fn lists_environment(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.args.iter().all(|arg| arg.is_flag() && arg.text() != "--help" && arg.text() != "--version")
}

/// Files with keys, looked for outside the workspace.
pub fn searches_for_secrets(invocation: &Invocation, world: &World<'_>) -> bool {
    const NAMES: [&str; 22] = [
        "id_rsa",
        "id_ed25519",
        "id_ecdsa",
        "id_dsa",
        ".pem",
        ".key",
        ".p12",
        ".pfx",
        "passw",
        "credential",
        ".env",
        "secret",
        "token",
        "wallet",
        ".kdbx",
        "apikey",
        "api_key",
        "aws_access",
        "private_key",
        "private key",
        "akia",
        ".netrc",
    ];
    let is_find = matches!(invocation.name(), "find" | "locate" | "fd" | "mdfind" | "plocate");
    let about_secrets = invocation.args.iter().any(|arg| {
        let lower = arg.text().to_lowercase();
        NAMES.iter().any(|name| lower.contains(name))
    });
    if !about_secrets {
        return false;
    }
    if matches!(invocation.name(), "locate" | "plocate" | "mdfind") {
        return true;
    }
    let operands = invocation.operands();
    let first = usize::from(!is_find && !invocation.has_any_flag(&["-e", "-f", "--regexp"]));
    operands.iter().skip(first).any(|root| {
        let zone = locate(root, invocation, world).zone;
        let is_path = Path::new(root.text()).is_absolute() || root.text().starts_with("..");
        is_path && matches!(zone, Zone::System | Zone::Home | Zone::Outside)
    })
}
