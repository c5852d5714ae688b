//! What ralph costs, measured on the release binary beside the floor of the same machine.
//!
//! Ralph and floor take turns within each measure, and medians are compared, so that a busy
//! machine slows both. Prints one Markdown table; docs/performance.md keeps one and explains
//! the rows. A missed goal is a line in the table, never a failure: times are no tests.
//!
//! `cargo bench -p ralph --bench bench -- gap stream` runs only the measures so named, and
//! `RALPH_BENCH_PROGRAM` names another build of ralph to measure instead.

#![expect(clippy::disallowed_methods, reason = "a bench plays the user: it spawns, writes and times")]
#![expect(clippy::disallowed_macros, reason = "a bench prints its table")]

mod checkpoint;
mod gap;
mod hooks;
mod installed;
mod lab;
mod long;
mod network;
mod proc;
mod proof;
mod sandbox;
mod small;
mod stream;
mod table;
mod top;
mod workers;

use lab::{Lab, Outcome};
use std::process::ExitCode;
use table::Table;

type Measure = fn(&Lab, &mut Table) -> Outcome<()>;

const MEASURES: [(&str, Measure); 14] = [
    ("gap", gap::measure),
    ("installed", installed::measure),
    ("stream", stream::events),
    ("line", stream::one_line),
    ("version", small::version),
    ("silent", small::silent),
    ("long", long::measure),
    ("checkpoint", checkpoint::measure),
    ("proof", proof::measure),
    ("sandbox", sandbox::measure),
    ("network", network::measure),
    ("hooks", hooks::measure),
    ("workers", workers::measure),
    ("top", top::measure),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // The bench is its own agent where one must look at the clock or at ralph's files.
    if let [role, rest @ ..] = &args[..]
        && role == checkpoint::ROLE
    {
        return checkpoint::agent(rest);
    }
    if let [role, rest @ ..] = &args[..]
        && role == installed::ROLE
    {
        return installed::agent(rest);
    }
    // `cargo bench` says so; `cargo test --benches` and those who list tests do not.
    if !args.iter().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let mut table = Table::default();
    let mut labs = Vec::new();
    let load_before = proc::load();
    for (name, measure) in MEASURES {
        if !wanted.is_empty() && !wanted.iter().any(|word| *word == name) {
            continue;
        }
        eprintln!("measuring: {name}");
        let measured = Lab::new().and_then(|lab| {
            let measured = measure(&lab, &mut table);
            labs.push(lab);
            measured
        });
        if let Err(cause) = measured {
            eprintln!("  could not be measured: {cause}");
            table.missing(name);
        }
    }
    print!("{table}\nLoad before and after: {load_before} and {}.\n", proc::load());
    ExitCode::SUCCESS
}
