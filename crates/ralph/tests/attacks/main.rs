//! Agents that try to leave their workspace.
//!
//! Attacks are data (`cases/`, README.md). Each is carried out by the agent of a real run, without a sandbox, where
//! it must succeed, which shows that the case can fail; and in each place, where its column says what becomes
//! of it. An attack that is stopped although its column says otherwise fails the test, too, so that the table in
//! docs/sandbox.md, which is made of the same data, stays true.
//!
//! `RALPH_CASE=text` runs only the attacks whose title or kind contains the text; `RALPH_CASE_TIMES=1` with
//! `--nocapture` shows how long each takes.
//!
//! Deliberately absent: the network, which sandboxes share with the user, but for one attack that says so; and
//! weaknesses of the kernel.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests drive the program from outside")]
#![expect(clippy::disallowed_macros, reason = "attacks that are skipped are named")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

mod case;
mod stage;
mod table;

use case::{Attack, Outcome, Place, attacks};
use stage::{Fought, Stage, Template, missing, unusable};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::Instant;
use std::{env, thread};

/// So many at a time in each test: much of an attack is waiting for processes to start.
const AT_ONCE: usize = 3;

/// Carries out every attack, and fails with the names of those that end in another way than they should.
fn all(place: Place) {
    let only = env::var("RALPH_CASE").unwrap_or_default();
    let attacks = attacks();
    let chosen: Vec<&Attack> =
        attacks.iter().filter(|attack| attack.title.contains(&only) || attack.kind.contains(&only)).collect();
    let template = Template::new();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(attack) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(why) = missing(attack) {
                eprintln!("skipped, {why}: {}", attack.title);
                continue;
            }
            let began = Instant::now();
            let result = check(attack, place, &template);
            if env::var_os("RALPH_CASE_TIMES").is_some() {
                eprintln!("{:5} ms {}: {}", began.elapsed().as_millis(), place.name(), attack.title);
            }
            if let Err(why) = result {
                failures.lock().unwrap().push(format!("{}: {}\n{why}", attack.kind, attack.title));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} failed:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Held by attacks that are carried out beside others.
static OTHERS: RwLock<()> = RwLock::new(());

fn check(attack: &Attack, place: Place, template: &Template) -> Result<(), String> {
    let _alone = attack.alone.then(|| OTHERS.write().unwrap());
    let _beside = (!attack.alone).then(|| OTHERS.read().unwrap());
    let expected = attack.outcome(place);
    ends(expected, &Stage::new(attack, template)?.fight(place)?)?;
    match (place, expected) {
        // By ralph itself: that it can succeed at all is shown without it.
        (Place::Without, Outcome::Stopped) => {
            ends(Outcome::Succeeds, &Stage::new(attack, template)?.fight_bare()?)
        }
        _ => Ok(()),
    }
}

fn ends(expected: Outcome, fought: &Fought) -> Result<(), String> {
    match (expected, fought.succeeded) {
        (Outcome::Stopped, false) | (Outcome::Succeeds, true) => Ok(()),
        (Outcome::Stopped, true) => Err(format!("it succeeded\n{}", fought.output)),
        (Outcome::Succeeds, false) => Err(format!("it was stopped\n{}", fought.output)),
    }
}

#[test]
fn without_a_sandbox_every_attack_succeeds_unless_ralph_itself_stops_it() {
    all(Place::Without);
}

#[test]
fn bwrap_stops_the_attacks_that_it_is_said_to_stop_and_no_others() {
    all(Place::Bwrap);
}

#[test]
fn landlock_stops_the_attacks_that_it_is_said_to_stop_and_no_others() {
    match unusable(Place::Landlock, &attacks()[0], &Template::new()) {
        Some(why) => eprintln!("skipped, Landlock cannot be used here: {why}"),
        None => all(Place::Landlock),
    }
}

#[test]
fn the_suite_has_enough_attacks_none_twice_and_a_reason_for_each_that_bwrap_does_not_stop() {
    let attacks = attacks();
    let titles: BTreeSet<&str> = attacks.iter().map(|attack| attack.title.as_str()).collect();
    assert!(attacks.len() >= 45 && titles.len() == attacks.len(), "{}", attacks.len());
    for attack in &attacks {
        let open = attack.outcome(Place::Bwrap) == Outcome::Succeeds;
        assert_eq!(open, !attack.note.is_empty(), "{}: note", attack.title);
    }
}

#[test]
fn the_table_of_the_attacks_is_current() {
    table::check(&attacks());
}
