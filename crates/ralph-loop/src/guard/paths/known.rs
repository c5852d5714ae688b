//! Files and directories that are known by their names: secrets, startup files, and what decides over agents.

use crate::guard::world::World;
use std::path::{Component, Path};

/// The parts of a path that decide what it is.
pub fn names(path: &Path) -> Vec<&str> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect()
}

/// In the user's home: files and directories with keys, tokens and passwords.
const SECRETS: [&str; 44] = [
    ".aws/credentials",
    ".aws/sso",
    ".aws/cli/cache",
    ".azure",
    ".boto",
    ".config/doctl",
    ".config/gcloud",
    ".config/gh/hosts.yml",
    ".config/glab-cli",
    ".config/hub",
    ".config/heroku",
    ".config/rclone",
    ".config/sops",
    ".docker/config.json",
    ".fly/config.yml",
    ".gnupg",
    ".kube/config",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".config/git/credentials",
    ".password-store",
    ".local/share/keyrings",
    ".cargo/credentials",
    ".config/op",
    ".s3cfg",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".gem/credentials",
    ".mozilla/firefox",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    "Library/Keychains",
    "Library/Application Support/Google/Chrome",
    ".bitcoin",
    ".ethereum",
    ".electrum",
    ".config/solana/id.json",
    ".ssh",
];

fn in_home<'a>(path: &'a Path, world: &World<'_>) -> &'a str {
    path.strip_prefix(&world.home).ok().and_then(Path::to_str).unwrap_or_default()
}

/// How much of a directory is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// A file, or an entry that is moved elsewhere.
    Alone,
    WithAllBelow,
}

/// Whether this is no part of the work in a home that is itself the workspace: the person's files, keys and
/// configuration, and other repositories.
pub fn is_persons_own(path: &Path, removed: Removed, world: &World<'_>) -> bool {
    const FILES: [&str; 12] = [
        "Documents",
        "Desktop",
        "Downloads",
        "Pictures",
        "Music",
        "Videos",
        "Movies",
        "Public",
        "Templates",
        "Library",
        ".config",
        ".local",
    ];
    const KEYS: [&str; 9] = [
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".password-store",
        ".mozilla",
        ".thunderbird",
    ];
    if world.workspace != world.home {
        return false;
    }
    let Ok(inside) = path.strip_prefix(&world.home) else { return false };
    let names = names(inside);
    let is_repository = || (world.names)(path).is_some_and(|names| names.iter().any(|name| name == ".git"));
    match (names.as_slice(), removed) {
        ([], _) => false,
        ([first, ..], _) if KEYS.contains(first) => true,
        ([first], _) if FILES.contains(first) => true,
        ([first, _] | [first, "share", _], Removed::WithAllBelow) if FILES.contains(first) => true,
        (_, Removed::WithAllBelow) => is_repository(),
        (_, Removed::Alone) => false,
    }
}

/// Whether a directory of the user's has files with secrets somewhere below it.
pub fn has_secrets(path: &Path, world: &World<'_>) -> bool {
    let is_above = world.home.starts_with(path);
    let inside = in_home(path, world);
    is_above
        || (!inside.is_empty()
            && SECRETS
                .iter()
                .any(|secret| secret.strip_prefix(inside).is_some_and(|rest| rest.starts_with('/'))))
}

/// Whether a file holds keys, tokens or passwords.
pub fn is_secret(path: &Path, world: &World<'_>) -> bool {
    let names = names(path);
    let Some(last) = names.last().copied() else { return false };
    let in_home = in_home(path, world);
    if [".example", ".sample", ".template", ".dist"].iter().any(|end| last.ends_with(end)) {
        return false;
    }
    let is_public = last.ends_with(".pub") || matches!(last, "config" | "known_hosts" | "known_hosts.old");
    if names.contains(&".ssh") && is_public {
        return false;
    }
    let is_ssh_key = names.contains(&".ssh");
    is_ssh_key
        || SECRETS.iter().any(|secret| in_home.starts_with(secret))
        || is_env_file(last)
        || is_key_file(last) && !is_for_tests(&names)
        || matches!(
            path.to_str(),
            Some(
                "/etc/shadow"
                    | "/etc/shadow-"
                    | "/etc/gshadow"
                    | "/etc/sudoers"
                    | "/etc/master.passwd"
                    | "/etc/krb5.keytab"
                    | "/etc/kubernetes/admin.conf"
            )
        )
        || path.starts_with("/etc/ssl/private")
        || (path.starts_with("/etc/ssh") && last.starts_with("ssh_host_") && !last.ends_with(".pub"))
        || (path.starts_with("/proc") && matches!(last, "environ" | "mem" | "kcore"))
        || path.starts_with("/run/secrets")
        || path.starts_with("/var/run/secrets")
        || last.starts_with("id_rsa") && !last.ends_with(".pub")
        || last.starts_with("id_ed25519") && !last.ends_with(".pub")
        || matches!(
            last,
            "Login Data" | "logins.json" | "key4.db" | "cookies.sqlite" | "Cookies" | "wallet.dat"
        )
        || matches!(
            last,
            ".bash_history" | ".zsh_history" | ".psql_history" | ".mysql_history" | ".python_history"
        )
        || last.contains("service-account") && last.ends_with(".json")
        || (in_home.starts_with(".claude/.credentials") || in_home.starts_with(".codex/auth.json"))
}

