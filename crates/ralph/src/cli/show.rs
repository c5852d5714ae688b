//! `ralph show`: what happened in a run.

mod network;

use super::args::ProjectArgs;
use super::format::{Format, Shape};
use super::{home, print_json};
use crate::catalog::find_or_newest;
use crate::error::CliError;
use crate::git::changed::Changed;
use crate::git::shadow::Shadow;
use crate::guard;
use crate::journal::{self, Entry, JournalError};
use crate::layout::{self, RunDir};
use crate::lock::RunLock;
use crate::report::{Out, Style, assignment, command_name, fit, proof, up_now};
use crate::run_history::{RunHistory, SentPrompt};
use crate::session::result_of;
use clap::Args;
use jiff::{Timestamp, Zoned};
use ralph_loop::dialect::{AgentEvent, Dialect, ScanFor, StreamReader};
use ralph_loop::state::Resumable;
use ralph_loop::text::{counted, one_line, printable};
use ralph_loop::time::span;
use ralph_loop::view::{EndKind, Iteration};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Shows for each iteration the prompt file, what the agent said last, what it changed, the results of the \
checks, and the cost. `ralph diff RUN ITERATION` shows the changes themselves.

Examples:
  ralph show                        # the newest run in this directory
  ralph show 20261115-2215
  ralph show --network              # bytes per host, in a sandbox")]
