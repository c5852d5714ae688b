//! Whether a sandbox works here, found out by running something in it.
//!
//! A program inside has to write into its workspace, and must neither write beside it nor read a secret
//! that was put there. The answer holds until the next start of the system, or until the program that
//! makes the sandbox is another one.

use super::network::Network;
use super::surroundings::Surroundings;
use super::{Inside, Role, Sandbox};
use crate::fsx;
use crate::layout::Home;
use crate::process::tool::{Tool, ToolError, ToolOutput};
use crate::process::{Command, Exit, SHELL};
use crate::proof::mounts::Bwrap;
use ralph_loop::sandbox::network::NetworkSpec;
use ralph_loop::sandbox::{EnvRule, SandboxKind, SandboxLimits, SandboxSpec};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A sandbox that works here, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Works {
    Bwrap(Bwrap),
    Landlock,
}

/// It takes milliseconds; a program that hangs is of no use.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What is remembered of an earlier look.
#[derive(Serialize, Deserialize)]
struct Remembered {
    /// The start of the system, the program that makes the sandbox, and this one.
    system: String,
    works: Works,
}

/// Looks, or remembers having looked. Only what works is remembered: what does not may be repaired.
pub fn look(kind: SandboxKind, home: &Home) -> Result<Works, String> {
    let (file, system) = (home.canary(kind.name()), system(kind));
    let remembered =
        fs_err::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Remembered>(&bytes).ok());
    if let Some(remembered) = remembered.filter(|remembered| remembered.system == system) {
        return Ok(remembered.works);
    }
    let works = attempt(kind, home)?;
    let remembered = serde_json::to_vec(&Remembered { system, works: works.clone() });
    // Without it the next run looks again.
    if let (Ok(bytes), Some(dir)) = (remembered, file.parent()) {
        let _ = fsx::private_dir(dir).and_then(|()| fsx::write_whole(&file, &bytes));
    }
    Ok(works)
}

/// Looks, whatever was seen before.
pub fn attempt(kind: SandboxKind, home: &Home) -> Result<Works, String> {
    let candidates = match kind {
        SandboxKind::Bwrap => {
            let Ok(program) = which::which("bwrap") else {
                return Err("bwrap is not installed (package bubblewrap)".to_string());
            };
            let isolating = Bwrap::variants(&program);
            let sharing = isolating.clone().map(Bwrap::sharing_network);
            isolating.into_iter().chain(sharing).map(Works::Bwrap).collect()
        }
        SandboxKind::Landlock => vec![Works::Landlock],
    };
    let mut first = None;
    for works in candidates {
        match holds(kind, &works, home) {
            Ok(()) => return Ok(works),
            // Another way to call it would hang as well.
            Err(Failure::Hangs) => {
                return Err(format!("{} did not answer within {} s", kind.name(), TIMEOUT.as_secs()));
            }
            Err(Failure::Because(why)) => {
                first.get_or_insert(why);
            }
        }
    }
    Err(first.unwrap_or_default())
}

/// Why a sandbox does not hold.
enum Failure {
    Hangs,
    Because(String),
}

/// How directories begin that something is tried in.
const SCRATCH: &str = ".ralph-canary-";

/// `$1` is the workspace, `$2` a directory beside it, `$3` what is kept there.
const SCRIPT: &str = r#"
echo written > "$1/inside" || exit 3
echo written > "$2/outside"
read -r word < "$3" && echo "$word"
exit 0
"#;

fn holds(kind: SandboxKind, works: &Works, home: &Home) -> Result<(), Failure> {
    let broken = |cause: std::io::Error| Failure::Because(format!("cannot try it: {cause}"));
    let around = Surroundings::of(home);
    fsx::private_dir(&home.sandbox()).map_err(broken)?;
    // In the home, as what it is to hide; ralph's own is hidden for another reason.
    let above = around.home.clone().filter(|home| fsx::probe(home).is_ok());
    let above = above.unwrap_or_else(|| home.sandbox());
    remove_stale(&above);
    let scratch = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(above).map_err(broken)?;
    let [tree, secret] = ["work", "secret"].map(|name| scratch.path().join(name));
    let tree = fsx::private_dir(&tree).and_then(|()| tree.canonicalize()).map_err(broken)?;
    let word = format!("{:x}", std::process::id());
    fsx::write_whole(&secret, word.as_bytes()).map_err(broken)?;
    let spec = SandboxSpec {
        kind,
        required: true,
        read: Vec::new(),
        write: Vec::new(),
        tools: Vec::new(),
        env: EnvRule::Most,
        variables: Vec::new(),
        limits: SandboxLimits::default(),
        network: NetworkSpec::default(),
    };
    let network = match works {
        Works::Bwrap(bwrap) => bwrap.isolates_network.then(|| Network::off(works)),
        Works::Landlock => None,
    };
    let sandbox = Sandbox { network, ..Sandbox::bare(spec, works.clone(), home, tree.clone()) };
    let answer = run(&sandbox, [&tree, scratch.path(), &secret])?;
    let (inside, outside) = (tree.join("inside").exists(), scratch.path().join("outside").exists());
    let said = String::from_utf8_lossy(&answer.stderr).into_owned();
    let first = said.lines().find(|line| !line.trim().is_empty());
    let because = |why: &str| Err(Failure::Because(why.to_string()));
    match (answer.success() && inside, outside, String::from_utf8_lossy(&answer.stdout).contains(&word)) {
        (false, _, _) => Err(Failure::Because(match first {
            Some(said) => reason(said, &setting),
            None => without_words(answer.exit),
        })),
        (true, true, _) => because("a program inside could write outside"),
        (true, false, true) => because("a program inside could read a file of the home"),
        (true, false, false) => Ok(()),
    }
}

