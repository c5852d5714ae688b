//! An agent that plans without a terminal: started, listened to, answered, and judged.

use super::runner::{Ended, Happened, Input, Runner};
use super::{PlanSpec, PlannerError};
use crate::fsx;
use crate::layout::PlanDir;
use crate::process::Command;
use crate::report::Reporter;
use crate::secrets;
use ralph_loop::dialect::{
    self, AgentEvent, Control, Dialect, Exit, Line, Lines, Planning, QuestionsAsked, ScanFor, StreamReader,
    Talk, allow_answers, control_request, deny, planning_command, user_message,
};
use ralph_loop::planner::Spent;
use ralph_loop::planner::prd::QuestionAnswered;
use ralph_loop::run::AgentSpec;
use ralph_loop::secrets::{Fragments, MaskedStream};
use ralph_loop::text::clip;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::time::{Duration, Instant};

/// What is said to a planner that wants to do anything but read and write drafts.
const ONLY_DRAFTS: &str = "You are planning: read the project, and write only the drafts.";

/// Who watches, and who answers.
pub struct Audience<'a> {
    pub reporter: &'a mut dyn Reporter,
    /// An answer for each question; nothing if the user wants to stop.
    pub answer: &'a mut dyn FnMut(&QuestionsAsked) -> Option<Vec<String>>,
}

/// One agent, from its start to its end.
pub struct Round<'a> {
    pub spec: &'a PlanSpec,
    pub record: &'a PlanDir,
    pub agent: &'a AgentSpec,
    /// It may ask.
    pub asks: bool,
    pub number: u32,
    pub prompt: &'a str,
    /// How long it may take.
    pub limit: Option<Duration>,
}

/// How one agent has ended.
pub struct RoundEnd {
    pub last_words: String,
    pub answers: Vec<QuestionAnswered>,
    pub spent: Spent,
}

impl Round<'_> {
    /// The command as it is started.
    pub fn command(&self) -> Result<(Command, Dialect), PlannerError> {
        let AgentSpec { name, dialect, program, args, model, .. } = self.agent;
        let not_started = |why: String| PlannerError::NotStarted { name: name.clone(), why };
        let drafts = self.record.drafts();
        let planning = Planning {
            program,
            args,
            model: model.as_deref(),
            drafts: &drafts.to_string_lossy(),
            talk: if self.asks { Talk::Asks } else { Talk::Never },
        };
        let line = planning_command(*dialect, &planning)
            .ok_or_else(|| not_started("it cannot plan".to_owned()))?
            .map_err(|cause| not_started(cause.to_string()))?;
        let argv = line.argv.into_iter().map(Into::into).collect();
        Ok((Command { argv, cwd: self.spec.project.clone(), ..Command::default() }, line.output))
    }

    /// What it is told, in a file without a name: the record has no secrets.
    fn told(&self) -> io::Result<File> {
        let mut file = fsx::nameless(self.record.dir())?;
        fsx::append_to(&mut file, self.prompt.as_bytes())?;
        file.rewind()?;
        Ok(file)
    }

    pub fn play(&self, audience: &mut Audience<'_>) -> Result<RoundEnd, PlannerError> {
        let record = |cause| PlannerError::Record { dir: self.record.dir().to_path_buf(), cause };
        let not_started = |why: String| PlannerError::NotStarted { name: self.agent.name.clone(), why };
        let (command, output) = self.command()?;
        let input = match self.asks {
            true => Input::Messages,
            false => Input::File(self.told().map_err(record)?),
        };
        let mut stdout_log = fsx::appending(&self.record.stdout(self.number)).map_err(record)?;
        let mut stderr_log = fsx::appending(&self.record.stderr(self.number)).map_err(record)?;
        let mut runner =
            Runner::start(&command, input, self.limit).map_err(|cause| not_started(cause.to_string()))?;
        if self.asks {
            runner.send(&user_message(self.prompt));
        }
        let mut heard = Heard {
            reader: StreamReader::new(output, self.prompt, ScanFor::Completion),
            lines: Lines::default(),
            errors: Lines::default(),
            complaint: None,
            last_words: String::new(),
            answers: Vec::new(),
        };
        let mut masked = [(); 2].map(|()| MaskedStream::new(secrets::masker()));
        let mut fragments = Fragments::new(secrets::masker());
        let exit = loop {
            match runner.next() {
                Happened::Stdout(bytes) => {
                    let bytes = masked[0].feed(&bytes);
                    stdout_log.write_all(fragments.feed(bytes)).map_err(record)?;
                    heard.stdout(bytes, self.asks, audience, &mut runner);
                }
                Happened::Stderr(bytes) => {
                    let bytes = masked[1].feed(&bytes);
                    stderr_log.write_all(bytes).map_err(record)?;
                    heard.stderr(bytes, self.agent.dialect);
                }
                Happened::Ended(Ended::Exit(exit)) => break exit,
                Happened::Ended(Ended::NotStarted(why)) => return Err(not_started(why)),
                Happened::Ended(Ended::Interrupted) => {
                    return Err(PlannerError::Interrupted { drafts: self.record.drafts() });
                }
                Happened::Ended(Ended::TimedOut) => {
                    let why = "it did not end within the time limit (timeout in the settings)".to_owned();
                    return Err(PlannerError::AgentFailed { why, record: self.record.dir().to_path_buf() });
                }
            }
        };
        let [mut stdout, mut stderr] = masked;
        let (stdout, stderr) = (stdout.finish(), stderr.finish());
        stdout_log.write_all(fragments.feed(stdout)).map_err(record)?;
        stdout_log.write_all(fragments.finish()).map_err(record)?;
        stderr_log.write_all(stderr).map_err(record)?;
        heard.stdout(stdout, self.asks, audience, &mut runner);
        heard.stderr(stderr, self.agent.dialect);
        self.judge(heard, output, exit, audience)
    }

    fn judge(
        &self,
        heard: Heard,
        output: Dialect,
        exit: Exit,
        audience: &mut Audience<'_>,
    ) -> Result<RoundEnd, PlannerError> {
        let Heard { reader, complaint, last_words, answers, .. } = heard;
        let seen = reader.finish(&mut |event| audience.reporter.agent(&event));
        match dialect::answer(output, exit, &seen, complaint.as_ref()).problem() {
            None => Ok(RoundEnd { last_words, answers, spent: Spent::of(self.agent.price, &seen) }),
            Some(why) => Err(PlannerError::AgentFailed {
                why: why.to_owned(),
                record: self.record.dir().to_path_buf(),
            }),
        }
    }
}

