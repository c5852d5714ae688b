//! Which variables of the user's environment a process in a sandbox gets.
//!
//! All but those that lead to sockets of the user's session, those whose names look like secrets,
//! and those that belong to an agent, which only that agent gets. The user lets others in by name
//! (`sandbox.variables`), or lets nothing in but a small base (`sandbox.env: "only"`).
//!
//! Deliberately absent: values. Whether one is a key cannot be told from its looks, and a run would
//! behave differently from one day to the next.

use super::EnvRule;
use super::agents::{AGENTS, AgentFiles, matches};
use super::paths::VARIABLES;

/// What the user lets in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed<'a> {
    pub env: EnvRule,
    /// Names, which may end with `*`.
    pub variables: &'a [String],
}

/// What a process is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who<'a> {
    /// With none, it is not known which: a script may start any of them.
    Agent(Option<&'a AgentFiles>),
    /// Checks, and whatever else is not an agent.
    Check,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    Yes,
    /// It leads out of the sandbox, to the user's session.
    Socket,
    /// Its name looks like one.
    Secret,
    /// It is meant for an agent, and not for this process.
    Agents,
    /// Nothing passes that is not on the list.
    NotListed,
}

/// What becomes of the variables of an environment, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sorted<'a> {
    /// All that do not pass, in the order in which they were given.
    pub removed: Vec<(&'a str, Pass)>,
}

impl<'a> Sorted<'a> {
    pub fn of(&self, why: Pass) -> impl Iterator<Item = &'a str> {
        self.removed.iter().filter(move |(_, pass)| *pass == why).map(|(name, _)| *name)
    }
}

/// Sorts an environment for one process. What an agent needs for a cloud is among its own keys if the
/// environment says that it works there.
pub fn sort<'a>(names: &[&'a str], who: Who<'_>, allowed: Allowed<'_>) -> Sorted<'a> {
    let clouds: Vec<&str> = match who {
        Who::Agent(Some(agent)) => {
            let used = agent.clouds.iter().filter(|(switch, _)| names.contains(switch));
            used.flat_map(|(_, keys)| keys.iter().copied()).collect()
        }
        Who::Agent(None) | Who::Check => Vec::new(),
    };
    let judge = |name: &&'a str| match passes(name, who, allowed) {
        Pass::Yes => None,
        _ if clouds.iter().any(|pattern| matches(pattern, name)) => None,
        why => Some((*name, why)),
    };
    Sorted { removed: names.iter().filter_map(judge).collect() }
}

/// Whether a process gets a variable.
pub fn passes(name: &str, who: Who<'_>, allowed: Allowed<'_>) -> Pass {
    if allowed.variables.iter().any(|pattern| matches(pattern, name)) {
        return Pass::Yes;
    }
    if allowed.env == EnvRule::Only && is_base(name) {
        return Pass::Yes;
    }
    if leads_to_session(name) {
        return Pass::Socket;
    }
    let owner = AGENTS.iter().find(|agent| agent.owns(name));
    match (owner, who) {
        (_, Who::Agent(Some(agent))) if agent.gets(name) => return Pass::Yes,
        (Some(_), Who::Agent(None)) => return Pass::Yes,
        (Some(_), Who::Agent(Some(_)) | Who::Check) => return Pass::Agents,
        (None, _) => {}
    }
    match allowed.env {
        EnvRule::Only => Pass::NotListed,
        EnvRule::Most if looks_secret(name) => Pass::Secret,
        EnvRule::Most => Pass::Yes,
    }
}

/// What a process gets even if nothing else passes: enough to find programs, their files, and the
/// network.
fn is_base(name: &str) -> bool {
    const BASE: &str = "\
        PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ TERM COLORTERM NO_COLOR PWD TMPDIR CI \
        SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE \
        GIT_SSL_CAINFO GIT_SSL_CAPATH PIP_CERT CARGO_HTTP_CAINFO AWS_CA_BUNDLE NIX_SSL_CERT_FILE \
        DENO_CERT UV_SYSTEM_CERTS UV_NATIVE_TLS HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY \
        http_proxy https_proxy all_proxy no_proxy";
    is_among(BASE, name) || VARIABLES.iter().any(|(known, _)| *known == name)
}

