//! Nothing of a run outlives it: the keeper against process trees that do not want to end.
//!
//! The trees are shell scripts that write the number of each of their processes into a
//! file, so that a test can tell who is alive and, if it fails, end them one by one.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "the tests write files and open /dev/null")]
#![expect(clippy::disallowed_macros, reason = "a test that cannot run here says so")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy.toml allows them in tests, but not in helpers"
)]

#[path = "keeper/wrapped.rs"]
mod wrapped;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use ralph::process::tool::Tool;
use ralph::process::{
    Command, Exit, Keeper, KeeperEvent, KeptRun, Lineage, ProcessError, Stdio3, become_subreaper,
    end_survivors,
};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Far more than any of it takes, and still an end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Each line is a process that ignores SIGTERM. `$0 NAME` starts one.
const TREES: &str = r#"
trap '' TERM HUP INT
stay() { echo $$ >> pids; while :; do sleep 1000 & echo $! >> pids; wait $!; done; }
case $1 in
    stay) stay ;;
    session) setsid sh "$0" stay & ;;
    double) (sh -c 'setsid sh "$0" stay &' "$0" &) ;;
    refork) echo $$ >> pids; sh "$0" refork & exit ;;
    bunch) sh "$0" stay & sh "$0" session; sh "$0" double ;;
esac
"#;

/// The tests are one engine. One of them needs it for itself.
static ENGINE: RwLock<()> = RwLock::new(());

struct Case {
    dir: TempDir,
    keeper: Option<Keeper>,
    _engine: Option<RwLockReadGuard<'static, ()>>,
}

impl Case {
    fn new() -> Case {
        Case::with_lock(None)
    }

    fn with_lock(lock: Option<&File>) -> Case {
        let engine = ENGINE.read().unwrap_or_else(PoisonError::into_inner);
        let mut case = Case::with_an_engine_of_its_own(lock);
        case._engine = Some(engine);
        case
    }

