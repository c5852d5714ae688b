//! What keeps agents and checks inside the workspace.
//!
//! A run that is confined has one [`Sandbox`]. It turns each command of the run into one that runs
//! inside ([`Sandbox::command`]): agents, their hooks, checks, commits. ralph's record, its
//! checkpoints and its pushes stay outside, and are not visible inside.
//!
//! Invariant: whether a sandbox works here is found out by trying ([`canary`]), never by the presence
//! of a program.

mod caches;
pub mod canary;
pub mod cgroup;
mod choose;
pub mod enter;
mod environment;
pub mod git_view;
mod gitconfig;
mod home;
pub mod keyrings;
mod lacks;
mod landlock;
mod layout;
mod login;
pub mod network;
mod private;
mod programs;
pub mod protected;
pub mod rules;
mod sockets;
mod surroundings;
#[cfg(test)]
mod test_support;
mod view;
mod visible;

pub use choose::{SandboxError, choose, network_of};
pub use private::Notes;

use crate::fsx;
use crate::git;
use crate::layout::{Home, RunDir};
use crate::process::{Command, trusted_path};
use crate::proof::mounts::Mounts;
use canary::Works;
use cgroup::{CgroupLimits, Cgroups};
use enter::{Entry, Keyrings, ProcessLimits};
use git_view::GitView;
use network::{Network, NetworkRequest};
use private::{Private, PrivateRequest, Way};
use protected::Protected;
use ralph_loop::Run;
use ralph_loop::sandbox::agents::AgentFiles;
use ralph_loop::sandbox::network::NetworkUse;
use ralph_loop::sandbox::{Confinement, SandboxKind, SandboxLimits, SandboxSpec};
use rules::Scope;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use surroundings::Surroundings;
use tempfile::TempDir;

/// The hidden subcommand of [`enter`].
pub const ENTER: &str = "__enter";

/// What a run's banner says of its sandbox.
pub fn description(confinement: &Confinement) -> String {
    match confinement {
        Confinement::Sandbox(spec) => {
            let network = spec.network.mode;
            let of_network = spec.kind.network_gaps(network).map(str::to_owned);
            let gaps: Vec<String> = gaps(spec.kind).into_iter().chain(of_network).collect();
            let gaps = if gaps.is_empty() { String::new() } else { format!(" ({})", gaps.join("; ")) };
            format!("{}, network {}{gaps}", spec.kind.name(), network.name())
        }
        Confinement::None { .. } => "none: agents have your rights".to_string(),
    }
}

/// What a sandbox does not stop here.
pub fn gaps(kind: SandboxKind) -> Option<String> {
    kind.gaps(rules::scope_is_available())
}

/// What a user should know about a run's sandbox before it begins.
pub fn notices(confinement: &Confinement) -> Vec<String> {
    match confinement {
        Confinement::Sandbox(spec) => environment::withheld(spec).into_iter().collect(),
        Confinement::None { why: Some(why) } => vec![format!("no sandbox: {why}")],
        Confinement::None { why: None } => Vec::new(),
    }
}

/// What a program is started for: not all of them may use the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// With its login, if ralph knows the agent.
    Agent(Option<&'static AgentFiles>),
    Check,
    /// A commit of ralph's own, or one of source control.
    Commit,
    /// The user's own look inside, in their terminal.
    User,
}

/// A program of a run, and what it needs inside.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    pub role: Role,
    /// Directories that it sees at other paths, as checks on the clean copy do.
    pub mounts: Option<&'a Mounts>,
    /// Files of the run's record that it reads, as its prompt.
    pub reads: &'a [PathBuf],
    /// Those that it writes; they have to exist.
    pub writes: &'a [PathBuf],
    /// It has a terminal of its own, which it may control.
    pub on_terminal: bool,
}

impl Inside<'_> {
    pub fn of(role: Role) -> Inside<'static> {
        Inside { role, mounts: None, reads: &[], writes: &[], on_terminal: role == Role::User }
    }
}

/// Ready for the commands of one run.
#[derive(Debug)]
pub struct Sandbox {
    spec: SandboxSpec,
    works: Works,
    around: Surroundings,
    /// The top of the work tree.
    tree: PathBuf,
    /// Limits on all its processes together, where the system lets ralph set them.
    cgroups: Option<Cgroups>,
    /// The `.git` that is seen inside, where something can be mounted.
    git: Option<GitView>,
    /// What agents may not change in the work tree.
    protected: Option<Protected>,
    /// What the user should know of the steps so far.
    told: Mutex<Vec<String>>,
    /// What is said once a run.
    known: Mutex<BTreeSet<String>>,
    /// What is visible of the user; nothing where there is no home.
    private: Option<Private>,
    /// None if it is shared.
    network: Option<Network>,
    /// What was made for a look inside goes with it.
    _own: Option<TempDir>,
}

impl Works {
    fn way(&self) -> Way {
        match self {
            Works::Bwrap(_) => Way::Mounted,
            Works::Landlock => Way::Allowed,
        }
    }
}

