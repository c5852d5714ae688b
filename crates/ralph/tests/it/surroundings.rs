//! What checks find around them, and what agents and checks cannot do to runs: the run is known by the
//! processes above them, whatever they do with their environment.

use crate::stories_run::stage::Stage;
use crate::support::{RALPH, Running, Sandbox, until};
use crate::tasks_support::{Act, list, new, project, waiting};
use crate::terminal::skip;
use crate::workers::Yard;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use std::fs;

/// Set by the shell of the check itself.
const SHELLS_OWN: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

/// What ralph adds so that git leaves nothing behind that is ended half way.
const GITS: &str = "GIT_CONFIG_";

/// The environment in a file, without what the shell has set.
fn environment(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let is_shells = |line: &&str| !SHELLS_OWN.iter().any(|own| line.starts_with(&format!("{own}=")));
    let mut found: Vec<String> = sandbox.read(name).lines().filter(is_shells).map(String::from).collect();
    found.sort();
    found
}

#[test]
fn a_check_finds_the_environment_of_ralphs_start_and_nothing_of_ralph() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]));
    let own = [("MINE", "kept"), ("RALPH_AGENT", "codex"), ("RALPH_OF_MINE", "x"), ("ENV", "/dev/null")];
    let mut start = sandbox.command("sh");
    start.args(["-c", "env > start.env"]).envs(own);
    sandbox.spawn(start).end().exits(0);
    let mut ralph = sandbox.command(RALPH);
    ralph.args(["run", "-p", "x", "--check", "env > check.env", "--"]).args(agent.words()).envs(own);
    sandbox.spawn(ralph).end().exits(0);
    let mut expected = environment(&sandbox, "start.env");
    assert!(expected.iter().any(|line| line == "RALPH_AGENT=codex"), "{expected:?}");
    expected.retain(|line| !line.starts_with("RALPH_"));
    let mut found = environment(&sandbox, "check.env");
    let before = found.len();
    found.retain(|line| !line.starts_with(GITS) || expected.contains(line));
    assert_eq!(found, expected);
    assert_eq!(before - found.len(), 5, "the count and two settings of git");
}

#[test]
fn the_checks_of_stories_and_tasks_find_nothing_of_ralph_either() {
    let stage = Stage::new("1.1");
    stage.run(&["--check", "env > ../env"], "DONE").exits(0);
    let found = stage.sandbox.read("../env");
    assert!(!found.contains("RALPH_") && found.contains("\nHOME="), "{found}");

    let sandbox = project(&list(&[new("1")]));
    let implemented = Act::makes(&list(&[waiting("1", 0)]));
    crate::tasks_support::run(&sandbox, &["-n", "1", "--check", "env > ../env"], &[implemented]);
    let found = sandbox.read("../env");
    assert!(!found.contains("RALPH_") && found.contains("\nHOME="), "{found}");
}

#[test]
fn another_sh_in_the_path_does_not_run_the_checks() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.program("sh", "echo \"$*\" >> ../asked; exit 0");
    let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]));
    sandbox.run(&["-p", "x", "-n", "1", "--check", "exit 3", "--format", "json"], &agent).stops(
        1,
        "max_iterations",
        1,
    );
    assert!(!sandbox.has("../asked"), "{}", sandbox.read("../asked"));
}

/// Ways to call ralph from an agent or a check: with and without its environment, and as a daemon that
/// has left its parent and its session.
fn ways(sandbox: &Sandbox, commands: &[&str]) -> (String, usize) {
    let home = format!("RALPH_HOME='{}'", sandbox.home().display());
    let mut script = String::new();
    for (number, command) in commands.iter().enumerate() {
        let call = format!("{home} '{RALPH}' {command} >> told.txt 2>&1");
        let daemon = format!("(setsid env -i sh -c \"env {call}; touch done.{number}\" > daemon.txt 2>&1 &)");
        script += &format!("env {call}; env -u RALPH_RUN {call}; env -i {call}; {daemon}\n");
        script += &format!("until [ -e done.{number} ]; do sleep 0.02; done; rm done.{number}\n");
    }
    (script, 4 * commands.len())
}