    fn with_an_engine_of_its_own(lock: Option<&File>) -> Case {
        become_subreaper().unwrap();
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("trees.sh"), TREES).unwrap();
        let keeper = Some(start(lock, &[]));
        Case { dir, keeper, _engine: None }
    }

    fn keeper(&mut self) -> &mut Keeper {
        self.keeper.as_mut().unwrap()
    }

    fn spawn(&mut self, argv: &[impl AsRef<OsStr>]) {
        let command = Command {
            argv: argv.iter().map(|arg| arg.as_ref().to_owned()).collect(),
            cwd: self.dir.path().to_owned(),
            ..Command::default()
        };
        self.keeper().spawn(&command, null()).unwrap();
    }

    async fn event(&mut self) -> KeeperEvent {
        tokio::time::timeout(PATIENCE, self.keeper().event()).await.unwrap()
    }

    /// Starts `sh -c script`, returns the shell's number.
    async fn start(&mut self, script: &str) -> Pid {
        self.spawn(&["sh", "-c", script]);
        match self.event().await {
            KeeperEvent::Started { pid } => Pid::from_raw(pid.cast_signed()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn pids(&self) -> Vec<Pid> {
        let text = fs::read_to_string(self.dir.path().join("pids")).unwrap_or_default();
        text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
    }

    fn alive(&self) -> Vec<Pid> {
        self.pids().into_iter().filter(|pid| is_alive(*pid)).collect()
    }

    async fn until_alive(&self, count: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.alive().len() < count {
            assert!(Instant::now() < deadline, "only {} of {count} came up", self.alive().len());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[track_caller]
    fn assert_all_gone(&self, at_least: usize) {
        assert!(self.pids().len() >= at_least, "only {} processes ever lived", self.pids().len());
        assert_eq!(self.alive(), [], "still alive");
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.finish();
        }
        for pid in self.alive() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn start(lock: Option<&File>, env: &[(OsString, OsString)]) -> Keeper {
    let program = Path::new(env!("CARGO_BIN_EXE_ralph"));
    let run = lock.map(|lock| KeptRun { dir: Path::new("/"), lock: lock.as_fd(), record: None });
    Keeper::start_with(program, run, env).unwrap()
}

fn null() -> Stdio3 {
    let open = || File::options().read(true).write(true).open("/dev/null").unwrap().into();
    Stdio3 { stdin: open(), stdout: open(), stderr: open() }
}

/// `null()` with a pipe for the output, and its other end.
fn piped() -> (Stdio3, File) {
    let (reader, writer) = io::pipe().unwrap();
    (Stdio3 { stdout: writer.into(), ..null() }, File::from(std::os::fd::OwnedFd::from(reader)))
}

fn is_alive(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}

/// `bunch` is three stayers and their sleeps.
const BUNCH: usize = 6;

#[tokio::test]
async fn what_an_agent_leaves_behind_ends_with_it() {
    let mut case = Case::new();
    case.start(&format!(
        "sh trees.sh bunch; while [ $(wc -l < pids) -lt {BUNCH} ]; do sleep 0.01; done; exit 3"
    ))
    .await;
    let KeeperEvent::Ended { exit, swept } = case.event().await else { panic!() };
    assert_eq!(exit, Exit::Code(3));
    assert!(swept as usize >= BUNCH, "{swept}");
    case.assert_all_gone(BUNCH);
}

#[tokio::test]
async fn an_agent_that_leaves_nothing_swept_nothing() {
    let mut case = Case::new();
    for _ in 0..20 {
        case.start("true & true | true; wait").await;
        assert_eq!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(0), swept: 0 });
    }
}

#[tokio::test]
async fn orphans_that_ended_by_themselves_are_reaped_while_the_agent_works() {
    let mut case = Case::new();
    case.start("for i in 1 2 3 4 5; do (sh -c 'exec sleep 0.05' &) ; done; echo $$ > pids; exec sleep 1000")
        .await;
    let keeper = case.keeper().pid();
    let children = || fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children")).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while case.pids().is_empty() || children().split_whitespace().count() != 1 {
        assert!(Instant::now() < deadline, "{}", children());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    case.keeper().sweep().unwrap();
    assert_eq!(case.event().await, KeeperEvent::Ended { exit: Exit::Signal(9), swept: 0 });
}

#[tokio::test]
async fn a_sweep_ends_the_agent_and_all_below_it() {
    let mut case = Case::new();
    case.start("sh trees.sh bunch; exec sh trees.sh stay").await;
    case.until_alive(BUNCH + 2).await;
    case.keeper().sweep().unwrap();
    let KeeperEvent::Ended { exit, swept } = case.event().await else { panic!() };
    assert_eq!(exit, Exit::Signal(9));
    assert!(swept as usize > BUNCH, "{swept}");
    case.assert_all_gone(BUNCH + 2);
    // The keeper is ready for the next one.
    case.start("exit 0").await;
    assert_eq!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(0), swept: 0 });
}

#[tokio::test]
async fn a_killed_agent_takes_its_tree_along() {
    let mut case = Case::new();
    let agent = case.start("sh trees.sh bunch; exec sh trees.sh stay").await;
    case.until_alive(BUNCH + 2).await;
    kill_process(agent, Signal::KILL).unwrap();
    assert!(matches!(case.event().await, KeeperEvent::Ended { exit: Exit::Signal(9), .. }));
    case.assert_all_gone(BUNCH + 2);
}

#[tokio::test]
async fn a_tree_that_keeps_forking_is_caught() {
    let mut case = Case::new();
    let grown = "while [ $(wc -l < pids) -le 3 ]; do sleep 0.01; done";
    case.start(&format!("touch pids; for i in 1 2 3; do setsid sh trees.sh refork & done; {grown}")).await;
    assert!(matches!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(0), .. }));
    let seen = case.pids().len();
    assert!(seen > 3);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(case.pids().len(), seen, "it forks on");
    case.assert_all_gone(3);
}

