//! The hosts that agents work with: a row per agent, and what the user has put in their place by a variable or in
//! the agent's own configuration.
//!
//! Endpoints of the user are taken as they are, on this machine or in their own network. Hosts that an agent only
//! tries and can do without, for telemetry and updates, have no row.

use super::host::{Host, HostError, port_number, split_port};
use serde_json::Value;
use std::net::Ipv6Addr;

#[derive(Debug, PartialEq, Eq)]
pub struct AgentHosts {
    /// Of the program, as in [`crate::sandbox::agents`].
    pub name: &'static str,
    /// Models and logins.
    pub hosts: &'static [&'static str],
    /// Variables with the address of a model service.
    pub variables: &'static [&'static str],
    /// Where it works if another variable is set.
    pub clouds: &'static [(&'static str, &'static [&'static str])],
}

const ANTHROPIC: &[&str] = &[
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_FOUNDRY_BASE_URL",
];
const OPENAI: &[&str] = &["OPENAI_BASE_URL", "OPENAI_API_BASE", "AZURE_OPENAI_ENDPOINT"];
/// What agents for any model take.
const ANY_MODEL: &[&str] = &[
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "AZURE_OPENAI_ENDPOINT",
    "GOOGLE_GEMINI_BASE_URL",
    "OPENROUTER_BASE_URL",
    "OLLAMA_HOST",
];
const ANY_MODEL_HOSTS: &[&str] = &[
    "api.anthropic.com",
    "api.openai.com",
    "generativelanguage.googleapis.com",
    "openrouter.ai",
    "api.groq.com",
    "api.mistral.ai",
    "api.deepseek.com",
    "api.x.ai",
    "api.cerebras.ai",
    "api.together.xyz",
    "api.fireworks.ai",
    "api.moonshot.ai",
    "api.z.ai",
    "models.dev",
    "opencode.ai",
    "api.githubcopilot.com",
];

pub const AGENT_HOSTS: &[AgentHosts] = &[
    AgentHosts {
        name: "claude",
        hosts: &[
            "api.anthropic.com",
            "console.anthropic.com",
            "platform.claude.com",
            "claude.ai",
            "mcp-proxy.anthropic.com",
        ],
        variables: ANTHROPIC,
        clouds: &[
            ("CLAUDE_CODE_USE_BEDROCK", &["*.amazonaws.com"]),
            ("CLAUDE_CODE_USE_VERTEX", &["*.googleapis.com"]),
            (
                "CLAUDE_CODE_USE_FOUNDRY",
                &["*.services.ai.azure.com", "*.openai.azure.com", "login.microsoftonline.com"],
            ),
        ],
    },
    AgentHosts {
        name: "codex",
        hosts: &["api.openai.com", "chatgpt.com", "auth.openai.com"],
        variables: OPENAI,
        clouds: &[],
    },
    AgentHosts {
        name: "gemini",
        hosts: &[
            "generativelanguage.googleapis.com",
            "cloudcode-pa.googleapis.com",
            "oauth2.googleapis.com",
            "accounts.google.com",
            "www.googleapis.com",
        ],
        variables: &["GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"],
        clouds: &[("GOOGLE_GENAI_USE_VERTEXAI", &["*.googleapis.com"])],
    },
    AgentHosts {
        name: "amp",
        hosts: &["ampcode.com", "*.ampcode.com"],
        variables: &["AMP_URL"],
        clouds: &[],
    },
    AgentHosts { name: "opencode", hosts: ANY_MODEL_HOSTS, variables: ANY_MODEL, clouds: &[] },
    AgentHosts {
        name: "qwen",
        hosts: &[
            "chat.qwen.ai",
            "portal.qwen.ai",
            "dashscope.aliyuncs.com",
            "dashscope-intl.aliyuncs.com",
            "api.openai.com",
        ],
        variables: OPENAI,
        clouds: &[],
    },
    AgentHosts {
        name: "copilot",
        hosts: &[
            "api.github.com",
            "github.com",
            "*.githubcopilot.com",
            "copilot-proxy.githubusercontent.com",
        ],
        variables: &["COPILOT_PROVIDER_BASE_URL"],
        clouds: &[],
    },
    AgentHosts {
        name: "droid",
        hosts: &["api.factory.ai", "app.factory.ai", "*.factory.ai", "api.workos.com"],
        variables: &["FACTORY_API_BASE_URL"],
        clouds: &[],
    },
    AgentHosts { name: "pi", hosts: ANY_MODEL_HOSTS, variables: ANY_MODEL, clouds: &[] },
];

