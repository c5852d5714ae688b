//! Agents: started for an iteration, or asked for a commit message.

use super::on_terminal::{self, OnTerminal};
use super::{Lane, Launch, LaunchSite, Program, Shared, StartError, Told};
use crate::engine::activity::Activity;
use crate::engine::assignment::{HandedOut, TaskAgent, agent_can_commit, forms};
use crate::engine::compose;
use crate::engine::pipe;
use crate::engine::projections::Projections;
use crate::engine::raw_log::RawLog;
use crate::engine::scm::MessageIn;
use crate::engine::step::{AgentStep, Hindrance};
use crate::engine::streams::{LEAST_KEPT, Room};
use crate::fsx;
use crate::guard::{self, can_be_watched};
use crate::handed::HandedFile;
use crate::hook;
use crate::layout::{self, RunDir};
use crate::process::Stdio3;
use crate::sandbox::{Inside, Role};
use crate::secrets;
use ralph_loop::dialect::{
    AnswerIn, Dialect, Hooks, Invocation, Lines, PromptAs, PromptVia, StreamReader, Terminal, Wants,
    command_line,
};
use ralph_loop::done_pattern::DonePattern;
use ralph_loop::event::How;
use ralph_loop::limits::Patience;
use ralph_loop::money::Usd;
use ralph_loop::plan::{Item, Pick, Plan, PlanState};
use ralph_loop::run::AgentSpec;
use ralph_loop::sandbox::agents;
use ralph_loop::scm::MESSAGE_PROMPT;
use ralph_loop::secrets::{Fragments, MaskedStream};
use ralph_loop::{Run, State};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// One start of an agent within an iteration.
pub(in crate::engine) struct AgentStart {
    pub(in crate::engine) iteration: u32,
    pub(in crate::engine) attempt: u32,
    pub(in crate::engine) agent: usize,
}

/// Where the output of an agent is kept.
struct Logs {
    stdout: PathBuf,
    stderr: PathBuf,
}

/// What an agent is started for.
struct AgentRequest<'a> {
    iteration: u32,
    agent: usize,
    prompt: &'a str,
    wants: Wants<'a>,
    session: Option<&'a str>,
    budget: Option<Usd>,
    hooks: Option<Hooks<'a>>,
    /// What else it finds in its environment.
    extra_env: Vec<(&'static str, String)>,
    /// It is in a sandbox of ralph's.
    sandboxed: bool,
    /// What its words are matched with.
    pattern: Option<&'a str>,
    patience: Patience,
}

impl<'a> AgentRequest<'a> {
    /// One that is invalid was refused before it got into the run.
    fn pattern(&self) -> Option<DonePattern> {
        self.pattern.and_then(|pattern| DonePattern::new(pattern).ok())
    }

