//! What ralph reads of the configuration of agents, and what it writes for them.

use serde_json::{Map, Value};

/// The settings that Claude gets in place of the user's own `.claude.json`, which also has the history
/// of all projects. `users` is that file: the account and the user's MCP servers come from it.
pub fn claude_json(users: Option<&Value>, workspaces: &[&str], api_key: Option<&str>) -> Value {
    let mut projects = Map::new();
    for workspace in workspaces {
        let servers = users.and_then(|users| users.get("projects")?.get(workspace)?.get("mcpServers"));
        let mut project = Map::from_iter([("hasTrustDialogAccepted".to_owned(), Value::Bool(true))]);
        project.extend(servers.map(|servers| ("mcpServers".to_owned(), servers.clone())));
        projects.insert((*workspace).to_owned(), Value::Object(project));
    }
    let mut settings = serde_json::json!({
        "hasCompletedOnboarding": true,
        "bypassPermissionsModeAccepted": true,
        "autoUpdates": false,
        "projects": projects,
    });
    for key in ["oauthAccount", "userID", "mcpServers", "hasAvailableSubscription"] {
        if let Some(value) = users.and_then(|users| users.get(key)) {
            settings[key] = value.clone();
        }
    }
    if let Some(end) = api_key.map(key_end) {
        settings["customApiKeyResponses"] = serde_json::json!({ "approved": [end], "rejected": [] });
    }
    settings
}

/// What Claude knows an API key by.
pub fn key_end(key: &str) -> String {
    key.chars().skip(key.chars().count().saturating_sub(20)).collect()
}

/// A configuration in TOML as the same in JSON.
pub fn toml_as_json(content: &str) -> Option<Value> {
    serde_json::to_value(content.parse::<toml::Table>().ok()?).ok()
}

/// An MCP server of the user's, and the program that it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Server {
    pub name: String,
    pub command: String,
}

/// The servers in a `.claude.json`, a `settings.json` or another file that has them as JSON.
pub fn servers_in_json(content: &Value) -> Vec<Server> {
    let projects = content.get("projects").and_then(Value::as_object);
    let projects = projects.into_iter().flat_map(Map::values);
    let places = std::iter::once(content).chain(projects);
    let tables = places.filter_map(|place| place.get("mcpServers")?.as_object());
    let server = |(name, server): (&String, &Value)| {
        Some(Server { name: name.clone(), command: server.get("command")?.as_str()?.to_owned() })
    };
    tables.flat_map(|servers| servers.iter().filter_map(server)).collect()
}

/// What Codex' `config.toml` says of programs and variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodexConfig {
    pub servers: Vec<Server>,
    /// Variables that it takes keys from.
    pub keys: Vec<String>,
}

pub fn codex_config(content: &str) -> CodexConfig {
    let Ok(table) = content.parse::<toml::Table>() else { return CodexConfig::default() };
    let entries = |name: &str| {
        let entries = table.get(name).and_then(toml::Value::as_table);
        entries.into_iter().flatten().filter_map(|(name, entry)| Some((name, entry.as_table()?)))
    };
    let text = |value: &toml::Value| value.as_str().map(str::to_owned);
    let servers = entries("mcp_servers").filter_map(|(name, server)| {
        Some(Server { name: name.clone(), command: text(server.get("command")?)? })
    });
    let mut keys = Vec::new();
    for (_, entry) in entries("model_providers").chain(entries("mcp_servers")) {
        keys.extend(["env_key", "bearer_token_env_var"].iter().filter_map(|key| text(entry.get(*key)?)));
        let headers = entry.get("env_http_headers").and_then(toml::Value::as_table);
        keys.extend(headers.into_iter().flat_map(|headers| headers.values().filter_map(text)));
        let variables = entry.get("env_vars").and_then(toml::Value::as_array);
        keys.extend(variables.into_iter().flatten().filter_map(text));
    }
    CodexConfig { servers: servers.collect(), keys }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn claude_gets_the_account_and_the_servers_and_nothing_else_of_the_users() {
        let users = json!({
            "oauthAccount": {"emailAddress": "me@x"}, "userID": "u", "numStartups": 9,
            "mcpServers": {"a": {"command": "a-mcp"}}, "history": ["secret"],
            "projects": {
                "/w": {"history": ["secret"], "mcpServers": {"b": {"command": "b-mcp"}}},
                "/other": {"mcpServers": {"c": {"command": "c-mcp"}}},
            },
        });
        let made = claude_json(Some(&users), &["/w"], Some("sk-ant-0123456789abcdefghij"));
        assert_eq!(
            made,
            json!({
                "hasCompletedOnboarding": true, "bypassPermissionsModeAccepted": true, "autoUpdates": false,
                "oauthAccount": {"emailAddress": "me@x"}, "userID": "u",
                "mcpServers": {"a": {"command": "a-mcp"}},
                "projects": {"/w": {"hasTrustDialogAccepted": true, "mcpServers": {"b": {"command": "b-mcp"}}}},
                "customApiKeyResponses": {"approved": ["0123456789abcdefghij"], "rejected": []},
            })
        );
        let server = |name: &str| Server { name: name.to_owned(), command: format!("{name}-mcp") };
        assert_eq!(servers_in_json(&made), [server("a"), server("b")]);
        assert_eq!(claude_json(None, &[], Some("é"))["customApiKeyResponses"]["approved"][0], "é");
    }

    #[test]
    fn codex_says_which_variables_it_takes_keys_from() {
        let config = codex_config(
            "model='x'\n[model_providers.own]\nenv_key='OWN_KEY'\nenv_http_headers={ A='HEADER_KEY' }\n\
             [mcp_servers.db]\ncommand='db-mcp'\nenv_vars=['DB_PASSWORD']\n[mcp_servers.web]\nurl='x'\n\
             bearer_token_env_var='WEB_TOKEN'\n",
        );
        assert_eq!(config.servers, [Server { name: "db".into(), command: "db-mcp".into() }]);
        assert_eq!(config.keys, ["OWN_KEY", "HEADER_KEY", "DB_PASSWORD", "WEB_TOKEN"]);
        assert_eq!(codex_config("[broken"), CodexConfig::default());
    }
}
