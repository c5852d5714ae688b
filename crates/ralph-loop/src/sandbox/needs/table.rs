//! What the words of programs mean. Earlier rows count first; words are in lower case.

use super::Missing;
use crate::sandbox::network::{Host, groups};

pub(super) struct Row {
    pub says: &'static [&'static str],
    pub means: Means,
}

pub(super) enum Means {
    Always(fn() -> Missing),
    /// Its socket, as the line names it or where it mostly is.
    Docker,
    /// A path in the line, or in one shortly before, or a program.
    NoSuch,
    Denied,
    ReadOnly,
    Port,
    /// What the proxy of the sandbox says.
    Refused,
}

pub(super) const DOCKER: &str = "/run/docker.sock";

pub(super) const ROWS: &[Row] = &[
    Row { says: &["network: "], means: Means::Refused },
    Row {
        says: &[
            "failed to connect to bus",
            "org.freedesktop.dbus.error",
            "autolaunch",
            "dbus_session_bus_address",
            "connect to d-bus",
            "connect to dbus",
            "connect to the d-bus",
        ],
        means: Means::Always(|| Missing::SessionBus),
    },
    Row { says: &["xdg_runtime_dir"], means: Means::Always(|| Missing::Session) },
    Row {
        says: &[
            "open display",
            "connect to display",
            "missing x server",
            "$display",
            "no display environment",
            "display environment variable",
        ],
        means: Means::Always(|| Missing::Display),
    },
    Row {
        says: &["ssh_auth_sock", "connection to your authentication agent"],
        means: Means::Always(|| Missing::KeyAgent),
    },
    Row {
        says: &[
            "sudo: ",
            "must be run as root",
            "must be root",
            "no new privileges",
            "new namespace failed",
            "create new namespace",
            "create user namespace",
            "unshare: ",
            "unshare failed",
            "ptrace: operation not permitted",
            "mount: only root",
        ],
        means: Means::Always(|| Missing::Privileges),
    },
    Row {
        says: &["docker.sock", "podman.sock", "docker daemon", "valid docker environment"],
        means: Means::Docker,
    },
    Row { says: &["read-only file system", "erofs", "os error 30", "errno 30"], means: Means::ReadOnly },
    Row {
        says: &["permission denied", "eacces", "os error 13", "errno 13", "operation not permitted", "eperm"],
        means: Means::Denied,
    },
    Row {
        says: &[
            "no such file",
            "enoent",
            "os error 2)",
            "errno 2]",
            "not found",
            "not exist",
            "n't exist",
            "cannot find",
            "can't find",
            "could not find",
            "cannot open",
            "can't open",
            "could not open",
            "unable to open",
            "cannot read",
            "could not read",
            "unable to read",
            "cannot access",
            "cannot stat",
            "missing",
            "could not connect",
            "connect failed",
            "connection to server on socket",
        ],
        means: Means::NoSuch,
    },
    Row {
        says: &[
            "connection refused",
            "econnrefused",
            "eacces",
            "permission denied",
            "could not connect",
            "can't connect",
            "os error 111",
        ],
        means: Means::Port,
    },
    Row {
        says: &["no space left on device", "enospc", "os error 28"],
        means: Means::Always(|| Missing::TemporarySpace),
    },
    Row {
        says: &["cannot allocate memory", "out of memory", "enomem", "os error 12"],
        means: Means::Always(|| Missing::Memory),
    },
    Row {
        says: &["resource temporarily unavailable", "cannot fork", "unable to create native thread"],
        means: Means::Always(|| Missing::Processes),
    },
    Row { says: &["file too large", "efbig", "os error 27"], means: Means::Always(|| Missing::FileSize) },
];

/// What is said of a variable that is not there.
pub(super) const UNSET: &[&str] = &[
    "not set",
    "n't set",
    "unset",
    "unbound",
    "undefined",
    "not defined",
    "missing",
    "required",
    "must be set",
    "must set",
    "set the",
    "keyerror",
    "not present",
    "not found",
    "environ",
    "env var",
    "process.env",
];

/// What is said of a path that is to be written.
pub(super) const WRITING: &[&str] =
    &["creat", "mkdir", "touch", "writ", "save", "remove", "unlink", "rename"];

/// The host in `network: example.org is not allowed`.
pub(super) fn refused_host(lower: &str) -> Option<Missing> {
    let said = lower.split_once("network: ")?.1;
    let (target, _) = said.split_once(" is not allowed")?;
    let (host, port) = match Host::with_port(target) {
        Ok((host, port)) => (host, Some(port)),
        Err(_) => (Host::parse(target).ok()?, None),
    };
    match (port, groups::group_of_host(&host.to_string())) {
        (Some(port), _) if host.is_local() => Some(Missing::Port(format!("localhost:{port}"))),
        (None, Some(group)) => Some(Missing::Host(group.name.to_owned())),
        (_, _) => Some(Missing::Host(target.to_owned())),
    }
}

/// `localhost:5432`, if the line names a port of this machine.
pub(super) fn local_port(lower: &str) -> Option<String> {
    let names = ["localhost", "127.0.0.1", "[::1]", "::1"];
    names.iter().find_map(|name| {
        let rest = &lower[lower.find(name)? + name.len()..];
        // `localhost:5432`, `127.0.0.1 5432`, `"localhost" (127.0.0.1), port 5432`
        let digits = rest.strip_prefix(':').or_else(|| rest.split_once("port ").map(|(_, port)| port));
        let digits = digits.or_else(|| rest.strip_prefix(' '))?;
        let port: String = digits.chars().take_while(char::is_ascii_digit).collect();
        let port: u16 = port.parse().ok()?;
        Some(format!("localhost:{port}"))
    })
}
