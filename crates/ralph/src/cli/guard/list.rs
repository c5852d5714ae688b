//! `ralph guard check --stdin`: a verdict per command, and how many there are of each.

use super::check::{Judged, exit_code, judged};
use crate::cli::format::{Format, Shape};
use crate::cli::{print_json, print_lines};
use crate::error::CliError;
use crate::guard::{Surroundings, rule_name};
use crate::report::Out;
use ralph_loop::guard::Verdict;
use ralph_loop::text::{counted, one_line};
use serde::Serialize;
use serde_json::json;
use std::io::{self, Read};
use std::process::ExitCode;

/// A list that is longer is not one of commands.
const LONGEST: u64 = 256 << 20;

#[derive(Serialize)]
struct Tally<'j> {
    blocked: usize,
    warned: usize,
    allowed: usize,
    commands: &'j [Judged],
}

pub(super) fn check(around: &Surroundings, null: bool, format: Format) -> Result<ExitCode, CliError> {
    let mut input = Vec::new();
    let read = io::stdin().lock().take(LONGEST + 1).read_to_end(&mut input);
    read.map_err(|cause| CliError::failed("cannot read the commands").cause(cause))?;
    if input.len() as u64 > LONGEST {
        return Err(CliError::usage("the list of commands has more than 256 MB"));
    }
    let end = if null { b'\0' } else { b'\n' };
    let commands = input.split(|byte| *byte == end).map(String::from_utf8_lossy);
    let commands = commands.filter(|command| !command.trim().is_empty());
    let one = |command: &str| judged(around, "Bash", &json!({"command": command}), command.to_owned());
    let commands = commands.map(|command| one(&command)).collect::<Result<Vec<Judged>, _>>()?;
    let count = |verdict| commands.iter().filter(|judged| judged.judgement.verdict == verdict).count();
    let tally = Tally {
        blocked: count(Verdict::Block),
        warned: count(Verdict::Warn),
        allowed: count(Verdict::Allow),
        commands: &commands,
    };
    match format.shape() {
        Shape::Text => print(&tally),
        Shape::Value => print_json(&tally),
        Shape::Lines => print_lines(&commands),
    }
    Ok(exit_code(tally.blocked > 0))
}

fn print(tally: &Tally<'_>) {
    let mut out = Out::stdout();
    for judged in tally.commands {
        let rule = judged.decisive().map_or_else(|| "-".to_owned(), rule_name);
        let word = judged.judgement.verdict.word();
        out.text(&format!("{word:<5}  {rule:<28}  {}", one_line(&judged.command)));
    }
    let all = counted(tally.commands.len() as u64, "command");
    out.text(&format!(
        "{all}: {} blocked, {} warned, {} allowed",
        tally.blocked, tally.warned, tally.allowed
    ));
    out.flush();
}
