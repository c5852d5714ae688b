//! A home, a project and a directory outside for one attack, and one run of it.
//!
//! The project is in the home, as projects are; the home, ralph's own home and temporary files are in a
//! scratch directory. What has to be in a directory that all users share has a name of its own there and
//! is removed.

use crate::case::{Attack, By, Place};
use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// Far more than any run takes, and still an end.
const PATIENCE: Duration = Duration::from_secs(180);

const TOOLS: &str = include_str!("tools.py");

/// What the attack prints first: a run whose agent did not start has stopped nothing.
const MARK: &str = "the attack begins";

/// Functions for all scripts.
const FUNCTIONS: &str = r#"
tool() { python3 tools.py "$@"; }
# Waits for a file, with an end.
await() {
    tries=0
    until [ -e "$1" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 3000 ] || return 1
        sleep 0.01
    done
}
# Stops a process, and waits until each of its threads has stopped, with an end.
halt() {
    kill -STOP "$1" || return 1
    tries=0
    while cat /proc/"$1"/task/*/status 2> /dev/null | grep '^State:' | grep -qv 'T (stopped)'; do
        tries=$((tries + 1))
        [ "$tries" -lt 3000 ] || return 1
        sleep 0.01
    done
}
# Whether there is a process with this word among its arguments. Those of grep do not count.
runs() {
    printf '%s\n' "$1" > "$ROOT/looked-for"
    cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\0' '\n' | grep -qxFf "$ROOT/looked-for"
}
"#;

/// The repository that every attack begins with.
pub struct Template(TempDir);

impl Template {
    pub fn new() -> Template {
        let dir = scratch();
        for (name, content) in [("tools.py", TOOLS), ("test.sh", "exit 1\n")] {
            fs::write(dir.path().join(name), content).unwrap();
        }
        let script = "git init -q -b main --template= && git config user.name Someone &&
            git config user.email someone@localhost && git config gc.auto 0 &&
            git add . && git commit -q -m 'As it was'";
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(dir.path()).env("HOME", dir.path());
        assert!(command.env("GIT_CONFIG_NOSYSTEM", "1").status().unwrap().success());
        Template(dir)
    }
}

/// Not in `/tmp`, which a sandbox hides as a whole.
fn scratch() -> TempDir {
    TempDir::with_prefix_in("attack-", env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).unwrap();
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, &to).unwrap()),
        }
    }
}

pub struct Stage<'a> {
    attack: &'a Attack,
    root: TempDir,
    /// In a directory that all users share.
    shared: TempDir,
}

/// A program that has ended.
pub struct Ran {
    status: Option<ExitStatus>,
    pub output: String,
}

impl Ran {
    fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// `signal` if it was killed.
    fn code(&self) -> String {
        match self.status {
            Some(status) if status.signal().is_some() => "signal".to_owned(),
            Some(status) => status.code().unwrap_or_default().to_string(),
            None => "timeout".to_owned(),
        }
    }
}

/// How ralph, or a shell in its place, carried out an attack.
pub struct Fought {
    pub succeeded: bool,
    /// What ralph and the scripts printed.
    pub output: String,
}

/// Where programs are. Version managers find their versions by the user's home, which the attacks do not
/// have: the directory of the version itself comes first.
static PROGRAMS: LazyLock<OsString> = LazyLock::new(|| {
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok();
    let python = python.and_then(|output| String::from_utf8(output.stdout).ok());
    let python = python.and_then(|path| Path::new(path.trim()).parent().map(Path::to_path_buf));
    let own = env::var_os("PATH").unwrap_or_default();
    env::join_paths(python.into_iter().chain(env::split_paths(&own))).unwrap()
});

/// What the attack needs and is not there.
pub fn missing(attack: &Attack) -> Option<String> {
    let is_there = |need: &&String| match need.as_str() {
        "root" => rustix::process::getuid().is_root(),
        program => env::split_paths(&*PROGRAMS).any(|dir| dir.join(program).is_file()),
    };
    let missing: Vec<&str> = attack.needs.iter().filter(|need| !is_there(need)).map(String::as_str).collect();
    if !missing.is_empty() {
        return Some(format!("needs {}", missing.join(", ")));
    }
    let condition = attack.only_if.as_ref()?;
    let holds =
        Command::new("sh").args(["-c", condition]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    (!holds.is_ok_and(|status| status.success())).then(|| format!("needs {condition}"))
}

/// Why ralph cannot use a place here.
pub fn unusable(place: Place, attack: &Attack, template: &Template) -> Option<String> {
    let stage = Stage::new(attack, template).unwrap();
    let mut command = stage.plain(RALPH);
    command.args([
        "run",
        "-p",
        "x",
        "-n",
        "1",
        place.flag(),
        "--",
        "sh",
        "-c",
        "echo '<promise>DONE</promise>'",
    ]);
    let ran = stage.end(command);
    (ran.code() == "2").then_some(ran.output)
}

impl<'a> Stage<'a> {
    pub fn new(attack: &'a Attack, template: &Template) -> Result<Stage<'a>, String> {
        let root = scratch();
        let shared = TempDir::with_prefix_in("ralph-attack-", "/tmp").unwrap();
        let stage = Stage { attack, root, shared };
        copy(template.0.path(), &stage.project());
        for name in ["bin", "outside", "tmp", "user/.config/ralph", "user/src/other"] {
            fs::create_dir_all(stage.root().join(name)).unwrap();
        }
        if !attack.settings.is_empty() {
            fs::write(stage.root().join("user/.config/ralph/settings.json"), &attack.settings).unwrap();
        }
        if attack.by == By::Check {
            let check = format!("echo '{MARK}'\n{}\n{}\nexit 0\n", stage.words(), attack.attack);
            fs::write(stage.project().join("attack.sh"), check).unwrap();
        }
        stage.sh("set-up", &attack.setup)?;
        Ok(stage)
    }

    fn root(&self) -> &Path {
        self.root.path()
    }

    fn project(&self) -> PathBuf {
        self.root().join("user/src/project")
    }

    /// A name that nothing else on the machine has.
    fn id(&self) -> &str {
        self.root().file_name().unwrap().to_str().unwrap()
    }

    /// The words that scripts use, as shell.
    fn words(&self) -> String {
        let root = self.root();
        let user = root.join("user");
        let words = [
            ("ROOT", root.to_path_buf()),
            ("OUT", root.join("outside")),
            ("HOME", user.clone()),
            ("PROJECT", self.project()),
            ("RECORDS", user.join(".local/state/ralph")),
            ("SHARED", self.shared.path().to_path_buf()),
            ("RALPH", PathBuf::from(RALPH)),
        ];
        let paths = words.map(|(name, path)| format!("{name}='{}'\n", path.display())).concat();
        let id = self.id();
        // System V names segments by numbers.
        let number = id.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte)) % 0x7fff_0000;
        format!("{paths}ID='{id}'\nSECRET='secret-{id}'\nNUMBER={}\n{FUNCTIONS}", number + 1)
    }

    /// In a place, by ralph.
    pub fn fight(&self, place: Place) -> Result<Fought, String> {
        let ran = self.ralph(place);
        if ran.status.is_none() {
            return Err(format!("no end\n{}", ran.output));
        }
        let fought = self.judge(&ran)?;
        if !fought.succeeded && place != Place::Without && !self.was_carried_out() {
            return Err(format!("the attack was not carried out\n{}", fought.output));
        }
        Ok(fought)
    }

    /// Without ralph, as the user could.
    pub fn fight_bare(&self) -> Result<Fought, String> {
        let ran = self.script(&self.attack.attack);
        self.judge(&ran)
    }

    fn judge(&self, ran: &Ran) -> Result<Fought, String> {
        let code = ran.code();
        self.sh("what the user does then", &self.attack.after)?;
        let seen = self.script(&format!("CODE={code}\n{}", self.attack.seen));
        let output = format!("exit code {code}\n{}{}", ran.output, seen.output);
        Ok(Fought { succeeded: seen.succeeded(), output })
    }

    /// What the agent and the checks have printed, as it was recorded.
    fn agents_words(&self) -> String {
        self.script("cat \"$RECORDS\"/runs/*/streams/* .ralph/guardrail_* 2> /dev/null").output
    }

    fn was_carried_out(&self) -> bool {
        match self.attack.ran.is_empty() {
            true => self.agents_words().contains(MARK),
            false => self.script(&self.attack.ran).succeeded(),
        }
    }

    fn ralph(&self, place: Place) -> Ran {
        // An attack that needs a program has to find it inside, or it would be stopped by its absence.
        let tools = self.attack.needs.iter().filter(|need| *need != "root");
        let tools =
            tools.map(|tool| format!("command -v {tool} > /dev/null || exit 77\n")).collect::<String>();
        let body = match self.attack.by {
            By::Agent => format!("echo '{MARK}'\n{}", self.attack.attack),
            By::Check => "cat attack.sh > test.sh".to_owned(),
        };
        let done = match self.attack.agent.as_str() {
            "claude" => {
                r#"{"type":"result","subtype":"success","is_error":false,"result":"<promise>DONE</promise>"}"#
            }
            _ => "<promise>DONE</promise>",
        };
        let agent = format!("{}\ncat > /dev/null\n{tools}(\n{body}\n)\necho '{done}'\n", self.words());
        let program = self.root().join("bin").join(&self.attack.agent);
        fs::write(&program, format!("#!/bin/sh\n{agent}")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let check = match self.attack.by {
            By::Agent => "",
            By::Check => "--check 'sh test.sh'",
        };
        let start = format!(
            "{under} \"$RALPH\" run -p 'Do it.' -n 1 {flag} {check} {args} -- {agent}",
            under = self.attack.under,
            agent = self.attack.agent,
            flag = place.flag(),
            args = self.attack.args.join(" "),
        );
        let start = match self.attack.terminal {
            // What was typed meanwhile is read by the shell, as in any terminal, and a second time for what comes
            // after an end of input. `stty` makes that end if there is nothing.
            true => format!(
                "tty > terminal\n{start}\nstty -icanon min 0 time 1\nhead -c 99 > \"$ROOT/typed\"\nhead -c 99 >> \"$ROOT/typed\""
            ),
            false => format!("echo $$ > ralph.pid\nexec {start}"),
        };
        let variables = self.attack.env.iter().map(|variable| format!("export {variable}\n"));
        let script = format!("{}\n{}{start}\n", self.words(), variables.collect::<String>());
        fs::write(self.root().join("start.sh"), script).unwrap();
        let start = self.root().join("start.sh").display().to_string();
        let mut command = match self.attack.terminal {
            true => self.plain("script"),
            false => self.plain("sh"),
        };
        match self.attack.terminal {
            true => command.args(["-qefc", &format!("sh '{start}'"), "/dev/null"]),
            false => command.arg(&start),
        };
        self.end(command)
    }

    /// A shell script in the project that must succeed.
    fn sh(&self, what: &str, script: &str) -> Result<(), String> {
        if script.is_empty() {
            return Ok(());
        }
        let ran = self.script(&format!("set -e\n{script}"));
        match ran.succeeded() {
            true => Ok(()),
            false => Err(format!("{what} failed\n{}", ran.output)),
        }
    }

    fn script(&self, script: &str) -> Ran {
        let mut command = self.plain("sh");
        command.args(["-c", &format!("{}\n{script}", self.words())]);
        self.end(command)
    }

    /// A program in the project, as the user would start it.
    fn plain(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().stdin(Stdio::null());
        let path = env::join_paths([self.root().join("bin")].into_iter().chain(env::split_paths(&*PROGRAMS)));
        command.env("PATH", path.unwrap()).env("HOME", self.root().join("user")).env("LANG", "C.UTF-8");
        command.env("TMPDIR", self.root().join("tmp")).env("TMUX_TMPDIR", self.shared.path());
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn end(&self, mut command: Command) -> Ran {
        let output = tempfile::NamedTempFile::new_in(self.root()).unwrap();
        let file = File::options().append(true).open(output.path()).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let mut child = command.spawn().unwrap();
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if Instant::now() > deadline {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            sleep(Duration::from_millis(3));
        };
        Ran { status, output: String::from_utf8_lossy(&fs::read(output.path()).unwrap()).into_owned() }
    }

    /// Every process that was started on this stage and is still alive: by its home, or, for one that has given
    /// up its environment, by its name among its arguments.
    fn alive(&self) -> Vec<Pid> {
        let numbers =
            fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
        let home = format!("HOME={}", self.root().join("user").display());
        let has = |path: String, start: &str| {
            let bytes = fs::read(path).unwrap_or_default();
            bytes.split(|byte| *byte == 0).any(|entry| entry.starts_with(start.as_bytes()))
        };
        let own = |pid: &i32| {
            has(format!("/proc/{pid}/environ"), &home) || has(format!("/proc/{pid}/cmdline"), self.id())
        };
        numbers.filter(own).filter_map(Pid::from_raw).collect()
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        let _ = self.sh("clean-up", &self.attack.cleanup);
        for pid in self.alive() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