#[test]
fn when_the_keeper_dies_the_engine_sweeps_what_was_the_keepers() {
    let _engine = ENGINE.write().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut case = Case::with_an_engine_of_its_own(None);
        case.start("sh trees.sh bunch; exec sh trees.sh stay").await;
        case.until_alive(BUNCH + 2).await;
        let mut other = start(None, &[]);
        let left = Tool::new("sh").args(["-c", "setsid sleep 1000 & echo $!"]).run().unwrap();
        let daemon = Pid::from_raw(str::from_utf8(&left.stdout).unwrap().trim().parse().unwrap()).unwrap();

        let keeper = Pid::from_raw(case.keeper().pid().cast_signed()).unwrap();
        kill_process(keeper, Signal::KILL).unwrap();
        let KeeperEvent::Gone { swept } = case.event().await else { panic!() };
        assert!(swept as usize >= BUNCH + 2, "{swept}");
        case.assert_all_gone(BUNCH + 2);
        assert_eq!(case.event().await, KeeperEvent::Gone { swept: 0 });
        let command = Command { argv: vec!["true".into()], cwd: "/".into(), ..Command::default() };
        assert!(matches!(case.keeper().spawn(&command, null()), Err(ProcessError::Gone)));

        assert!(is_alive(daemon), "a tool's daemon is not the keeper's");
        kill_process(daemon, Signal::KILL).unwrap();
        other.spawn(&command, null()).unwrap();
        assert!(matches!(other.event().await, KeeperEvent::Started { .. }));
        assert_eq!(other.event().await, KeeperEvent::Ended { exit: Exit::Code(0), swept: 0 });
        other.finish();
    });
}

#[tokio::test]
async fn when_the_engine_lets_go_the_keeper_sweeps_and_exits() {
    let mut case = Case::new();
    case.start("sh trees.sh bunch; exec sh trees.sh stay").await;
    case.until_alive(BUNCH + 2).await;
    let keeper = Pid::from_raw(case.keeper().pid().cast_signed()).unwrap();
    drop(case.keeper.take()); // As the kernel does for an engine that was killed.
    let deadline = Instant::now() + PATIENCE;
    while is_alive(keeper) {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    case.assert_all_gone(BUNCH + 2);
}

#[tokio::test]
async fn finish_returns_when_all_is_gone() {
    let mut case = Case::new();
    case.start("sh trees.sh bunch; exec sh trees.sh stay").await;
    case.until_alive(BUNCH + 2).await;
    let keeper = case.keeper.take().unwrap();
    let pid = Pid::from_raw(keeper.pid().cast_signed()).unwrap();
    keeper.finish();
    assert!(!is_alive(pid));
    case.assert_all_gone(BUNCH + 2);
}

#[tokio::test]
async fn the_keeper_alone_holds_the_lock() {
    let dir = TempDir::new().unwrap();
    let open = || File::options().create(true).append(true).open(dir.path().join("lock")).unwrap();
    let lock = open();
    lock.try_lock().unwrap();
    let mut case = Case::with_lock(Some(&lock));
    case.start("ls -l /proc/self/fd > fds; echo $$ >> pids; exec sleep 1000").await;
    case.until_alive(1).await;
    drop(lock);
    assert!(open().try_lock().is_err(), "free while the keeper lives");
    case.keeper.take().unwrap().finish();
    open().try_lock().unwrap();
    let fds = fs::read_to_string(case.dir.path().join("fds")).unwrap();
    assert!(!fds.contains("lock") && !fds.contains("socket"), "{fds}");
}

#[tokio::test]
async fn terminate_reaches_the_group_even_when_it_is_stopped() {
    let mut case = Case::new();
    let agent = case.start("sleep 1000 & trap 'exit 7' TERM; echo $! >> pids; wait").await;
    case.until_alive(1).await;
    kill_process(agent, Signal::STOP).unwrap();
    case.keeper().terminate().unwrap();
    // Whether the sleep has to be swept depends on who is faster.
    assert!(matches!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(7), .. }));
    case.assert_all_gone(1);
}

#[tokio::test]
async fn a_missing_program_is_not_started_and_the_next_one_is() {
    let mut case = Case::new();
    case.spawn(&["no-such-program"]);
    let error = "No such file or directory (os error 2)".to_owned();
    assert_eq!(case.event().await, KeeperEvent::NotStarted { error, kind: io::ErrorKind::NotFound });
    case.spawn(&["sh", "nul\0byte"]);
    assert!(matches!(case.event().await, KeeperEvent::NotStarted { .. }));
    case.start("exit 1").await;
    assert_eq!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(1), swept: 0 });
}

#[tokio::test]
async fn one_process_at_a_time() {
    let mut case = Case::new();
    case.start("exec sleep 1000").await;
    let command = Command { argv: vec!["true".into()], cwd: "/".into(), ..Command::default() };
    assert!(matches!(case.keeper().spawn(&command, null()), Err(ProcessError::Busy)));
    case.keeper().sweep().unwrap();
    case.keeper().sweep().unwrap(); // The second finds nothing and must not hit the next one.
    assert_eq!(case.event().await, KeeperEvent::Ended { exit: Exit::Signal(9), swept: 0 });
    case.start("exit 0").await;
    assert_eq!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(0), swept: 0 });
}

