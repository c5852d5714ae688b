//! What a proof costs: making the copy, refreshing it, and running checks on it.
//!
//! The agents of these runs claim to be done each time and never are, so that each iteration is one
//! claim: its files are put on the copy, the check fails there, and again in the workspace.

use crate::checkpoint::{CHANGED, FILES, git, numbers, tree};
use crate::lab::{Lab, Outcome, journal, median, timed};
use crate::table::{Goal, Table};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const CLAIMS: u32 = 15;
const BUILDS: u32 = 9;

pub fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    refreshing(lab, table)?;
    checking(&Lab::new()?, table)
}

/// The agent changes files and times `git status`, as in the measure of checkpoints.
fn refreshing(lab: &Lab, table: &mut Table) -> Outcome<()> {
    tree(&lab.project(), FILES)?;
    let own = std::env::current_exe()?;
    let own = own.to_str().ok_or("the bench has no name")?;
    let log = lab.path("log").to_string_lossy().into_owned();
    timed(&mut claims(lab, CLAIMS, "false", &[own, crate::checkpoint::ROLE, "claim", &log])?)?;
    let status = median(numbers(&lab.path("log"))?);
    let steps = steps(lab)?;
    let prepared = |round| steps.iter().filter(move |step| step.kind == "prepare" && step.round == round);
    let first = prepared("baseline").map(|step| step.millis).next().ok_or("no copy was made")?;
    // The first refresh also begins what later ones find running.
    let later = || prepared("delivered").skip(1);
    let refreshed = median(later().filter_map(|step| step.refresh).collect());
    let whole = median(later().map(|step| step.millis).collect());
    let measure = format!("refreshing the copy, 5,000 files, {CHANGED} changes");
    table.ratio(&measure, (refreshed, status), "ms", &Goal::AtMost(3.0));
    table.ratio("a claim made ready to be checked, the whole step", (whole, status), "ms", &Goal::None);
    table.ratio("making the copy, 5,000 files", (first, status), "ms", &Goal::None);
    Ok(())
}

/// The same check with the same change, on the copy and in the tree, by turns.
fn checking(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let project = lab.project();
    write_crate(&project)?;
    let mut warm = Command::new("cargo");
    warm.args(TEST).current_dir(&project).env_remove("CARGO_TARGET_DIR");
    timed(warm.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))?;
    // Not a line that a build could take for the same.
    let agent = "echo \"// $RALPH_ITERATION\" >> src/lib.rs; echo '<response>DONE</response>'";
    let check = format!("cargo {}", TEST.join(" "));
    timed(claims(lab, BUILDS, &check, &["sh", "-c", agent])?.env_remove("CARGO_TARGET_DIR"))?;
    let steps = steps(lab)?;
    let checks = |round| steps.iter().filter(move |step| step.kind == "check" && step.round == round);
    let of = |round| median(checks(round).map(|step| step.millis).collect());
    let (copy, place) = (of("delivered"), of("workspace"));
    let times = Goal::AtMost(1.3);
    table.ratio("`cargo test` of a changed crate, on the copy against the tree", (copy, place), "ms", &times);
    let (copy, place) = (of("baseline"), of("baseline_in_place"));
    table.ratio("the same before the first agent, nothing to build", (copy, place), "ms", &Goal::None);
    Ok(())
}

const TEST: [&str; 3] = ["test", "--offline", "--quiet"];

/// A crate without dependencies whose test fails.
fn write_crate(dir: &Path) -> Outcome<()> {
    fs::create_dir_all(dir.join("src"))?;
    let manifest = "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    let source = "pub fn add(a: u32, b: u32) -> u32 {\n    a * b\n}\n\n#[test]\nfn adds() {\n    \
                  assert_eq!(add(1, 2), 3);\n}\n";
    fs::write(dir.join("Cargo.toml"), manifest)?;
    fs::write(dir.join("Cargo.lock"), "version = 4\n\n[[package]]\nname = \"tiny\"\nversion = \"0.1.0\"\n")?;
    fs::write(dir.join(".gitignore"), "/target\n")?;
    fs::write(dir.join("src/lib.rs"), source)?;
    let commit = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false"];
    let commit = [&commit[..], &["commit", "-q", "-m", "begin"]].concat();
    for args in [&["init", "-q"][..], &["add", "."], &commit] {
        if !git(dir, args).status()?.success() {
            return Err(format!("git {} failed", args.join(" ")).into());
        }
    }
    Ok(())
}

/// `ralph run` of an agent that claims so many times.
fn claims(lab: &Lab, times: u32, check: &str, agent: &[&str]) -> Outcome<Command> {
    let times = times.to_string();
    let args = ["run", "go on", "-n", &times, "--stall-after", "0", "--check", check, "--"];
    Ok(lab.ralph(&[&args[..], agent].concat())?)
}

/// A preparation or a check, as the journal tells it.
struct Step {
    kind: &'static str,
    round: String,
    millis: f64,
    /// The part of it that refreshed the copy.
    refresh: Option<f64>,
}

fn steps(lab: &Lab) -> Outcome<Vec<Step>> {
    let mut open: Option<(Step, f64)> = None;
    let mut steps = Vec::new();
    for event in journal(&lab.newest_run()?)? {
        let now = event["up_ms"].as_f64().unwrap_or(0.0);
        let (began, ended) = (&event["fact"]["began"]["step"], &event["fact"]["ended"]["end"]);
        for kind in ["prepare", "check"] {
            if !began[kind].is_null() {
                let round = began[kind]["round"].as_str().unwrap_or("workspace").to_owned();
                open = Some((Step { kind, round, millis: 0.0, refresh: None }, now));
            }
        }
        if ended["prepare"].is_object() && ended["prepare"]["site"] != "copy" {
            return Err(format!("there is no copy: {}", ended["prepare"]["site"]).into());
        }
        if !ended.is_null()
            && let Some((step, began)) = open.take()
        {
            // Of a check, the time of its command: what is looked at after it is not the check's.
            let millis = ended["check"]["duration_ms"].as_f64().unwrap_or(now - began);
            steps.push(Step { millis, refresh: ended["prepare"]["refresh_ms"].as_f64(), ..step });
        }
    }
    Ok(steps)
}
