//! A round of a worker: one of `ralph tasks` or `ralph stories`, in the background and with a name.
//!
//! Its tmux server is killed as well, and a user pauses it, lets it go on, changes its limit and
//! talks to it at random moments. Its files are right in the end.

use crate::fault::Tally;
use crate::fold::Fold;
use crate::ordeal::{NAME, Ordeal};
use crate::rng::Rng;
use crate::stage::about;
use crate::{stories, tasks};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use std::time::Duration;

pub fn play(seed: u64, sweep: Duration, tally: &mut Tally) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let mut ordeal = Ordeal::new(&mut rng, sweep)?.of_a_worker(&mut rng);
    let lived = match rng.percent(60) {
        true => tasks::endure(&mut ordeal, &mut rng, &|it| tasks::ordered(it, spawn(it)), tally),
        false => stories::endure(&mut ordeal, &|it| stories::ordered(it, spawn(it)), tally),
    };
    lived.and_then(|folded| files_agree(&ordeal, &folded)).map_err(|why| ordeal.failed(&why))
}

fn spawn(ordeal: &Ordeal) -> Command {
    let mut command = ordeal.ralph();
    command.args(["spawn", "--name", NAME]);
    command
}

fn files_agree(ordeal: &Ordeal, folded: &Fold) -> Result<(), String> {
    let read = |name: &str| {
        fs::read_to_string(ordeal.path("home/workers").join(NAME).join(name)).map_err(about(name))
    };
    let (judged, limit) = (folded.state.ledger.judged, folded.state.ledger.limits.iterations);
    if ordeal.iterations_granted().is_some_and(|granted| granted != limit) {
        return Err(format!("{:?} iterations were granted, {limit} are known", ordeal.iterations_granted()));
    }
    let state: Value = serde_json::from_str(&read("state.json")?).map_err(about("state.json"))?;
    let found =
        json!([state["status"], state["success"], state["current_iteration"], state["max_iterations"]]);
    if found != json!(["stopped", true, judged, limit]) {
        return Err(format!("state.json: {state}"));
    }
    let log = read("iterations.log")?;
    for iteration in 1..=judged {
        let ends =
            log.lines().filter(|line| line.contains(&format!(" [END] iteration {iteration} "))).count();
        if ends != 1 {
            return Err(format!("iteration {iteration} ends {ends} times:\n{log}"));
        }
    }
    if log.lines().filter(|line| line.contains(" [DONE] ")).count() != 1 {
        return Err(format!("not done once:\n{log}"));
    }
    let waited = ordeal.ralph().args(["wait", NAME]).output().map_err(about("wait"))?;
    match waited.status.success() {
        true => Ok(()),
        false => Err(format!("`ralph wait`: {}", String::from_utf8_lossy(&waited.stderr))),
    }
}