#[tokio::test]
async fn arguments_environment_and_directory_arrive_as_they_are() {
    let mut case = Case::new();
    case.keeper.take().unwrap().finish();
    case.keeper = Some(start(None, &[("FROM_KEEPER".into(), "k".into()), ("GONE".into(), "g".into())]));
    let odd = OsString::from_vec(b"\xff\xfe \n'".to_vec());
    let script = r#"printf '%s|' "$1" "$ODD" "$FROM_KEEPER" "${GONE-unset}" "$PWD""#;
    let command = Command {
        argv: vec!["sh".into(), "-c".into(), script.into(), "sh".into(), odd.clone()],
        cwd: "/usr".into(),
        env: vec![("ODD".into(), odd.clone())],
        env_remove: vec!["GONE".into()],
        wrapper: None,
    };
    let (stdio, mut reader) = piped();
    case.keeper().spawn(&command, stdio).unwrap();
    assert!(matches!(case.event().await, KeeperEvent::Started { .. }));
    assert_eq!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(0), swept: 0 });
    let mut output = Vec::new();
    reader.read_to_end(&mut output).unwrap();
    let odd = odd.into_vec();
    assert_eq!(output, [&odd[..], &odd[..], b"k", b"unset", b"/usr", b""].join(&b'|'));
}

#[tokio::test]
async fn a_command_that_is_too_long_is_refused_and_a_long_one_is_not() {
    let mut case = Case::new();
    let long = |bytes: usize| Command {
        argv: vec!["true".into(), "x".repeat(bytes / 2).into(), "x".repeat(bytes / 2).into()],
        cwd: "/".into(),
        ..Command::default()
    };
    match case.keeper().spawn(&long(200 * 1024), null()) {
        Err(ProcessError::TooLong { bytes, limit }) => assert!(bytes > limit),
        other => panic!("{other:?}"),
    }
    case.keeper().spawn(&long(189 * 1024), null()).unwrap();
    assert!(matches!(case.event().await, KeeperEvent::Started { .. }));
    assert_eq!(case.event().await, KeeperEvent::Ended { exit: Exit::Code(0), swept: 0 });
}

#[tokio::test]
async fn events_are_not_lost_when_the_future_is_dropped() {
    let mut case = Case::new();
    case.spawn(&["sleep", "0.05"]);
    let mut events = Vec::new();
    while events.len() < 2 {
        tokio::select! {
            biased;
            () = tokio::time::sleep(Duration::from_micros(200)) => {}
            event = case.keeper.as_mut().unwrap().event() => events.push(event),
        }
    }
    assert!(matches!(events[0], KeeperEvent::Started { .. }));
    assert_eq!(events[1], KeeperEvent::Ended { exit: Exit::Code(0), swept: 0 });
}

#[tokio::test]
async fn leftovers_are_found_by_the_environment() {
    let mut case = Case::new();
    let run = format!("test-{}", std::process::id());
    case.start(&format!("RALPH_RUN={run} sh trees.sh bunch; RALPH_RUN={run}x exec sleep 1000")).await;
    case.until_alive(BUNCH).await;
    let run = case.dir.path().join(run);
    let ended = end_survivors(&run);
    assert!(ended as usize >= BUNCH, "{ended}");
    case.assert_all_gone(BUNCH);
    assert_eq!(end_survivors(&run), 0);
    case.keeper().terminate().unwrap();
    assert_eq!(case.event().await, KeeperEvent::Ended { exit: Exit::Signal(15), swept: 0 });
}

impl Case {
    /// The keeper of a run, which records its session.
    fn of_run(run: &Path) -> Case {
        let mut case = Case::new();
        case.keeper.take().unwrap().finish();
        fs::create_dir_all(run).unwrap();
        let open = |name: &str| File::options().append(true).create(true).open(run.join(name)).unwrap();
        let (lock, record) = (open("lock"), open("keepers.jsonl"));
        let kept = KeptRun { dir: run, lock: lock.as_fd(), record: Some(record.as_fd()) };
        let program = Path::new(env!("CARGO_BIN_EXE_ralph"));
        case.keeper = Some(Keeper::start_with(program, Some(kept), &[]).unwrap());
        case
    }
}

