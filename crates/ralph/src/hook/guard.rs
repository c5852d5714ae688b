//! `ralph hook guard`: whether a tool call may run.
//!
//! It fails closed: a call that cannot be read or judged is denied, with a word. In a run such failures are counted,
//! because an agent that is denied everything is of no use: the engine pauses the run.
//!
//! In a session that ralph did not start it does nothing, unless the user wants it to.

use super::{AnswerCodes, HookAnswer, HookExit, RUN, USUAL_CODES, Whose, variable};
use crate::guard::{Entry, Failures, Orders, Outcome, Surroundings, append, is_users_own, rule_name};
use crate::layout::{Home, RunDir, is_safe_name};
use ralph_loop::guard::{Finding, GuardSpec, Judgement, Verdict};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// By what the guard goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardBy {
    /// What the engine has written for an agent.
    Policy(PathBuf),
    /// The run that is in the environment, else the settings, if the session is one to act in.
    Session(Whose),
}

/// What the script around the hook of a run takes for an answer. Other programs end with other codes: an earlier ralph that knows
/// no guard with 2, like every program that is called wrongly, and an empty file, which a shell runs as a script, with 0.
pub const RUN_CODES: AnswerCodes = AnswerCodes { done: 10, denied: 12 };

impl GuardBy {
    /// How the answer is told.
    pub fn codes(&self) -> AnswerCodes {
        match self {
            GuardBy::Policy(_) => RUN_CODES,
            GuardBy::Session(_) => USUAL_CODES,
        }
    }
}

/// What an agent says of a tool call that it is about to make. Claude and Codex say it in the same words.
#[derive(Debug, Deserialize)]
struct Call {
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    transcript_path: Option<PathBuf>,
    #[serde(default)]
    hook_event_name: Option<String>,
    /// Only Codex has turns.
    #[serde(default)]
    turn_id: Option<String>,
    cwd: PathBuf,
    tool_name: String,
    /// An object.
    tool_input: Value,
}

/// In whose session a call is made.
enum Session {
    Run(RunDir),
    Person,
}

/// What the guard says of a call.
enum Answer {
    Allow,
    Warn,
    Ask,
    Block,
}

/// Answers an agent. `input` is its JSON, or why that could not be read.
pub fn guard(by: &GuardBy, input: Result<&[u8], String>) -> HookAnswer {
    let session = match session(by) {
        Ok(Some(session)) => session,
        Ok(None) => return HookAnswer::nothing(),
        Err(why) => return denied(&why),
    };
    let call = input.and_then(call);
    match call.and_then(|call| Ok((weigh(&session, &call)?, call))) {
        Ok(((spec, judgement), call)) => {
            let answer = settle(&session, &call, &spec, &judgement);
            match &session {
                Session::Run(run) => match Failures(&run.guard_failures()).forget() {
                    Ok(()) => answer,
                    Err(cause) => answer.remark(format!("cannot reset the count of failures: {cause}")),
                },
                Session::Person => answer,
            }
        }
        Err(why) => record_failure(&session, &why),
    }
}

/// The answer if there was none: the guard has crashed, or takes too long.
pub fn guard_failed(by: &GuardBy, why: &str) -> HookAnswer {
    match session(by) {
        Ok(Some(session)) => record_failure(&session, why),
        Ok(None) => HookAnswer::nothing(),
        Err(other) => denied(&format!("{why}; {other}")),
    }
}

/// None where the guard has nothing to do.
fn session(by: &GuardBy) -> Result<Option<Session>, String> {
    let whose = match by {
        GuardBy::Policy(file) => {
            let dir = file.parent().unwrap_or(Path::new("/"));
            return Ok(Some(Session::Run(RunDir::at(dir.to_path_buf()))));
        }
        GuardBy::Session(whose) => *whose,
    };
    match (variable(RUN), whose) {
        (Some(run), _) => {
            let run = run.to_str().filter(|run| is_safe_name(run));
            let home = Home::find().ok_or("no home directory")?;
            let run = home.run(run.ok_or_else(|| format!("{RUN} does not name a run"))?);
            // An agent that a program of the run has started, and not its engine, has no policy but the settings.
            let has_policy = whose == Whose::Ours || run.guard().exists();
            Ok(Some(if has_policy { Session::Run(run) } else { Session::Person }))
        }
        (None, Whose::Everybodys) => Ok(Some(Session::Person)),
        (None, Whose::Ours) => Ok(None),
    }
}

fn call(bytes: &[u8]) -> Result<Call, String> {
    let call: Call = serde_json::from_slice(bytes).map_err(|why| format!("cannot read the call: {why}"))?;
    match &call {
        Call { hook_event_name: Some(event), .. } if event != "PreToolUse" => {
            Err(format!("not called before a tool, but by {event}"))
        }
        Call { tool_name, .. } if tool_name.is_empty() => Err("the call names no tool".to_owned()),
        Call { tool_input, .. } if !tool_input.is_object() => Err("the call has no input".to_owned()),
        Call { cwd, .. } if !cwd.is_absolute() => Err("the call names no directory".to_owned()),
        _ => Ok(call),
    }
}

