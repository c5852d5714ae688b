//! What agents keep in the user's home, and the variables that are theirs; a row per agent.
//!
//! An agent replaces its credentials when it refreshes them, mostly by a rename, so the directory
//! that they are in is what it gets: one that all runs share, since a token that one process has
//! used up is of no use to the others. What it reads there as the user's configuration is read-only,
//! and what it writes there of its sessions is the run's own.
//!
//! Names of files are those of the versions in the rows of [`crate::dialect`]; of agents without
//! such a row they come from their documentation.

use super::credential::Credential;

#[derive(Debug, PartialEq, Eq)]
pub struct AgentFiles {
    /// Of the program, and as in `sandbox.tools`.
    pub name: &'static str,
    /// The directory of its credentials.
    pub dir: &'static str,
    pub credentials: &'static [Credential],
    /// The user's configuration in that directory. What has an extension is a file.
    pub config: &'static [&'static str],
    /// More of it elsewhere, and what else it needs to find there.
    pub config_elsewhere: &'static [&'static str],
    /// What it writes in that directory and other runs must not see.
    pub own: &'static [&'static str],
    /// Variables of this agent: names, which may end with `*`.
    keys: &'static [&'static str],
    /// Variables that it takes, too, and that are not only for it.
    also: &'static [&'static str],
    /// What it takes if another variable is set.
    pub clouds: &'static [(&'static str, &'static [&'static str])],
    /// What it finds in its environment in a sandbox. `{dir}` is the directory above.
    pub env: &'static [(&'static str, &'static str)],
}

/// Keys of model services that agents for any model take.
const SERVICES: &[&str] = &[
    "ANTHROPIC_*",
    "OPENAI_*",
    "GEMINI_*",
    "GOOGLE_API_KEY",
    "OPENROUTER_*",
    "GROQ_*",
    "MISTRAL_*",
    "DEEPSEEK_*",
    "XAI_*",
    "CEREBRAS_*",
    "TOGETHER_*",
    "FIREWORKS_*",
    "MOONSHOT_*",
    "ZAI_*",
    "AZURE_OPENAI_*",
];
const AWS: &[&str] = &["AWS_*"];
const GOOGLE: &[&str] = &["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_*", "CLOUD_ML_REGION"];

