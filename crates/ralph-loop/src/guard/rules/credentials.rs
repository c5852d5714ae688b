//! Keys, tokens and passwords that are read or shown.

use super::facts::net::asks_for_metadata;
use super::facts::secrets::{
    READERS, greps_secrets, is_exposed, lists_environment, prints_secret_variable, reads_secret,
    searches_for_secrets, shows_secret,
};
use super::{Rule, always};
use crate::guard::paths::locate;
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "read-secret",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: READERS,
        when: reads_secret,
        why: "reads a file with keys, tokens or passwords",
        instead: "load it without showing it (`set -a; . ./.env`), or ask the user for what is needed",
        catches: "cat ~/.ssh/id_rsa",
        passes: "cut -d= -f1 .env",
    },
    Rule {
        id: "show-secret",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &["echo|printf|print|base64|xxd|od|hexdump|say|wall|write|logger|notify-send|jq|tr|rev"],
        when: shows_secret,
        why: "shows a secret in the output",
        instead: r#"test whether it is set: `[ -n "$NAME" ]`"#,
        catches: r#"echo "$GITHUB_TOKEN""#,
        passes: r#"echo "$GITHUB_TOKEN" | docker login ghcr.io -u me --password-stdin"#,
    },
    Rule {
        id: "print-secret-variable",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &["printenv"],
        when: prints_secret_variable,
        why: "shows a secret in the output",
        instead: r#"test whether it is set: `[ -n "$NAME" ]`"#,
        catches: "printenv AWS_SECRET_ACCESS_KEY",
        passes: "printenv HOME",
    },
    Rule {
        id: "grep-environment",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &["grep|egrep|fgrep|rg|awk|sed|ag"],
        when: greps_secrets,
        why: "looks for secrets in the environment or the history",
        instead: r#"test whether a variable is set: `[ -n "$NAME" ]`"#,
        catches: "env | grep -i token",
        passes: "env | grep NODE_ENV",
    },
    Rule {
        id: "list-environment",
        category: Category::Credentials,
        verdict: Verdict::Warn,
        patterns: &["env|printenv", "export|declare|typeset -p"],
        when: lists_environment,
        why: "shows every variable, secrets among them",
        instead: "print the variables that you need",
        catches: "env",
        passes: "env NODE_ENV=test npm test",
    },
    Rule {
        id: "search-for-secrets",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &["find|grep|egrep|fgrep|rg|ag|fd|fdfind|locate|plocate|mdfind"],
        when: searches_for_secrets,
        why: "looks for keys outside the workspace",
        instead: "ask the user for what is needed",
        catches: "find / -name id_rsa",
        passes: "grep -rn password src",
    },
    Rule {
        id: "secret-of-cloud",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &[
            "gcloud secrets versions access",
            "gcloud iam service-accounts keys create",
            "aws configure get !region|output|*.region",
            "aws configure export-credentials",
            "aws sts get-session-token|assume-role|assume-role-with-*|get-federation-token",
            "aws secretsmanager get-secret-value|batch-get-secret-value",
            "aws ssm get-parameter|get-parameters|get-parameters-by-path --with-decryption",
            "aws ec2 get-password-data",
            "aws kms decrypt",
            "az keyvault secret show|download",
            "az ad sp|app create-for-rbac|credential",
            "doctl|linode-cli|hcloud auth|context token|show",
        ],
        when: always,
        why: "prints a key or token of a cloud account",
        instead: "let the program that needs it log in by itself",
        catches: "aws secretsmanager get-secret-value --secret-id prod/db",
        passes: "aws sts get-caller-identity",
    },
    Rule {
        id: "secret-of-cluster",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &[
            "kubectl|oc|k|kubecolor get secret|secrets|secret/*|secrets/*",
            "kubectl|oc|k view-secret|whoami",
            "kubectl|oc|k config view --raw",
            "kubectl|oc|k create token",
        ],
        when: prints_content,
        why: "prints a secret of the cluster",
        instead: "list the names: `kubectl get secrets`",
        catches: "kubectl get secret db-password -o yaml",
        passes: "kubectl get secrets",
    },
    Rule {
        id: "registry-login",
        category: Category::Credentials,
        verdict: Verdict::Warn,
        patterns: &["aws ecr get-login-password"],
        when: is_shown,
        why: "prints a password",
        instead: "pipe it into `docker login --password-stdin`",
        catches: "aws ecr get-login-password --region eu-west-1",
        passes: "aws ecr get-login-password | docker login --username AWS --password-stdin registry.example.com",
    },
    Rule {
        id: "secret-of-vault",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &[
            "vault read|token|unwrap|print",
            "vault kv get",
            "chezmoi secret",
            "op read|inject",
            "op item|document get",
            "bw get|export|list|unlock",
            "pass|gopass show|grep|*/*",
            "secret-tool lookup|search",
            "keyring get",
            "lpass show|export",
            "security find-*|dump-keychain|export|unlock-keychain",
            "doppler secrets|configure",
            "infisical secrets|export",
            "chamber read|export|list",
            "sops -d|--decrypt",
            "sops decrypt|exec-env",
            "age|rage -d|--decrypt",
            "ansible-vault view|decrypt|edit",
            "credstash get|getall",
            "kwallet-query|keepassxc-cli|dbus-send",
        ],
        when: always,
        why: "prints a stored secret",
        instead: "let the program that needs it ask for it",
        catches: "vault kv get secret/prod",
        passes: "vault status",
    },
    Rule {
        id: "login-token",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &[
            "gh auth token",
            "gcloud auth print-access-token|print-identity-token",
            "gcloud auth application-default print-access-token",
            "az account get-access-token",
        ],
        when: is_exposed_output,
        why: "prints a token of the user",
        instead: "hand it to the program that needs it, in a variable",
        catches: "gh auth token",
        passes: "GITHUB_TOKEN=$(gh auth token) npm test",
    },
    Rule {
        id: "secret-of-tool",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &[
            "gh auth status -t|--show-token",
            "glab auth status -t",
            "git credential fill",
            "git credential-* get",
            "heroku config|config:get|auth:token",
            "vercel env pull|ls",
            "netlify env:get|env:list",
            "fly|flyctl auth token",
            "fly|flyctl tokens create",
            "railway variables",
            "firebase login:ci",
            "npm token list|create",
            "npm config get *_authToken|*:_authToken",
            "pip config get *password*",
            "poetry config ~*token*",
            "gpg|gpg2 --export-secret-keys|--export-secret-subkeys|--export-secret-key|-d|--decrypt",
            "ssh-add -D",
            "docker-credential-* get|list",
            "wpa_cli|nmcli -s|--show-secrets",
            "keytool ~-exportcert|-importkeystore",
        ],
        when: always,
        why: "prints a key or token of the user",
        instead: "let the program that needs it log in by itself",
        catches: "git credential fill",
        passes: "gh auth status",
    },
    Rule {
        id: "public-of-private-key",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &["ssh-keygen -y"],
        when: reads_key_outside,
        why: "reads a private key of the user",
        instead: "make a key for the test in the workspace",
        catches: "ssh-keygen -y -f ~/.ssh/id_rsa",
        passes: "ssh-keygen -y -f tests/fixtures/id_test",
    },
    Rule {
        id: "delete-key",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &[
            "gpg|gpg2 --delete-secret-keys|--delete-secret-key",
            "gpg|gpg2 --delete-secret-and-public-key|--delete-keys|--import-ownertrust",
            "pass|gopass rm|remove|delete|init",
            "security delete-*",
            "op item|vault|document delete",
            "bw delete|purge",
            "secret-tool clear",
        ],
        when: always,
        why: "deletes keys of the user",
        instead: "leave keys to the user",
        catches: "gpg --batch --yes --delete-secret-keys dev@example.com",
        passes: "gpg --list-keys",
    },
    Rule {
        id: "cloud-metadata",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &["curl|wget|wget2|http|https|xh|<fetch>|nc|python|python3|telnet|lynx|aria2c"],
        when: asks_for_metadata,
        why: "asks the cloud for the keys of this machine",
        instead: "ask the user for access",
        catches: "curl http://169.254.169.254/latest/meta-data/iam/security-credentials/",
        passes: "curl http://localhost:8080/latest/meta-data",
    },
    Rule {
        id: "other-process",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &[
            "gcore|frida|frida-trace|rbspy|py-spy",
            "gdb|lldb|strace|ltrace|dtrace -p|--pid|--attach",
            "jmap ~-dump*|-histo",
            "procdump|memdump|volatility|dumpcap|tcpdump",
            "tshark|wireshark|ngrep|dsniff|bettercap|snoop",
        ],
        when: always,
        why: "looks into other processes or the network's traffic",
        instead: "debug a process that you have started yourself",
        catches: "gdb -p 1234",
        passes: "gdb --args target/debug/app",
    },
    Rule {
        id: "clipboard",
        category: Category::Credentials,
        verdict: Verdict::Block,
        patterns: &[
            "xclip|xsel",
            "pbpaste|wl-paste|termux-clipboard-get",
            "screencapture|scrot|import|gnome-screenshot|grim|spectacle",
            "arecord",
            "ffmpeg ~*x11grab*|*avfoundation*",
        ],
        when: reads_clipboard,
        why: "reads the clipboard or the screen of the user",
        instead: "ask the user for it",
        catches: "xclip -selection clipboard -o",
        passes: "xclip -selection clipboard -i notes.md",
    },
    Rule {
        id: "history",
        category: Category::Credentials,
        verdict: Verdict::Warn,
        patterns: &["history !-c|-d"],
        when: always,
        why: "shows earlier commands, with what was typed into them",
        instead: "look at the project's own scripts",
        catches: "history",
        passes: "git log --oneline",
    },
];

/// `xclip` writes without `-o`, and the others have no other use.
fn reads_clipboard(invocation: &Invocation, _: &World<'_>) -> bool {
    let is_writer = matches!(invocation.name(), "xclip" | "xsel");
    !is_writer || invocation.args.iter().any(|arg| matches!(arg.text(), "-o" | "-out" | "--output"))
}

/// The content, and not only the names.
fn prints_content(invocation: &Invocation, _: &World<'_>) -> bool {
    let is_listing = invocation.operand(1).is_some_and(|kind| kind.text().starts_with("secret"));
    let output = invocation.flag_value("-o").or_else(|| invocation.flag_value("--output"));
    !is_listing || output.is_some_and(|output| !matches!(output.text(), "name" | "wide"))
}

fn is_exposed_output(invocation: &Invocation, _: &World<'_>) -> bool {
    is_exposed(invocation)
}

fn is_shown(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.stdout.is_shown()
}

fn reads_key_outside(invocation: &Invocation, world: &World<'_>) -> bool {
    let key = invocation.flag_value("-f");
    key.is_none_or(|key| !locate(&key, invocation, world).zone.is_ours())
}
