//! Where everything lies. The only file that spells paths.
//!
//! ralph's own home is outside every workspace, so that an agent that cleans up its
//! directory does not take the record of the run with it.

use ralph_loop::story_id::StoryId;
use sha2::{Digest, Sha256};
use std::env;
use std::path::{Path, PathBuf};

/// `$RALPH_HOME`, else `$XDG_STATE_HOME/ralph`, else `~/.local/state/ralph`.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    pub fn find() -> Option<Home> {
        let dir = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = dir("RALPH_HOME")
            .or_else(|| dir("XDG_STATE_HOME").map(|state| state.join("ralph")))
            .or_else(|| env::home_dir().map(|home| home.join(".local/state/ralph")))?;
        // The home outlives changes of directory.
        std::path::absolute(root).ok().map(|root| Home { root })
    }

    pub fn at(root: PathBuf) -> Home {
        Home { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    pub fn run(&self, id: &str) -> RunDir {
        RunDir { dir: self.runs().join(id) }
    }

    /// What hooks remember of the sessions that call them.
    pub fn hooks(&self) -> PathBuf {
        self.root.join("hooks")
    }

    /// There if something has happened in a session. Agents choose the names of sessions.
    pub fn hook_mark(&self, session: &str, what: &str) -> PathBuf {
        let name = match is_safe_name(session) {
            true => session.to_owned(),
            false => hash(session.as_bytes())[..32].to_owned(),
        };
        self.hooks().join(format!("{name}.{what}"))
    }

    /// What the guard has denied in sessions that ralph did not start.
    pub fn guard_log(&self) -> PathBuf {
        self.root.join(GUARD_LOG)
    }

    /// What sandboxes of all runs share.
    pub fn sandbox(&self) -> PathBuf {
        self.root.join("sandbox")
    }

    /// What was found out about a sandbox by trying it.
    pub fn canary(&self, name: &str) -> PathBuf {
        self.sandbox().join(format!("{name}.json"))
    }

    /// Package caches of programs in sandboxes.
    pub fn caches(&self) -> PathBuf {
        self.sandbox().join("caches")
    }

    /// Copies of what agents log in with, a directory per agent.
    pub fn logins(&self) -> PathBuf {
        self.sandbox().join("login")
    }

    /// Files with secrets, for agents that read or write them: a directory each, while they are used.
    pub fn handed(&self) -> PathBuf {
        self.root.join("handed")
    }

    /// Held while one of them is made.
    pub fn handed_gate(&self) -> PathBuf {
        self.locks().join("handed.lock")
    }

    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// Held while a task list is edited; by the canonical path of its directory.
    pub fn task_list_lock(&self, dir: &Path) -> PathBuf {
        self.locks().join(format!("tasks-{}.lock", &hash(dir.as_os_str().as_encoded_bytes())[..32]))
    }

    /// Held while a spec is added to a project; by the project's canonical path.
    pub fn specs_lock(&self, project: &Path) -> PathBuf {
        self.locks().join(format!("specs-{}.lock", &hash(project.as_os_str().as_encoded_bytes())[..32]))
    }

    /// The lock of a workspace, named by its canonical path.
    pub fn workspace_lock(&self, workspace: &Path) -> PathBuf {
        let digest = hash(workspace.as_os_str().as_encoded_bytes());
        self.locks().join(format!("{}.lock", &digest[..32]))
    }
}

impl Home {
    pub fn workers(&self) -> PathBuf {
        self.root.join("workers")
    }

    pub fn worker(&self, name: &str) -> WorkerDir {
        WorkerDir { dir: self.workers().join(name) }
    }

    /// Held by a worker's process, so that a name has one worker.
    pub fn worker_lock(&self, name: &str) -> PathBuf {
        self.locks().join(format!("worker-{name}.lock"))
    }

    /// The tmux server of this home's workers. A name and no path: those are short.
    pub fn tmux_server(&self) -> String {
        format!("ralph-{}", &hash(self.root.as_os_str().as_encoded_bytes())[..12])
    }
}

impl Home {
    /// Planning sessions, a directory each.
    pub fn plans(&self) -> PathBuf {
        self.root.join("plans")
    }

    pub fn plan(&self, id: &str) -> PlanDir {
        PlanDir { dir: self.plans().join(id) }
    }
}

/// Held by the process that uses a directory of [`Home::handed`].
pub fn handed_lock(dir: &Path) -> PathBuf {
    dir.join("lock")
}

/// Everything that is kept of one planning session.
#[derive(Clone, Debug)]
pub struct PlanDir {
    dir: PathBuf,
}

impl PlanDir {
    pub fn at(dir: PathBuf) -> PlanDir {
        PlanDir { dir }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What is planned, and for which project.
    pub fn spec(&self) -> PathBuf {
        self.dir.join("plan.json")
    }

    /// What the agent is told.
    pub fn instructions(&self) -> PathBuf {
        self.dir.join("instructions.md")
    }

    /// The settings that tell the agent of the hook.
    pub fn settings(&self) -> PathBuf {
        self.dir.join("settings.json")
    }

    /// The only directory that the agent writes to.
    pub fn drafts(&self) -> PathBuf {
        self.dir.join("draft")
    }

    /// The drafts as a project of their own.
    pub fn drafted(&self) -> Project {
        Project::at(self.drafts())
    }

    /// The draft of a task list.
    pub fn drafted_tasks(&self) -> TasksDir {
        TasksDir::at(self.drafts())
    }

    /// The task list as it was when the agent began, if there was one.
    pub fn base_list(&self) -> PathBuf {
        self.dir.join("base.json")
    }

    /// The PRD as it was then.
    pub fn base_prd(&self) -> PathBuf {
        self.dir.join("base.md")
    }

    /// Why a story does not get done, in the words of the agent.
    pub fn why(&self) -> PathBuf {
        self.drafts().join("why.md")
    }

    /// What is being put in place; there only meanwhile, or after a kill.
    pub fn intent(&self) -> PathBuf {
        self.dir.join("intent.json")
    }

    /// The name of the session.
    pub fn id(&self) -> String {
        self.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The files of the project that were replaced.
    pub fn before(&self) -> PathBuf {
        self.dir.join("before")
    }

    /// What an agent printed, as it was; the first has number 1.
    pub fn stdout(&self, number: u32) -> PathBuf {
        self.dir.join(format!("agent-{number}.out"))
    }

    pub fn stderr(&self, number: u32) -> PathBuf {
        self.dir.join(format!("agent-{number}.err"))
    }

    /// The session of the agent in a conversation.
    pub fn session(&self) -> PathBuf {
        self.dir.join("session")
    }

    /// What the hook has said last about the drafts.
    pub fn told(&self) -> PathBuf {
        self.dir.join("told.json")
    }
}

const OUTPUT: &str = "output.log";

const GUARD_LOG: &str = "guard.jsonl";

/// What is kept of one worker beside its run.
#[derive(Clone, Debug)]
pub struct WorkerDir {
    dir: PathBuf,
}

impl WorkerDir {
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The worker's.
    pub fn name(&self) -> String {
        self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Which run is this worker's.
    pub fn record(&self) -> PathBuf {
        self.dir.join("worker.json")
    }

    pub fn state(&self) -> PathBuf {
        self.dir.join("state.json")
    }

    /// Held while the state is written.
    pub fn state_lock(&self) -> PathBuf {
        self.dir.join("state.lock")
    }

    pub fn iterations(&self) -> PathBuf {
        self.dir.join("iterations.log")
    }

    /// What its process prints.
    pub fn output(&self) -> OutputLog {
        OutputLog { dir: self.dir.clone() }
    }
}

/// The output of a worker, for all times it was started: `output.log` and its older parts.
#[derive(Clone, Debug)]
pub struct OutputLog {
    dir: PathBuf,
}

impl OutputLog {
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The part that is written to.
    pub fn newest(&self) -> PathBuf {
        self.dir.join(OUTPUT)
    }

    /// A part that is full, counted from 1.
    pub fn aside(&self, number: u32) -> PathBuf {
        self.dir.join(format!("{OUTPUT}.{number}"))
    }

    pub fn number_of(&self, path: &Path) -> Option<u32> {
        path.file_name()?.to_str()?.strip_prefix(OUTPUT)?.strip_prefix('.')?.parse().ok()
    }
}

/// Everything that is kept of one run.
#[derive(Clone, Debug)]
pub struct RunDir {
    dir: PathBuf,
}

/// Where the end of a stream goes that is longer than what is kept in one file, older first.
pub fn tails_of_stream(stream: &Path) -> [PathBuf; 2] {
    ["tail.1", "tail"].map(|ending| {
        let mut name = stream.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    })
}

impl RunDir {
    pub fn at(dir: PathBuf) -> RunDir {
        RunDir { dir }
    }

    /// The home that it is in.
    pub fn home(&self) -> Home {
        let root = self.dir.ancestors().nth(2).unwrap_or(&self.dir);
        Home::at(root.to_path_buf())
    }

    /// The run's.
    pub fn id(&self) -> String {
        self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where it is while it is removed: no run has such a name.
    pub fn going(&self) -> PathBuf {
        self.dir.with_file_name(format!(".{}", self.id()))
    }

    pub fn journal(&self) -> PathBuf {
        self.dir.join("journal.jsonl")
    }

    /// Held by the run's processes as long as one of them lives.
    pub fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// The sessions of its keepers, while it lives or after it was killed.
    pub fn keepers(&self) -> PathBuf {
        self.dir.join("keepers.jsonl")
    }

    pub fn texts(&self) -> PathBuf {
        self.dir.join("texts")
    }

    /// Empty, for a text that comes.
    pub fn ready_text(&self, number: usize) -> PathBuf {
        self.dir.join(format!(".text-{number}"))
    }

    pub fn text(&self, hash: &str) -> PathBuf {
        self.texts().join(hash)
    }

    pub fn is_text(name: &str) -> bool {
        name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    pub fn streams(&self) -> PathBuf {
        self.dir.join("streams")
    }

    /// What an agent printed, as it was.
    pub fn stdout(&self, iteration: u32, attempt: u32) -> PathBuf {
        self.streams().join(format!("{iteration}-{attempt}.out"))
    }

    pub fn stderr(&self, iteration: u32, attempt: u32) -> PathBuf {
        self.streams().join(format!("{iteration}-{attempt}.err"))
    }

    /// What an agent said when it was asked for a commit message.
    pub fn message(&self, iteration: u32) -> PathBuf {
        self.streams().join(format!("{iteration}-message.out"))
    }

    /// Its standard error, and the file for agents that write their last words to one.
    pub fn message_stderr(&self, iteration: u32) -> PathBuf {
        self.streams().join(format!("{iteration}-message.err"))
    }

    pub fn message_file(&self, iteration: u32) -> PathBuf {
        self.streams().join(format!("{iteration}-message.txt"))
    }

    /// What the agent at work was sent to do, for its hooks.
    pub fn assignment(&self) -> PathBuf {
        self.dir.join("assignment.json")
    }

    /// The settings that tell agents of the hooks.
    pub fn hooks(&self) -> PathBuf {
        self.dir.join("hooks.json")
    }

    /// What the guard goes by in the agent at work.
    pub fn guard(&self) -> PathBuf {
        self.dir.join("guard.json")
    }

    /// The script that agents call to ask the guard.
    pub fn guard_script(&self) -> PathBuf {
        self.dir.join("guard.sh")
    }

    /// What the guard has denied.
    pub fn guard_log(&self) -> PathBuf {
        self.dir.join(GUARD_LOG)
    }

    /// Why the guard could not answer, a line each.
    pub fn guard_failures(&self) -> PathBuf {
        self.dir.join("guard.failures")
    }

    /// Where the run's loop can be talked to.
    pub fn control(&self) -> PathBuf {
        self.dir.join(CONTROL)
    }

    /// Where people reach the terminal of the agent at work.
    pub fn terminal_socket(&self) -> PathBuf {
        self.dir.join(TERMINAL_SOCKET)
    }

    /// Where the hooks of that agent report to.
    pub fn turn_socket(&self) -> PathBuf {
        self.dir.join(TURN_SOCKET)
    }

    /// The git directory that programs in the run's sandbox see.
    pub fn git_view(&self) -> PathBuf {
        self.dir.join("git-view")
    }

    /// Protected files of the project as they were before a step, and what was put aside.
    pub fn protected(&self) -> PathBuf {
        self.dir.join("protected")
    }

    /// What the run looks like, for lists.
    pub fn view(&self) -> PathBuf {
        self.dir.join("view.json")
    }

    /// The git directory of the run's checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.dir.join("checkpoints.git")
    }

    /// What programs in the run's sandbox have for themselves.
    pub fn sandbox(&self) -> PathBuf {
        self.dir.join("sandbox")
    }

    /// What the checks of a proof run on.
    pub fn proof(&self) -> PathBuf {
        self.dir.join("proof")
    }

    /// Configuration outside of the project, as it was before the first agent.
    pub fn proof_settings(&self) -> PathBuf {
        self.proof().join("settings")
    }

    /// The index of the work tree before checks that run in it.
    pub fn proof_in_place(&self) -> PathBuf {
        self.proof().join("index.in-place")
    }
}

/// The name of a loop's socket in the directory of its run.
pub const CONTROL: &str = "control.sock";

/// The same for the terminal of its agent.
pub const TERMINAL_SOCKET: &str = "terminal.sock";

/// The same for that agent's hooks.
pub const TURN_SOCKET: &str = "turn.sock";

/// The same for the function that is its agent.
pub const FUNCTION: &str = "function.sock";

/// The directory of the worktrees of runs.
const WORKTREES: &str = "worktrees";

/// The files of ralph in a project, all below its directory.
#[derive(Clone, Debug)]
pub struct Project {
    dir: PathBuf,
}

/// The number of an epic, from the name of its directory.
pub fn epic_number(name: &str) -> Option<u32> {
    // An epic's number is spelled as the one in its stories' ids: one way only.
    let id: StoryId = format!("{}.0", name.strip_prefix("epic-")?).parse().ok()?;
    Some(id.epic)
}

/// A story's id and slug, from the name of its spec: `story-8.3-a-slug.md`.
pub fn spec_name(name: &str) -> Option<(StoryId, &str)> {
    let (id, slug) = name.strip_prefix("story-")?.strip_suffix(".md")?.split_once('-')?;
    Some((id.parse().ok()?, slug))
}

/// The name of a spec's file.
pub fn spec_file(id: StoryId, slug: &str) -> String {
    format!("story-{id}-{slug}.md")
}

/// The files of a task list: `ralph/`.
#[derive(Clone, Debug)]
pub struct TasksDir {
    dir: PathBuf,
}

impl TasksDir {
    pub fn at(dir: PathBuf) -> TasksDir {
        TasksDir { dir }
    }

    pub fn list(&self) -> PathBuf {
        self.dir.join("tasks.json")
    }

    pub fn prompt(&self) -> PathBuf {
        self.dir.join("prompt.md")
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What is to be built, and why.
    pub fn prd(&self) -> PathBuf {
        self.dir.join("prd.md")
    }

    /// What each iteration has done and learned.
    pub fn progress(&self) -> PathBuf {
        self.dir.join("progress.txt")
    }
}

/// What `.git/info/exclude` and ralph's own checkpoints leave out. The project's settings and
/// templates stay in. Earlier versions also let the local settings in, hence a line of their own.
pub const RUNTIME_FILES: &[&str] = &[
    "/.ralph/*",
    "!/.ralph/settings.json",
    "!/.ralph/templates/",
    // A task list may be kept there, too.
    "!/.ralph/prd.md",
    "!/.ralph/progress.txt",
    "!/.ralph/prompt.md",
    "!/.ralph/tasks.json",
    "/.ralph/settings.local.json",
    "/ralph.log",
    "/.ralph-active",
];

/// Where a damaged `.git` goes, at the top of a repository.
pub const DAMAGED_REPOSITORIES: &str = "/.git.aside-*";

/// The same in a directory that `.ralph` is a link to. It may hold other files of the user's, so
/// what ralph writes there is named.
pub const LINKED_RUNTIME_FILES: &[&str] = &[
    "/settings.local.json",
    "/progress.md",
    "/state.json",
    "/state.json.*",
    "/guardrail_*_*.log",
    "/worktrees/",
    "/.ralph-*",
];

/// Whether a path in a repository is that of a user's local settings. Nothing of ralph's commits
/// them, unless the user has committed them.
pub fn is_local_settings(path: &[u8]) -> bool {
    const LOCAL_SETTINGS: &[u8] = b".ralph/settings.local.json";
    path.strip_suffix(LOCAL_SETTINGS).is_some_and(|above| above.is_empty() || above.ends_with(b"/"))
}

impl Project {
    pub fn at(dir: PathBuf) -> Project {
        Project { dir }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn ralph_dir(&self) -> PathBuf {
        self.dir.join(".ralph")
    }

    pub fn settings(&self) -> PathBuf {
        self.ralph_dir().join("settings.json")
    }

    pub fn local_settings(&self) -> PathBuf {
        self.ralph_dir().join("settings.local.json")
    }

    pub fn progress(&self) -> PathBuf {
        self.ralph_dir().join("progress.md")
    }

    /// The specs of all stories, a directory an epic.
    pub fn specs(&self) -> PathBuf {
        self.dir.join("specs")
    }

    pub fn epic(&self, epic: u32) -> PathBuf {
        self.specs().join(format!("epic-{epic}"))
    }

    /// Which stories are done.
    pub fn state(&self) -> PathBuf {
        self.ralph_dir().join("state.json")
    }

    /// Where a state goes that is not to be lost although it cannot be used as it is.
    pub fn state_aside(&self, why: &str, number: u32) -> PathBuf {
        self.ralph_dir().join(format!("state.json.{why}-{number}"))
    }

    /// What became of the stories, for people and for rebuilding the state.
    pub fn progress_txt(&self) -> PathBuf {
        self.dir.join("progress.txt")
    }

    pub fn log(&self) -> PathBuf {
        self.dir.join("ralph.log")
    }

    /// The user's own template of this name, in place of the built-in one.
    pub fn template(&self, name: &str) -> PathBuf {
        self.ralph_dir().join("templates").join(format!("{name}.md"))
    }

    /// A path as it is shown: relative, if it is in the project.
    pub fn shown(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.dir).unwrap_or(path).to_path_buf()
    }

    /// Files that ralph writes in every project and that git may know nevertheless, and `others`, all
    /// relative to a directory above the project.
    pub fn own_files_below(&self, top: &Path, others: impl IntoIterator<Item = PathBuf>) -> Vec<String> {
        let always = [self.state(), self.progress(), self.active()];
        always.into_iter().chain(others).filter_map(|path| below(top, &path)).collect()
    }

    /// The task list.
    pub fn tasks(&self) -> PathBuf {
        self.dir.join("ralph/tasks.json")
    }

    /// Commands that the guard allows, a line each.
    pub fn allowed_commands(&self) -> PathBuf {
        self.dir.join("ralph/allowed-commands.txt")
    }

    /// Where the task list is if no directory was named, relative to the project: `ralph`, or
    /// `.ralph` if only that has a list.
    pub fn usual_tasks_dir(&self) -> PathBuf {
        let [usual, hidden] = ["ralph", ".ralph"].map(PathBuf::from);
        let has_list = |dir: &Path| TasksDir::at(self.dir.join(dir)).list().symlink_metadata().is_ok();
        if !has_list(&usual) && has_list(&hidden) { hidden } else { usual }
    }

    /// Where other loops keep their lists, in the order in which they are looked for.
    pub fn other_task_lists(&self, tasks: &TasksDir) -> Vec<PathBuf> {
        let mut files = vec![tasks.dir().join("prd.json")];
        for file in ["prd.json", "ralph/prd.json", "scripts/ralph/prd.json", ".ralph/prd.json"] {
            files.push(self.dir.join(file));
        }
        files
    }

    /// What a project is called if nothing else says so.
    pub fn name(&self) -> String {
        self.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Task lists that are put away, a directory each.
    pub fn task_archives(&self) -> PathBuf {
        self.dir.join("ralph-archive")
    }

    pub fn gitignore(&self) -> PathBuf {
        self.dir.join(".gitignore")
    }

    /// There while a run works on the task list: for hooks that know no better.
    pub fn active(&self) -> PathBuf {
        self.dir.join(".ralph-active")
    }

    /// The worktree of a run.
    pub fn worktree(&self, run_id: &str) -> PathBuf {
        self.ralph_dir().join(WORKTREES).join(run_id)
    }

    /// Whether a directory can be the worktree of a run. A link may lead to ralph's directory, so that
    /// has any name.
    pub fn is_worktree(path: &Path, run_id: &str) -> bool {
        path.ends_with(Path::new(WORKTREES).join(run_id))
    }

    /// Relative to the project, as the agent is told it.
    pub fn check_log(iteration: u32, name: &str) -> PathBuf {
        PathBuf::from(".ralph").join(format!("guardrail_{iteration}_{name}.log"))
    }

    /// Whether a file in `.ralph` is the log of a check.
    pub fn is_check_log(name: &str) -> bool {
        let rest = name.strip_prefix("guardrail_").and_then(|rest| rest.strip_suffix(".log"));
        rest.and_then(|rest| rest.split_once('_')).is_some_and(|(number, _)| number.parse::<u32>().is_ok())
    }
}

/// A path relative to a directory above it, as git writes it.
pub fn below(top: &Path, path: &Path) -> Option<String> {
    path.strip_prefix(top).ok()?.to_str().map(String::from)
}

/// `~/.config/ralph/settings.json`, or where XDG says.
pub fn user_settings() -> Option<PathBuf> {
    let config = env::var_os("XDG_CONFIG_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = config.or_else(|| env::home_dir().map(|home| home.join(".config")))?;
    Some(config.join("ralph/settings.json"))
}

/// Where the plugin of an agent is written to: below `~/.local/share/ralph/plugin`, or where XDG says. Not in ralph's home,
/// which can be another one for each project: the agent goes on reading it there.
pub fn plugin(agent: &str) -> Option<PathBuf> {
    let data = env::var_os("XDG_DATA_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = data.or_else(|| env::home_dir().map(|home| home.join(".local/share")))?;
    std::path::absolute(data.join("ralph/plugin").join(agent)).ok()
}

/// Settings that Claude Code puts above the user's.
pub const CLAUDE_MANAGED_SETTINGS: &str = "/etc/claude-code/managed-settings.json";

/// The settings of Claude Code for a project, the most important first.
pub fn claude_settings(project: &Path) -> Vec<PathBuf> {
    let config = env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = config.or_else(|| env::home_dir().map(|home| home.join(".claude")));
    let of_project = ["settings.local.json", "settings.json"].map(|name| project.join(".claude").join(name));
    of_project.into_iter().chain(config.map(|config| config.join("settings.json"))).collect()
}

/// The name of a text or a place: SHA-256 in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A UUID that only this name has, as agents want their sessions called.
pub fn uuid(name: &[u8]) -> String {
    let hash = hash(name);
    format!("{}-{}-4{}-8{}-{}", &hash[..8], &hash[8..12], &hash[13..16], &hash[17..20], &hash[20..32])
}

/// Names that become paths, branches or tmux targets.
pub fn is_safe_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=64).contains(&name.len())
        && name.chars().all(allowed)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_their_directory_are_not_safe() {
        for good in ["a", "20261115-101500-4f2a", "A.b_c-9"] {
            assert!(is_safe_name(good), "{good}");
        }
        for bad in ["", ".", "..", "../x", "a/b", "-x", "a..b", "a b", "é", &"x".repeat(65)] {
            assert!(!is_safe_name(bad), "{bad}");
        }
    }

    #[test]
    fn local_settings_are_those_of_any_project_in_the_repository() {
        for own in [".ralph/settings.local.json", "a/b/.ralph/settings.local.json"] {
            assert!(is_local_settings(own.as_bytes()), "{own}");
        }
        for other in [".ralph/settings.json", "x.ralph/settings.local.json", "settings.local.json"] {
            assert!(!is_local_settings(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_story_is_named_by_its_file_in_one_way_only() {
        let id = StoryId { epic: 8, story: 3 };
        assert_eq!(spec_name("story-8.3-log-in.md"), Some((id, "log-in")));
        assert_eq!(spec_name("story-8.3-.md"), Some((id, "")));
        assert_eq!(spec_name(&spec_file(id, "log-in")), Some((id, "log-in")));
        for bad in ["story-8.3.md", "story-08.3-x.md", "story-8-x.md", "story-8.3.1-x.md", "Story-8.3-x.md"] {
            assert_eq!(spec_name(bad), None, "{bad}");
        }
        assert_eq!(epic_number("epic-12"), Some(12));
        for bad in ["epic-", "epic-08", "epic-x", "epic-1.2", "epic12", "Epic-1", "epic-..", "epic--1"] {
            assert_eq!(epic_number(bad), None, "{bad}");
        }
    }
}