/// The limit does not run while the user thinks.
fn untimed<T>(runner: &mut Runner, ask: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let answer = ask();
    runner.add_time(began.elapsed());
    answer
}

/// What an agent has said so far.
struct Heard {
    reader: StreamReader,
    lines: Lines,
    errors: Lines,
    complaint: Option<dialect::Complaint>,
    last_words: String,
    answers: Vec<QuestionAnswered>,
}

impl Heard {
    fn stdout(&mut self, bytes: &[u8], asks: bool, audience: &mut Audience<'_>, runner: &mut Runner) {
        let Heard { reader, lines, last_words, answers, .. } = self;
        let mut is_over = false;
        reader.feed(bytes, &mut |event| {
            match &event {
                AgentEvent::Text { text, parent: None } if !text.trim().is_empty() => {
                    *last_words = clip(text.trim(), 2000).into_owned();
                }
                AgentEvent::Result(_) => is_over = true,
                _ => {}
            }
            audience.reporter.agent(&event);
        });
        audience.reporter.rest();
        if !asks {
            return;
        }
        let mut requests = Vec::new();
        lines.feed(bytes, &mut |line| {
            if let Line::Whole(bytes) = line {
                requests.extend(control_request(&String::from_utf8_lossy(bytes)));
            }
        });
        for request in requests {
            match request {
                Control::Questions(asked) => match untimed(runner, || (audience.answer)(&asked)) {
                    Some(said) => {
                        runner.send(&allow_answers(&asked, &said));
                        let pairs = asked.questions.iter().zip(said);
                        answers.extend(pairs.map(|(question, answer)| QuestionAnswered {
                            question: question.text.clone(),
                            answer,
                        }));
                    }
                    None => runner.interrupt(),
                },
                Control::Permission(asked) => runner.send(&deny(&asked.id, ONLY_DRAFTS)),
                Control::Unknown { id } => runner.send(&deny(&id, ONLY_DRAFTS)),
            }
        }
        // It waits for another message as long as there could be one.
        if is_over {
            runner.finish_input();
        }
    }

    fn stderr(&mut self, bytes: &[u8], program: Dialect) {
        let Heard { errors, complaint, .. } = self;
        errors.feed(bytes, &mut |line| {
            if let (Line::Whole(bytes), None) = (line, &complaint) {
                *complaint = dialect::complaint(program, &String::from_utf8_lossy(bytes));
            }
        });
    }
}
