//! Arguments that several commands share, and how their values are read.

use super::format::Format;
use crate::error::CliError;
use crate::layout::{Home, Project};
use crate::planner::intent;
use crate::report::{Display, say};
use crate::request::InteractiveTerms;
use clap::{Args, ValueEnum};
use jiff::SpanRelativeTo;
use ralph_loop::done_pattern::DonePattern;
use ralph_loop::interactive::Permissions;
use ralph_loop::limits::Totals;
use ralph_loop::money::Usd;
use ralph_loop::text::printable;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct OutputArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub format: Format,
    /// How much to show: everything, the agent's words with one line for each tool, or only the result
    #[arg(long, value_enum, default_value = "full", value_name = "DISPLAY")]
    display: DisplayArg,
    /// Print only the result; short for --display quiet
    #[arg(short, long, conflicts_with_all = ["verbose", "display"])]
    quiet: bool,
    /// Print details of the run to standard error
    #[arg(short, long)]
    pub verbose: bool,
    /// Start each line with the time
    #[arg(long)]
    pub timestamps: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DisplayArg {
    Full,
    Compact,
    Quiet,
}

impl OutputArgs {
    pub fn display(&self) -> Display {
        match self.display {
            _ if self.quiet => Display::Quiet,
            DisplayArg::Full => Display::Full,
            DisplayArg::Compact => Display::Compact,
            DisplayArg::Quiet => Display::Quiet,
        }
    }
}

// New limits for the whole of a run that has begun. (As a doc comment, it would be the help of the commands.)
#[derive(Args)]
pub struct TotalArgs {
    /// Stop after this many iterations
    #[arg(short = 'n', long, value_name = "N", value_parser = count)]
    max_iterations: Option<u32>,
    /// Stop once the agents have cost this much
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Usd>,
    /// Stop after this much time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_time: Option<u64>,
}

impl TotalArgs {
    pub fn totals(&self) -> Totals {
        let TotalArgs { max_iterations, max_cost, max_time } = *self;
        Totals { max_iterations, max_cost, max_time_ms: max_time }
    }
}

// For unattended runs. (Likewise no doc comment.)
#[derive(Args)]
pub struct WatchArgs {
    /// Stop an agent that is silent for this long [default: off; workers: 10m, or 60s if it prints
    /// plain text]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub inactivity_timeout: Option<u64>,
    /// Stop an agent that is silent for this long while one of its tools runs [default: off;
    /// workers: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub tool_timeout: Option<u64>,
    /// Run this command when the run is done, fails, pauses, stalls, or waits for a service or for
    /// disk space
    #[arg(long, value_name = "COMMAND")]
    pub notify: Option<String>,
}

// For agents that people watch and type into. (Likewise no doc comment.)
#[derive(Args)]
pub struct InteractiveArgs {
    /// Run the agent on a terminal that you can watch and type into: here, or with `ralph attach`
    #[arg(long)]
    interactive: bool,
    /// Report an interactive agent as waiting for you if it is not ready after this time [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "interactive")]
    ready_timeout: Option<u64>,
    /// How an interactive agent's permission requests are answered: ask (by you, the default) or allow
    #[arg(long, value_name = "HOW", value_parser = permissions, requires = "interactive")]
    permissions: Option<Permissions>,
    /// End the iteration once an interactive agent's context is this full, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "interactive")]
    max_context: Option<u8>,
    /// Add the prompt to the system prompt of an interactive Claude, and ask it to begin
    #[arg(long, requires = "interactive")]
    append_system_prompt: bool,
    /// Type the prompt once a line on the agent's screen matches; for interactive programs other than
    /// claude and codex; can be repeated
    #[arg(long, value_name = "REGEX", requires = "interactive", value_parser = pattern)]
    ready_pattern: Vec<String>,
    /// End such a program as soon as --done-pattern is on its screen, not only when the screen rests
    #[arg(long, requires = "interactive")]
    check_done_continuous: bool,
}

impl InteractiveArgs {
    pub fn terms(&self) -> Option<InteractiveTerms> {
        self.interactive.then(|| InteractiveTerms {
            ready_timeout: self.ready_timeout,
            ready_patterns: self.ready_pattern.clone(),
            check_done_continuously: self.check_done_continuous,
            max_context: self.max_context,
            permissions: self.permissions,
            as_system_prompt: self.append_system_prompt,
        })
    }
}

fn permissions(text: &str) -> Result<Permissions, String> {
    match text {
        "ask" => Ok(Permissions::Ask),
        "allow" => Ok(Permissions::Allow),
        _ => Err("expected ask or allow".to_string()),
    }
}

