//! The same for a command that bubblewrap has wrapped: what is told to end is the agent inside, and nothing
//! inside outlives its wrapper.
//!
//! The process namespace inside has numbers of its own; `/proc` is that outside, so that scripts can tell
//! their real ones.

use super::*;
use ralph::process::tool::Tool;
use ralph::sandbox::enter::{Entry, ProcessLimits};
use ralph::sandbox::rules::Scope;
use std::path::PathBuf;

/// `note` writes down the number of the process that calls it.
const NOTE: &str = "note() { read -r pid rest < /proc/self/stat; echo $pid >> pids; }; ";

/// Each ignores SIGTERM, in a session of its own; one of the two has lost its parent.
const STUBBORN: &str = "trap '' TERM HUP INT; \
    setsid sh -c \"$NOTE note; while :; do sleep 1000 & wait; done\" & \
    (setsid sh -c \"$NOTE note; while :; do sleep 1000 & wait; done\" &); ";

const BOTH: [&str; 2] = ["--die-with-parent", "--new-session"];

/// Nothing, with a message, where bubblewrap cannot be used.
fn bwrap() -> Option<PathBuf> {
    let bwrap = which::which("bwrap").ok()?;
    let tried = Tool::new(&bwrap).args(["--dev-bind", "/", "/", "--unshare-pid", "true"]).run();
    match tried {
        Ok(output) if output.success() => Some(bwrap),
        refused => {
            eprintln!("skipped: bwrap cannot be used here: {refused:?}");
            None
        }
    }
}

impl Case {
    /// Asks for `sh -c script` in a process namespace.
    fn spawn_inside(&mut self, bwrap: &Path, flags: &[&str], script: &str) {
        let script = format!("NOTE='{NOTE}'; {NOTE}{script}");
        let words =
            [&["--dev-bind", "/", "/", "--unshare-pid"], flags, &["--", "sh", "-c", &script]].concat();
        let command = Command {
            argv: std::iter::once(bwrap.into()).chain(words.iter().map(OsString::from)).collect(),
            cwd: self.dir.path().to_owned(),
            wrapper: Some(bwrap.to_path_buf()),
            ..Command::default()
        };
        self.keeper().spawn(&command, null()).unwrap();
    }

    /// Returns the number of bubblewrap's process outside.
    async fn start_inside(&mut self, bwrap: &Path, flags: &[&str], script: &str) -> Pid {
        self.spawn_inside(bwrap, flags, script);
        match self.event().await {
            KeeperEvent::Started { pid } => Pid::from_raw(pid.cast_signed()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn has(&self, file: &str) -> bool {
        self.dir.path().join(file).exists()
    }

    async fn until(&self, file: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.has(file) {
            assert!(Instant::now() < deadline, "{file} never came");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn a_wrapped_agent_has_its_chance_to_end_cleanly() {
    let Some(bwrap) = bwrap() else { return };
    for flags in [&BOTH[..], &BOTH[..1], &BOTH[1..], &[]] {
        let mut case = Case::new();
        // What it starts meanwhile is not told to end.
        let end = "sleep 0.1 && echo > ended; exit 7";
        let script = format!("trap '{end}' TERM; note; touch ready; while :; do sleep 1000 & wait; done");
        case.start_inside(&bwrap, flags, &script).await;
        case.until("ready").await;
        case.keeper().terminate().unwrap();
        assert!(matches!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(7), .. }), "{flags:?}");
        assert!(case.has("ended"), "{flags:?}");
        case.assert_all_gone(1);
    }
}

#[tokio::test]
async fn sessions_inside_are_told_to_end_and_so_is_what_is_stopped() {
    let Some(bwrap) = bwrap() else { return };
    let mut case = Case::new();
    let told = "trap \"touch told; exit\" TERM; note; touch ready; while :; do sleep 1000 & wait; done";
    let script = format!(
        "setsid sh -c \"$NOTE\"'{told}' & trap 'while [ ! -e told ]; do sleep 0.01; done; exit 7' TERM; \
         while [ ! -e ready ]; do sleep 0.01; done; note; touch both; while :; do sleep 1000 & wait; done"
    );
    let monitor = case.start_inside(&bwrap, &BOTH, &script).await;
    case.until("both").await;
    for pid in case.pids().into_iter().chain([monitor]) {
        kill_process(pid, Signal::STOP).unwrap();
    }
    case.keeper().terminate().unwrap();
    assert!(matches!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(7), .. }));
    case.assert_all_gone(2);
}

#[tokio::test]
async fn what_ignores_the_request_inside_is_swept() {
    let Some(bwrap) = bwrap() else { return };
    for flags in [&BOTH[..], &[]] {
        let mut case = Case::new();
        let script = format!("{STUBBORN} trap 'touch heard' TERM; note; while :; do sleep 1000 & wait; done");
        case.start_inside(&bwrap, flags, &script).await;
        case.until_alive(3).await;
        case.keeper().terminate().unwrap();
        case.until("heard").await;
        assert_eq!(case.alive().len(), 3, "{flags:?}");
        case.keeper().sweep().unwrap();
        let KeeperEvent::Ended { exit: Exit::Signal(9), swept } = case.event().await else { panic!() };
        assert!(swept >= 4, "{swept}");
        case.assert_all_gone(3);
    }
}

#[tokio::test]
async fn what_a_wrapped_agent_leaves_behind_ends_with_it() {
    let Some(bwrap) = bwrap() else { return };
    for flags in [&BOTH[..], &[]] {
        let mut case = Case::new();
        let script = format!("{STUBBORN} while [ $(wc -l < pids) -lt 2 ]; do sleep 0.01; done; exit 3");
        case.start_inside(&bwrap, flags, &format!("touch pids; {script}")).await;
        assert!(matches!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(3), .. }), "{flags:?}");
        case.assert_all_gone(2);
    }
}