fn weigh(session: &Session, call: &Call) -> Result<(GuardSpec, Judgement), String> {
    let orders = match session {
        Session::Run(run) => Orders::read(&run.guard()),
        Session::Person => {
            // Claude's shell keeps the directory that an agent goes to. What is the agent's to change stays the same.
            let project = variable("CLAUDE_PROJECT_DIR").map_or_else(|| call.cwd.clone(), PathBuf::from);
            Orders::of_person(&project, call.transcript_path.as_deref().unwrap_or(Path::new("")))
        }
    };
    let around = Surroundings::new(orders.map_err(|why| why.to_string())?, &call.cwd);
    let judgement = around.judge(&call.tool_name, &call.tool_input).map_err(|why| why.to_string())?;
    Ok((around.orders.spec, judgement))
}

/// The judgement as the agent gets it, and the record of it.
fn settle(session: &Session, call: &Call, spec: &GuardSpec, judgement: &Judgement) -> HookAnswer {
    let decisive: Vec<&Finding> =
        judgement.findings.iter().filter(|finding| finding.verdict == judgement.verdict).collect();
    let may_ask = matches!(session, Session::Person) && call.turn_id.is_none();
    // What the user has denied by name is not asked about.
    let is_question = |finding: &&Finding| !is_users_own(finding) && spec.ask.contains(&finding.category);
    let is_asked = may_ask && decisive.iter().all(is_question);
    let (answer, outcome) = match judgement.verdict {
        Verdict::Allow => (Answer::Allow, None),
        Verdict::Warn => (Answer::Warn, Some(Outcome::Warn)),
        Verdict::Block if is_asked => (Answer::Ask, Some(Outcome::Ask)),
        Verdict::Block => (Answer::Block, Some(Outcome::Block)),
    };
    let reasons: Vec<String> = decisive.iter().map(|finding| reason(finding)).collect();
    let reasons = reasons.join("\n");
    let made = match answer {
        Answer::Allow => HookAnswer::nothing(),
        Answer::Warn => HookAnswer::message(&format!("ralph's guard warns:\n{reasons}"))
            .remark(format!("warning: {reasons}")),
        Answer::Ask => HookAnswer { output: Some(ask(&reasons)), ..HookAnswer::nothing() },
        Answer::Block => HookAnswer::denied(format!("denied: {reasons}\n{DO_NOT_EVADE}")),
    };
    let logged = outcome.map(|outcome| {
        let first = decisive.first();
        let entry = Entry {
            at: now(),
            session: call.session_id.clone().unwrap_or_default(),
            tool: call.tool_name.clone(),
            command: command(call),
            outcome,
            rule: first.map(|finding| rule_name(finding)),
            why: first.map(|finding| finding.why.clone()).unwrap_or_default(),
        };
        log(session, entry)
    });
    match logged {
        Some(Err(cause)) => made.remark(format!("cannot log this: {cause}")),
        Some(Ok(())) | None => made,
    }
}

const DO_NOT_EVADE: &str = "Do not try to do the same in another way. If the task needs it, say so and go on with the rest: only the user can allow it.";

fn reason(finding: &Finding) -> String {
    format!("{} ({}): {}. Instead: {}.", finding.what, rule_name(finding), finding.why, finding.instead)
}

fn ask(reason: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": format!("ralph's guard: {reason}"),
    }})
}

/// What a call would do, for people.
fn command(call: &Call) -> String {
    let known = ["command", "cmd", "file_path", "notebook_path", "path", "url", "input", "patch"];
    match known.iter().find_map(|key| call.tool_input.get(*key)) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(words)) => {
            words.iter().map(|word| word.as_str().unwrap_or("?")).collect::<Vec<_>>().join(" ")
        }
        Some(_) | None => String::new(),
    }
}

fn log(session: &Session, entry: Entry) -> std::io::Result<()> {
    match session {
        Session::Run(run) => append(&run.guard_log(), entry),
        Session::Person => match Home::find() {
            Some(home) => {
                crate::fsx::private_dir(home.root())?;
                append(&home.guard_log(), entry)
            }
            None => Ok(()),
        },
    }
}

fn record_failure(session: &Session, why: &str) -> HookAnswer {
    let entry = Entry {
        at: now(),
        session: String::new(),
        tool: String::new(),
        command: String::new(),
        outcome: Outcome::Failed,
        rule: None,
        why: why.to_owned(),
    };
    let logged = log(session, entry);
    let counted = match session {
        Session::Run(run) => Failures(&run.guard_failures()).note(why),
        Session::Person => Ok(()),
    };
    let answer = denied(why);
    match logged.and(counted) {
        Ok(()) => answer,
        Err(cause) => answer.remark(format!("cannot record this: {cause}")),
    }
}

fn denied(why: &str) -> HookAnswer {
    HookAnswer::denied(format!("denied, because the guard cannot judge it: {why}"))
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl HookAnswer {
    /// The tool call may not run; the agent is told why.
    fn denied(why: String) -> HookAnswer {
        HookAnswer { output: None, remarks: vec![why], exit: HookExit::Denied }
    }
}
