//! What a user at a terminal is asked when checks pass only outside the sandbox that ralph chose by itself.
//!
//! The run has stopped by then, and nothing was spent. What the user allows, or does without, is for another run.

use super::args::OutputArgs;
use super::ask::{Asker, NoAnswer};
use super::format::Format;
use crate::notify::Notifier;
use crate::report::{in_the_way, say};
use crate::session::Ended;
use crate::settings::SandboxSettings;
use crate::worker;
use ralph_loop::event::StopReason;
use ralph_loop::proof::in_the_way::distinct;
use ralph_loop::sandbox::needs::Need;
use rustix::termios::tcgetpgrp;
use std::time::{Duration, Instant};

/// An unattended run must not wait for an answer.
const WITHIN: Duration = Duration::from_secs(60);

/// Seconds; for tests, which do not wait that long.
const WITHIN_VARIABLE: &str = "RALPH_ANSWER_WITHIN";

pub enum Reply {
    /// For this run.
    Allow,
    WithoutSandbox,
    Stop,
    /// Ctrl+C, or the end of the terminal.
    Interrupted,
}

/// A user who can be asked.
pub struct Question {
    /// From the first question on: it reads what is typed.
    asker: Option<Asker>,
    within: Duration,
}

impl Question {
    /// Nothing for workers, for programs that read the output, and in the background.
    pub fn at_terminal(output: &OutputArgs) -> Option<Question> {
        let [stdin, stdout] = [rustix::stdio::stdin(), rustix::stdio::stdout()];
        let at_terminal = [stdin, stdout].into_iter().all(rustix::termios::isatty);
        let for_people = output.format == Format::Human && worker::current().is_none();
        // A program in the background is stopped when it reads.
        let in_front = || tcgetpgrp(stdin).is_ok_and(|group| group == rustix::process::getpgrp());
        if !for_people || !at_terminal || !in_front() {
            return None;
        }
        let seconds = std::env::var(WITHIN_VARIABLE).ok().and_then(|text| text.parse().ok());
        let within = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(WITHIN);
        Some(Question { asker: None, within })
    }

    /// Whether the user decides how it goes on: a sandbox that was asked for is not given up.
    pub fn is_about(ended: &Ended) -> bool {
        let required = ended.run.confinement.sandbox().is_some_and(|spec| spec.required);
        ended.stopped.reason == StopReason::SandboxInTheWay && !required
    }

    pub fn ask(&mut self, ended: &Ended) -> Reply {
        if self.asker.is_none() {
            self.asker = Asker::new().ok();
        }
        let Some(asker) = &mut self.asker else { return Reply::Stop };
        let needs = distinct(&ended.state.proof.in_the_way);
        let allowed: Vec<String> = needs.iter().filter_map(|need| allowed(need)).collect();
        let seconds = self.within.as_secs_f64().ceil();
        asker.forget_typed();
        asker.say("");
        asker.say(&format!(
            "No agent was started. Choose how to go on; without an answer ralph stops in {seconds} s."
        ));
        if !allowed.is_empty() {
            asker.say(&format!("  a  allow it this time: {}", allowed.join(", ")));
        }
        asker.say("  w  run without a sandbox this time: agents have your rights");
        asker.say("  s  stop");
        let (letters, can_allow) = (if allowed.is_empty() { "w, s" } else { "a, w, s" }, !allowed.is_empty());
        let deadline = Instant::now() + self.within;
        loop {
            let answer = asker.line_until(&format!("Answer ({letters}): "), deadline);
            match answer.as_ref().map(|answer| answer.to_ascii_lowercase()).as_deref() {
                Ok("a" | "allow") if can_allow => {
                    if let Some(json) = in_the_way::settings(&ended.state) {
                        asker.say(&format!("To allow it from now on, add to .ralph/settings.json: {json}"));
                    }
                    return Reply::Allow;
                }
                Ok("w" | "without") => return Reply::WithoutSandbox,
                Ok("s" | "stop") => return Reply::Stop,
                Ok(_) => {}
                Err(NoAnswer::Stopped) => {
                    // The question is still on the last line.
                    asker.say("");
                    return Reply::Interrupted;
                }
                Err(NoAnswer::Late) => {
                    asker.say("");
                    say(&format!("ralph: stopped, because there was no answer within {seconds} s"));
                    if let Some(mut notifier) = Notifier::of(&ended.run, None) {
                        notifier.stopped(&ended.run, &ended.state, &ended.stopped);
                    }
                    return Reply::Stop;
                }
            }
        }
    }
}

/// What allowing comes to, if a setting allows it.
fn allowed(need: &Need) -> Option<String> {
    let (key, value) = need.what.setting()?;
    Some(match key {
        "read" => format!("read {value}"),
        "write" => format!("write {value}"),
        "hosts" => format!("reach {value}"),
        "forward" => format!("reach port {value} of this machine"),
        _ => format!("pass on {value}"),
    })
}

/// Adds what was missing to the settings of another run.
pub fn allow(settings: &mut SandboxSettings, ended: &Ended) {
    for (key, value) in
        distinct(&ended.state.proof.in_the_way).into_iter().filter_map(|need| need.what.setting())
    {
        let list = match key {
            "read" => &mut settings.read,
            "write" => &mut settings.write,
            "hosts" => &mut settings.hosts,
            "forward" => &mut settings.forward,
            _ => &mut settings.variables,
        };
        list.push(value.to_string());
    }
}
