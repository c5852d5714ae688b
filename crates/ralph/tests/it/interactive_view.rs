//! People at the terminal of an agent: in a tmux window, in their own terminal, with commands.

use crate::interactive::{SIGN, python};
use crate::screen::{Screen, winsize};
use crate::support::{RALPH, Sandbox, until};
use crate::workers::Yard;
use rustix::process::{Signal, kill_process};
use rustix::termios::tcsetwinsize;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// Says which keys came and how large its terminal is, until `q`.
const ECHOING: &str = r#"
import os, signal, sys, tty
tty.setcbreak(0)
def size(*_):
    columns, rows = os.get_terminal_size(1)
    os.write(1, b"size %d x %d\r\n" % (columns, rows))
signal.signal(signal.SIGWINCH, size)
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"interrupted\r\n"))
os.write(1, b"iteration %s\r\n> " % os.environ["RALPH_ITERATION"].encode())
while True:
    key = os.read(0, 1)
    if key == b"q": break
    os.write(1, b"[" + key + b"]")
"#;

fn attach(yard: &Yard, size: (u16, u16)) -> Screen {
    Screen::start(yard.0.command("setsid"), &[RALPH, "attach", "agent"], size)
}

#[test]
fn a_window_shows_the_agent_then_the_checks_then_the_next_agent_and_takes_keys() {
    let yard = Yard::new();
    // Whatever the user has configured.
    fs::write(yard.0.root().join("user/.tmux.conf"), "set -g remain-on-exit on\n").unwrap();
    let program = python(&yard.0, ECHOING);
    yard.spawn_sign(&["-n", "2", "--check", "echo checked; false"], &program);
    let mut screen = attach(&yard, (100, 30));
    screen.shows("iteration 1");
    screen.press_until(&["x"], "[x]");
    screen.keys("q");
    screen.shows("echo checked; false");
    screen.shows("iteration 2\n>");
    screen.press_until(&["y"], "[y]");
    screen.keys("q");
    let (code, text) = screen.restored();
    assert_eq!(code, Some(0), "{text}");
    yard.ends("agent", 1);
    yard.0.soon_nothing_is_left();
    yard.no_sockets_are_left();
}

#[test]
fn a_window_can_be_narrow_closed_and_opened_again() {
    let yard = Yard::new();
    let program = python(&yard.0, ECHOING);
    yard.spawn_sign(&["-n", "1"], &program);
    let mut screen = attach(&yard, (100, 30));
    screen.shows("iteration 1");
    tcsetwinsize(&screen.master, winsize(20, 10)).unwrap();
    screen.shows("size 20 x ");
    tcsetwinsize(&screen.master, winsize(100, 30)).unwrap();
    screen.shows("size 100 x ");
    let mut second = attach(&yard, (100, 30));
    second.shows("size 100 x ");
    second.press_until(&["z"], "[z]");
    screen.shows("[z]");
    drop(second);
    yard.tmux("kill-window -t =ralph:agent").exits(0);
    screen.restored();
    until("the window to be gone", || yard.windows().is_empty());
    assert!(yard.terminal_host().is_some(), "the program goes on");
    let mut screen = attach(&yard, (100, 30));
    screen.shows("iteration 1");
    screen.shows("[z]");
    yard.tmux("kill-server").exits(0);
    screen.restored();
    assert!(yard.terminal_host().is_some(), "the program goes on");
    yard.0.ralph(&["send", "agent", "q"]).exits(0);
    yard.ends("agent", 0);
}

#[test]
fn a_worker_can_be_spawned_from_inside_tmux() {
    let yard = Yard::new();
    yard.0.write("../agent.sh", yard.asking_program().words()[2]);
    let spawn = "\"$RALPH\" spawn --name agent -f PROMPT.md -n 1 --interactive -- sh ../agent.sh";
    yard.0.write("../spawn.sh", spawn);
    let mine = "TERM=xterm tmux -L mine -f /dev/null";
    yard.0.sh(&format!("{mine} new-session -d -s mine 'sh ../spawn.sh > ../spawned 2>&1; env | grep ^TMUX= > ../tmux; sleep 600'"));
    yard.until_exists("got.1");
    yard.0.until_file("../tmux");
    assert_eq!(yard.windows(), ["agent"]);
    yard.go(1, 0);
    yard.ends("agent", 0);
    yard.0.sh(&format!("{mine} kill-server"));
}

