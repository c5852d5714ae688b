#![expect(clippy::disallowed_methods, reason = "tests write what they need")]

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const OLD: &str = r#"{"claudeAiOauth":{"accessToken":"a","expiresAt":5}}"#;
const NEW: &str = r#"{"claudeAiOauth":{"accessToken":"b","expiresAt":9}}"#;
const NEWER: &str = r#"{"claudeAiOauth":{"accessToken":"c","expiresAt":12}}"#;

const PATIENCE: Duration = Duration::from_secs(60);

/// A user who is logged in to Claude, with the file in a directory of dotfiles.
struct Stage {
    _dir: tempfile::TempDir,
    root: PathBuf,
    view: View,
}

impl Stage {
    fn new() -> Stage {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["home/.claude/projects/p", "home/.claude/skills/s", "home/dot", "work"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("home/dot/login"), OLD).unwrap();
        fs::set_permissions(root.join("home/dot/login"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("../dot/login", root.join("home/.claude/.credentials.json")).unwrap();
        fs::write(root.join("home/.claude/settings.json"), "{}").unwrap();
        fs::write(root.join("home/.claude/projects/p/history"), "").unwrap();
        let users = r#"{"history":["x"],"mcpServers":{"here":{"command":"sh"},"gone":{"command":"no-such-program"}}}"#;
        fs::write(root.join("home/.claude.json"), users).unwrap();
        let view = View::new(root.join("home"), &[], &[root.join("work")]).unwrap();
        Stage { _dir: dir, root, view }
    }

    fn open(&self, run: &str) -> Login {
        let (ralph, home) = (layout::Home::at(self.root.join("ralph")), self.root.join("home"));
        Login::open(&LoginRequest {
            agent: ralph_loop::sandbox::agents::agent("claude").unwrap(),
            view: &self.view,
            places: Places { home: &home, variable: &|_| None },
            workspaces: &[self.root.join("work")],
            ralph: &ralph,
            own: &self.root.join("ralph/runs").join(run),
            way: Way::Mounted,
        })
        .unwrap()
    }

    fn original(&self) -> String {
        fs::read_to_string(self.root.join("home/dot/login")).unwrap()
    }

    fn copy(&self) -> PathBuf {
        self.root.join("ralph/sandbox/login/claude/.credentials.json")
    }

    /// As agents do it.
    fn refresh(&self, content: &str) {
        let beside = self.copy().with_extension("tmp");
        fs::write(&beside, content).unwrap();
        fs::rename(beside, self.copy()).unwrap();
    }
}

#[test]
fn a_refreshed_token_replaces_the_users_as_a_whole_with_its_mode_and_its_link() {
    let stage = Stage::new();
    let login = stage.open("a");
    assert_eq!(fs::read_to_string(stage.copy()).unwrap(), OLD);
    assert_eq!(fs::metadata(stage.copy()).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(login.sync().is_empty());
    stage.refresh(NEW);
    assert_eq!(login.sync().len(), 1);
    assert_eq!(stage.original(), NEW);
    assert!(login.sync().is_empty());
    let meta = fs::metadata(stage.root.join("home/dot/login")).unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o640);
    assert!(stage.root.join("home/.claude/.credentials.json").is_symlink());
}

#[test]
fn what_a_killed_run_has_not_written_back_the_next_one_does() {
    let stage = Stage::new();
    drop(stage.open("a"));
    stage.refresh(NEW);
    let login = stage.open("a");
    assert_eq!((stage.original().as_str(), login.sync().len()), (NEW, 0));
}

#[test]
fn a_newer_original_replaces_the_copy_also_one_that_was_refreshed() {
    let stage = Stage::new();
    let login = stage.open("a");
    fs::write(stage.root.join("home/dot/login"), NEW).unwrap();
    assert!(login.sync().is_empty());
    assert_eq!(fs::read_to_string(stage.copy()).unwrap(), NEW);
    stage.refresh(NEWER);
    fs::write(stage.root.join("home/dot/login"), OLD).unwrap();
    assert_eq!(login.sync().len(), 1);
    assert_eq!((stage.original().as_str(), fs::read_to_string(stage.copy()).unwrap().as_str()), (OLD, OLD));
    fs::remove_file(stage.root.join("home/dot/login")).unwrap();
    login.sync();
    assert!(!stage.copy().exists(), "the user has logged out");
}

#[test]
fn nothing_but_a_login_gets_to_the_user_and_the_next_step_has_one_again() {
    let stage = Stage::new();
    let login = stage.open("a");
    let secret = stage.root.join("secret");
    fs::write(&secret, NEW).unwrap();
    let plant: [&dyn Fn(); 5] = [
        &|| fs::create_dir(stage.copy()).unwrap(),
        &|| symlink(&secret, stage.copy()).unwrap(),
        &|| fs::write(stage.copy(), "{}").unwrap(),
        &|| fs::write(stage.copy(), vec![b' '; 2 << 20]).unwrap(),
        &|| {
            rustix::fs::mknodat(rustix::fs::CWD, stage.copy(), rustix::fs::FileType::Fifo, 0o600.into(), 0)
                .unwrap();
        },
    ];
    for plant in plant {
        fs::remove_file(stage.copy()).unwrap();
        plant();
        login.sync();
        assert_eq!(stage.original(), OLD);
        login.ready();
        assert_eq!(fs::read_to_string(stage.copy()).unwrap(), OLD);
        assert!(!stage.copy().is_symlink());
    }
    assert_eq!(fs::read_to_string(secret).unwrap(), NEW);
}

#[test]
fn runs_share_the_login_and_nothing_else() {
    let stage = Stage::new();
    let (one, other) = (stage.open("a"), stage.open("b"));
    let at = |name: &str| stage.root.join("home/.claude").join(name);
    for login in [&one, &other] {
        assert!(login.visible.shows(&stage.view, &at("settings.json")));
        assert!(stage.root.join("ralph/sandbox/login/claude/projects").is_dir());
    }
    let sources =
        |login: &Login| -> BTreeSet<PathBuf> { login.visible.sources_below(&at("projects")).collect() };
    assert_ne!(sources(&one), sources(&other));
    assert_eq!(sources(&one), BTreeSet::from([stage.root.join("ralph/runs/a/claude/projects")]));
    // The history is not among them, and the user's own settings are only for reading.
    let at = stage.root.join("home/.claude.json");
    let settings = one.visible.sources_below(&at).next().unwrap();
    assert!(settings.starts_with(stage.root.join("ralph/handed")), "{}", settings.display());
    let settings = fs::read_to_string(settings).unwrap();
    assert!(!settings.contains("history") && settings.contains("hasCompletedOnboarding"));
    assert_eq!(one.missing_servers(|command| command == "sh"), BTreeSet::from(["gone"]));
}

#[test]
fn what_runs_leave_beside_the_login_goes_when_no_run_uses_it() {
    let stage = Stage::new();
    let login = stage.open("a");
    let left = stage.copy().with_file_name("left");
    fs::write(&left, "").unwrap();
    let other = stage.open("b");
    assert!(left.exists(), "another run may need it");
    drop((login, other));
    stage.open("c");
    assert!(!left.exists() && stage.copy().exists());
}

#[test]
fn what_an_agent_puts_where_something_is_mounted_is_removed() {
    let stage = Stage::new();
    let login = stage.open("a");
    let projects = stage.copy().with_file_name("projects");
    fs::remove_dir(&projects).unwrap();
    symlink(stage.root.join("work"), &projects).unwrap();
    login.ready();
    assert!(projects.is_dir() && !projects.is_symlink() && stage.root.join("work").is_dir());
}

#[cfg(target_os = "linux")]
#[test]
fn a_change_is_taken_over_as_soon_as_it_is_made_on_either_side() {
    let stage = Stage::new();
    let (sender, receiver) = mpsc::channel();
    let watch = Watch::start(vec![Arc::new(stage.open("a"))], move |said| sender.send(said).unwrap());
    stage.refresh(NEW);
    receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(stage.original(), NEW);
    fs::write(stage.root.join("home/dot/login"), NEWER).unwrap();
    let taken_over = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        fs::read_to_string(stage.copy()).unwrap() == NEWER
    });
    assert!(taken_over);
    drop(watch);
}

#[cfg(target_os = "linux")]
#[test]
fn a_change_is_taken_over_also_where_nothing_can_be_watched() {
    let stage = Stage::new();
    let (sender, receiver) = mpsc::channel();
    let login = vec![Arc::new(stage.open("a"))];
    let thread =
        watch::linux::Thread::start_with(login, None, move |said| sender.send(said).unwrap()).unwrap();
    stage.refresh(NEW);
    receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(stage.original(), NEW);
    thread.end();
}
