//! What is asked of a run, before settings and defaults have their say.
//!
//! Each front door fills in a request of its own; what they have in common are the [`Terms`].
//! Of those and the settings one validated, immutable [`Run`] is made, or it is said what is
//! wrong.

pub mod agents;
mod checks;
mod error;
mod interactive;
pub mod prompt;
pub mod root;
pub mod stories;
pub mod tasks;

pub use error::RequestError;

use crate::git::{NoRepository, Repository};
use crate::guard;
use crate::hook;
use crate::layout::{self, Project};
use crate::place::{self, PlaceError};
use crate::sandbox;
use crate::settings::{ProofSettings, Settings, WorkersSettings};
use ralph_loop::Run;
use ralph_loop::check::CheckSpec;
use ralph_loop::dialect::{Dialect, OutputKind};
use ralph_loop::guard::GuardSpec;
use ralph_loop::interactive::Permissions;
use ralph_loop::limits::{
    Backoff, DEFAULT_MAX_OUTAGE_MS, Limits, Patience, WORKER_SILENCE_MS, WORKER_TEXT_SILENCE_MS,
    WORKER_TOOL_MS,
};
use ralph_loop::money::Usd;
use ralph_loop::plan::Plan;
use ralph_loop::proof::{ProofMode, ProofSpec};
use ralph_loop::run::{Interactive, PromptOptions, Roles};
use ralph_loop::sandbox::SandboxChoice;
use ralph_loop::scm::ScmSpec;
use std::io;
use std::path::{Path, PathBuf};

/// What every loop can be given, whatever it works on. Whatever is missing comes from the
/// settings.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    pub max_iterations: Option<u32>,
    pub checks: Vec<String>,
    pub agent: Option<String>,
    /// A program and its arguments; stands above `agent`.
    pub command: Vec<String>,
    pub model: Option<String>,
    /// Milliseconds, as all times here.
    pub timeout: Option<u64>,
    pub max_time: Option<u64>,
    pub max_cost: Option<Usd>,
    pub max_failures: Option<u32>,
    pub stall_after: Option<u32>,
    pub check_timeout: Option<u64>,
    pub proof: Option<ProofMode>,
    /// Do not run the checks before the first agent.
    pub no_baseline: bool,
    pub sandbox: Option<SandboxChoice>,
    /// Where to log to, beside the terminal.
    pub log_file: Option<PathBuf>,
    /// Agents that stand in while the first one's service refuses.
    pub fallback_agents: Vec<String>,
    pub max_outage: Option<u64>,
    pub worktree: bool,
    /// How long an agent may be silent, and how long while one of its tools runs.
    pub silence: Option<u64>,
    pub tool_silence: Option<u64>,
    /// A command that notifies people of how it goes.
    pub notify: Option<String>,
    /// For a worker, which runs unattended: it is not silent for long.
    pub seated: bool,
    /// On a terminal; the settings have a say for workers only.
    pub interactive: Option<InteractiveTerms>,
    /// Spawned without a plan's name: its iterations are the work, unless it is told when it is done.
    pub unplanned: bool,
}

/// How an agent is to work on a terminal. Whatever is missing comes from the settings.
#[derive(Clone, Debug, Default)]
pub struct InteractiveTerms {
    pub ready_timeout: Option<u64>,
    pub ready_patterns: Vec<String>,
    pub check_done_continuously: bool,
    pub max_context: Option<u8>,
    pub permissions: Option<Permissions>,
    pub as_system_prompt: bool,
}

impl Terms {
    fn interactive(&self, settings: &WorkersSettings) -> Option<Interactive> {
        let of_worker = (self.seated && settings.interactive).then(InteractiveTerms::default);
        let terms = self.interactive.clone().or(of_worker)?;
        Some(Interactive {
            ready_within_ms: terms.ready_timeout.unwrap_or((settings.ready_timeout.max(0.0) * 1000.0) as u64),
            permissions: terms.permissions.unwrap_or(settings.permissions),
            max_context: terms.max_context,
            ready_patterns: terms.ready_patterns,
            check_done_continuously: terms.check_done_continuously,
            as_system_prompt: terms.as_system_prompt,
        })
    }