/// Private keys, key stores, and files that say of themselves that they hold secrets.
fn is_key_file(name: &str) -> bool {
    let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
    let lower = stem.to_lowercase();
    match end {
        "key" | "p12" | "pfx" | "jks" | "keystore" | "kdbx" | "ppk" | "keytab" => true,
        "pem" => lower.contains("key") || lower.contains("priv"),
        "json" | "yml" | "yaml" | "toml" | "ini" | "txt" | "csv" | "" => {
            matches!(&*lower, "secrets" | "secret" | "credentials" | "passwords" | ".secrets")
        }
        _ => false,
    }
}

fn is_for_tests(names: &[&str]) -> bool {
    const TESTS: [&str; 10] = [
        "test",
        "tests",
        "fixtures",
        "fixture",
        "testdata",
        "__tests__",
        "spec",
        "templates",
        "examples",
        "example",
    ];
    names.iter().any(|name| TESTS.contains(name))
}

/// `.env`, and not the examples and those of tests.
fn is_env_file(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(".env") else { return false };
    let is_public = ["example", "sample", "template", "dist", "test", "defaults", "schema", "ci"];
    rest.is_empty() || (rest.starts_with('.') && !is_public.iter().any(|word| rest.contains(word)))
}

/// Whether a file is read and obeyed later, by itself: shells, cron, systemd, ssh, git.
pub fn is_startup(path: &Path, world: &World<'_>) -> bool {
    let in_home = in_home(path, world);
    const HOME: [&str; 30] = [
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".bash_aliases",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        ".kshrc",
        ".inputrc",
        ".xinitrc",
        ".xprofile",
        ".xsessionrc",
        ".pam_environment",
        ".ssh/authorized_keys",
        ".ssh/config",
        ".ssh/rc",
        ".gitconfig",
        ".config/git",
        ".config/fish",
        ".config/autostart",
        ".config/systemd",
        ".config/environment.d",
        ".local/share/systemd",
        "Library/LaunchAgents",
        ".vimrc",
        ".tmux.conf",
    ];
    const SYSTEM: [&str; 16] = [
        "/etc/cron",
        "/etc/profile",
        "/etc/bash.bashrc",
        "/etc/zsh",
        "/etc/rc.local",
        "/etc/rc.d",
        "/etc/init.d",
        "/etc/systemd",
        "/etc/ld.so.preload",
        "/etc/environment",
        "/etc/xdg/autostart",
        "/etc/update-motd.d",
        "/var/spool/cron",
        "/lib/systemd",
        "/usr/lib/systemd",
        "/Library/Launch",
    ];
    let text = path.to_str().unwrap_or_default();
    HOME.iter().any(|file| in_home.starts_with(file)) || SYSTEM.iter().any(|file| text.starts_with(file))
}

/// What in a workspace decides over agents, hooks and ralph itself.
pub fn is_protected(path: &Path, world: &World<'_>) -> bool {
    if world.protected.iter().any(|file| path.starts_with(file)) {
        return true;
    }
    let Ok(inside) = path.strip_prefix(&world.workspace) else {
        let in_home = in_home(path, world);
        return in_home.starts_with(".claude/settings")
            || in_home.starts_with(".claude/hooks")
            || in_home.starts_with(".claude/plugins")
            || in_home == ".claude.json"
            || in_home == ".claude"
            || in_home.starts_with(".codex/")
            || in_home == ".codex"
            || in_home.starts_with(".ralph")
            || in_home.starts_with(".local/share/ralph")
            || in_home.starts_with(".config/ralph");
    };
    let names = names(inside);
    match names.as_slice() {
        [] => false,
        // A lock that a killed git has left is no treasure.
        [.., last] if names.contains(&".git") && last.ends_with(".lock") => false,
        // The `.git` of a repository inside, too; but not a name in a test fixture that only ends like it.
        names if names.contains(&".git") => {
            names.first() == Some(&".git") || names.last() != Some(&".gitkeep")
        }
        // A task list can be there, and agents write to it.
        [".ralph", "tasks.json" | "progress.txt" | "prd.md"] => false,
        [".ralph", ..] | [".codex", ..] => true,
        [".claude", "commands" | "skills" | "agents" | "plans", _, ..] => false,
        [".claude", ..] | [".mcp.json"] => true,
        ["ralph", "allowed-commands.txt"] => true,
        _ => false,
    }
}