impl Sandbox {
    /// For a run that is to be confined. What it was chosen for still has to hold: a run can be resumed
    /// on another day.
    pub fn of(run: &Run, run_dir: &RunDir) -> Result<Option<Sandbox>, SandboxError> {
        let Some(spec) = run.confinement.sandbox() else { return Ok(None) };
        let home = run_dir.home();
        let works = canary::look(spec.kind, &home)
            .map_err(|why| SandboxError::Unusable { name: spec.kind.name(), why })?;
        let tree = run.tree();
        let tree = tree.top.unwrap_or(tree.dir);
        choose::check_tree(&tree, &home)?;
        trusted_path::distrust(&tree);
        let SandboxLimits { processes, memory, .. } = spec.limits;
        cgroup::remove_stale(&run.id);
        let cgroups = CgroupLimits { processes, memory }.make(&run.id).ok();
        let git = match works {
            Works::Bwrap(_) => {
                let top = run.git.then_some(tree.as_path());
                GitView::prepare(&run_dir.git_view(), top, git::attempts_of(&run.id))?
            }
            Works::Landlock => None,
        };
        let programs: Vec<String> = run.agents.iter().map(|agent| agent.program.clone()).collect();
        let private = Private::prepare(&PrivateRequest {
            spec,
            ralph: &home,
            own: &run_dir.sandbox(),
            workspace: &run.workspace,
            tree: &tree,
            programs: &programs,
            way: works.way(),
        });
        let network = Network::prepare(&NetworkRequest {
            spec: &spec.network,
            works: &works,
            own: &run_dir.sandbox(),
            tree: &tree,
            programs: &programs,
        });
        let obeyed = git.as_ref().map(GitView::obeyed).unwrap_or_default();
        let protected = Protected::record(run_dir.protected(), &tree, &run.workspace, &spec.write, &obeyed);
        Ok(Some(Sandbox {
            cgroups,
            git,
            protected: Some(protected.map_err(SandboxError::Protected)?),
            private: private.map_err(SandboxError::Home)?,
            network: network.map_err(SandboxError::Network)?,
            ..Sandbox::bare(spec.clone(), works, &home, tree)
        }))
    }

    /// For a look inside, as an agent sees it that is called `program`.
    pub fn for_user(
        spec: &SandboxSpec,
        home: &Home,
        tree: PathBuf,
        workspace: &Path,
        program: &str,
    ) -> Result<Sandbox, SandboxError> {
        let works = canary::look(spec.kind, home)
            .map_err(|why| SandboxError::Unusable { name: spec.kind.name(), why })?;
        let own = fsx::private_dir(&home.sandbox()).and_then(|()| fsx::scratch_dir(&home.sandbox()));
        let own = own.map_err(SandboxError::Home)?;
        let private = Private::prepare(&PrivateRequest {
            spec,
            ralph: home,
            own: own.path(),
            workspace,
            tree: &tree,
            programs: &[program.to_owned()],
            way: works.way(),
        });
        let network = Network::prepare(&NetworkRequest {
            spec: &spec.network,
            works: &works,
            own: own.path(),
            tree: &tree,
            programs: &[program.to_owned()],
        });
        Ok(Sandbox {
            private: private.map_err(SandboxError::Home)?,
            network: network.map_err(SandboxError::Network)?,
            _own: Some(own),
            ..Sandbox::bare(spec.clone(), works, home, tree)
        })
    }

    /// Without anything that belongs to a run.
    fn bare(spec: SandboxSpec, works: Works, home: &Home, tree: PathBuf) -> Sandbox {
        let around = Surroundings::of(home);
        Sandbox {
            spec,
            works,
            around,
            tree,
            cgroups: None,
            git: None,
            private: None,
            network: None,
            protected: None,
            told: Mutex::default(),
            known: Mutex::default(),
            _own: None,
        }
    }

    /// Programs that are started from now on see what has changed outside. None may run inside.
    pub fn before_step(&self) {
        if let Some(network) = &self.network {
            network.refresh();
        }
        match self.protected.as_ref().map(Protected::before_step) {
            Some(Ok(told)) => self.tell(told),
            Some(Err(cause)) => self.tell([format!("cannot record the protected files: {cause}")]),
            None => {}
        }
        match self.git.as_ref().map(GitView::before_step) {
            Some(Ok(told)) => self.tell(told),
            Some(Err(cause)) => {
                self.tell([format!("the repository inside the sandbox is not up to date: {cause}")]);
            }
            None => {}
        }
    }

    /// Takes over what programs inside have done, as far as it is not written at once: commits, and a login
    /// that was refreshed. To be called when none runs any more.
    pub fn after_step(&self) {
        if let Some(network) = &self.network {
            network.after_step();
        }
        self.tell(self.protected.iter().flat_map(Protected::after_step));
        self.tell(self.git.iter().flat_map(GitView::after_step));
        if let Some(private) = &self.private {
            private.after_step();
        }
    }