    /// The hooks of an agent on a terminal show that its turn goes on, so that silence means nothing there.
    fn patience(&self, interactive: bool) -> Patience {
        let of_worker = |ms| (self.seated && !interactive).then_some(ms);
        let of_screen = |ms| (self.seated || interactive).then_some(ms);
        Patience {
            silence_ms: self.silence.or(of_worker(WORKER_SILENCE_MS)),
            tool_ms: self.tool_silence.or(of_worker(WORKER_TOOL_MS)),
            text_ms: of_screen(WORKER_TEXT_SILENCE_MS).filter(|_| self.silence.is_none()),
        }
    }
}

/// A run as it was requested, and what it needs before it begins.
#[derive(Debug)]
pub struct RequestedRun {
    pub run: Run,
    /// Texts that it refers to by hash.
    pub texts: Vec<String>,
    /// The branch to be on, which is made if there is none of that name.
    pub branch: Option<String>,
}

fn limits(terms: &Terms, settings: &Settings) -> Limits {
    let ms = |seconds: f64| (seconds.max(0.0) * 1000.0).ceil() as u64;
    Limits {
        iterations: terms.max_iterations.unwrap_or(settings.maximum_iterations),
        iterations_are_the_goal: false,
        max_time_ms: terms.max_time.or(settings.max_time.map(ms)),
        max_cost: terms.max_cost.or(settings.max_cost.map(Usd::from_dollars)),
        max_failures: terms.max_failures.unwrap_or(settings.max_failures),
        stall_after: terms.stall_after.unwrap_or(settings.stall_after),
        agent_timeout_ms: terms.timeout.or(settings.timeout.map(ms)),
        max_outage_ms: terms.max_outage.unwrap_or(DEFAULT_MAX_OUTAGE_MS),
        patience: terms.patience(terms.interactive(&settings.workers).is_some()),
        min_free: settings.min_free_bytes(),
        backoff: Backoff { base_ms: ms(settings.backoff.base), cap_ms: ms(settings.backoff.cap) },
    }
}

fn assemble(
    plan: Plan,
    checks: Vec<CheckSpec>,
    limits: Limits,
    terms: &Terms,
    settings: &Settings,
    project: &Project,
) -> Result<Run, RequestError> {
    let agents = agents::agents(terms, settings, project.dir())?;
    let log = terms.log_file.as_deref().map(real).transpose();
    let log = log.map_err(RequestError::LogFile)?;
    let repository = match Repository::find(project.dir()) {
        Ok(repository) => Some(repository),
        Err(NoRepository::None) => None,
        // Neither ralph nor the agent could use it.
        Err(why @ (NoRepository::Untrusted { .. } | NoRepository::Unanswered(_))) => {
            return Err(PlaceError::no_repository(why, project.dir()).into());
        }
    };
    let id = new_run_id();
    let (place, workspace) = place::choose(terms.worktree, project, &id)?;
    let tree = repository.as_ref().map_or_else(|| workspace.clone(), |found| found.top.clone());
    let confinement = sandbox::choose(terms.sandbox, &settings.sandbox, &tree)?;
    let decided = guard::decided(&settings.guard, project)?;
    let watch = GuardSpec { unwatched: guard::unwatched(&agents, project.dir()), ..decided };
    let run = Run {
        id,
        plan,
        agents,
        roles: Roles::default(),
        checks,
        limits,
        scm: (!settings.scm.tasks.is_empty())
            .then(|| ScmSpec { command: settings.scm.command.clone(), tasks: settings.scm.tasks.clone() }),
        workspace,
        place,
        confinement,
        guard: Some(watch),
        git: repository.is_some(),
        top: repository.map(|repository| repository.top),
        checkpoints: settings.checkpoints,
        largest_file: settings.largest_file_bytes(),
        keep_checkpoints: settings.keep_checkpoints_bytes(),
        keep_streams: settings.keep_streams_bytes(),
        prompt: PromptOptions {
            context: settings.context,
            iteration_count: settings.include_iteration_count_in_prompt,
            may_be_empty: terms.unplanned,
        },
        proof: Some(proof(terms, settings)),
        interactive: terms.interactive(&settings.workers),
        log,
        notify: terms.notify.clone().or_else(|| settings.notify.clone()),
    };
    root::check_all(&run)?;
    interactive::check(&run)?;
    Ok(run)
}

fn proof(terms: &Terms, settings: &Settings) -> ProofSpec {
    let ProofSettings { mode, baseline, carry, setup, pin, junit } = settings.proof.clone();
    let (mode, baseline) = (terms.proof.unwrap_or(mode), baseline && !terms.no_baseline);
    ProofSpec { mode, baseline, setup, carry, pin, junit, replay: None }
}