#[tokio::test]
async fn a_killed_wrapper_takes_all_inside_along() {
    let Some(bwrap) = bwrap() else { return };
    for flags in [&BOTH[..], &[]] {
        let mut case = Case::new();
        let monitor = case.start_inside(&bwrap, flags, &format!("{STUBBORN} note; exec sleep 1000")).await;
        case.until_alive(3).await;
        kill_process(monitor, Signal::KILL).unwrap();
        let ended = case.event().await;
        assert!(matches!(ended, KeeperEvent::Ended { exit: Exit::Signal(9), .. }), "{ended:?}");
        case.assert_all_gone(3);
    }
}

#[test]
fn when_the_keeper_dies_all_inside_ends_too() {
    let Some(bwrap) = bwrap() else { return };
    let _engine = ENGINE.write().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for flags in [&BOTH[..], &[]] {
            let mut case = Case::with_an_engine_of_its_own(None);
            case.start_inside(&bwrap, flags, &format!("{STUBBORN} note; exec sleep 1000")).await;
            case.until_alive(3).await;
            let keeper = Pid::from_raw(case.keeper().pid().cast_signed()).unwrap();
            kill_process(keeper, Signal::KILL).unwrap();
            assert!(matches!(case.event().await, KeeperEvent::Gone { .. }));
            case.assert_all_gone(3);
        }
    });
}

/// At whatever point of its start bubblewrap is by then.
#[tokio::test]
async fn a_wrapped_agent_that_has_hardly_begun_can_be_told_to_end() {
    let Some(bwrap) = bwrap() else { return };
    let mut case = Case::new();
    for round in 0..40_u64 {
        case.start_inside(&bwrap, &BOTH, "exec sleep 1000").await;
        tokio::time::sleep(Duration::from_micros(round * 200)).await;
        case.keeper().terminate().unwrap();
        let ended = case.event().await;
        assert!(matches!(ended, KeeperEvent::Ended { exit: Exit::Signal(15), .. }), "{round}: {ended:?}");
    }
}

#[tokio::test]
async fn a_wrapped_agent_ends_as_it_would_without_a_wrapper() {
    let Some(bwrap) = bwrap() else { return };
    let mut case = Case::new();
    for (script, expected) in [
        ("exit 0", Exit::Code(0)),
        ("exit 3", Exit::Code(3)),
        ("exit 128", Exit::Code(128)),
        ("exit 255", Exit::Code(255)),
        ("kill -SEGV $$", Exit::Signal(11)),
        ("kill -KILL $$", Exit::Signal(9)),
    ] {
        case.start_inside(&bwrap, &BOTH, script).await;
        let KeeperEvent::Ended { exit, .. } = case.event().await else { panic!() };
        assert_eq!(exit, expected, "{script}");
    }
}

/// All of it: limits outside, namespaces and another user inside, Landlock before the agent.
#[tokio::test]
async fn an_agent_behind_every_layer_of_a_sandbox_ends_cleanly() {
    let Some(bwrap) = bwrap() else { return };
    let mut case = Case::new();
    let dir = case.dir.path().canonicalize().unwrap();
    let ralph = Path::new(env!("CARGO_BIN_EXE_ralph"));
    let trap = "trap 'touch ended; exit 7' TERM; touch ready; while :; do sleep 1000 & wait; done";
    let agent = ["sh", "-c", trap].map(OsString::from).to_vec();
    let scoped = Entry { scope: Scope::IfAvailable, ..Entry::default() };
    let flags = "--ro-bind / / --dev /dev --proc /proc --unshare-all --unshare-user --disable-userns \
        --uid 1000 --gid 1000 --cap-drop ALL --new-session --die-with-parent --bind";
    let mut argv = vec![OsString::from(&bwrap)];
    argv.extend(flags.split_whitespace().map(OsString::from));
    argv.extend([dir.clone().into(), dir.clone().into(), "--".into()]);
    argv.extend(scoped.command(ralph, agent).unwrap());
    let limits = ProcessLimits { file_size: Some(1 << 30), ..ProcessLimits::default() };
    let argv = Entry { limits, ..Entry::default() }.command(ralph, argv).unwrap();
    let command = Command { argv, cwd: dir, wrapper: Some(bwrap), ..Command::default() };
    case.keeper().spawn(&command, null()).unwrap();
    assert!(matches!(case.event().await, KeeperEvent::Started { .. }));
    case.until("ready").await;
    case.keeper().terminate().unwrap();
    let ended = case.event().await;
    assert!(matches!(ended, KeeperEvent::Ended { exit: Exit::Code(7), .. }), "{ended:?}");
    assert!(case.has("ended"));
}

#[tokio::test]
async fn a_wrapper_that_is_missing_is_not_started() {
    let mut case = Case::new();
    case.spawn_inside(Path::new("/no/such/bwrap"), &[], "true");
    assert!(matches!(case.event().await, KeeperEvent::NotStarted { kind: io::ErrorKind::NotFound, .. }));
}
