//! Portable tool calls in the words of the client's own tools.

use crate::ask::{Ask, Tool};
use crate::scenario::{Call, FileText};
use serde_json::{Map, Value, json};

/// Claude's first, then Codex' through its versions, then what others call it.
const SHELL: [&str; 8] = [
    "Bash",
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "bash",
    "run_shell_command",
    "execute_command",
];
const WRITE: [&str; 4] = ["Write", "write_file", "create_file", "write"];

/// The tool's name and its input, or why the client cannot be asked for it.
pub(crate) fn resolve(call: &Call, ask: &Ask) -> Result<(String, Value), String> {
    match call {
        Call::Raw { name, input } => Ok((name.clone(), input.clone())),
        Call::Shell { shell } => run(shell, ask),
        Call::Write { write } => match first(&WRITE, ask) {
            Some(tool) => Ok((tool.name.clone(), write_input(tool, write))),
            None => run(&format!("printf %s {} > {}", quoted(&write.content), quoted(&write.path)), ask),
        },
    }
}

fn run(command: &str, ask: &Ask) -> Result<(String, Value), String> {
    match first(&SHELL, ask) {
        Some(tool) => Ok((tool.name.clone(), shell_input(tool, command))),
        None => {
            let names: Vec<&str> = ask.tools.iter().map(|tool| tool.name.as_str()).collect();
            Err(format!("the client offers no shell among its tools: {}", names.join(", ")))
        }
    }
}

fn first<'a>(names: &[&str], ask: &'a Ask) -> Option<&'a Tool> {
    names.iter().find_map(|name| ask.tool(name))
}

fn shell_input(tool: &Tool, command: &str) -> Value {
    let properties = &tool.schema["properties"];
    let mut input = Map::new();
    if properties["cmd"].is_object() {
        input.insert("cmd".into(), json!(command));
    } else if properties["command"]["type"] == "array" {
        input.insert("command".into(), json!(["bash", "-lc", command]));
    } else {
        input.insert("command".into(), json!(command));
    }
    if properties["description"].is_object() {
        input.insert("description".into(), json!("a scripted command"));
    }
    for key in tool.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        input.entry(key).or_insert_with(|| filler(&properties[key]));
    }
    Value::Object(input)
}

/// Any value of the kind that a required argument wants.
fn filler(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("boolean") => json!(false),
        Some("integer" | "number") => json!(1000),
        Some("array") => json!([]),
        _ => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("")),
    }
}

fn write_input(tool: &Tool, file: &FileText) -> Value {
    let named = |names: &[&str]| {
        let known = |name: &&&str| tool.schema["properties"][**name].is_object();
        names.iter().find(known).unwrap_or(&names[0]).to_string()
    };
    let mut input = Map::new();
    input.insert(named(&["file_path", "path", "filePath"]), json!(file.path));
    input.insert(named(&["content", "contents", "text"]), json!(file.content));
    Value::Object(input)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Protocol;

    #[track_caller]
    fn check(call: Value, tools: &[(&str, Value)], wanted: Result<(&str, Value), &str>) {
        let tool = |(name, schema): &(&str, Value)| Tool {
            name: (*name).into(),
            kind: "function".into(),
            schema: schema.clone(),
        };
        let ask = Ask {
            protocol: Protocol::Responses,
            model: String::new(),
            stream: true,
            tools: tools.iter().map(tool).collect(),
            opening: String::new(),
            last_user: String::new(),
            heard: String::new(),
            told: String::new(),
            assistant_turns: 0,
            session: None,
            side: false,
        };
        let resolved = resolve(&serde_json::from_value(call).unwrap(), &ask);
        assert_eq!(resolved, wanted.map(|(name, input)| (name.into(), input)).map_err(str::to_owned));
    }

    #[test]
    fn a_command_goes_to_the_shell_that_the_client_has() {
        let shell = || json!({"shell": "ls"});
        let bash = json!({"properties": {"command": {"type": "string"}, "description": {"type": "string"}}});
        check(
            shell(),
            &[("Bash", bash)],
            Ok(("Bash", json!({"command": "ls", "description": "a scripted command"}))),
        );
        let exec = json!({"properties": {"cmd": {"type": "string"}, "n": {"type": "integer"}}, "required": ["cmd", "n"]});
        check(shell(), &[("exec_command", exec)], Ok(("exec_command", json!({"cmd": "ls", "n": 1000}))));
        let list = json!({"properties": {"command": {"type": "array"}}});
        check(shell(), &[("shell", list)], Ok(("shell", json!({"command": ["bash", "-lc", "ls"]}))));
        check(shell(), &[("Read", json!({}))], Err("the client offers no shell among its tools: Read"));
    }

    #[test]
    fn a_file_is_written_by_the_shell_where_nothing_else_can() {
        let write = || json!({"write": {"path": "a b", "content": "it's"}});
        let tool = json!({"properties": {"file_path": {}, "content": {}}});
        check(write(), &[("Write", tool)], Ok(("Write", json!({"file_path": "a b", "content": "it's"}))));
        let exec = json!({"properties": {"cmd": {}}});
        check(
            write(),
            &[("exec_command", exec)],
            Ok(("exec_command", json!({"cmd": "printf %s 'it'\\''s' > 'a b'"}))),
        );
    }
}