/// The row of a program, by its base name.
pub fn agent_hosts(program: &str) -> Option<&'static AgentHosts> {
    let base = program.rsplit('/').next()?;
    AGENT_HOSTS.iter().find(|agent| agent.name == base)
}

/// A model service that the user has chosen, and where that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub host: Host,
    pub port: u16,
    pub from: String,
}

/// Those of an agent's variables that are set. Without a row, variables of all agents count: such an agent may
/// be a script around any of them.
pub fn of_variables(agent: Option<&AgentHosts>, variable: &dyn Fn(&str) -> Option<String>) -> Vec<Endpoint> {
    let mut names: Vec<&'static str> = match agent {
        Some(agent) => agent.variables.to_vec(),
        None => AGENT_HOSTS.iter().flat_map(|agent| agent.variables.iter().copied()).collect(),
    };
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(|name| Some((name, variable(name)?))).filter_map(endpoint).collect()
}

/// The hosts of the clouds that an agent is told to work in.
pub fn of_clouds(agent: &AgentHosts, is_set: &dyn Fn(&str) -> bool) -> Vec<&'static str> {
    agent
        .clouds
        .iter()
        .filter(|(switch, _)| is_set(switch))
        .flat_map(|(_, hosts)| hosts.iter().copied())
        .collect()
}

/// Those in Claude's `settings.json`, which sets variables.
pub fn of_claude_settings(settings: &Value) -> Vec<Endpoint> {
    let env = settings.get("env").and_then(Value::as_object);
    let texts = env.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    texts
        .filter(|(name, _)| ANTHROPIC.contains(name))
        .filter_map(|(name, url)| endpoint((name, url.to_owned())))
        .map(|endpoint| Endpoint { from: format!("Claude's settings ({})", endpoint.from), ..endpoint })
        .collect()
}

/// Those in Codex' `config.toml`: of each provider, and of its own services.
pub fn of_codex_config(config: &str) -> Vec<Endpoint> {
    let Ok(config) = config.parse::<toml::Table>() else { return Vec::new() };
    let providers = config.get("model_providers").and_then(toml::Value::as_table);
    let provided = providers.into_iter().flatten().filter_map(|(_, provider)| provider.get("base_url"));
    let own = ["openai_base_url", "chatgpt_base_url"].into_iter().filter_map(|name| config.get(name));
    let urls = provided.chain(own).filter_map(toml::Value::as_str);
    urls.filter_map(|url| endpoint(("Codex' config.toml", url.to_owned()))).collect()
}

fn endpoint((from, url): (&str, String)) -> Option<Endpoint> {
    let (host, port) = host_of_url(url.trim()).ok()?;
    Some(Endpoint { host, port, from: from.to_owned() })
}

/// `https://user@host:port/path`; without a scheme, as some variables are written, it is plain HTTP.
pub fn host_of_url(url: &str) -> Result<(Host, u16), HostError> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.parse::<Ipv6Addr>() {
        Ok(_) => return Err(HostError::BadAddress),
        Err(_) => split_port(authority),
    };
    let port = match (port, scheme.to_ascii_lowercase().as_str()) {
        (Some(port), _) => port_number(port)?,
        (None, "https" | "wss") => 443,
        (None, _) => 80,
    };
    Ok((Host::parse(host)?, port))
}