/// What a ralph has left that was killed while it looked.
fn remove_stale(above: &Path) {
    let entries = fs_err::read_dir(above).into_iter().flatten().filter_map(Result::ok);
    let is_old = |path: &Path| {
        let age = path.symlink_metadata().and_then(|meta| meta.modified()).map(|time| time.elapsed());
        matches!(age, Ok(Ok(age)) if age > TIMEOUT * 10)
    };
    for entry in entries.filter(|entry| entry.file_name().as_bytes().starts_with(SCRATCH.as_bytes())) {
        if is_old(&entry.path()) {
            // It is in no one's way, and the next one tries again.
            let _ = fsx::remove_tree(&entry.path());
        }
    }
}

fn without_words(exit: Exit) -> String {
    match exit {
        Exit::Code(0) => "it ended without running anything".to_string(),
        Exit::Code(code) => format!("it ended with exit code {code} and said nothing"),
        Exit::Signal(signal) => format!("it was killed by signal {signal}"),
    }
}

fn run(sandbox: &Sandbox, paths: [&Path; 3]) -> Result<ToolOutput, Failure> {
    let argv = [SHELL, "-c", SCRIPT, "canary"].map(OsString::from).into_iter();
    let argv = argv.chain(paths.map(|path| path.as_os_str().to_owned())).collect();
    let command = Command { argv, cwd: paths[0].to_path_buf(), ..Command::default() };
    let command = sandbox.command(&Inside::of(Role::Check), command);
    Tool::of(command).timeout(TIMEOUT).run().map_err(|cause| match cause {
        ToolError::TimedOut { .. } => Failure::Hangs,
        ToolError::NotStarted { .. } | ToolError::Broken { .. } | ToolError::Stopped { .. } => {
            Failure::Because(cause.to_string())
        }
    })
}

/// The value of a setting of the kernel.
fn setting(name: &str) -> Option<String> {
    let text = fs_err::read_to_string(Path::new("/proc/sys").join(name.replace('.', "/"))).ok()?;
    Some(text.trim().to_string())
}

/// Settings that refuse user namespaces: the value that does, who says so, and one that does not.
const REFUSALS: [(&str, &str, &str); 3] = [
    (
        "kernel.apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor refuses user namespaces to it: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a \
         profile for bwrap that allows userns",
    ),
    (
        "kernel.unprivileged_userns_clone",
        "0",
        "user namespaces are off: sysctl kernel.unprivileged_userns_clone=1",
    ),
    ("user.max_user_namespaces", "0", "user namespaces are off: sysctl user.max_user_namespaces=10000"),
];

/// What bubblewrap says, with the way out where user namespaces are refused or it is too old.
fn reason(said: &str, setting: &dyn Fn(&str) -> Option<String>) -> String {
    let said = said.trim_start_matches("bwrap: ");
    if said.contains("Unknown option") {
        return format!("{said} (it is too old: bubblewrap 0.8 or later is needed)");
    }
    const REFUSED: [&str; 4] = ["Permission denied", "Operation not permitted", "No permissions", "ENOSPC"];
    if !REFUSED.iter().any(|text| said.contains(text)) {
        return said.to_string();
    }
    let refusal = REFUSALS.iter().find(|(name, value, _)| setting(name).as_deref() == Some(*value));
    let way_out = refusal.map_or(
        "inside of a container, start that with --security-opt seccomp=unconfined, or trust it as the sandbox \
         and use --no-sandbox",
        |(_, _, way_out)| *way_out,
    );
    format!("{said} ({way_out})")
}

fn system(kind: SandboxKind) -> String {
    let boot = fs_err::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let stamp = |path: PathBuf| {
        let meta = path.metadata().ok()?;
        Some(format!("{} {} {} {}", path.display(), meta.ino(), meta.size(), meta.mtime_nsec()))
    };
    let program = match kind {
        SandboxKind::Bwrap => which::which("bwrap").ok().and_then(stamp),
        SandboxKind::Landlock => None,
    };
    let own = std::env::current_exe().ok().and_then(stamp);
    format!("{} {} {}", boot.trim(), program.unwrap_or_default(), own.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said where these settings of the kernel have these values.
    fn check(said: &str, settings: &[(&str, &str)], expected: &str) {
        let setting = |name: &str| {
            settings.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
        };
        let reason = reason(said, &setting);
        assert!(reason.contains(expected), "{expected}: {reason}");
    }

    #[test]
    fn the_setting_that_refuses_user_namespaces_is_named_with_its_value() {
        const NO_PERMISSION: &str = "bwrap: No permissions to create a new namespace, likely because ...";
        const UID_MAP: &str = "bwrap: setting up uid map: Permission denied";
        const TOO_MANY: &str = "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)";
        for (said, setting, expected) in [
            (UID_MAP, ("kernel.apparmor_restrict_unprivileged_userns", "1"), "a profile for bwrap"),
            (NO_PERMISSION, ("kernel.unprivileged_userns_clone", "0"), "kernel.unprivileged_userns_clone=1"),
            (TOO_MANY, ("user.max_user_namespaces", "0"), "sysctl user.max_user_namespaces=10000"),
            (NO_PERMISSION, ("user.max_user_namespaces", "12345"), "inside of a container"),
        ] {
            check(said, &[setting], expected);
        }
        check(UID_MAP, &[], "setting up uid map: Permission denied (");
    }

    #[test]
    fn one_that_is_too_old_is_said_to_be_and_others_are_quoted() {
        check("bwrap: Unknown option --disable-userns", &[], "0.8 or later");
        assert_eq!(reason("bwrap: Can't find source path /x", &|_| None), "Can't find source path /x");
    }
}
