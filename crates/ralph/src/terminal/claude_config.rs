//! Claude's own configuration, for a run only, where Claude would begin with questions about it.
//!
//! With a key in the environment that it has not been asked about, or before its first use, Claude shows dialogs that
//! no one is there to answer. Then it gets a directory of the run's: links to what the user has, and a copy of
//! `.claude.json` with the answers. With a login nothing is done: a renewed one would be written to the wrong place,
//! and who has logged in has been asked. A token in the environment is no such login.

use crate::fsx;
use crate::handed::HandedFile;
use crate::layout::Home;
use ralph_loop::sandbox::agent_config;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// Where Claude looks for its configuration.
pub const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
const KEY: &str = "ANTHROPIC_API_KEY";
/// Of a subscription, for machines where its owner does not log in.
const TOKEN: &str = "CLAUDE_CODE_OAUTH_TOKEN";
const CLAUDE_JSON: &str = ".claude.json";
const CREDENTIALS: &str = ".credentials.json";

/// What the user has.
struct Users {
    /// With settings, commands and sessions.
    dir: PathBuf,
    json: PathBuf,
}

impl Users {
    fn find(variable: &dyn Fn(&str) -> Option<String>) -> Option<Users> {
        match variable(CONFIG_DIR) {
            Some(dir) => Some(Users { json: Path::new(&dir).join(CLAUDE_JSON), dir: PathBuf::from(dir) }),
            None => {
                let home = PathBuf::from(variable("HOME")?);
                Some(Users { dir: home.join(".claude"), json: home.join(CLAUDE_JSON) })
            }
        }
    }
}

/// The directory for an agent, if one is needed, which is there as long as the file.
pub fn prepare(
    home: &Home,
    variable: &dyn Fn(&str) -> Option<String>,
) -> io::Result<Option<(PathBuf, HandedFile)>> {
    let (key, Some(users)) = (variable(KEY), Users::find(variable)) else { return Ok(None) };
    if key.is_none() && variable(TOKEN).is_none() {
        return Ok(None);
    }
    let mut config: Value = match fsx::read_regular(&users.json) {
        Ok(text) => serde_json::from_slice(&text).unwrap_or_default(),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Value::Null,
        Err(cause) => return Err(cause),
    };
    if !config.is_object() {
        config = json!({});
    }
    let end = key.as_deref().map(agent_config::key_end);
    let was_asked = |answer: &str| {
        let keys = config["customApiKeyResponses"][answer].as_array();
        end.as_ref().is_none_or(|end| keys.is_some_and(|keys| keys.iter().any(|known| *known == **end)))
    };
    // A key that the user has refused stays refused: Claude uses the login instead.
    let is_refused = end.is_some() && was_asked("rejected");
    if is_refused || (was_asked("approved") && config["hasCompletedOnboarding"] == true) {
        return Ok(None);
    }
    config["hasCompletedOnboarding"] = true.into();
    if let Some(end) = end {
        if !config["customApiKeyResponses"].is_object() {
            config["customApiKeyResponses"] = json!({});
        }
        match config["customApiKeyResponses"]["approved"].as_array_mut() {
            Some(approved) => approved.push(end.into()),
            None => config["customApiKeyResponses"] = json!({"approved": [end], "rejected": []}),
        }
    }
    // It may have keys of MCP servers, and so is in no record.
    let file = HandedFile::instead_of(Path::new(CLAUDE_JSON), home, config.to_string().as_bytes())?;
    let Some(dir) = file.path().parent().map(Path::to_path_buf) else { return Ok(None) };
    link_rest(&users.dir, &dir)?;
    Ok(Some((dir, file)))
}

fn link_rest(users: &Path, dir: &Path) -> io::Result<()> {
    let entries = match fs_err::read_dir(users) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(cause),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let link = dir.join(&name);
        let is_own = [CLAUDE_JSON, CREDENTIALS].iter().any(|own| *name == **own);
        if !is_own && link.symlink_metadata().is_err() {
            fsx::symlink(&entry.path(), &link)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Prepared = Option<(HandedFile, PathBuf, Value)>;

    fn prepared(home: &Path, key: Option<&str>, json: Option<Value>) -> Prepared {
        prepared_with(home, &[(KEY, key)], json)
    }

    fn prepared_with(home: &Path, variables: &[(&str, Option<&str>)], json: Option<Value>) -> Prepared {
        if let Some(json) = json {
            fsx::write_whole(&home.join(CLAUDE_JSON), json.to_string().as_bytes()).unwrap();
        }
        let variable = |name: &str| match name {
            "HOME" => Some(home.display().to_string()),
            _ => variables.iter().find(|(known, _)| *known == name)?.1.map(String::from),
        };
        fsx::private_dir(&home.join("ralph")).unwrap();
        let (dir, file) = prepare(&Home::at(home.join("ralph")), &variable).unwrap()?;
        let text = fsx::read_regular(&dir.join(CLAUDE_JSON)).unwrap();
        Some((file, dir, serde_json::from_slice(&text).unwrap()))
    }

    #[test]
    fn questions_about_a_key_are_answered_for_the_run_alone() {
        let home = tempfile::tempdir().unwrap();
        fsx::dir(&home.path().join(".claude/commands")).unwrap();
        fsx::write_whole(&home.path().join(".claude").join(CREDENTIALS), b"{}").unwrap();
        let users =
            json!({"theme": "dark", "customApiKeyResponses": {"approved": ["other"], "rejected": []}});
        let (_file, dir, config) =
            prepared(home.path(), Some("sk-ant-0123456789-0123456789"), Some(users.clone())).unwrap();
        let approved = json!(["other", "123456789-0123456789"]);
        assert_eq!(config["customApiKeyResponses"]["approved"], approved);
        assert_eq!((&config["theme"], &config["hasCompletedOnboarding"]), (&json!("dark"), &json!(true)));
        assert!(dir.join("commands").is_dir() && !dir.join(CREDENTIALS).exists());
        let after: Value =
            serde_json::from_slice(&fsx::read_regular(&home.path().join(CLAUDE_JSON)).unwrap()).unwrap();
        assert_eq!(after, users);
    }

    #[test]
    fn with_a_token_claude_is_not_introduced() {
        let home = tempfile::tempdir().unwrap();
        let token = [(TOKEN, Some("token-0123"))];
        let (_, _, config) = prepared_with(home.path(), &token, None).unwrap();
        assert_eq!(config, json!({"hasCompletedOnboarding": true}));
        assert!(prepared_with(home.path(), &token, Some(config)).is_none());
    }

    #[test]
    fn where_there_is_nothing_to_ask_claude_has_the_users_configuration() {
        let home = tempfile::tempdir().unwrap();
        assert!(prepared(home.path(), None, None).is_none());
        let approved =
            json!({"hasCompletedOnboarding": true, "customApiKeyResponses": {"approved": ["key-12345678"]}});
        assert!(prepared(home.path(), Some("key-12345678"), Some(approved)).is_none());
        let rejected = json!({"customApiKeyResponses": {"rejected": ["key-12345678"]}});
        assert!(prepared(home.path(), Some("key-12345678"), Some(rejected)).is_none());
        assert!(prepared(home.path(), Some("another-key"), None).is_some());
    }
}