/// What a run cannot keep to, to be reported before it begins.
pub fn warnings(run: &Run) -> Vec<String> {
    let mut warnings = cost_warnings(run);
    if run.prompt.may_be_empty && run.limits.iterations > MANY_ITERATIONS {
        warnings.push(format!("high iteration count (>{MANY_ITERATIONS}) may consume significant resources"));
    }
    warnings.extend(hook_warning(run));
    warnings.extend(interactive::warnings(run));
    warnings.extend(sandbox::notices(&run.confinement));
    warnings
}

/// That a plain agent cannot be held to a time for its tools: nothing shows when one runs.
pub fn tool_timeout_warning(run: &Run) -> Option<String> {
    let plain = run.agents.iter().filter(|agent| agent.dialect.spec().output == OutputKind::Text);
    let names: Vec<&str> = plain.map(|agent| agent.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "--tool-timeout has no effect, because the agent does not report when a tool runs: {} \
             (--inactivity-timeout applies)",
            names.join(", ")
        )
    })
}

fn hook_warning(run: &Run) -> Option<String> {
    let wants_hooks = matches!(&run.plan, Plan::Tasks(plan) if plan.hooks);
    let is_codex = run.agents.iter().any(|agent| agent.dialect == Dialect::Codex);
    (wants_hooks && is_codex && hook::codex_has_own(run.origin())).then(|| {
        "not passing ralph's hooks to codex: it would also run the hooks in .codex/, which you may not have reviewed"
            .to_string()
    })
}

/// Unattended runs with more iterations get a warning.
const MANY_ITERATIONS: u32 = 50;

fn cost_warnings(run: &Run) -> Vec<String> {
    if run.limits.max_cost.is_none() {
        return Vec::new();
    }
    let silent = run.agents.iter().filter(|agent| !agent.dialect.spec().reports_tokens);
    silent
        .map(|agent| {
            format!(
                "the agent reports neither cost nor tokens, so --max-cost has no effect on it: {}",
                agent.name
            )
        })
        .collect()
}

/// A path by its real directory, as git calls those of its work tree; of a link, the file that is
/// meant by it now.
fn real(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    if let Ok(found) = path.canonicalize() {
        return Ok(found);
    }
    let dir = path.parent().and_then(|dir| dir.canonicalize().ok());
    Ok(dir.zip(path.file_name()).map_or_else(|| path.clone(), |(dir, name)| dir.join(name)))
}

/// Sorts by time and fits `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
pub fn new_run_id() -> String {
    let now = jiff::Timestamp::now();
    run_id(now, format!("{now:?}{}", std::process::id()).as_bytes())
}

/// Behind the second, two digits for its part: a run that begins right after another sorts behind it. Three
/// more tell those apart that a script starts at once.
fn run_id(at: jiff::Timestamp, seed: &[u8]) -> String {
    let nanoseconds = u64::from(at.subsec_nanosecond().unsigned_abs());
    let part = digits(nanoseconds * 36 * 36 / 1_000_000_000, 2);
    let hash = u64::from_str_radix(&layout::hash(seed)[..12], 16).unwrap_or_default();
    format!("{}-{part}{}", at.strftime("%Y%m%d-%H%M%S"), digits(hash, 3))
}

/// The last digits of a number to the base of 36.
fn digits(number: u64, count: u32) -> String {
    let digit = |place| char::from_digit((number / 36u64.pow(place) % 36) as u32, 36);
    (0..count).rev().filter_map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::run_id;
    use std::collections::BTreeSet;

    #[test]
    fn ids_sort_by_time_also_within_a_second() {
        let at = |nanosecond| jiff::Timestamp::new(1_800_000_000, nanosecond).unwrap();
        let ids = (0..1000).map(|ms| run_id(at(ms * 1_000_000), format!("{ms}").as_bytes()));
        assert!(ids.collect::<Vec<_>>().is_sorted());
        assert_eq!(run_id(at(999_999_999), b"")[..18], *"20270115-080000-zz");
        assert_eq!(run_id(at(0), b"").len(), 21);
    }

    #[test]
    fn ids_of_runs_that_begin_at_once_differ() {
        let at = jiff::Timestamp::UNIX_EPOCH;
        let ids: BTreeSet<String> = (0..20).map(|run| run_id(at, format!("{run}").as_bytes())).collect();
        assert_eq!(ids.len(), 20);
    }
}