const STEERING: [&str; 4] = ["say 'well done'", "set -n 9", "pause", "kill"];

#[test]
fn neither_an_agent_nor_a_check_can_steer_its_run_in_a_terminal_however_it_is_started() {
    for role in ["agent", "check"] {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        let (script, calls) = ways(&sandbox, &STEERING);
        sandbox.write("steer.sh", format!("{script}exit 1\n"));
        let (agent, check) = match role {
            "agent" => ("sh steer.sh", "false"),
            _ => ("echo on it", "sh steer.sh"),
        };
        let args = ["-p", "x", "-n", "1", "--max-failures", "1", "--check", check, "--format", "json"];
        sandbox.run(&args, &sandbox.sh_agent(agent)).exits(1);
        let told = sandbox.read("told.txt");
        let refused = told.matches("cause: an agent cannot control its own run").count();
        assert_eq!(refused, calls, "{role}: {told}");
        assert!(!sandbox.facts().iter().any(|fact| !fact["asked"].is_null()), "{role}");
        sandbox.nothing_is_left();
    }
}

#[test]
fn a_check_cannot_steer_its_worker_and_the_user_can() {
    let yard = Yard::new();
    let commands =
        ["say agent x", "set agent -n 9", "pause agent", "kill agent", "resume agent", "kill --all"];
    let (script, calls) = ways(&yard.0, &commands);
    yard.0.write("steer.sh", format!("{script}touch steered; until [ -e go ]; do sleep 0.02; done"));
    yard.spawn(&["-n", "1", "--check", "sh steer.sh"], &yard.0.sh_agent("cat")).exits(0);
    yard.until_exists("steered");
    let told = yard.0.read("told.txt");
    let own = told.matches("cause: an agent cannot control its own run\n").count();
    let other = told.matches("cause: an agent cannot control other runs\n").count();
    assert_eq!((own, other), (calls - 4, 4), "{told}");
    let state = yard.state("agent");
    assert_eq!((&state["status"], &state["max_iterations"]), (&json!("running"), &json!(1)));
    let home = yard.0.home().display().to_string();
    let user = format!("setsid -w env -i RALPH_HOME='{home}' $RALPH set agent -n 3");
    yard.0.shell(&user).exits(0).says("set max-iterations of agent to 3\n");
    yard.0.ralph(&["kill", "agent"]).exits(0);
}

/// Without the program that would refuse it first.
#[test]
fn a_loop_refuses_a_check_by_itself() {
    let yard = Yard::new();
    if yard.0.shell("perl -MIO::Socket::UNIX -e 1").code != Some(0) {
        skip("there is no perl to talk to a socket");
        return;
    }
    let talk = "$s = IO::Socket::UNIX->new(glob($ARGV[0])); print $s qq({\"v\":1,\"command\":\"pause\"}\\n); \
                $s->flush; print <$s>";
    yard.0.write("talk.pl", format!("use IO::Socket::UNIX; {talk}"));
    let socket = format!("'{}/runs/*/control.sock'", yard.0.home().display());
    let perl = format!("perl talk.pl {socket}");
    let daemon = format!("(setsid env -i sh -c \"{perl} > part; mv part daemon.txt\" &)");
    let check = format!(
        "env -i {perl} > answer.txt; {daemon}; until [ -e daemon.txt ]; do sleep 0.02; done; touch asked; until [ -e go ]; do sleep 0.02; done"
    );
    yard.spawn(&["-n", "1", "--check", &check], &yard.0.sh_agent("cat")).exits(0);
    yard.until_exists("asked");
    for answer in ["answer.txt", "daemon.txt"] {
        let answer = yard.0.read(answer);
        assert!(answer.contains("an agent cannot control its own run"), "{answer}");
    }
    assert_eq!(yard.state("agent")["status"], "running");
    assert!(yard.0.sh(&perl).contains("done"), "the user may");
    yard.0.ralph(&["kill", "agent"]).exits(0);
}

