//! `--format`: the formats there are, and what each prints.
//!
//! A new format of reports is a row of [`Format`] with its reporter in `report_on`, and the file in
//! `report/` that writes it. Commands that print values match on the [`Shape`].

use super::args::OutputArgs;
use super::home;
use crate::error::CliError;
use crate::layout::Home;
use crate::report::{
    AgentsTerminals, Human, HumanOptions, Ndjson, Out, Reporter, RunResult, Silent, Style, Verbose,
};
use crate::session::{self, Ended, SessionError};
use crate::worker;
use clap::ValueEnum;
use ralph_loop::text::printable;
use std::ffi::OsString;
use std::io::IsTerminal;

/// What is printed, by every command that has `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Human-readable text
    Human,
    /// A single JSON value, printed at the end
    Json,
    /// JSON lines, one per event or finding
    Ndjson,
}

/// The same for lists, whose things have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Human-readable text
    #[value(alias = "table")]
    Human,
    /// A JSON array
    Json,
    /// JSON lines, one per entry
    Ndjson,
    /// Only the names or ids, one per line
    Names,
}

/// What a format comes to for commands that print what they found, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text for people.
    Text,
    /// One JSON value.
    Value,
    /// A JSON value per line.
    Lines,
}

impl Format {
    pub fn shape(self) -> Shape {
        match self {
            Format::Human => Shape::Text,
            Format::Json => Shape::Value,
            Format::Ndjson => Shape::Lines,
        }
    }

    /// The format that a command line asks for which clap could not read as a whole.
    pub fn asked_for(args: &[OsString]) -> Format {
        let words: Vec<&str> =
            args.iter().filter_map(|arg| arg.to_str()).take_while(|arg| *arg != "--").collect();
        let spaced = words.windows(2).filter(|pair| pair[0] == "--format").map(|pair| pair[1]);
        let joined = words.iter().filter_map(|word| word.strip_prefix("--format="));
        let asked = spaced.chain(joined).next_back();
        asked.and_then(|word| Format::from_str(word, false).ok()).unwrap_or(Format::Human)
    }
}

impl ListFormat {
    /// `None` for names alone.
    pub fn shape(self) -> Option<Shape> {
        match self {
            ListFormat::Human => Some(Shape::Text),
            ListFormat::Json => Some(Shape::Value),
            ListFormat::Ndjson => Some(Shape::Lines),
            ListFormat::Names => None,
        }
    }
}

/// A command that cannot be carried out, in the formats that programs read.
pub fn print_refusal(error: &CliError, format: Format) {
    // What a run had done before it could not go on is in its journal.
    let recorded = || session::result_of(&home().ok()?.run(error.run.as_ref()?)).ok();
    let result = || RunResult {
        error: Some(error.report()),
        ..recorded().unwrap_or_else(|| RunResult::refused(error.run.clone(), error.report()))
    };
    match format {
        Format::Human => {}
        Format::Json => print_json(&result()),
        Format::Ndjson => Ndjson::stdout().close(&result()),
    }
}

pub fn print_json(value: &impl serde::Serialize) {
    let mut out = Out::stdout();
    out.json(value);
    out.flush();
}

/// One object a line.
pub fn print_lines<T: serde::Serialize>(values: impl IntoIterator<Item = T>) {
    let mut out = Out::stdout();
    values.into_iter().for_each(|value| out.json_line(&value));
    out.flush();
}

/// A list as it was asked for; `human` prints it for people.
pub fn print_list<T: serde::Serialize>(
    format: ListFormat,
    values: &[T],
    name: impl Fn(&T) -> String,
    human: impl FnOnce(),
) {
    match format.shape() {
        Some(Shape::Text) => human(),
        Some(Shape::Value) => print_json(&values),
        Some(Shape::Lines) => print_lines(values),
        None => print_names(values.iter().map(name)),
    }
}

pub fn print_names(names: impl IntoIterator<Item = String>) {
    let mut out = Out::stdout();
    names.into_iter().for_each(|name| out.line(&printable(&name)));
    out.flush();
}

/// Whether the agent's stream is shown while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Shown,
    Hidden,
}

/// Whether a person sees what is printed, and can type.
pub fn is_for_a_person() -> bool {
    worker::current().is_none()
        && rustix::stdio::stdin().is_terminal()
        && rustix::stdio::stdout().is_terminal()
}

/// Lives a run with the reporter that was asked for, and reports how it ended. What follows from that is the caller's.
pub fn report_on(
    output: &OutputArgs,
    stream: Stream,
    live: impl FnOnce(&mut dyn Reporter) -> Result<Ended, SessionError>,
) -> Result<Ended, CliError> {
    let live = |reporter: &mut dyn Reporter| match output.verbose {
        true => live(&mut Verbose::new(reporter)),
        false => live(reporter),
    };
    Ok(match output.format {
        Format::Human => {
            let options = HumanOptions {
                display: output.display(),
                stream: stream == Stream::Shown,
                timestamps: output.timestamps,
                agents_terminals: match (worker::current(), Home::find()) {
                    (Some(worker), _) => AgentsTerminals::Worker(&worker.name),
                    (None, Some(home)) if is_for_a_person() => AgentsTerminals::Here(home),
                    (None, _) => AgentsTerminals::Nowhere,
                },
            };
            let mut human = Human::new(Style::of_stdout(), options);
            let ended = live(&mut human)?;
            human.close(&ended.summary());
            ended
        }
        Format::Json => {
            let ended = live(&mut Silent)?;
            print_json(&ended.result()?);
            ended
        }
        Format::Ndjson => {
            let mut ndjson = Ndjson::stdout();
            let ended = live(&mut ndjson)?;
            ndjson.close(&ended.result()?);
            ended
        }
    })
}