/// Whether a variable leads to a socket or a program of the user's session: agents that hold keys,
/// the desktop, terminals, editors, and daemons that act for the user.
fn leads_to_session(name: &str) -> bool {
    const SESSION: &str = "\
        SSH_AUTH_SOCK SSH_AGENT_PID SSH_ASKPASS GIT_ASKPASS SUDO_ASKPASS GPG_AGENT_INFO GPG_TTY \
        DBUS_* XDG_RUNTIME_DIR XDG_SESSION_ID DISPLAY WAYLAND_* XAUTHORITY ICEAUTHORITY \
        SESSION_MANAGER GNOME_KEYRING_* AT_SPI_BUS_ADDRESS PULSE_* PIPEWIRE_* I3SOCK SWAYSOCK \
        NIRI_SOCKET HYPRLAND_* TMUX TMUX_* STY ZELLIJ* KITTY_* WEZTERM_* ALACRITTY_* GHOSTTY_* \
        NVIM NVIM_LISTEN_ADDRESS EMACS_SOCKET_NAME VSCODE_* INTELLIJ_* CLAUDE_CODE_SSE_PORT \
        DOCKER_HOST CONTAINER_HOST PODMAN_* NOTIFY_SOCKET LISTEN_FDS LISTEN_PID LISTEN_FDNAMES \
        JOURNAL_STREAM MANAGERPID INVOCATION_ID KDE_* DESKTOP_STARTUP_ID XDG_ACTIVATION_TOKEN";
    const ENDINGS: &str = "_SOCK _SOCKET _SOCKET_PATH _IPC_HANDLE _IPC_HOOK";
    is_among(SESSION, name) || ENDINGS.split(' ').any(|end| name.ends_with(end))
}

/// Whether a name is that of a secret, by its words: `GITHUB_TOKEN`, `npm_config__authToken`,
/// `PGPASSWORD`. A name that says how long, where or of which kind a secret is does not hold it.
pub fn looks_secret(name: &str) -> bool {
    const ENDINGS: &str = "\
        PASSWORD PASSWORDS PASSWD PASSPHRASE PASSCODE SECRET SECRETS TOKEN APIKEY APIKEYS \
        CREDENTIAL CREDENTIALS PRIVATEKEY ACCESSKEY SECRETKEY SSHPASS";
    const WORDS: &str = "PASS PAT JWT BEARER COOKIE COOKIES";
    const HARMLESS_LAST: &str = "\
        FILE PATH DIR DIRECTORY URL ENDPOINT HOST PORT TTL LIMIT TIMEOUT COUNT SIZE BUDGET LENGTH \
        EXPIRY EXPIRES EXPIRATION LIFETIME ENABLED DISABLED TYPE NAME NAMES HEADER ALGORITHM \
        PREFIX REGEX PATTERN VERSION MODE PROVIDER PROVIDERS PERIOD HASH ALGO";
    const HARMLESS_KEYS: &str = "PUBLIC PUB SORT PRIMARY FOREIGN PARTITION CACHE ROUTING HOST COMPOSE";
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let Some(last) = words.last() else { return false };
    // The address is all that is needed to post there.
    if words.contains(&"WEBHOOK") || name == "DOCKER_AUTH_CONFIG" {
        return true;
    }
    if is_among(HARMLESS_LAST, last) {
        return false;
    }
    let pair = |first: &str, second: &str| words.windows(2).any(|two| two == [first, second]);
    let before_last = words.iter().rev().nth(1);
    words.iter().any(|word| ENDINGS.split(' ').any(|end| word.ends_with(end)) || is_among(WORDS, word))
        || pair("API", "KEY")
        || pair("ACCESS", "KEY")
        || pair("PRIVATE", "KEY")
        || pair("SECRET", "KEY")
        || matches!(*last, "AUTH")
        || (*last == "KEY" && !before_last.is_some_and(|word| is_among(HARMLESS_KEYS, word)))
        || (*last == "KEYS" && before_last.is_some_and(|word| matches!(*word, "API" | "SECRET" | "ACCESS")))
        || (*last == "PWD" && before_last.is_some())
}