#[cfg(test)]
mod tests {
    use super::super::host::HostPattern;
    use super::*;
    use crate::sandbox::agents::AGENTS;

    fn written(endpoints: &[Endpoint]) -> Vec<String> {
        endpoints.iter().map(|endpoint| endpoint.host.authority(endpoint.port)).collect()
    }

    #[test]
    fn each_known_agent_has_a_row_and_each_row_hosts_that_can_be_allowed() {
        for agent in AGENTS {
            assert!(agent_hosts(agent.name).is_some(), "{}", agent.name);
        }
        assert_eq!(agent_hosts("/usr/bin/codex").map(|agent| agent.name), Some("codex"));
        assert_eq!(agent_hosts("agent.sh"), None);
        for agent in AGENT_HOSTS {
            let clouds = agent.clouds.iter().flat_map(|(_, hosts)| hosts.iter());
            for host in agent.hosts.iter().chain(clouds) {
                assert!(HostPattern::parse(host).is_ok(), "{host}");
            }
        }
    }

    #[test]
    fn an_endpoint_is_where_a_variable_of_that_agent_leads() {
        let variable = |name: &str| match name {
            "ANTHROPIC_BASE_URL" => Some("http://127.0.0.1:8080/v1".to_owned()),
            "OPENAI_BASE_URL" => Some("https://models.corp.example".to_owned()),
            "AMP_URL" => Some("not a url".to_owned()),
            _ => None,
        };
        let of = |agent| written(&of_variables(agent, &variable));
        assert_eq!(of(agent_hosts("claude")), ["127.0.0.1:8080"]);
        assert_eq!(of(agent_hosts("codex")), ["models.corp.example:443"]);
        assert_eq!(of(agent_hosts("amp")), Vec::<String>::new());
        assert_eq!(of(None), ["127.0.0.1:8080", "models.corp.example:443"]);
    }

    #[test]
    fn a_cloud_counts_only_if_the_agent_works_there() {
        let claude = agent_hosts("claude").unwrap();
        assert_eq!(of_clouds(claude, &|name| name == "CLAUDE_CODE_USE_BEDROCK"), ["*.amazonaws.com"]);
        assert_eq!(of_clouds(claude, &|_| false), Vec::<&str>::new());
    }

    #[test]
    fn configuration_of_agents_names_endpoints_too() {
        let settings =
            serde_json::json!({"env": {"ANTHROPIC_BASE_URL": "http://localhost:4000", "A": "http://b"}});
        assert_eq!(written(&of_claude_settings(&settings)), ["localhost:4000"]);
        assert_eq!(of_claude_settings(&serde_json::json!({"env": 3})), []);
        let config = "openai_base_url = 'https://a.example/v1'\n[model_providers.stub]\nname = 'stub'\n\
                      base_url = 'http://127.0.0.1:9999/v1'\n[model_providers.other]\nbase_url = 5\n";
        assert_eq!(written(&of_codex_config(config)), ["127.0.0.1:9999", "a.example:443"]);
        assert_eq!(of_codex_config("= nonsense"), []);
    }

    #[test]
    fn a_url_names_a_host_and_a_port() {
        for (url, expected) in [
            ("https://a.example", "a.example:443"),
            ("http://a.example/x:1", "a.example:80"),
            ("a.example:11434", "a.example:11434"),
            ("https://me:pw@a.example:8443/x", "a.example:8443"),
            ("http://[::1]:80", "[::1]:80"),
            ("WSS://A.Example?x", "a.example:443"),
        ] {
            let (host, port) = host_of_url(url).unwrap();
            assert_eq!(host.authority(port), expected, "{url}");
        }
        for bad in ["", "http://", "http://a b", "http://a:99999", "http://::1"] {
            assert!(host_of_url(bad).is_err(), "{bad}");
        }
    }
}
