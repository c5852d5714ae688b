//! Questions that Claude asks over its stream, and the answers to them.
//!
//! With `--permission-prompt-tool stdio` Claude sends a `control_request` for each tool that needs leave, and
//! waits for the `control_response`. The tool AskUserQuestion is one of them: its questions are answered by
//! letting it run with the answers in its input.

use serde_json::{Value, json};

/// What a line of the stream asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    Questions(QuestionsAsked),
    Permission(PermissionAsked),
    /// A request of a kind that is not known. It has an id, so it can be refused.
    Unknown {
        id: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct QuestionsAsked {
    pub id: String,
    pub questions: Vec<Question>,
    /// As it came, to be sent back with the answers.
    input: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub choices: Vec<QuestionChoice>,
    /// More than one choice can be taken.
    pub many: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionChoice {
    pub label: String,
    pub description: String,
}

/// A tool that needs leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionAsked {
    pub id: String,
    pub tool: String,
}

/// The request in a line of Claude's output; nothing in any other line.
pub fn control_request(line: &str) -> Option<Control> {
    // Most lines are something else, and some are large.
    if !line.contains("\"control_request\"") {
        return None;
    }
    let line: Value = serde_json::from_str(line).ok()?;
    if line["type"] != "control_request" {
        return None;
    }
    let id = line["request_id"].as_str()?.to_owned();
    let request = &line["request"];
    if request["subtype"] != "can_use_tool" {
        return Some(Control::Unknown { id });
    }
    let tool = request["tool_name"].as_str().unwrap_or_default().to_owned();
    if tool != "AskUserQuestion" {
        return Some(Control::Permission(PermissionAsked { id, tool }));
    }
    let input = request["input"].clone();
    let questions = questions_of(&input);
    Some(Control::Questions(QuestionsAsked { id, questions, input }))
}

/// The questions in the input of a tool that asks.
pub(crate) fn questions_of(input: &Value) -> Vec<Question> {
    input["questions"].as_array().into_iter().flatten().filter_map(question).collect()
}

fn question(value: &Value) -> Option<Question> {
    let text = value["question"].as_str()?.to_owned();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let choice = |option: &Value| QuestionChoice {
        label: option.as_str().map_or_else(|| word(&option["label"]), String::from),
        description: word(&option["description"]),
    };
    let choices = value["options"].as_array().into_iter().flatten().map(choice).collect();
    Some(Question { text, choices, many: value["multiSelect"] == true })
}

/// Lets the questions be asked, with these answers, one for each question.
pub fn allow_answers(asked: &QuestionsAsked, answers: &[String]) -> String {
    let mut input = asked.input.clone();
    let by_question = asked.questions.iter().zip(answers);
    input["answers"] = by_question.map(|(question, answer)| (question.text.clone(), json!(answer))).collect();
    response(&asked.id, &json!({"behavior": "allow", "updatedInput": input}))
}

/// Refuses a tool, in words for the agent.
pub fn deny(id: &str, why: &str) -> String {
    response(id, &json!({"behavior": "deny", "message": why}))
}

fn response(id: &str, response: &Value) -> String {
    let response = json!({"subtype": "success", "request_id": id, "response": response});
    format!("{}\n", json!({"type": "control_response", "response": response}))
}

/// The prompt, as a line of input.
pub fn user_message(text: &str) -> String {
    format!("{}\n", json!({"type": "user", "message": {"role": "user", "content": text}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Claude 2.1.325 sends it.
    const LINE: &str = r#"{"type":"control_request","request_id":"r-1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which store?","header":"Store","options":[{"label":"SQLite","description":"a file"},{"label":"Postgres","description":"a server"}],"multiSelect":false},{"question":"Which clients?","options":[{"label":"Web"},{"label":"CLI"}],"multiSelect":true}]},"tool_use_id":"t"}}"#;

    #[test]
    fn questions_are_read_and_answered_by_their_texts() {
        let Some(Control::Questions(asked)) = control_request(LINE) else { panic!("no questions") };
        let texts: Vec<(&str, bool)> =
            asked.questions.iter().map(|question| (question.text.as_str(), question.many)).collect();
        assert_eq!(texts, [("Which store?", false), ("Which clients?", true)]);
        assert_eq!(asked.questions[0].choices[1].description, "a server");
        let answered = allow_answers(&asked, &["SQLite".to_owned(), "Web, CLI".to_owned()]);
        let answered: Value = serde_json::from_str(&answered).unwrap();
        let response = &answered["response"];
        assert_eq!(
            (&response["request_id"], &response["response"]["behavior"]),
            (&json!("r-1"), &json!("allow"))
        );
        let input = &response["response"]["updatedInput"];
        assert_eq!(input["answers"], json!({"Which store?": "SQLite", "Which clients?": "Web, CLI"}));
        assert_eq!(input["questions"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn other_tools_ask_for_leave_and_other_lines_for_nothing() {
        let write = LINE.replace("AskUserQuestion", "Write");
        let wanted = PermissionAsked { id: "r-1".to_owned(), tool: "Write".to_owned() };
        assert_eq!(control_request(&write), Some(Control::Permission(wanted)));
        let odd = LINE.replace("can_use_tool", "hook_callback");
        assert_eq!(control_request(&odd), Some(Control::Unknown { id: "r-1".to_owned() }));
        for other in ["", "{}", r#"{"type":"assistant","text":"\"control_request\""}"#, "\"control_request\""]
        {
            assert_eq!(control_request(other), None, "{other}");
        }
        let denied: Value = serde_json::from_str(&deny("r-1", "no")).unwrap();
        assert_eq!(denied["response"]["response"]["message"], "no");
    }
}