/// Whether a list, separated by spaces, has a pattern for a name.
fn is_among(patterns: &str, name: &str) -> bool {
    patterns.split(' ').any(|pattern| matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::agents::agent;

    #[test]
    fn secrets_are_known_by_the_words_of_their_names() {
        for secret in "\
            GITHUB_TOKEN GH_TOKEN NPM_TOKEN npm_config__authToken npm_config__auth \
            NPM_CONFIG__PASSWORD CARGO_REGISTRY_TOKEN CARGO_REGISTRIES_OWN_TOKEN \
            AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN \
            AWS_CONTAINER_CREDENTIALS_FULL_URI GOOGLE_APPLICATION_CREDENTIALS AZURE_CLIENT_SECRET \
            DB_PASSWORD PGPASSWORD MYSQL_PWD SMTP_PASS STRIPE_KEY SSH_PRIVATE_KEY ENCRYPTION_KEY \
            API_KEY API_KEYS SOME_APIKEY GITHUB_PAT SESSION_JWT REDISCLI_AUTH SLACK_WEBHOOK_URL \
            DOCKER_AUTH_CONFIG GPG_PASSPHRASE VAULT_TOKEN HF_TOKEN TWINE_PASSWORD SSHPASS secret \
            KEY AWS_BEARER_TOKEN_BEDROCK KUBE_TOKEN LICENSE_KEY"
            .split(' ')
        {
            assert!(looks_secret(secret), "{secret}");
            assert_eq!(passes(secret, Who::Check, Allowed::default()), Pass::Secret, "{secret}");
        }
    }

    #[test]
    fn harmless_names_are_not_taken_for_secrets() {
        for harmless in "\
            TOKENIZERS_PARALLELISM MONKEY KEYBOARD HOTKEY MAX_TOKENS MAX_THINKING_TOKENS PWD \
            OLDPWD PATH GOPATH MANPATH AWS_REGION AWS_PROFILE AWS_CA_BUNDLE PASSENGER_ROOT BYPASS \
            COMPASS_URL AUTHOR GIT_AUTHOR_NAME AUTHORITY SORT_KEY PUBLIC_KEY CACHE_KEY TOKEN_URL \
            TOKEN_TTL AWS_WEB_IDENTITY_TOKEN_FILE SECRET_NAME ANSIBLE_VAULT_PASSWORD_FILE \
            DATABASE_URL KEYMAP SECRETARY PATTERN KUBECONFIG KEYTIMEOUT _ LESSKEY_SYSTEM"
            .split(' ')
        {
            assert_eq!(passes(harmless, Who::Check, Allowed::default()), Pass::Yes, "{harmless}");
        }
    }

    #[test]
    fn sockets_of_the_session_stay_outside() {
        for socket in "\
            SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY \
            XAUTHORITY TMUX TMUX_PANE GPG_AGENT_INFO DOCKER_HOST VSCODE_GIT_IPC_HANDLE \
            GIT_ASKPASS SSH_ASKPASS KITTY_LISTEN_ON WEZTERM_UNIX_SOCKET MY_SOCK \
            CLAUDE_CODE_SSE_PORT"
            .split(' ')
        {
            assert_eq!(
                passes(socket, Who::Agent(agent("claude")), Allowed::default()),
                Pass::Socket,
                "{socket}"
            );
        }
    }

    #[test]
    fn the_keys_of_an_agent_go_to_that_agent_only() {
        let rule = Allowed::default();
        for (name, owner, other) in [
            ("ANTHROPIC_API_KEY", "claude", "codex"),
            ("ANTHROPIC_BASE_URL", "claude", "codex"),
            ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "claude", "gemini"),
            ("OPENAI_API_KEY", "codex", "claude"),
            ("CODEX_API_KEY", "codex", "claude"),
            ("GEMINI_API_KEY", "gemini", "claude"),
            ("GOOGLE_API_KEY", "gemini", "claude"),
            ("AMP_API_KEY", "amp", "claude"),
        ] {
            assert_eq!(passes(name, Who::Agent(agent(owner)), rule), Pass::Yes, "{name}");
            assert_eq!(passes(name, Who::Agent(agent(other)), rule), Pass::Agents, "{name}");
            assert_eq!(passes(name, Who::Check, rule), Pass::Agents, "{name}");
            assert_eq!(passes(name, Who::Agent(None), rule), Pass::Yes, "{name}");
            let named = [name.to_owned()];
            let let_in = Allowed { variables: &named, ..Allowed::default() };
            assert_eq!(passes(name, Who::Check, let_in), Pass::Yes, "{name}");
        }
        // Several agents take it, and it opens more than a model.
        assert_eq!(passes("GITHUB_TOKEN", Who::Agent(agent("copilot")), rule), Pass::Yes);
        assert_eq!(passes("GITHUB_TOKEN", Who::Agent(agent("claude")), rule), Pass::Secret);
        assert_eq!(passes("GITHUB_TOKEN", Who::Agent(None), rule), Pass::Secret);
    }

    #[test]
    fn an_agent_gets_the_keys_of_the_cloud_that_it_works_in() {
        let names = ["CLAUDE_CODE_USE_BEDROCK", "AWS_SECRET_ACCESS_KEY", "OTHER_SECRET"];
        let removed = |names: &[&'static str], who| -> Vec<&str> {
            sort(names, who, Allowed::default()).removed.iter().map(|(name, _)| *name).collect()
        };
        assert_eq!(removed(&names, Who::Agent(agent("claude"))), ["OTHER_SECRET"]);
        assert_eq!(
            removed(&names[1..], Who::Agent(agent("claude"))),
            ["AWS_SECRET_ACCESS_KEY", "OTHER_SECRET"]
        );
        assert_eq!(removed(&names, Who::Check), names);
    }

    #[test]
    fn what_is_let_in_is_named_or_begins_like_that() {
        let named = ["DB_*".to_owned(), "SSH_AUTH_SOCK".to_owned()];
        let rule = Allowed { variables: &named, ..Allowed::default() };
        for name in ["DB_PASSWORD", "DB_", "SSH_AUTH_SOCK"] {
            assert_eq!(passes(name, Who::Check, rule), Pass::Yes, "{name}");
        }
        assert_eq!(passes("MY_DB_PASSWORD", Who::Check, rule), Pass::Secret);
    }

    #[test]
    fn the_strict_rule_lets_nothing_in_but_the_base_and_what_is_named() {
        let rule = Allowed { env: EnvRule::Only, variables: &["FOO".to_owned()] };
        for name in ["PATH", "HOME", "LC_ALL", "https_proxy", "SSL_CERT_FILE", "CARGO_HOME", "FOO"] {
            assert_eq!(passes(name, Who::Check, rule), Pass::Yes, "{name}");
        }
        for name in ["EDITOR", "RUST_LOG", "GITHUB_TOKEN"] {
            assert_eq!(passes(name, Who::Check, rule), Pass::NotListed, "{name}");
        }
        assert_eq!(passes("ANTHROPIC_API_KEY", Who::Agent(agent("claude")), rule), Pass::Yes);
        assert_eq!(passes("ANTHROPIC_API_KEY", Who::Check, rule), Pass::Agents);
    }

    #[test]
    fn what_is_removed_is_named_by_its_reason() {
        let names = ["PATH", "TMUX", "GITHUB_TOKEN", "OPENAI_API_KEY"];
        let sorted = sort(&names, Who::Check, Allowed::default());
        assert_eq!(sorted.of(Pass::Secret).collect::<Vec<_>>(), ["GITHUB_TOKEN"]);
        assert_eq!(sorted.of(Pass::Socket).collect::<Vec<_>>(), ["TMUX"]);
        assert_eq!(sorted.of(Pass::Agents).collect::<Vec<_>>(), ["OPENAI_API_KEY"]);
    }
}
