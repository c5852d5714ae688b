//! `codex app-server`: what Codex answers to other programs, one JSON object a line.

use super::agent::Caller;
use super::{Complaint, PluginAgent, PluginError, VERSION};
use crate::process::dialog::{Dialog, Reply};
use crate::process::tool::ToolError;
use serde_json::{Value, json};

/// More than any answer to what is asked here.
const ANSWER_MAX: usize = 16 << 20;

pub(super) struct AppServer {
    dialog: Dialog,
    asked: u64,
}

impl AppServer {
    pub(super) fn start(caller: &Caller<'_>) -> Result<AppServer, PluginError> {
        let dialog = Dialog::start(caller.tool(&["app-server"]))
            .map_err(|source| PluginError::Unanswered { agent: PluginAgent::Codex, source })?;
        let mut server = AppServer { dialog, asked: 0 };
        server.ask("initialize", &json!({"clientInfo": {"name": "ralph", "version": VERSION}}))?;
        Ok(server)
    }

    /// The result of a call.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<Value, PluginError> {
        // It wants to be told once that its first answer has arrived.
        let mut question = match self.asked {
            1 => json!({"method": "initialized"}).to_string() + "\n",
            _ => String::new(),
        };
        self.asked += 1;
        let id = self.asked;
        question += &json!({"id": id, "method": method, "params": params}).to_string();
        question.push('\n');
        let reply = self.dialog.ask(question.as_bytes(), ANSWER_MAX, |said| answer(said, id).is_some());
        let (Reply::Whole(said) | Reply::Cut(said)) = reply.map_err(|source| match source {
            ToolError::Stopped { .. } => PluginError::Stopped { command: "codex app-server".to_owned() },
            source => PluginError::Unanswered { agent: PluginAgent::Codex, source },
        })?;
        match answer(&said, id).map(|mut answer| (answer["result"].take(), answer["error"]["message"].take()))
        {
            Some((result, Value::Null)) => Ok(result),
            refused => Err(PluginError::Refused {
                agent: PluginAgent::Codex,
                command: format!("codex app-server: {method}"),
                source: Complaint(match refused {
                    Some((_, Value::String(why))) => why,
                    Some(_) | None => "no answer that can be read".to_owned(),
                }),
            }),
        }
    }
}

/// The line that answers a question. What it says by itself comes in between.
fn answer(said: &[u8], id: u64) -> Option<Value> {
    let whole = said.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &said[..end]);
    let mut values =
        whole.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    values.find(|value| value["id"] == id && value.get("method").is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_whole_line_with_the_number_of_the_question() {
        let said = concat!(
            "{\"method\":\"changed\",\"params\":{}}\n",
            "{\"id\":2,\"method\":\"asks/back\"}\n",
            "{\"id\":2,\"result\":{\"a\":1}}\n",
        );
        assert_eq!(answer(said.as_bytes(), 2).unwrap()["result"]["a"], 1);
        assert_eq!(answer(said.as_bytes(), 3), None);
        for end in 0..said.len() - 1 {
            assert_eq!(answer(&said.as_bytes()[..end], 2), None, "{end}");
        }
    }
}
