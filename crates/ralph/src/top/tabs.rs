//! What the tabs show of the chosen run, row by row.
//!
//! Rows are made when they are drawn: a plan of 5,000 stories costs as much as a screen of them.

use super::changes::Changes;
use super::chosen::{CheckHistory, Detail, Past};
use super::text::{Row, Tail};
use crate::report::{Style, Tone, fit, mark, short};
use ralph_loop::text::{counted, printable};
use ralph_loop::view::{EndKind, ItemView, Mark, RunView};
use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// What the agent does, as in the terminal of the run.
    Now,
    Plan,
    Checks,
    Changes,
    /// ralph's own lines.
    Log,
    Cost,
}

impl Tab {
    pub const ALL: [Tab; 6] = [Tab::Now, Tab::Plan, Tab::Checks, Tab::Changes, Tab::Log, Tab::Cost];

    pub fn name(self) -> &'static str {
        match self {
            Tab::Now => "now",
            Tab::Plan => "plan",
            Tab::Checks => "checks",
            Tab::Changes => "changes",
            Tab::Log => "log",
            Tab::Cost => "cost",
        }
    }

    /// Shows its end unless it was scrolled.
    pub fn follows(self) -> bool {
        match self {
            Tab::Now | Tab::Log | Tab::Cost => true,
            Tab::Plan | Tab::Checks | Tab::Changes => false,
        }
    }

    /// The tab so many places to the right.
    pub fn after(self, places: usize) -> Tab {
        Tab::ALL[(self as usize + places) % Tab::ALL.len()]
    }
}

/// Rows by number.
pub struct Content<'d> {
    pub first: usize,
    pub end: usize,
    row: Box<dyn Fn(usize) -> Row + 'd>,
}

impl<'d> Content<'d> {
    pub fn new(end: usize, row: impl Fn(usize) -> Row + 'd) -> Content<'d> {
        Content { first: 0, end, row: Box::new(row) }
    }

    pub fn of(rows: Vec<Row>) -> Content<'d> {
        Content::new(rows.len(), move |at| rows.get(at).cloned().unwrap_or_default())
    }

    pub fn row(&self, number: usize) -> Row {
        (self.row)(number)
    }
}

pub fn content<'d>(
    tab: Tab,
    detail: &'d Detail,
    changes: &'d Changes,
    style: Style,
    width: usize,
) -> Content<'d> {
    if detail.view.is_none() {
        return Content::of(vec![]);
    }
    match tab {
        Tab::Now => tail(&detail.now),
        Tab::Log => tail(&detail.log),
        Tab::Plan => plan(detail, style, width),
        Tab::Checks => Content::of(checks(detail, style, width)),
        Tab::Changes => match &changes.known {
            None => Content::of(vec![Row::toned(Tone::Quiet, "loading …")]),
            Some(Err(why)) => Content::of(vec![Row::toned(Tone::Warn, printable(why))]),
            Some(Ok(rows)) => Content::new(rows.len(), |at| rows.get(at).cloned().unwrap_or_default()),
        },
        Tab::Cost => cost(detail, style, width),
    }
}

fn tail(tail: &Tail) -> Content<'_> {
    let row = |number| tail.get(number).cloned().unwrap_or_default();
    Content { first: tail.first(), end: tail.end(), row: Box::new(row) }
}

fn plan(detail: &Detail, style: Style, width: usize) -> Content<'_> {
    if detail.items.is_empty() {
        let text = "no stories: this run repeats one prompt";
        return Content::of(vec![Row::toned(Tone::Quiet, text)]);
    }
    let most = detail.items.iter().map(|item| item.id.width()).max().unwrap_or(0).min(16);
    Content::new(detail.items.len(), move |at| {
        detail.items.get(at).map_or_else(Row::default, |item| story(detail, item, style, most, width))
    })
}

fn story(detail: &Detail, item: &ItemView, style: Style, ids: usize, width: usize) -> Row {
    let (word, tone) = match item.mark {
        Mark::Done => ("done", Some(Tone::Good)),
        Mark::AtWork => ("in progress", Some(Tone::Strong)),
        Mark::Failed => ("failed", Some(Tone::Bad)),
        Mark::NeedsReview => ("needs review", Some(Tone::Warn)),
        Mark::NeedsChanges => ("needs changes", Some(Tone::Warn)),
        Mark::Open => ("open", Some(Tone::Quiet)),
    };
    let mut about = vec![word.to_string()];
    if let Some(effort) = detail.stories.get(&item.id) {
        about.push(counted(effort.attempts.into(), "attempt"));
        about.push(effort.cost.rounded());
    }
    if let Some(reviews) = item.reviews.filter(|reviews| *reviews > 0) {
        about.push(counted(reviews, "review"));
    }
    if !item.depends_on.is_empty() {
        about.push(format!("after {}", item.depends_on.join(" ")));
    }
    let about = printable(&about.join(" · ")).into_owned();
    let id = fit(&printable(&item.id), ids);
    let padding = " ".repeat(ids.saturating_sub(id.width()));
    let start = format!("{} {id}{padding} ", mark(item.mark, style));
    let room = width.saturating_sub(start.width());
    let title = fit(&printable(&item.title), room.saturating_sub(about.width() + 2).max(room.min(12)));
    Row(vec![(tone, start), (None, title), (Some(Tone::Quiet), format!("  {about}"))])
}

