//! `ralph guard rules`: the table of what is dangerous.

use crate::cli::format::{Format, Shape};
use crate::cli::{print_json, print_lines};
use crate::error::CliError;
use crate::report::Out;
use crate::similar;
use clap::Args;
use ralph_loop::guard::rules::{self, Rule};
use ralph_loop::guard::{Category, Verdict};
use ralph_loop::text::one_line;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Examples:
  ralph guard rules
  ralph guard rules git
  ralph guard rules --format json | jq -r '.[].rule'")]
pub struct RulesArgs {
    /// Print the rules of this category only
    category: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

#[derive(Serialize)]
struct Row {
    category: Category,
    rule: &'static str,
    verdict: Verdict,
    why: &'static str,
    instead: &'static str,
    /// A command that it catches, and a similar one that it lets pass.
    catches: &'static str,
    passes: &'static str,
}

impl Row {
    fn of(rule: &'static Rule) -> Row {
        let &Rule { id, category, verdict, why, instead, catches, passes, .. } = rule;
        Row { category, rule: id, verdict, why, instead, catches, passes }
    }
}

pub fn rules(args: &RulesArgs) -> Result<ExitCode, CliError> {
    let wanted = args.category.as_deref().map(category).transpose()?;
    let is_wanted = |rule: &&Rule| wanted.is_none_or(|category| rule.category == category);
    let rows: Vec<Row> = rules::all().filter(is_wanted).map(Row::of).collect();
    match args.format.shape() {
        Shape::Text => print(wanted, &rows),
        Shape::Value => print_json(&rows),
        Shape::Lines => print_lines(&rows),
    }
    Ok(ExitCode::SUCCESS)
}

fn category(name: &str) -> Result<Category, CliError> {
    Category::by_name(name).ok_or_else(|| {
        let names = Category::ALL.into_iter().map(Category::name);
        let all = format!("categories are {}", names.clone().collect::<Vec<_>>().join(", "));
        CliError::usage(format!("no such category: {name}"))
            .hint(similar::hint(similar::nearest(name, names), &all))
    })
}

fn print(wanted: Option<Category>, rows: &[Row]) {
    let mut out = Out::stdout();
    for category in Category::ALL.into_iter().filter(|category| wanted.is_none_or(|only| only == *category)) {
        out.text(&format!("{}: {}", category.name(), category.title()));
        for row in rows.iter().filter(|row| row.category == category) {
            out.text(&format!("  {:<5}  {:<24}  {}", row.verdict.word(), row.rule, row.why));
            out.text(&format!("         {:<24}  {}", "", one_line(row.catches)));
        }
    }
    out.flush();
}