#[test]
fn a_run_in_the_users_terminal_shows_the_agent_there_and_then_the_result() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let program = python(&sandbox, ECHOING);
    let run = [RALPH, "run", "-p", "hi", "-n", "1", "--check", "echo checked; false"];
    let words = [&run[..], &SIGN, &["--"], &program.words()].concat();
    let mut screen = Screen::start(sandbox.command("setsid"), &words, (100, 30));
    screen.shows("iteration 1\n>");
    screen.press_until(&["k"], "[k]");
    screen.press_until(&["\x03"], "interrupted");
    screen.keys("q");
    screen.shows("running check");
    let (code, text) = screen.restored();
    assert_eq!(code, Some(1), "{text}");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part:?}:\n{text}"));
    assert!(at("[k]") < at("interrupted") && at("interrupted") < at("running check"), "{text}");
    sandbox.soon_nothing_is_left();
}

#[test]
fn a_run_without_a_terminal_cannot_be_interactive() {
    let sandbox = Sandbox::bare();
    let refused = sandbox.run(&["-p", "x", "-n", "1", "--interactive"], &sandbox.sh_agent("cat")).exits(2);
    assert!(refused.stderr.starts_with("ralph: error: --interactive needs a terminal"), "{}", refused.stderr);
    assert!(refused.stderr.contains("ralph spawn --name NAME --interactive"), "{}", refused.stderr);
    assert!(sandbox.runs().is_empty());
}

