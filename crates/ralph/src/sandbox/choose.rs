//! Which sandbox a run gets.

use super::git_view::GitViewError;
use super::{canary, environment};
use crate::layout::Home;
use crate::settings::{SandboxSettings, mebibytes};
use ralph_loop::sandbox::network::forward::ForwardError;
use ralph_loop::sandbox::network::host::PatternError;
use ralph_loop::sandbox::network::{Entry, Forward, NetworkSpec};
use ralph_loop::sandbox::tools::{self, UnknownTool};
use ralph_loop::sandbox::{Confinement, SandboxChoice, SandboxKind, SandboxLimits, SandboxSpec};
use ralph_loop::text::printable;
use std::env;
use std::path::{Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum SandboxError {
    #[error("the sandbox does not work here: {name}")]
    Unusable { name: &'static str, why: String },
    #[error("no sandbox works here")]
    NoneWorks { why: String },
    /// ralph's record would be open to the agent.
    #[error("ralph's records and the project are inside of one another: {} and {}", home.display(), tree.display())]
    RecordsInside { home: PathBuf, tree: PathBuf },
    #[error("the repository cannot be used in a sandbox")]
    Git(#[from] GitViewError),
    #[error("cannot record the protected files of the project")]
    Protected(#[source] std::io::Error),
    #[error("cannot make the sandbox's own home ready")]
    Home(#[source] std::io::Error),
    #[error("cannot make the network of the sandbox")]
    Network(#[source] std::io::Error),
    #[error("bad entry in the settings (sandbox.hosts): {entry}")]
    Host { entry: String, source: PatternError },
    #[error("bad entry in the settings (sandbox.forward): {entry}")]
    Forward { entry: String, source: ForwardError },
    #[error("unknown tool in the settings (sandbox.tools)")]
    Tool(#[from] UnknownTool),
    /// The whole home would be.
    #[error("the project contains your home directory: {}", .0.display())]
    HomeInside(PathBuf),
}

/// Tries what was asked for: a flag, else the settings. Records of ralph that an agent could reach are
/// refused whatever was asked for, unless that is no sandbox at all.
pub fn choose(
    asked: Option<SandboxChoice>,
    settings: &SandboxSettings,
    tree: &Path,
) -> Result<Confinement, SandboxError> {
    let choice = asked.or_else(|| SandboxChoice::named(&settings.kind)).unwrap_or_default();
    let Some(home) = Home::find() else { return Ok(Confinement::default()) };
    let candidates = choice.candidates();
    if candidates.is_empty() {
        return Ok(Confinement::default());
    }
    for entry in &settings.tools {
        tools::wanted(entry)?;
    }
    let network = network_of(settings)?;
    match check_tree(tree, &home) {
        Ok(()) => {}
        Err(error @ SandboxError::HomeInside(_)) if !choice.is_required() => {
            return Ok(Confinement::None { why: Some(error.to_string()) });
        }
        Err(error) => return Err(error),
    }
    let mut failures = Vec::new();
    for kind in candidates {
        match canary::look(kind, &home) {
            Ok(_) => {
                return Ok(Confinement::Sandbox(spec(kind, choice.is_required(), settings, network)));
            }
            Err(why) => failures.push((kind, why)),
        }
    }
    let why = failures.iter().map(|(kind, why)| format!("{}: {why}", kind.name()));
    let why = match env::var_os(environment::INSIDE) {
        Some(outer) => already_inside(&outer.to_string_lossy()),
        None => why.collect::<Vec<_>>().join("; "),
    };
    match choice {
        SandboxChoice::Named(kind) => Err(SandboxError::Unusable { name: kind.name(), why }),
        SandboxChoice::Any => Err(SandboxError::NoneWorks { why }),
        SandboxChoice::Auto | SandboxChoice::None => {
            Ok(Confinement::None { why: Some(format!("none works here: {why}")) })
        }
    }
}

/// Sandboxes are not nested: the outer one takes away what another one would need.
fn already_inside(outer: &str) -> String {
    format!("this is inside the sandbox of another ralph ({}), which nothing here leaves", printable(outer))
}

/// What is to be hidden must not be inside of what is shown.
pub fn check_tree(tree: &Path, home: &Home) -> Result<(), SandboxError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let (tree, root) = (real(tree), real(home.root()));
    if root.starts_with(&tree) || tree.starts_with(&root) {
        return Err(SandboxError::RecordsInside { home: root, tree });
    }
    match env::home_dir().map(|home| real(&home)) {
        Some(home) if home.starts_with(&tree) => Err(SandboxError::HomeInside(tree)),
        Some(_) | None => Ok(()),
    }
}

fn spec(kind: SandboxKind, required: bool, settings: &SandboxSettings, network: NetworkSpec) -> SandboxSpec {
    let limit = |bytes: u64| (bytes > 0).then_some(bytes);
    SandboxSpec {
        kind,
        required,
        read: settings.read.iter().map(|path| in_home(path)).collect(),
        write: settings.write.iter().map(|path| in_home(path)).collect(),
        tools: settings.tools.clone(),
        env: settings.env,
        variables: settings.variables.clone(),
        limits: SandboxLimits {
            processes: limit(settings.processes),
            memory: limit(mebibytes(settings.memory)).or_else(most_memory),
            file_size: limit(mebibytes(settings.file_size)),
            tmp_size: limit(mebibytes(settings.tmp_size)),
        },
        network,
    }
}

/// The network of a sandbox, as the settings want it.
pub fn network_of(settings: &SandboxSettings) -> Result<NetworkSpec, SandboxError> {
    for entry in &settings.hosts {
        Entry::parse(entry).map_err(|source| SandboxError::Host { entry: entry.clone(), source })?;
    }
    let forward = settings.forward.iter().map(|entry| {
        Forward::parse(entry).map_err(|source| SandboxError::Forward { entry: entry.clone(), source })
    });
    let forward = forward.collect::<Result<_, _>>()?;
    Ok(NetworkSpec { mode: settings.network, hosts: settings.hosts.clone(), forward })
}

/// `~` is the home. Others are as they are: those of the project are relative to it.
fn in_home(path: &str) -> PathBuf {
    let home = || env::home_dir().unwrap_or_default();
    match path.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with('/') => home().join(rest.trim_start_matches('/')),
        Some(_) | None => PathBuf::from(path),
    }
}

/// Three quarters of what the machine has: a build may use nearly all of it, and the user's own
/// programs go on.
fn most_memory() -> Option<u64> {
    let text = fs_err::read_to_string("/proc/meminfo").ok()?;
    let kibibytes: u64 = text.lines().next()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes / 4 * 3 * 1024)
}