pub struct ShowArgs {
    /// Worker name, run id or id prefix [default: the newest run in this directory]
    run: Option<String>,
    /// Output format; ndjson prints the journal itself
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    /// Show what programs in the sandbox sent to which hosts, and which ones were refused
    #[arg(long)]
    network: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn show(args: &ShowArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let id = find_or_newest(&home, args.run.as_deref(), &args.project.dir()?)?;
    if args.network {
        return network::show(&home.run(&id), args.format);
    }
    match args.format.shape() {
        Shape::Value => print_json(&result_of(&home.run(&id))?),
        Shape::Lines => {
            print_journal(&home.run(&id)).map_err(|cause| cause.of_run(&id))?;
        }
        Shape::Text => print(&RunHistory::read(&home, &id)?),
    }
    Ok(ExitCode::SUCCESS)
}

/// As it was written, also what a newer version wrote.
fn print_journal(run_dir: &RunDir) -> Result<(), JournalError> {
    let mut out = Out::stdout();
    let mut journal = journal::Reader::open(run_dir)?;
    while let Some((_, entry)) = journal.next()? {
        match entry {
            Entry::Known(event) => {
                out.json_line(&event);
            }
            Entry::Newer { line, .. } => out.data(&line),
        }
    }
    out.flush();
    Ok(())
}

/// Iterations per git call: the first ones are printed before the last ones are looked up.
const AT_ONCE: usize = 1000;

fn print(history: &RunHistory) {
    let (mut out, width) = (Out::stdout(), Style::of_stdout().edge());
    let run = &history.run;
    out.line(&format!("run        {} (ralph {})", run.id, command_name(&run.plan)));
    let asked = assignment(&history.view.assignment, &history.run_dir);
    out.line(&fit(&format!("asked      {asked}"), width));
    out.line(&format!("directory  {}", one_line(&run.workspace.display().to_string())));
    let agents: Vec<&str> = run.agents.iter().map(|agent| agent.name.as_str()).collect();
    out.line(&format!("agent      {}", agents.join(", ")));
    out.line(&format!("started    {}", minute(history.opened_at)));
    if let Some(spec) = run.confinement.sandbox() {
        out.line(&format!("sandbox    {}", spec.kind.name()));
        out.line(&format!("network    {}", spec.network.mode.name()));
    }
    if let Some(guard) = guard::description(run) {
        out.line(&fit(&format!("guard      {}", printable(&guard)), width));
    }
    for check in &run.checks {
        out.text(&format!("check      {}", printable(&check.command)));
    }
    let shadow = history.shadow().ok();
    let changed = history.iterations.chunks(AT_ONCE).flat_map(|part| changed(history, shadow.as_ref(), part));
    for (iteration, changed) in history.iterations.iter().zip(changed) {
        out.line("");
        out.text(&headline(iteration));
        if let Some(asked) = history.asked.get(&iteration.iteration) {
            print_agent(&mut out, history, iteration.iteration, asked, width);
        }
        if let Some(changed) = changed {
            out.line(&fit(&format!("  changed  {}", names(&changed)), width));
        }
        for reworded in &iteration.reworded {
            out.text(&format!("  reworded {}", printable(&reworded.to_string())));
        }
        if let Some(error) = &iteration.error {
            out.text(&format!("  failed   {}", printable(error)));
            if let Some(complaint) = last_complaint(history, iteration.iteration) {
                out.line(&fit(&format!("           {complaint}"), width));
            }
        }
        for check in &iteration.check_results {
            out.text(&format!("  check    {}: {}", printable(&check.name), printable(&check.output)));
        }
        if let Some(proof) = &iteration.proof {
            let worth = proof::in_detail(run, proof.word, proof);
            out.text(&format!("  proof    {}", printable(&worth)));
            let gates = proof.changed_gates();
            if proof.start_gates == Some(true) && !gates.is_empty() {
                out.text(&format!("  gates    {}; the checks pass without this, too", printable(&gates)));
            }
            if !proof.changed_by_checks.is_empty() {
                let paths = printable(&proof.changed_by_checks.join(", ")).into_owned();
                out.text(&format!("  checks   changed delivered files: {paths}"));
            }
        }
    }
    // What an agent did in an iteration that is under way, or was cut short, is there to be seen too.
    for (number, asked) in history.asked.range(history.state.ledger.judged + 1..) {
        out.line("");
        let word = if history.state.resumable() == Resumable::Now { "not finished" } else { "interrupted" };
        out.line(&format!("iteration {number}: {word}"));
        print_agent(&mut out, history, *number, asked, width);
    }
    out.line("");
    for line in history.state.refused.lines() {
        out.text(&printable(&line));
    }
    out.text(&ending(history));
    out.flush();
}

fn headline(iteration: &Iteration) -> String {
    let word = match (iteration.end, &iteration.error, iteration.all_checks_passed, iteration.settled) {
        (EndKind::Silent, Some(_), _, _) => "agent stopped: it was silent for too long",
        (_, Some(_), _, _) => "agent failed",
        (_, None, _, true) => "done",
        (_, None, true, false) => "checks passed",
        (_, None, false, false) => "checks failed",
    };
    let Iteration { iteration: number, steps_taken, cost, duration_ms, .. } = iteration;
    let what = iteration.mode.map_or_else(|| "story".to_string(), |mode| mode.to_string());
    let story =
        iteration.story.as_deref().map(|id| format!("{what} {}, ", printable(id))).unwrap_or_default();
    let steps = if *steps_taken == 1 { "1 step".to_string() } else { format!("{steps_taken} steps") };
    format!("iteration {number}: {story}{word} ({steps}, {cost}, {})", span(*duration_ms))
}

fn print_agent(out: &mut Out, history: &RunHistory, iteration: u32, asked: &SentPrompt, width: usize) {
    let agent = history.run.agents.get(asked.agent);
    let dialect = agent.map_or(Dialect::Plain, |agent| agent.dialect);
    if let Some(agent) = agent.filter(|_| history.run.agents.len() > 1) {
        out.text(&format!("  agent    {}", printable(&agent.name)));
    }
    let prompt = history.run_dir.text(&asked.prompt);
    match prompt.exists() {
        true => out.line(&format!("  prompt   {}", prompt.display())),
        false => out.line("  prompt   no longer kept (keepStreams)"),
    }
    let stream = history.run_dir.stdout(iteration, asked.attempt);
    if let Some(words) = last_words(&stream, dialect) {
        out.line(&fit(&format!("  said     {words}"), width));
    }
    match stream.exists() {
        true => print_files(out, "output", &stream),
        false => out.line("  output   no longer kept (keepStreams)"),
    }
    let stderr = history.run_dir.stderr(iteration, asked.attempt);
    if stderr.metadata().is_ok_and(|file| file.len() > 0) {
        print_files(out, "stderr", &stderr);
    }
}

/// A stream, and its end where that is apart.
fn print_files(out: &mut Out, what: &str, stream: &Path) {
    out.line(&format!("  {what}   {}", stream.display()));
    for tail in tails(stream) {
        out.line(&format!("  tail     {}", tail.display()));
    }
}

/// The files that the end of a stream is in, if its own was not enough.
fn tails(stream: &Path) -> Vec<PathBuf> {
    layout::tails_of_stream(stream).into_iter().filter(|tail| tail.exists()).collect()
}

/// What an agent that failed has said last on standard error: mostly why.
fn last_complaint(history: &RunHistory, iteration: u32) -> Option<String> {
    const ENOUGH: i64 = 4 << 10;
    let asked = history.asked.get(&iteration)?;
    let stderr = history.run_dir.stderr(iteration, asked.attempt);
    let mut file = File::open(tails(&stderr).pop().unwrap_or(stderr)).ok()?;
    let mut end = Vec::new();
    let _ = file.seek(SeekFrom::End(-ENOUGH)); // a short file is read from its beginning
    file.read_to_end(&mut end).ok()?;
    let end = String::from_utf8_lossy(&end);
    let line = end.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(printable(line).into_owned())
}

/// The agent's last text, on one line. Huge streams are not read for it.
fn last_words(stream: &Path, dialect: Dialect) -> Option<String> {
    const LARGEST: u64 = 64 << 20;
    let mut files = tails(stream);
    if files.is_empty() {
        files.push(stream.to_path_buf());
    }
    let bytes: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum();
    if bytes > LARGEST {
        return None;
    }
    let mut last = None;
    let mut note = |event: AgentEvent<'_>| {
        if let AgentEvent::Text { text, parent: None } = event
            && !text.trim().is_empty()
        {
            let words: Vec<&str> = text.split_whitespace().take(60).collect();
            last = Some(printable(&words.join(" ")).into_owned());
        }
    };
    let mut reader = StreamReader::new(dialect, "", ScanFor::Completion);
    let mut buffer = vec![0; 256 << 10];
    for file in files {
        let mut file = File::open(file).ok()?;
        loop {
            match file.read(&mut buffer).ok()? {
                0 => break,
                n => reader.feed(&buffer[..n], &mut note),
            }
        }
    }
    reader.finish(&mut note);
    last
}

