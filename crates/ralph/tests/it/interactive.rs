//! Plain programs on a terminal of their own: known by their screen alone.

use crate::support::{Agent, Sandbox, until};
use crate::workers::Yard;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;

/// Flags of a program whose prompt sign is `>`.
pub const SIGN: [&str; 3] = ["--interactive", "--ready-pattern", "^>$"];

impl Yard {
    /// A program that asks for a line, keeps it, and ends once the test says so.
    pub fn asking_program(&self) -> Agent {
        self.0.sh_agent(
            "echo tool 1.0; printf '> '; read -r line; echo \"$line\" > part.$RALPH_ITERATION; \
             mv part.$RALPH_ITERATION got.$RALPH_ITERATION; echo at work; \
             until [ -e go.$RALPH_ITERATION ]; do sleep 0.02; done; exit $(cat go.$RALPH_ITERATION)",
        )
    }

    pub fn spawn_sign(&self, args: &[&str], agent: &Agent) {
        self.spawn(&[&SIGN, args].concat(), agent).exits(0);
    }

    /// What the agent of the first iteration has printed so far, as ralph has it.
    pub fn stream(&self) -> String {
        fs::read_to_string(self.0.run_dir().join("streams/1-1.out")).unwrap_or_default()
    }

    #[track_caller]
    pub fn until_streamed(&self, text: &str) {
        until(text, || self.stream().contains(text));
    }

    /// The process that holds the terminal.
    pub fn terminal_host(&self) -> Option<Pid> {
        self.process("__terminal")
    }

    /// A process with this word in its command line.
    pub fn process(&self, word: &str) -> Option<Pid> {
        self.0.alive().into_iter().find(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
        })
    }

    #[track_caller]
    pub fn no_sockets_are_left(&self) {
        let left: Vec<_> =
            fs::read_dir(self.0.run_dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".sock")), "{left:?}");
    }
}

/// A program in Python, in the project.
pub fn python(sandbox: &Sandbox, script: &str) -> Agent {
    sandbox.write("../program.py", script);
    sandbox.sh_agent("exec python3 ../program.py")
}

#[test]
fn nothing_is_typed_before_the_ready_pattern_shows() {
    let yard = Yard::new();
    let program = python(
        &yard.0,
        r#"
import os, select, sys, time
print("loading", flush=True)
while not os.path.exists("load"): time.sleep(0.02)
early = select.select([sys.stdin], [], [], 0)[0]
print("> ", end="", flush=True)
line = sys.stdin.readline()
open("got", "w").write("early" if early else line)
"#,
    );
    yard.spawn_sign(&["-n", "1"], &program);
    // Two looks at a screen that stays as it is.
    yard.until_streamed("loading");
    yard.0.ralph(&["logs", "agent", "--live"]).exits(0).says("loading");
    yard.0.write("load", "");
    yard.ends("agent", 0);
    assert_eq!(yard.0.read("got"), "Do task A\n");
    yard.no_sockets_are_left();
}

#[test]
fn without_a_ready_pattern_the_first_quiet_screen_is_ready() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1", "--interactive"], &yard.asking_program()).exits(0);
    yard.until_exists("got.1");
    assert_eq!(yard.0.read("got.1"), "Do task A\n");
    yard.go(1, 0);
    yard.ends("agent", 0);
}

#[test]
fn a_prompt_of_many_lines_is_pasted_where_the_program_takes_pastes() {
    let yard = Yard::new();
    yard.0.write("PROMPT.md", "!one\n/two\tthree\n");
    let program = python(
        &yard.0,
        r#"
import os, sys, tty
tty.setraw(0)
os.write(1, b"\x1b[?2004h> ")
got = b""
while not got.endswith(b"\r"): got += os.read(0, 4096)
open("got", "wb").write(got)
"#,
    );
    yard.spawn_sign(&["-n", "1"], &program);
    yard.ends("agent", 0);
    let got = yard.0.read("got");
    assert!(got.starts_with("\x1b[200~!one\n/two\tthree") && got.ends_with("\x1b[201~\r"), "{got:?}");
}

#[test]
fn a_done_pattern_at_rest_ends_the_run_and_the_echo_of_the_prompt_does_not() {
    let yard = Yard::new();
    // So long that it does not fit a line of the screen.
    let prompt = format!("{} and then say ALL DONE\n", "work on it ".repeat(11));
    yard.0.write("PROMPT.md", prompt);
    let program = yard.0.sh_agent(
        "printf '> '; read -r line; until [ -e step ]; do sleep 0.02; done; echo more to do; \
         until [ -e go ]; do sleep 0.02; done; echo ALL DONE; exec sleep 600",
    );
    yard.spawn_sign(&["-n", "3", "--done-pattern", "ALL DONE"], &program);
    yard.until_streamed("and then say ALL DONE");
    yard.0.write("step", "");
    // Seen two looks after the echo.
    yard.until_streamed("more to do");
    assert!(yard.terminal_host().is_some());
    yard.0.write("go", "");
    yard.ends("agent", 0);
    yard.until_says("agent", "[ralph] agent: done pattern matched, stopping loop\n");
    let state = yard.state("agent");
    assert_eq!((&state["reason"], &state["current_iteration"]), (&json!("completed"), &json!(1)));
    yard.0.soon_nothing_is_left();
    yard.no_sockets_are_left();
}