#[test]
fn a_check_cannot_steer_other_runs() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1", "--share-workspace"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let (script, calls) = ways(&yard.0, &["say agent x", "set agent -n 9", "kill agent", "rm --force agent"]);
    yard.0.write("steer.sh", format!("{script}exit 1\n"));
    let args = ["-p", "x", "-n", "1", "--share-workspace", "--check", "sh steer.sh"];
    yard.0.run(&args, &yard.0.sh_agent("cat")).exits(1);
    let told = yard.0.read("told.txt");
    assert_eq!(told.matches("cause: an agent cannot control other runs\n").count(), calls, "{told}");
    assert_eq!(yard.state("agent")["status"], "running");
    yard.go(1, 0);
    yard.ends("agent", 0);
}

/// Kills the loop and its keeper so that neither can end what they have started.
fn kill_both(sandbox: &Sandbox, running: Running) {
    let keeper = sandbox.keeper().unwrap();
    kill_process(keeper, Signal::STOP).unwrap();
    running.kill();
    kill_process(keeper, Signal::KILL).unwrap();
    until("the end of the keeper", || sandbox.keeper().is_none());
}

fn listed(sandbox: &Sandbox, name: &str) -> Vec<Pid> {
    let numbers = fs::read_to_string(sandbox.project().join(name)).unwrap_or_default();
    numbers.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
}

fn is_alive(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    test_kill_process(pid).is_ok() && !stat.contains(") Z ")
}

/// One that stays in the session, one that leaves it and keeps its parent; without any environment.
const LINGERING: &str = "[ -e up ] && exit 0
    env -i sleep 600 & echo $! >> pids
    env -i setsid sleep 600 & echo $! >> pids
    env -i sh -c 'until [ -e orphaned ]; do sleep 0.02; done; sh steer.sh; touch steered; exec sleep 600' & echo $! >> pids
    touch lingering; wait";

#[test]
fn what_a_check_leaves_behind_after_a_double_kill_is_ended_and_can_steer_nothing() {
    for by in ["resume", "doctor", "run"] {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        sandbox.write("linger.sh", LINGERING);
        let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]));
        let running = sandbox.begin(&["-p", "x", "-n", "3", "--check", "sh linger.sh"], &agent);
        until("the check", || sandbox.has("lingering"));
        let id = sandbox.only_run();
        let home = format!("RALPH_HOME='{}'", sandbox.home().display());
        sandbox.write("steer.sh", format!("{home} '{RALPH}' say {id} x > told.txt 2>&1"));
        kill_both(&sandbox, running);
        let left = listed(&sandbox, "pids");
        assert_eq!(left.len(), 3);
        assert!(left.iter().all(|pid| is_alive(*pid)), "{by}");
        sandbox.write("orphaned", "");
        until("an attempt to steer", || sandbox.has("steered"));
        assert!(sandbox.read("told.txt").contains("an agent cannot control its own run"), "{by}");
        assert!(left.iter().all(|pid| is_alive(*pid)), "{by}");
        sandbox.write("up", "");
        match by {
            "resume" => drop(sandbox.ralph(&["resume", &id]).exits(0)),
            "doctor" => drop(sandbox.ralph(&["doctor"])),
            _ => drop(sandbox.run(&["-p", "y"], &agent).exits(0)),
        }
        assert!(!left.iter().any(|pid| is_alive(*pid)), "{by}");
        sandbox.nothing_is_left();
        let record = sandbox.home().join("runs").join(&id).join("keepers.jsonl");
        assert_eq!(record.exists(), by == "run", "only the lock of the run allows to remove it");
    }
}