pub const AGENTS: &[AgentFiles] = &[
    AgentFiles {
        name: "claude",
        dir: "$CLAUDE_CONFIG_DIR",
        credentials: &[Credential {
            file: ".credentials.json",
            same: &[],
            grows: Some("/claudeAiOauth/expiresAt"),
        }],
        config: &[
            "settings.json",
            "CLAUDE.md",
            "skills",
            "agents",
            "commands",
            "plugins",
            "rules",
            "output-styles",
        ],
        config_elsewhere: &[],
        own: &[
            "projects",
            "todos",
            "tasks",
            "plans",
            "sessions",
            "session-env",
            "shell-snapshots",
            "file-history",
        ],
        keys: &["ANTHROPIC_*", "CLAUDE_*", "VERTEX_REGION_*"],
        also: &[],
        clouds: &[
            ("CLAUDE_CODE_USE_BEDROCK", AWS),
            ("CLAUDE_CODE_USE_VERTEX", GOOGLE),
            ("CLAUDE_CODE_USE_FOUNDRY", &["AZURE_*"]),
        ],
        // Without the first it refuses to skip permissions for root.
        env: &[("IS_SANDBOX", "1"), ("DISABLE_AUTOUPDATER", "1")],
    },
    AgentFiles {
        name: "codex",
        dir: "$CODEX_HOME",
        credentials: &[Credential {
            file: "auth.json",
            same: &["/tokens/account_id", "/OPENAI_API_KEY"],
            grows: Some("/last_refresh"),
        }],
        config: &[
            "config.toml",
            "AGENTS.md",
            "AGENTS.override.md",
            "prompts",
            "skills",
            "rules",
            "hooks.json",
        ],
        config_elsewhere: &[],
        own: &["sessions", "archived_sessions", "sqlite", "log", "shell_snapshots", "memories"],
        keys: &["OPENAI_*", "CODEX_*", "AZURE_OPENAI_*"],
        also: &[],
        clouds: &[],
        // Its databases have whole conversations.
        env: &[("CODEX_SQLITE_HOME", "{dir}/sqlite")],
    },
    AgentFiles {
        name: "gemini",
        dir: "~/.gemini",
        credentials: &[
            Credential { file: "oauth_creds.json", same: &["/scope"], grows: Some("/expiry_date") },
            Credential { file: "google_accounts.json", same: &["/active"], grows: None },
        ],
        config: &["settings.json", "GEMINI.md", "commands", "extensions", "agents", "skills", "policies"],
        config_elsewhere: &[],
        own: &["tmp", "history"],
        keys: &["GEMINI_*", "GOOGLE_API_KEY", "GOOGLE_GEMINI_*", "GOOGLE_GENAI_*"],
        also: &["GOOGLE_APPLICATION_CREDENTIALS"],
        clouds: &[],
        env: &[],
    },
    AgentFiles {
        name: "amp",
        dir: "$XDG_DATA_HOME/amp",
        credentials: &[Credential { file: "secrets.json", same: &[], grows: None }],
        config: &[],
        config_elsewhere: &["$XDG_CONFIG_HOME/amp", "$XDG_CONFIG_HOME/AGENTS.md"],
        own: &["threads"],
        keys: &["AMP_*"],
        also: &[],
        clouds: &[],
        env: &[],
    },
    AgentFiles {
        name: "opencode",
        dir: "$XDG_DATA_HOME/opencode",
        credentials: &[Credential { file: "auth.json", same: &[], grows: None }],
        config: &[],
        config_elsewhere: &["$XDG_CONFIG_HOME/opencode"],
        own: &["storage", "log", "snapshot", "project"],
        keys: &["OPENCODE_*"],
        also: SERVICES,
        clouds: &[],
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
    },
    AgentFiles {
        name: "qwen",
        dir: "~/.qwen",
        credentials: &[Credential { file: "oauth_creds.json", same: &[], grows: Some("/expiry_date") }],
        config: &["settings.json", "QWEN.md", "commands", "extensions", "agents", "skills"],
        config_elsewhere: &[],
        own: &["tmp", "projects", "todos"],
        keys: &["QWEN_*", "DASHSCOPE_*", "BAILIAN_*"],
        also: SERVICES,
        clouds: &[],
        env: &[],
    },
    AgentFiles {
        name: "copilot",
        dir: "~/.copilot",
        credentials: &[Credential { file: "config.json", same: &["/last_logged_in_user"], grows: None }],
        config: &["mcp-config.json", "agents", "skills", "copilot-instructions.md"],
        config_elsewhere: &[],
        own: &["session-state", "history-session-state", "logs"],
        keys: &["COPILOT_*"],
        also: &["GH_TOKEN", "GITHUB_TOKEN"],
        clouds: &[],
        env: &[],
    },
    AgentFiles {
        name: "droid",
        dir: "~/.factory",
        credentials: &[Credential { file: "auth.json", same: &[], grows: None }],
        config: &["settings.json", "mcp.json", "AGENTS.md", "droids", "commands", "skills"],
        config_elsewhere: &[],
        own: &["sessions", "logs"],
        keys: &["FACTORY_*"],
        also: &[],
        clouds: &[],
        env: &[],
    },
    AgentFiles {
        name: "pi",
        dir: "~/.pi/agent",
        credentials: &[Credential { file: "auth.json", same: &[], grows: None }],
        config: &["settings.json", "models.json", "AGENTS.md", "extensions", "skills", "prompts", "themes"],
        config_elsewhere: &[],
        own: &["sessions"],
        keys: &["PI_*"],
        also: SERVICES,
        clouds: &[],
        env: &[],
    },
];

/// The row of a program, by its base name.
pub fn agent(program: &str) -> Option<&'static AgentFiles> {
    let base = program.rsplit('/').next()?;
    AGENTS.iter().find(|agent| agent.name == base)
}

/// Whether a name is meant by a pattern, which may end with `*`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

impl AgentFiles {
    /// Whether a variable is meant for this agent.
    pub(super) fn owns(&self, variable: &str) -> bool {
        self.keys.iter().any(|pattern| matches(pattern, variable))
    }

    pub(super) fn gets(&self, variable: &str) -> bool {
        self.owns(variable) || self.also.iter().any(|pattern| matches(pattern, variable))
    }

    /// Whether a name of `config` is that of a file, and what an empty one has in it.
    pub fn empty(name: &str) -> Option<&'static str> {
        match name.rsplit_once('.') {
            Some((_, "json")) => Some("{}\n"),
            Some(_) => Some(""),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_by_the_base_name_of_the_program() {
        assert_eq!(agent("/usr/bin/codex").map(|row| row.name), Some("codex"));
        assert_eq!(agent("./claude.sh"), None);
        for known in crate::dialect::Dialect::KNOWN {
            assert!(agent(known.name()).is_some(), "{}", known.name());
        }
    }
}