/// What each of these iterations has changed, where its trees are there.
fn changed(history: &RunHistory, shadow: Option<&Shadow>, iterations: &[Iteration]) -> Vec<Option<Changed>> {
    let Some(shadow) = shadow else { return vec![None; iterations.len()] };
    let around = |past: &Iteration| history.trees_around(past.iteration);
    let pairs: Vec<(&str, &str)> = iterations.iter().filter_map(around).collect();
    let mut found = shadow.changed(&pairs).into_iter();
    iterations.iter().map(|past| around(past).and_then(|_| found.next().flatten())).collect()
}

fn names(changed: &Changed) -> String {
    match &changed.paths[..] {
        [] => "nothing".to_string(),
        [path] if changed.count == 1 => path.clone(),
        paths => format!("{} files: {}", changed.count, paths.join(", ")),
    }
}

/// A run that goes on is counted up to now.
fn ending(history: &RunHistory) -> String {
    let (state, view) = (&history.state, &history.view);
    let goes_on = state.stopped.is_none() && RunLock::is_held(&history.run_dir);
    let up_ms = if goes_on { up_now(view, &Zoned::now()) } else { view.up_ms };
    let iterations = counted(state.ledger.judged.into(), "iteration");
    let took = format!("{iterations}, cost: {}, time: {}", state.ledger.spent, span(up_ms));
    let last = minute(history.last_at);
    match &state.stopped {
        Some(stopped) => {
            let note =
                stopped.note.as_deref().map(|note| format!(": {}", printable(note))).unwrap_or_default();
            format!("{}{note} ({took}, {last})", stopped.reason.word())
        }
        None if goes_on => format!("running ({took} so far)"),
        None => format!("not ended ({took}, {last})"),
    }
}

/// In the user's time zone.
fn minute(ms: i64) -> String {
    let time = Timestamp::from_millisecond(ms).map(|time| time.to_zoned(jiff::tz::TimeZone::system()));
    time.map_or_else(|_| String::from("?"), |time| time.strftime("%Y-%m-%d %H:%M").to_string())
}
