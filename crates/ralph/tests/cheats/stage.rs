//! A repository, a home and an agent for one case, and one run of it.

use crate::case::{Case, Plan};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// Far more than any run takes, and still an end.
const PATIENCE: Duration = Duration::from_secs(180);

/// A git that tidies up by itself would be ended with the agent, now and then.
const CONFIG: &str = "[user]\n\tname = Someone\n\temail = someone@localhost\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// What a plan's agent reads and says, around what the case has it do.
const DRIVER: &str = include_str!("driver.sh");

pub struct Stage<'a> {
    case: &'a Case,
    _dir: TempDir,
    root: PathBuf,
}

/// A run that has ended.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn result(&self) -> Result<Value, String> {
        serde_json::from_str(&self.stdout).map_err(|e| format!("no result: {e}"))
    }
}

/// The programs without which the case cannot run.
pub fn missing(case: &Case) -> Vec<&str> {
    let found = |program: &&String| env::split_paths(&*PROGRAMS).any(|dir| dir.join(program).is_file());
    case.needs.iter().filter(|program| !found(program)).map(String::as_str).collect()
}

/// Where programs are. Version managers find their versions by the user's home, which the cases do
/// not have: the directories of the versions themselves come first.
static PROGRAMS: LazyLock<OsString> = LazyLock::new(|| {
    let said = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).stderr(Stdio::null()).output().ok()?;
        Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
    };
    let python = said("python3", &["-c", "import sys; print(sys.executable)"])
        .and_then(|path| path.parent().map(Path::to_path_buf));
    let rust = said("rustc", &["--print", "sysroot"]).map(|path| path.join("bin"));
    let own = env::var_os("PATH").unwrap_or_default();
    // Installed by scripts/pytest where the system has none; the last one, as it has a Python too.
    let pytest = Path::new(RALPH).parent().and_then(Path::parent).map(|dir| dir.join("tools/pytest/bin"));
    let all = [rust, python].into_iter().flatten().chain(env::split_paths(&own)).chain(pytest);
    env::join_paths(all).unwrap()
});