#[test]
fn a_done_pattern_can_end_a_program_that_never_rests() {
    let yard = Yard::new();
    let program = yard.0.sh_agent(
        "printf '> '; read -r line; echo ALL DONE; i=0; while :; do i=$((i+1)); printf '\\r%s' $i; sleep 0.05; done",
    );
    yard.spawn_sign(&["-n", "3", "--done-pattern", "ALL DONE", "--check-done-continuous"], &program);
    yard.ends("agent", 0);
    assert_eq!(yard.state("agent")["reason"], "completed");
}

#[test]
fn what_a_program_prints_last_is_heard() {
    let yard = Yard::new();
    let program = yard.0.sh_agent("printf '> '; read -r line; echo ALL DONE");
    yard.spawn_sign(&["-n", "3", "--done-pattern", "ALL DONE"], &program);
    yard.ends("agent", 0);
    assert_eq!(yard.judged(), [1]);
    assert_eq!(yard.state("agent")["reason"], "completed");
}

#[test]
fn a_login_is_left_to_a_person_and_is_no_failure() {
    let yard = Yard::new();
    let program = yard.0.sh_agent(
        "echo 'Select login method:'; read -r login; echo $login > login; printf '\\033[2J\\033[H> '; \
         read -r line; echo \"$line\" > got",
    );
    let notify = "echo \"$RALPH_NOTIFY_EVENT: $RALPH_NOTIFY_NOTE\" >> ../notified";
    yard.spawn(&["-n", "1", "--interactive", "--ready-timeout", "1", "--notify", notify], &program).exits(0);
    yard.until_log("agent", "[WAIT] waiting for you: ");
    until("the notification", || {
        yard.0.has("../notified") && yard.0.read("../notified").contains("waiting: ")
    });
    yard.0.ralph(&["send", "agent", "me", "Enter"]).exits(0).says("typed into agent");
    yard.ends("agent", 0);
    assert_eq!((yard.0.read("login"), yard.0.read("got")), ("me\n".to_owned(), "Do task A\n".to_owned()));
    let state = yard.state("agent");
    assert_eq!((&state["total_failures"], &state["current_iteration"]), (&json!(0), &json!(1)));
}

#[test]
fn a_program_that_ends_is_judged_by_its_exit_code() {
    let yard = Yard::new();
    yard.spawn_sign(&["-n", "2"], &yard.asking_program());
    yard.go(1, 3);
    yard.go(2, 0);
    yard.ends("agent", 0);
    let output = yard.output("agent");
    assert!(output.contains("[ralph] agent: iteration 1 failed (exit: 3), retrying in "), "{output}");
    assert!(output.contains("[ralph] agent: iteration 2 completed (exit: 0, duration: "), "{output}");
    assert_eq!(yard.state("agent")["total_failures"], 1);
}

/// Started in other sessions, in the background, and deaf.
#[test]
fn nothing_that_a_program_has_started_survives_its_iteration() {
    let yard = Yard::new();
    let program = yard.0.sh_agent(
        "trap '' TERM HUP; setsid sleep 601 & (sleep 602 &); setsid sh -c 'trap \"\" TERM HUP; sleep 603; sleep 604' & \
         printf '> '; read -r line; [ $RALPH_ITERATION = 2 ] && exit 0; echo ALL DONE; while :; do sleep 605; done",
    );
    yard.spawn_sign(&["-n", "1", "--done-pattern", "ALL DONE"], &program);
    yard.until_streamed("ALL DONE");
    yard.ends("agent", 0);
    yard.0.soon_nothing_is_left();
    yard.no_sockets_are_left();
}

#[test]
fn a_worker_that_is_killed_leaves_no_program_and_no_socket() {
    let yard = Yard::new();
    yard.spawn_sign(&["-n", "3"], &yard.asking_program());
    yard.until_exists("got.1");
    yard.0.ralph(&["kill", "agent"]).exits(0);
    yard.0.soon_nothing_is_left();
    yard.no_sockets_are_left();
}

#[test]
fn a_terminal_that_is_killed_takes_its_program_with_it_and_the_iteration_is_repeated() {
    let yard = Yard::new();
    let program = yard.0.sh_agent(
        "printf '> '; read -r line; echo x >> tries; [ $(wc -l < tries) = 1 ] || exit 0; exec sleep 606",
    );
    yard.spawn_sign(&["-n", "2"], &program);
    yard.0.until_file("tries");
    until("its program", || yard.process("606").is_some());
    kill_process(yard.terminal_host().unwrap(), Signal::KILL).unwrap();
    until("its end", || yard.process("606").is_none());
    yard.ends("agent", 0);
    assert!(yard.0.read("tries").lines().count() >= 2);
    yard.0.soon_nothing_is_left();
    yard.no_sockets_are_left();
}