/// `stay` is two processes.
#[tokio::test]
async fn leftovers_are_found_by_the_session_of_their_keeper_and_by_their_parents() {
    let home = TempDir::new().unwrap();
    let run = home.path().join("runs/a-run");
    let mut case = Case::of_run(&run);
    let stays = "env -i /bin/sh trees.sh stay & setsid env -i /bin/sh trees.sh stay &";
    case.start(&format!("{stays} sleep 1000 & echo $! >> pids; wait")).await;
    case.until_alive(5).await;
    let stranger = Tool::new("sh").args(["-c", "sleep 1000 > /dev/null & echo $!"]).run().unwrap();
    let stranger = Pid::from_raw(str::from_utf8(&stranger.stdout).unwrap().trim().parse().unwrap()).unwrap();
    let ended = end_survivors(&run);
    assert!(ended >= 6, "{ended}");
    case.assert_all_gone(5);
    // The keeper may have begun to sweep meanwhile.
    assert!(matches!(case.event().await, KeeperEvent::Ended { exit: Exit::Signal(9), .. }));
    assert_eq!(end_survivors(&run), 0, "the keeper itself is no leftover");
    assert!(is_alive(stranger));
    kill_process(stranger, Signal::KILL).unwrap();
}

#[tokio::test]
async fn what_leaves_both_its_session_and_its_parent_is_found_only_while_its_keeper_lives() {
    let home = TempDir::new().unwrap();
    let run = home.path().join("runs/a-run");
    let mut case = Case::of_run(&run);
    case.start("env -i PATH=\"$PATH\" sh trees.sh double; exec sleep 1000").await;
    case.until_alive(2).await;
    assert_eq!(end_survivors(&run), 1, "only the one that stayed");
    let KeeperEvent::Ended { exit: Exit::Signal(9), swept } = case.event().await else { panic!() };
    assert!(swept >= 2, "{swept}");
    case.assert_all_gone(2);
}

#[tokio::test]
async fn every_process_below_a_keeper_is_known_to_be_of_its_run() {
    let home = TempDir::new().unwrap();
    let run = home.path().join("runs/a-run");
    let mut case = Case::of_run(&run);
    case.start("env -i PATH=\"$PATH\" sh trees.sh bunch; exec sh trees.sh stay").await;
    case.until_alive(BUNCH + 2).await;
    // Around these tests there may be another one.
    let keepers = |pid| Lineage::of(pid).unwrap().keepers();
    for pid in case.alive() {
        assert_eq!(keepers(pid).first(), Some(&run), "{pid}");
    }
    assert!(!keepers(rustix::process::getpid()).contains(&run));
    let alive = case.alive();
    case.keeper().sweep().unwrap();
    assert!(matches!(case.event().await, KeeperEvent::Ended { .. }));
    assert!(Lineage::of(alive[0]).is_none(), "it is gone");
}

/// The engine has not noticed yet, and its other children stay what they are.
#[test]
fn what_a_dead_keeper_leaves_to_its_engine_is_known() {
    let _engine = ENGINE.write().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut case = Case::with_an_engine_of_its_own(None);
        case.start("env -i PATH=\"$PATH\" sh trees.sh double; exec sleep 1000").await;
        case.until_alive(2).await;
        let left = case.alive()[0];
        assert!(!Lineage::of(left).unwrap().is_left_by_keeper());
        let tool = Tool::new("sh").args(["-c", "sleep 1000 > /dev/null & echo $!"]).run().unwrap();
        let tool = Pid::from_raw(str::from_utf8(&tool.stdout).unwrap().trim().parse().unwrap()).unwrap();
        let keeper = Pid::from_raw(case.keeper().pid().cast_signed()).unwrap();
        kill_process(keeper, Signal::KILL).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while !Lineage::of(left).unwrap().is_left_by_keeper() {
            assert!(Instant::now() < deadline, "not known");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(!Lineage::of(tool).unwrap().is_left_by_keeper());
        assert!(matches!(case.event().await, KeeperEvent::Gone { .. }));
        kill_process(tool, Signal::KILL).unwrap();
    });
}