impl<'a> Stage<'a> {
    pub fn new(case: &'a Case) -> Result<Stage<'a>, String> {
        let dir = TempDir::with_prefix("ralph-cheats-").unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["project", "user", "tmp"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let stage = Stage { case, _dir: dir, root };
        stage.sh("set-up", "git init -q -b main --template=")?;
        let config = stage.project().join(".git/config");
        let own = fs::read_to_string(&config).unwrap() + CONFIG;
        fs::write(&config, own).unwrap();
        for file in &case.files {
            stage.write(&file.path, &file.content);
            if file.executable {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(stage.project().join(&file.path), mode).unwrap();
            }
        }
        match case.plan {
            Plan::Run => {}
            Plan::Stories => stage.write_specs(),
            Plan::Tasks => stage.write_list(),
        }
        stage.sh("set-up", &case.setup)?;
        // Python compares seconds and sizes to find out whether a source has changed: a project that was
        // written in the second of its first check would be tested as it was then.
        stage.sh(
            "set-up",
            "find . -name .git -prune -o -type f -exec touch -d '1 hour ago' {} +
             git add -A && git commit -q -m 'As it was'",
        )?;
        stage.sh("set-up", &case.then)?;
        stage.write_agent();
        Ok(stage)
    }

    fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn write_specs(&self) {
        for number in 1..=self.case.stories {
            let spec = format!("---\ntitle: Part {number}\nstatus: pending\n---\n\n{}\n", self.case.task);
            self.write(&format!("specs/epic-1/story-1.{number}-part.md"), &spec);
        }
    }

    fn write_list(&self) {
        let story = |number: usize| {
            json!({
                "id": format!("US-00{number}"), "title": self.case.task, "description": "",
                "acceptanceCriteria": [self.case.task, "It has tests"], "priority": number,
                "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "",
                "notes": "", "dependsOn": [],
            })
        };
        let list = json!({
            "project": "calc", "branchName": "", "description": "A calculator",
            "verifyCommands": self.case.checks,
            "userStories": (1..=self.case.stories).map(story).collect::<Vec<_>>(),
        });
        self.write("ralph/tasks.json", &format!("{list:#}\n"));
    }

    fn write_agent(&self) {
        let act = |name: &str, script: &str| {
            fs::write(self.root.join(name), format!("set -eu\n{script}")).unwrap();
        };
        act("act.sh", &self.case.agent);
        act("review.sh", &self.case.reviewer);
        fs::write(self.root.join("driver.sh"), DRIVER).unwrap();
        fs::write(self.root.join("calls"), "0").unwrap();
    }

    /// Runs ralph on the case to its end.
    pub fn ralph(&self, format: &str, flags: &[&str]) -> Ran {
        let plan: &[&str] = match self.case.plan {
            Plan::Run => &["run", &self.case.task, "-n", "2", "--max-failures", "1"],
            Plan::Stories => &["stories", "--max-retries", "1"],
            Plan::Tasks => &["tasks", "-n", "6", "--max-failures", "1"],
        };
        let mut command = self.command(RALPH);
        command.env("CASE_ARGS", self.case.args.join(" "));
        command.args(plan).args(["--format", format]).args(flags).args(&self.case.args);
        match self.case.plan {
            // The list has them.
            Plan::Tasks => {}
            Plan::Run | Plan::Stories => {
                for check in &self.case.checks {
                    command.args(["--check", check]);
                }
            }
        }
        command.args(["--", "sh"]).arg(self.root.join("driver.sh")).arg(&self.root);
        self.end(command)
    }

    /// Whether the work was done: asked of a fresh clone, with nothing else of the stage left.
    pub fn truth(&self) -> Result<bool, String> {
        self.sh(
            "the delivery",
            "export GIT_NO_REPLACE_OBJECTS=1 GIT_INDEX_FILE=\"$PWD/../truth-index\"
             git read-tree HEAD && git -c core.fsmonitor=false add -A
             git commit-tree $(git write-tree) -m Delivered > ../delivered",
        )?;
        self.sh("clean-up", &self.case.cleanup)?;
        for name in ["project", "user", "tmp"] {
            fs::rename(self.root.join(name), self.root.join(format!("{name}.away"))).unwrap();
            fs::create_dir(self.root.join(name)).unwrap();
        }
        // A repository of its own: what the agent told the other one (filters, hooks, replaced objects)
        // is not delivered.
        self.sh(
            "the clone",
            "git init -q --template= ../export && mkdir -p ../export/.git/objects/info && cd ../export
             echo \"$PWD/../project.away/.git/objects\" > .git/objects/info/alternates
             git -c advice.detachedHead=false checkout -q \"$(cat ../delivered)\"
             rm .git/objects/info/alternates",
        )?;
        let mut command = self.plain("sh");
        command.args(["-c", &self.case.truth]).current_dir(self.root.join("export"));
        Ok(self.end(command).code == Some(0))
    }

    /// A shell script in the project that must succeed.
    fn sh(&self, what: &str, script: &str) -> Result<(), String> {
        if script.is_empty() {
            return Ok(());
        }
        let mut command = self.command("sh");
        command.args(["-euc", script]);
        let ran = self.end(command);
        if ran.code == Some(0) {
            return Ok(());
        }
        Err(format!("{what} failed\n{}{}", ran.stdout, ran.stderr))
    }

    /// A program in the project, as the user would start it.
    fn command(&self, program: &str) -> Command {
        let own = self.case.path.iter().map(|dir| match dir.strip_prefix("~/") {
            Some(dir) => self.root.join("user").join(dir),
            None => self.project().join(dir),
        });
        let path = env::join_paths(own.chain(env::split_paths(&*PROGRAMS))).unwrap();
        let mut command = self.plain(program);
        command.env("PATH", path);
        command
    }

    fn plain(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().stdin(Stdio::null());
        command.env("PATH", &*PROGRAMS).env("HOME", self.root.join("user"));
        command
            .env("RALPH_SANDBOX", "none")
            .env("RALPH_HOME", self.root.join("home"))
            .env("TMPDIR", self.root.join("tmp"));
        command.env("LANG", "C.UTF-8").env("GIT_CONFIG_NOSYSTEM", "1").env("CARGO_NET_OFFLINE", "true");
        command.env("NPM_CONFIG_OFFLINE", "true").env("NPM_CONFIG_UPDATE_NOTIFIER", "false");
        command
    }

    fn end(&self, mut command: Command) -> Ran {
        let [out, err] = ["out", "err"].map(|name| self.root.join(name));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let mut child = command.spawn().unwrap();
        let deadline = Instant::now() + PATIENCE;
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if Instant::now() > deadline {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            sleep(Duration::from_millis(3));
        };
        let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Ran { code, stdout: text(&out), stderr: text(&err) }
    }

    /// Every process that was started on this stage and is still alive.
    fn alive(&self) -> Vec<Pid> {
        let marker = format!("RALPH_HOME={}", self.root.join("home").display());
        let numbers =
            fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
        let marked = |pid: &i32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|entry| entry == marker.as_bytes())
        };
        numbers.filter(marked).filter_map(Pid::from_raw).collect()
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        let _ = self.sh("clean-up", &self.case.cleanup);
        for pid in self.alive() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
