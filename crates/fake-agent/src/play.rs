//! Playing a script: which entry this run takes, and what each action does.

use crate::counter;
use crate::failure::Failure;
use crate::placeholders::{Placeholder, fill};
use crate::prompt::Prompt;
use crate::script::{Action, After, By, Call, Content, Outcome, SaveEnv, Script};
use crate::voice::Voice;
use crate::{files, flood, linger, signals};
use serde_json::{Map, Value};
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{self, Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const ITERATION: &str = "RALPH_ITERATION";
const HANG: Duration = Duration::from_secs(600);
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// Plays the entry that is due, and returns the exit code that the script wants.
pub(crate) fn play(path: &Path, free: &[OsString]) -> Result<u8, Failure> {
    let script = Script::load(path)?;
    let iteration = env::var_os(ITERATION).map(|value| value.to_string_lossy().into_owned());
    let note = |word: &str| match &script.ledger {
        Some(ledger) => {
            let iteration = iteration.as_deref().unwrap_or("-");
            files::append(ledger, format!("{word} {iteration} {}\n", std::process::id()).as_bytes())
        }
        None => Ok(()),
    };
    note("start")?;
    let ended = play_entry(&script, path, free, iteration.as_deref());
    // Failures are noted as well: only an agent that was killed has no end.
    note("end")?;
    ended
}

fn play_entry(
    script: &Script,
    path: &Path,
    free: &[OsString],
    iteration: Option<&str>,
) -> Result<u8, Failure> {
    let call = match script.by {
        By::Call => counter::next_call(path)?,
        By::Iteration => iteration_number(iteration)?,
    };
    let Call(actions) =
        entry(script, call).ok_or_else(|| Failure::Exhausted { call, script: path.to_owned() })?;
    let mut player = Player {
        voice: Voice::begin(script.dialect)?,
        prompt: Prompt::default(),
        call,
        iteration: iteration.unwrap_or("-"),
        free,
    };
    for action in actions {
        match player.perform(action)? {
            Flow::GoOn => {}
            Flow::End(code) => return Ok(code),
        }
    }
    player.voice.finish()?;
    Ok(0)
}

fn iteration_number(iteration: Option<&str>) -> Result<u64, Failure> {
    let held = iteration.unwrap_or_default();
    match held.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Failure::NoIteration(held.to_owned())),
    }
}

fn entry(script: &Script, call: u64) -> Option<&Call> {
    let own = usize::try_from(call).ok().and_then(|call| script.calls.get(call.checked_sub(1)?));
    match script.after {
        After::Last => own.or(script.calls.last()),
        After::Fail => own,
    }
}

struct Player<'a> {
    voice: Voice,
    prompt: Prompt,
    call: u64,
    iteration: &'a str,
    free: &'a [OsString],
}

enum Flow {
    GoOn,
    End(u8),
}