#[test]
fn a_viewer_that_does_not_read_holds_nothing_up_and_sees_the_whole_screen_later() {
    let yard = Yard::new();
    let program = yard.0.sh_agent(
        "printf '> '; read -r line; yes 0123456789012345678901234567890123456789 | head -c 20000000; \
         printf '\\033[2J\\033[Hprinted all\\n'; touch printed; until [ -e go.1 ]; do sleep 0.02; done",
    );
    yard.spawn_sign(&["-n", "1"], &program);
    let mut viewer = yard.connect();
    viewer.write_all(b"{\"view\":{\"rows\":40,\"columns\":120}}\n").unwrap();
    yard.until_exists("printed");
    let host = yard.terminal_host().unwrap();
    let status = fs::read_to_string(format!("/proc/{host}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 40 << 10, "{peak} kB");
    // The program prints nothing more, and the viewer still gets to see what is there.
    viewer.set_read_timeout(Some(crate::support::PATIENCE)).unwrap();
    let (mut seen, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    while !seen.windows(11).any(|part| part == b"printed all") {
        let read = viewer.read(&mut buffer).unwrap();
        assert!(read > 0, "it ended early");
        seen.extend_from_slice(&buffer[..read]);
    }
    yard.go(1, 0);
    yard.ends("agent", 0);
}

#[test]
fn a_viewer_that_is_stopped_holds_nothing_up() {
    let yard = Yard::new();
    let program = yard.0.sh_agent(
        "printf '> '; read -r line; echo begun; until [ -e start ]; do sleep 0.02; done; \
         yes 0123456789012345678901234567890123456789 | head -c 5000000; touch printed",
    );
    yard.spawn_sign(&["-n", "1"], &program);
    until("its window", || yard.pane("agent").contains("begun"));
    let windows: Vec<_> = yard
        .0
        .alive()
        .into_iter()
        .filter(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.starts_with(RALPH.as_bytes()) && words.ends_with(b"--window\0")
        })
        .collect();
    windows.iter().for_each(|pid| kill_process(*pid, Signal::STOP).unwrap());
    yard.0.write("start", "");
    yard.until_exists("printed");
    yard.ends("agent", 0);
    windows.iter().for_each(|pid| kill_process(*pid, Signal::CONT).unwrap());
    yard.0.soon_nothing_is_left();
}

#[test]
fn keys_words_and_the_screen_of_an_agent_are_a_command_away() {
    let yard = Yard::new();
    let program = python(&yard.0, ECHOING);
    yard.spawn_sign(&["-n", "1"], &program);
    until("its screen", || yard.0.ralph(&["logs", "agent", "--live"]).stdout.contains("iteration 1"));
    let follower = yard.0.start(&["logs", "agent", "--live", "--follow"]);
    yard.0.ralph(&["send", "agent", "ab", "Tab", "Enter"]).exits(0).says("typed into agent");
    yard.0.ralph(&["say", "agent", "--now", "well then"]).exits(0);
    let screen = || yard.0.ralph(&["logs", "agent", "--live"]).exits(0).stdout;
    until("the keys", || screen().contains("[a][b]"));
    until("the words", || screen().contains("[w][e][l][l][ ][t][h][e][n]"));
    until("the follower", || follower.stdout().contains("[t][h][e][n]"));
    yard.0.ralph(&["send", "agent", "q"]).exits(0);
    yard.ends("agent", 0);
    follower.end().exits(0);
}

#[test]
fn a_worker_without_a_terminal_says_so() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    for args in [
        &["send", "agent", "x"][..],
        &["say", "--now", "agent", "x"],
        &["logs", "agent", "--live"],
        &["answer", "agent", "yes"],
    ] {
        let refused = yard.0.ralph(args).exits(1);
        assert!(refused.stderr.contains("no agent has a terminal there now"), "{args:?}: {}", refused.stderr);
    }
    yard.go(1, 0);
    yard.ends("agent", 0);
}

#[test]
fn an_agent_cannot_type_for_its_user() {
    let yard = Yard::new();
    yard.0.write("../ralph", RALPH);
    let program = yard.0.sh_agent(
        "printf '> '; read -r line; ralph=$(cat ../ralph); for words in 'send agent x' 'say --now agent x' 'answer agent x'; do \
         $ralph $words; echo \"code $?\"; done > ../refused 2>&1; python3 ../own.py >> ../refused 2>&1",
    );
    // Past the command, straight to the socket.
    yard.0.write(
        "../own.py",
        r#"
import glob, json, socket
s = socket.socket(socket.AF_UNIX)
s.connect(glob.glob("../home/runs/*/terminal.sock")[0])
s.sendall(json.dumps({"keys": {"bytes": [120]}}).encode() + b"\n")
print(s.recv(4096).decode())
"#,
    );
    yard.spawn_sign(&["-n", "1", "--wait"], &program);
    let refused = yard.0.read("../refused");
    assert_eq!(refused.matches("code 1\n").count(), 3, "{refused}");
    assert!(refused.contains("{\"refused\":"), "{refused}");
}

/// All escape sequences, and none: ralph draws what it can.
#[test]
fn random_bytes_on_the_screen_hurt_nothing() {
    let yard = Yard::new();
    let program = yard.0.sh_agent("printf '> '; read -r line; head -c 1000000 /dev/urandom; printf '\\033c'; echo ALL DONE; exec sleep 600");
    yard.spawn_sign(&["-n", "1", "--done-pattern", "ALL DONE"], &program);
    yard.ends("agent", 0);
    assert_eq!(yard.state("agent")["reason"], "completed");
}

impl Yard {
    /// A connection to the terminal of the agent.
    #[track_caller]
    fn connect(&self) -> UnixStream {
        let mut stream = None;
        until("its terminal", || {
            let run = self.0.runs().pop();
            let path = run.map(|id| self.0.home().join("runs").join(id).join("terminal.sock"));
            stream = path.and_then(|path| UnixStream::connect(path).ok());
            stream.is_some()
        });
        stream.unwrap()
    }
}