    fn invocation(&self, spec: &'a AgentSpec) -> Invocation<'a> {
        Invocation {
            program: &spec.program,
            args: &spec.args,
            model: spec.model.as_deref(),
            autonomous: spec.autonomous,
            sandboxed: self.sandboxed,
            wants: self.wants,
            session: self.session,
            budget: self.budget,
            hooks: self.hooks,
        }
    }
}

impl Lane {
    /// Returns the prompt as it is shown, too.
    pub(in crate::engine) fn start_agent(
        &mut self,
        shared: &mut Shared,
        run: &Run,
        state: &State,
        start: &AgentStart,
        projections: &Projections,
    ) -> Result<(Program, String), StartError> {
        let &AgentStart { iteration, attempt, agent } = start;
        let prompt = compose::prompt(run, state, &shared.texts, projections)?;
        shared.work_on(state);
        let handed_out = hand_out(shared, run, state)?;
        let logs = Logs {
            stdout: shared.run_dir.stdout(iteration, attempt),
            stderr: shared.run_dir.stderr(iteration, attempt),
        };
        let session = session_id(run, state, iteration);
        let budget = state.ledger.limits.max_cost.map(|most| most.less(state.ledger.spent.usd));
        let ralph = match &shared.sandbox {
            Some(sandbox) => sandbox.ralph().to_path_buf(),
            None => shared.keeper_program.path()?,
        };
        // One that knows no hooks may start another that does, with the plugin.
        let takes_hooks = handed_out.hooks.is_some() || run.agents.get(agent).is_some_and(can_be_watched);
        let forms = takes_hooks.then(|| forms(run, &shared.run_dir, &ralph, handed_out.hooks)).transpose()?;
        let hooks = forms.as_ref();
        let hooks = hooks.map(|forms| Hooks { settings: &forms.settings, config: &forms.config });
        let workspace = run.workspace.to_string_lossy();
        let wants = match &run.interactive {
            Some(interactive) => Wants::Terminal(Terminal {
                workspace: &workspace,
                prompt_as: match interactive.as_system_prompt {
                    true => PromptAs::SystemPrompt,
                    false => PromptAs::Question,
                },
            }),
            None => Wants::Events,
        };
        let request = AgentRequest {
            iteration,
            agent,
            prompt: &prompt,
            wants,
            session: Some(&session),
            budget,
            hooks,
            extra_env: handed_out.env,
            sandboxed: shared.sandbox.is_some(),
            pattern: run.plan.pattern(&state.plan),
            patience: state.ledger.limits.patience,
        };
        let (step, _) = self.spawn_agent(shared, run, request, logs)?;
        let shown = secrets::mask(&prompt).into_owned();
        Ok((Program::Agent(Box::new(step)), shown))
    }

    /// Asks an agent for a commit message, in words only.
    pub(in crate::engine) fn start_message(
        &mut self,
        shared: &mut Shared,
        run: &Run,
        iteration: u32,
        agent: usize,
    ) -> Result<Program, StartError> {
        let logs = Logs {
            stdout: shared.run_dir.message(iteration),
            stderr: shared.run_dir.message_stderr(iteration),
        };
        let recorded = shared.run_dir.message_file(iteration);
        // Left by a process of this run that was killed.
        let _ = fsx::remove(&recorded);
        // The agent itself writes to it, whatever it says.
        let file = HandedFile::instead_of(&recorded, &shared.run_dir.home(), b"")?;
        let stdout = logs.stdout.clone();
        let request = AgentRequest {
            iteration,
            agent,
            prompt: MESSAGE_PROMPT,
            wants: Wants::LastWords { file: &file.path().to_string_lossy() },
            session: None,
            budget: None,
            hooks: None,
            extra_env: Vec::new(),
            sandboxed: shared.sandbox.is_some(),
            pattern: None,
            patience: Patience::default(),
        };
        let (step, answer) = self.spawn_agent(shared, run, request, logs)?;
        let words = match answer {
            AnswerIn::Stdout => MessageIn::Log { log: stdout, read_as: step.dialect },
            AnswerIn::File(path) if Path::new(&path) == file.path() => MessageIn::Handed { file, recorded },
            AnswerIn::File(path) => MessageIn::UsersFile(run.workspace.join(path)),
        };
        Ok(Program::Message { step: Box::new(step), words })
    }