    /// The same, when no step follows.
    pub fn after_last_step(&self) {
        self.tell(self.protected.iter().flat_map(Protected::after_step));
        self.tell(self.git.iter().flat_map(GitView::after_step));
        self.tell(self.private.iter().flat_map(Private::after_last_step));
        let changes: Vec<String> = self.git.iter().flat_map(GitView::config_changes).collect();
        if !changes.is_empty() {
            let changes = changes.join(", ");
            self.tell([format!("changed in the sandbox's .git/config, and not in yours: {changes}")]);
        }
    }

    fn tell(&self, sentences: impl IntoIterator<Item = String>) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).extend(sentences);
    }

    /// The same for what does not change during a run.
    pub fn tell_once(&self, sentence: String) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.insert(sentence.clone()) {
            self.tell([sentence]);
        }
    }

    /// What the user should know and was not told yet.
    pub fn take_told(&self) -> Vec<String> {
        self.tell(self.private.iter().flat_map(Private::take_said));
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What programs inside have done on the network since this was last called.
    pub fn take_network_use(&self) -> NetworkUse {
        self.network.as_ref().map(Network::take_news).unwrap_or_default()
    }

    /// The command to start so that this one runs inside, in the user's terminal.
    pub fn command_in_terminal(&self, command: Command) -> Command {
        self.command(&Inside::of(Role::User), command)
    }

    /// The command to start so that this one runs inside.
    pub fn command(&self, inside: &Inside<'_>, command: Command) -> Command {
        let command = environment::cleaned(command, inside.role, &self.spec, &self.keys(inside.role));
        let command = match &self.network {
            Some(network) => network.told(command),
            None => command,
        };
        let inner = self.restricted(inside);
        let cgroups = self.cgroups.as_ref().map(|made| made.dirs().to_vec()).unwrap_or_default();
        let command = match (&self.works, inside.mounts) {
            // Nothing is between the two entries, and each of them takes a millisecond.
            (Works::Landlock, None) => return Entry { cgroups, ..inner }.in_front_of(self.ralph(), command),
            (Works::Landlock, Some(mounts)) => mounts.wrap(inner.in_front_of(self.ralph(), command)),
            (Works::Bwrap(bwrap), _) => {
                let mut mounts = Mounts::confined(bwrap.clone());
                layout::mount(&mut mounts, self, inside);
                mounts.wrap(inner.in_front_of(self.ralph(), command))
            }
        };
        match cgroups.is_empty() {
            true => command,
            false => Entry { cgroups, ..Entry::default() }.in_front_of(&self.around.ralph, command),
        }
    }

    /// What a process inside does to itself before it becomes the program.
    fn restricted(&self, inside: &Inside<'_>) -> Entry {
        let entry = match self.works {
            Works::Bwrap(_) => Entry::default(),
            Works::Landlock => landlock::entry(self, inside),
        };
        let SandboxLimits { processes, memory, file_size, .. } = self.spec.limits;
        // Without a user namespace of its own, all processes of the user would count.
        let processes = processes.filter(|_| matches!(self.works, Works::Bwrap(_)));
        let limits = ProcessLimits { processes, memory, file_size, open_files: None };
        let entry = Entry { limits, scope: Scope::IfAvailable, keyrings: Keyrings::Refused, ..entry };
        match &self.network {
            Some(network) => network.enter(entry),
            None => entry,
        }
    }

    /// Whether an agent inside has a configuration of its own, made from the user's.
    pub fn has_own_config(&self) -> bool {
        matches!(self.works, Works::Bwrap(_))
    }

    /// Where files and directories are that programs see at another path, by that path.
    pub fn moved(&self, role: Role) -> Vec<(PathBuf, PathBuf)> {
        match (&self.works, &self.private) {
            (Works::Bwrap(_), Some(private)) => private.moved(role),
            (Works::Bwrap(_), None) | (Works::Landlock, _) => Vec::new(),
        }
    }

    /// Variables that the configuration of an agent names for its keys.
    fn keys(&self, role: Role) -> Vec<String> {
        self.private.as_ref().map(|private| private.keys(role)).unwrap_or_default()
    }

    /// What is not visible inside, to be said once.
    pub fn notes(&self) -> Notes {
        let notes = self.private.as_ref().map(Private::notes).unwrap_or_default();
        Notes { network: self.network.as_ref().and_then(Network::notes), ..notes }
    }

    /// Programs inside have temporary files and a home of their own.
    pub fn has_own_tmp(&self) -> bool {
        match self.works {
            Works::Bwrap(_) => true,
            Works::Landlock => false,
        }
    }

    /// How a program inside can start ralph.
    pub fn ralph(&self) -> &Path {
        match self.works {
            Works::Bwrap(_) => Path::new(layout::RALPH),
            Works::Landlock => &self.around.ralph,
        }
    }
}