impl Player<'_> {
    fn perform(&mut self, action: &Action) -> Result<Flow, Failure> {
        match action {
            Action::Say(text) => {
                let text = self.fill(text)?;
                self.voice.say(&text)?;
            }
            Action::Raw(text) => self.voice.raw(text.as_bytes())?,
            Action::RawHex(hex) => self.voice.raw(&hex.0)?,
            Action::Stderr(text) => {
                let line = self.fill(text)? + "\n";
                // A closed stderr keeps no agent from its work.
                let _ = io::stderr().write_all(line.as_bytes());
            }
            Action::Write(content) => self.write(content)?,
            Action::Append(content) => self.append(content)?,
            Action::Delete(path) => self.delete(path)?,
            Action::Tool(tool) => {
                let output = self.fill(&tool.output)?;
                self.voice.tool(tool, &output)?;
            }
            Action::SleepMs(millis) => thread::sleep(Duration::from_millis(*millis)),
            Action::WaitFor(path) => {
                let (path, deadline) = (self.path(path)?, Instant::now() + LONGEST_WAIT);
                while !path.exists() && Instant::now() < deadline {
                    thread::sleep(Duration::from_millis(10));
                }
            }
            Action::EchoPrompt(_) => {
                self.voice.raw(self.prompt.bytes()?)?;
            }
            Action::SavePrompt(path) => {
                let path = self.path(path)?;
                files::write(&path, self.prompt.bytes()?)?;
            }
            Action::SaveArgs(path) => self.save_args(path)?,
            Action::SaveEnv(order) => self.save_env(order)?,
            Action::Leave(leave) => {
                let pid_file = leave.pid_file.as_deref().map(|path| self.path(path)).transpose()?;
                linger::leave(leave, pid_file)?;
            }
            Action::PrintMb(order) => flood::print(*order, &mut self.voice)?,
            Action::Cost(dollars) => self.voice.set_cost(*dollars),
            Action::Tokens(tokens) => self.voice.set_tokens(*tokens),
            Action::IgnoreTerm(_) => signals::ignore(&signals::POLITE)?,
            Action::Exit(code) => return Ok(Flow::End(*code)),
            Action::KillSelf(signal) => {
                rustix::process::kill_process(rustix::process::getpid(), signal.0)
                    .map_err(io::Error::from)
                    .map_err(Failure::system("send a signal to itself"))?;
            }
            Action::Result(outcome) => {
                let text = outcome.text.as_deref().map(|text| self.fill(text)).transpose()?;
                self.voice.result(&Outcome { text, ..outcome.clone() })?;
            }
            Action::Hang(_) => thread::sleep(HANG),
        }
        Ok(Flow::GoOn)
    }

    fn write(&mut self, order: &Content) -> Result<(), Failure> {
        let (path, content) = (self.path(&order.path)?, self.fill(&order.content)?);
        let shown = shown(&path);
        self.voice
            .tool_starts("Write", &input([("file_path", shown.clone()), ("content", content.clone())]))?;
        files::write(&path, content.as_bytes())?;
        self.voice.tool_ends(&format!("File created successfully at: {shown}"), false)
    }

    fn append(&mut self, order: &Content) -> Result<(), Failure> {
        let (path, content) = (self.path(&order.path)?, self.fill(&order.content)?);
        let command = format!("cat >> {}", path.display());
        self.voice.tool_starts("Bash", &input([("command", command)]))?;
        files::append(&path, content.as_bytes())?;
        self.voice.tool_ends("", false)
    }

    fn delete(&mut self, path: &str) -> Result<(), Failure> {
        let path = self.path(path)?;
        let command = format!("rm -f {}", path.display());
        self.voice.tool_starts("Bash", &input([("command", command)]))?;
        files::delete(&path)?;
        self.voice.tool_ends("", false)
    }

    fn save_args(&mut self, path: &str) -> Result<(), Failure> {
        let path = self.path(path)?;
        let lines: Vec<u8> = self.free.iter().flat_map(|arg| [arg.as_bytes(), b"\n"].concat()).collect();
        files::write(&path, &lines)
    }

    fn save_env(&mut self, order: &SaveEnv) -> Result<(), Failure> {
        let path = self.path(&order.path)?;
        let line = |name: &String| match env::var_os(name) {
            Some(value) => [name.as_bytes(), b"=", value.as_bytes(), b"\n"].concat(),
            None => format!("{name} unset\n").into_bytes(),
        };
        let lines: Vec<u8> = order.names.iter().flat_map(line).collect();
        files::write(&path, &lines)
    }

    fn path(&mut self, template: &str) -> Result<PathBuf, Failure> {
        self.fill(template).map(PathBuf::from)
    }

    fn fill(&mut self, template: &str) -> Result<String, Failure> {
        fill(template, |which| match which {
            Placeholder::Call => Ok(self.call.to_string()),
            Placeholder::Iteration => Ok(self.iteration.to_owned()),
            Placeholder::Prompt => Ok(String::from_utf8_lossy(self.prompt.bytes()?).into_owned()),
        })
    }
}

fn input<const N: usize>(fields: [(&str, String); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
}

/// Claude names files by their absolute path.
fn shown(path: &Path) -> String {
    path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}