    fn spawn_agent(
        &mut self,
        shared: &mut Shared,
        run: &Run,
        request: AgentRequest<'_>,
        logs: Logs,
    ) -> Result<(AgentStep, AnswerIn), StartError> {
        let prompt = request.prompt;
        let spec = run.agents.get(request.agent).ok_or(StartError::NoSuchAgent(request.agent))?;
        let masker = secrets::masker();
        let shown = masker.mask(prompt);
        let hash = shared.texts.put(prompt)?;
        let recorded = shared.run_dir.text(&hash);
        let invocation = request.invocation(spec);
        let built = |file: &Path| command_line(spec.dialect, &invocation, &file.to_string_lossy(), prompt);
        let (line, handed) = match built(&recorded)? {
            line if *shown != *prompt && line.names(&recorded.to_string_lossy()) => {
                let handed = HandedFile::instead_of(&recorded, &shared.run_dir.home(), prompt.as_bytes())?;
                (built(handed.path())?, Some(handed))
            }
            line => (line, None),
        };
        let prompt_file = handed.as_ref().map_or(recorded, |handed| handed.path().to_path_buf());
        let stdin: OwnedFd = match line.stdin {
            // An open file can be opened again for writing, whatever is mounted inside: not the record itself.
            // The record has no secrets either; the agent gets what the user has written.
            PromptVia::Stdin if shared.sandbox.is_some() || *shown != *prompt => {
                copied(prompt, &shared.run_dir)?.into()
            }
            PromptVia::Stdin => File::open(&prompt_file)?.into(),
            PromptVia::Argument | PromptVia::File | PromptVia::Typed => File::open("/dev/null")?.into(),
        };
        let (stdout, agents_stdout) = pipe::large()?;
        let (stderr, agents_stderr) = pipe::large()?;
        let most = match (run.keep_streams, request.wants) {
            (0, _) => u64::MAX,
            (most, Wants::Events | Wants::Terminal(_)) => most,
            (most, Wants::LastWords { .. }) => most.max(LEAST_KEPT),
        };
        if run.keep_streams > 0 {
            shared.streams.begin([&logs.stdout, &logs.stderr]);
        }
        let mut step = AgentStep {
            stdout: Some(stdout),
            stderr: Some(stderr),
            dialect: line.output,
            program: spec.dialect,
            reader: StreamReader::watching(line.output, &shown, run.plan.listen(), request.pattern()),
            fragments: (line.output == Dialect::Claude).then(|| Fragments::new(Arc::clone(&masker))),
            masked_out: Some(MaskedStream::new(Arc::clone(&masker))),
            masked_err: Some(MaskedStream::new(Arc::clone(&masker))),
            stderr_lines: Lines::default(),
            complaint: None,
            raw_out: RawLog::at(logs.stdout),
            raw_err: RawLog::at(logs.stderr),
            room: Room::of(most),
            gap_warned: false,
            prompt: hash,
            handed: handed.into_iter().collect(),
            price: spec.price,
            started: Instant::now(),
            activity: Activity::of(line.output, request.patience, Instant::now()),
            silence_recorded: false,
            answers: 0,
            answers_recorded: 0,
            hindrance_recorded: Hindrance::default(),
            problem: None,
        };
        let role = Role::Agent(agents::agent(&spec.program));
        let on_terminal = match (&run.interactive, request.wants) {
            (Some(interactive), Wants::Terminal(_)) => {
                let heard = request.hooks.is_some_and(|hooks| hooks.are_in(&line.argv));
                if line.output != Dialect::Plain && !heard {
                    return Err(StartError::NotHeard { agent: spec.name.clone() });
                }
                step.reader = step.reader.in_terminal();
                let on_terminal = OnTerminal::of(interactive, &line, request.pattern);
                Some(on_terminal.within(shared.sandbox.as_deref(), role))
            }
            _ => None,
        };
        let (mut env, mut own_config) = (request.extra_env, None);
        if on_terminal.is_some() {
            let on_terminal::Given { env: of_terminal, config } = on_terminal::given(spec, shared)?;
            env.extend(of_terminal);
            own_config = config.as_ref().and_then(|file| Some(file.path().parent()?.to_path_buf()));
            step.handed.extend(config);
        }
        // Only where ralph's own hooks cannot be passed, those of the plugin take their place.
        if request.hooks.is_none_or(|hooks| hooks.are_in(&line.argv)) {
            env.push((hook::PLUGINS_HOOKS, hook::OFF.to_owned()));
        } else if lost_guard(run, spec) {
            return Err(StartError::GuardLost { agent: spec.name.clone() });
        }
        let argv = line.argv.into_iter().map(OsString::from).collect();
        let stdio = Stdio3 { stdin, stdout: agents_stdout, stderr: agents_stderr };
        if !matches!(run.plan, Plan::Prompt(_)) {
            // It also proves that there was an agent: see `session::resume`.
            step.raw_out.open()?;
        }
        let told = Told::Run { iteration: request.iteration, extra: env };
        let mut files =
            RecordFiles::of(&shared.run_dir, prompt_file, &line.answer, shared.sandbox.is_some())?;
        if on_terminal.is_some() {
            files.writes.push(shared.run_dir.turn_socket());
            files.writes.extend(own_config);
        }
        let inside = Inside {
            reads: &files.reads,
            writes: &files.writes,
            on_terminal: on_terminal.is_some(),
            ..Inside::of(role)
        };
        let site = LaunchSite::Inside(inside);
        self.spawn(
            run,
            shared,
            Launch { argv, cwd: &run.workspace, stdio, told, site, terminal: on_terminal },
        )?;
        // Making a file takes longer than anything else between two agents, so where it can wait
        // it is made while the agent starts. An agent whose words cannot be kept is ended at once.
        if let Err(cause) = step.raw_out.open() {
            step.problem = Some(cause);
            self.end_program(How::Kill);
        }
        shared.texts.prepare();
        if let Some(checkpoints) = &mut shared.checkpoints {
            checkpoints.prepare();
        }
        Ok((step, line.answer))
    }
}

/// Whether an agent that cannot be given hooks could be when the run began, and nothing else keeps it in its place: an
/// agent before it may have written hooks of the project's own.
fn lost_guard(run: &Run, agent: &AgentSpec) -> bool {
    let is_watched = run.guard.as_ref().is_some_and(|spec| guard::is_watched(spec, &agent.name));
    is_watched && run.confinement.sandbox().is_none()
}

/// The prompt in a file without a name.
fn copied(prompt: &str, run_dir: &RunDir) -> io::Result<File> {
    let mut file = fsx::nameless(run_dir.dir())?;
    file.write_all(prompt.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// What an agent uses of the run's record, which it does not see otherwise where it is in a sandbox.
#[derive(Default)]
struct RecordFiles {
    reads: Vec<PathBuf>,
    writes: Vec<PathBuf>,
}

impl RecordFiles {
    fn of(run_dir: &RunDir, prompt: PathBuf, answer: &AnswerIn, confined: bool) -> io::Result<RecordFiles> {
        if !confined {
            return Ok(RecordFiles::default());
        }
        let handed_out = [run_dir.assignment(), run_dir.hooks(), run_dir.guard(), run_dir.guard_script()];
        let handed_out = handed_out.into_iter().filter(|path| path.exists());
        let mut writes = match answer {
            AnswerIn::File(path) => {
                let path = PathBuf::from(path);
                match path.exists() {
                    true => fsx::replace_content(&path, b"")?,
                    false => fsx::write_whole(&path, b"")?,
                }
                vec![path]
            }
            AnswerIn::Stdout => Vec::new(),
        };
        let of_guard = [run_dir.guard_log(), run_dir.guard_failures()];
        writes.extend(of_guard.into_iter().filter(|path| path.exists()));
        Ok(RecordFiles { reads: handed_out.chain([prompt]).collect(), writes })
    }
}

/// What else the agent of an iteration gets.
fn hand_out(shared: &Shared, run: &Run, state: &State) -> Result<HandedOut, StartError> {
    let (Plan::Tasks(plan), PlanState::Tasks(tasks)) = (&run.plan, &state.plan) else {
        return Ok(HandedOut::default());
    };
    let Pick::Work(Item::Task { id, mode }) = &state.work.pick else {
        return Ok(HandedOut::default());
    };
    let task = TaskAgent {
        run,
        plan,
        tasks,
        id,
        mode: *mode,
        can_commit: agent_can_commit(run, state),
        run_dir: &shared.run_dir,
        project: &shared.project,
        texts: &shared.texts,
    };
    Ok(task.hand_out()?)
}

/// A UUID that no other session has: of this attempt of this life of this run.
fn session_id(run: &Run, state: &State, iteration: u32) -> String {
    let name = format!(
        "{}/{}/{iteration}/{}/{}",
        run.id,
        state.position.epoch,
        state.position.steps_begun,
        std::process::id()
    );
    layout::uuid(name.as_bytes())
}