/// `80` or `80%`
fn percent(text: &str) -> Result<u8, String> {
    let number = text.trim_end_matches('%').parse().ok().filter(|number| (1..=100).contains(number));
    number.ok_or_else(|| "expected a percentage from 1 to 100".to_string())
}

fn pattern(text: &str) -> Result<String, String> {
    DonePattern::new(text).map(|_| text.to_string()).map_err(|cause| cause.to_string())
}

#[derive(Args)]
pub struct ProjectArgs {
    /// Use DIR instead of the current directory
    #[arg(short = 'C', long, value_name = "DIR")]
    pub project_dir: Option<PathBuf>,
}

impl ProjectArgs {
    /// The project, for a command that reads its PRD, task list or specs: what a killed `ralph plan` has left of its
    /// plan there is taken back first.
    pub fn project(&self) -> Result<Project, CliError> {
        let project = Project::at(self.dir()?);
        // Without a home there are no plans.
        let home = Home::find();
        for taken in home.map(|home| intent::take_back(&home, &project)).transpose()?.unwrap_or_default() {
            say(&format!("ralph: {}", printable(&taken.to_string())));
        }
        Ok(project)
    }

    /// The directory, absolute and without links.
    pub fn dir(&self) -> Result<PathBuf, CliError> {
        let asked = self.project_dir.as_deref().unwrap_or(Path::new("."));
        let dir = asked.canonicalize().map_err(|cause| {
            CliError::usage(format!("cannot enter the project directory: {}", asked.display())).cause(cause)
        })?;
        if !dir.is_dir() {
            return Err(CliError::usage(format!("the project is not a directory: {}", dir.display())));
        }
        if dir.to_str().is_none() {
            let message = format!("the project's path is not valid UTF-8: {}", dir.display());
            return Err(
                CliError::usage(message).hint("rename the directory: ralph can only record UTF-8 paths")
            );
        }
        Ok(dir)
    }
}

/// `90` (seconds), `90s`, `15m`, `1h30m`, `1.5h`, `2d`, and every form that ralph prints; in
/// milliseconds.
pub fn duration(text: &str) -> Result<u64, String> {
    let wrong = || "expected a time like 90, 90s, 15m or 1h30m".to_string();
    let text = text.trim();
    let with_unit = match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() => format!("{text}s"),
        Ok(_) | Err(_) => text.to_string(),
    };
    let span: jiff::Span = with_unit.parse().map_err(|_| wrong())?;
    let total = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    if !total.is_positive() {
        return Err("expected a time greater than 0".to_string());
    }
    u64::try_from(total.as_nanos().unsigned_abs().div_ceil(1_000_000)).map_err(|_| wrong())
}

/// How often something may happen.
pub fn count(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a whole number, 1 or more".to_string())
}

/// A positive amount of US dollars, with or without the sign.
pub fn dollars(text: &str) -> Result<Usd, String> {
    let number = text.trim().trim_start_matches('$').parse::<f64>();
    match number {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(Usd::from_dollars(amount)),
        Ok(_) => Err("expected an amount greater than 0".to_string()),
        Err(_) => Err("expected an amount in US dollars like 2.50".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_loop::time::{seconds, span};

    #[test]
    fn durations_read_as_people_write_them() {
        let read = |text| duration(text).ok();
        assert_eq!(read("90"), Some(90_000));
        assert_eq!(read("90s"), Some(90_000));
        assert_eq!(read("0.5"), Some(500));
        assert_eq!(read("15m"), Some(900_000));
        assert_eq!(read("1.5h"), Some(5_400_000));
        assert_eq!(read("1.5d"), None, "a day has no fixed length to take a half of");
        assert_eq!(read("2d"), Some(172_800_000));
        assert_eq!(read("1h30m"), Some(5_400_000));
        assert_eq!(read("2h 5m"), Some(7_500_000));
        for bad in ["", "0", "-1", "1x", "m", "inf", "NaN", "1 h 2"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_printed_time_reads_as_that_time() {
        for ms in [1, 850, 1_500, 15_200, 90_000, 367_000, 5_400_000, 12_000_000, 720_000_000] {
            assert_eq!(duration(&span(ms)), Ok(ms), "{}", span(ms));
            assert_eq!(duration(&seconds(ms - ms % 100 + 100)), Ok(ms - ms % 100 + 100));
        }
    }

    #[test]
    fn counts_start_at_one() {
        assert_eq!(count("3"), Ok(3));
        assert!(["0", "-1", "x", "1.5", ""].iter().all(|bad| count(bad).is_err()));
    }

    #[test]
    fn amounts_are_positive_dollars() {
        assert_eq!(dollars("$2.50"), Ok(Usd::from_dollars(2.5)));
        assert!(["0", "-1", "x", "inf"].iter().all(|bad| dollars(bad).is_err()));
    }
}