fn checks(detail: &Detail, style: Style, width: usize) -> Vec<Row> {
    let configured = detail.view.iter().flat_map(|view| &view.checks);
    let ran = |command: &str| detail.checks.iter().find(|check| check.command == command);
    let mut rows: Vec<Row> = configured
        .flat_map(|command| match ran(command) {
            Some(check) => check_rows(check, style, width),
            None => vec![Row::plain(format!("- {}  (not run yet)", printable(command))), Row::default()],
        })
        .collect();
    if rows.is_empty() {
        rows.push(Row::toned(Tone::Quiet, "no checks"));
    }
    rows
}

fn check_rows(check: &CheckHistory, style: Style, width: usize) -> Vec<Row> {
    let (good, bad) = if style.emoji { ("✓", "✗") } else { ("+", "x") };
    let passed = check.last == "passed";
    let (tone, sign) = if passed { (Tone::Good, good) } else { (Tone::Bad, bad) };
    let command = fit(&printable(&check.command), width.saturating_sub(2));
    let mut rows = vec![Row(vec![(Some(tone), format!("{sign} ")), (Some(Tone::Strong), command)])];
    rows.push(Row::plain(format!("  last: {}", printable(&check.last))));
    if check.runs > 0 {
        let skipped = check.results.len().saturating_sub(width.saturating_sub(4));
        let marks: String =
            check.results.iter().skip(skipped).map(|(_, passed)| if *passed { good } else { bad }).collect();
        let (all, red) = (counted(check.runs.into(), "iteration"), check.failures);
        rows.push(Row::toned(Tone::Quiet, format!("  {all}, {red} red, the last ones:")));
        rows.push(Row::plain(format!("  {marks}")));
    }
    let output = check.output.iter().map(|row| Row(vec![(Some(Tone::Quiet), format!("  | {}", row.text()))]));
    rows.extend(output);
    rows.push(Row::default());
    rows
}

fn cost(detail: &Detail, style: Style, width: usize) -> Content<'_> {
    let mut head: Vec<Row> = detail.view.iter().map(totals).collect();
    if detail.agents.len() > 1 {
        let line = |(name, cost): (&String, &ralph_loop::money::Cost)| {
            Row::plain(format!("  {}  {}", cost.rounded(), printable(name)))
        };
        head.extend(detail.agents.iter().map(line));
    }
    head.push(Row::toned(Tone::Quiet, "iteration     cost    time"));
    let dearest = detail.iterations.iter().map(|past| past.cost.usd.dollars()).fold(0.0, f64::max);
    let lines = head.len();
    Content::new(lines + detail.iterations.len(), move |at| match at.checked_sub(lines) {
        None => head[at].clone(),
        Some(at) => {
            detail.iterations.get(at).map_or_else(Row::default, |past| iteration(past, dearest, style, width))
        }
    })
}

fn totals(view: &RunView) -> Row {
    let most = view.max_cost.map(|most| format!(" of ${:.2}", most.dollars())).unwrap_or_default();
    Row::toned(Tone::Strong, format!("total {}{most}", view.cost().rounded()))
}

fn iteration(past: &Past, dearest: f64, style: Style, width: usize) -> Row {
    let (sign, tone) = match (past.end, past.green) {
        (EndKind::Answered, true) => (if style.emoji { "✓" } else { "+" }, Tone::Good),
        (EndKind::Answered, false) => (if style.emoji { "✗" } else { "x" }, Tone::Bad),
        (EndKind::Failed | EndKind::Silent, _) => ("!", Tone::Bad),
        (EndKind::CutShort, _) => ("/", Tone::Warn),
    };
    let (cost, time) = (past.cost.rounded(), short(past.duration_ms));
    let story = past.story.as_deref().map(|story| fit(&printable(story), 12)).unwrap_or_default();
    let start = format!("{:>9} {cost:>8} {time:>7} ", past.iteration);
    let room = width.saturating_sub(start.width() + 2 + 13);
    let share = if dearest > 0.0 { past.cost.usd.dollars() / dearest } else { 0.0 };
    let bar = if style.emoji { "█" } else { "#" }.repeat((share * room as f64).round() as usize);
    Row(vec![(None, start), (Some(tone), format!("{sign} ")), (None, format!("{story:<12} {bar}"))])
}
