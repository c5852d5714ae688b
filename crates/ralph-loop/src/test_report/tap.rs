//! TAP, which `node --test` prints into a pipe (Node 20 and older) and other runners on request.
//!
//! From `TAP version 13` on. The plan of the top level (`1..5`) must match its points; without a plan
//! the output was cut short. Node's counts at the end are checked too. Only the innermost points count.
//!
//! Many producers print no version. Their output counts from a plan or a first point on, but only if
//! there are both: a line `ok 1` or `1..3` alone can be anything. Until then other runners may open.

use super::cut::{Cut, indent};
use super::node;
use super::report::{Book, Outcome, Problem, Run, Runner, Tests, WHOLE, disagreement};

const DEPTH_MAX: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Tap {
    run: Option<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// There was no version.
    is_bare: bool,
    tests: Tests,
    parents: u64,
    plan: Option<u64>,
    repeated_plan: bool,
    points: u64,
    /// The indentation of the last point.
    depth: usize,
    /// Children follow their parent in braces, and do not come before it.
    has_braces: bool,
    /// The subtests around the next line, with their indentation.
    path: Vec<(usize, String)>,
    /// The indentation of the lines between `---` and `...`, which say more about a point.
    details: Option<usize>,
    end: Vec<(String, u64)>,
}

impl Tap {
    /// Whether points are still expected.
    pub fn is_open(&self) -> bool {
        self.run.as_ref().is_some_and(|open| open.plan != Some(open.points) && open.is_tap())
    }

    pub fn line(&mut self, line: &str, book: &mut Book) {
        if matches!(line, "TAP version 13" | "TAP version 14") {
            self.finish(book);
            self.run = Some(Open::default());
            return;
        }
        if begins(line) && self.run.as_ref().is_none_or(|open| open.gives_way_to(line)) {
            self.finish(book);
            self.run = Some(Open { is_bare: true, ..Open::default() });
        }
        let Some(open) = &mut self.run else { return };
        open.line(line);
        if open.end.iter().any(|(word, _)| word == "todo") {
            self.finish(book);
        }
    }

    pub fn finish(&mut self, book: &mut Book) {
        let Some(open) = self.run.take().filter(Open::is_tap) else { return };
        let of = Runner::Tap.to_string();
        let said = |word: &str| open.end.iter().find(|(known, _)| known == word).map(|(_, n)| *n);
        let is_node = said("todo").is_some();
        let problem = match open.plan {
            None => Some(Problem::NoSummary { of }),
            Some(_) if open.repeated_plan => Some(disagreement(&of, "it has two plans")),
            Some(plan) if plan != open.points => {
                Some(disagreement(&of, format!("{plan} planned, {} ran", open.points)))
            }
            Some(_) if is_node => {
                let why = node::check(open.tests.totals(), open.parents, |word| said(word).unwrap_or(0));
                why.map(|why| disagreement(&of, why))
            }
            Some(_) => None,
        };
        let groups = vec![(WHOLE.to_owned(), open.tests.totals())];
        book.close(Runner::Tap, Run { tests: open.tests, groups, problem, ..Run::default() });
    }
}

impl Open {
    /// Whether it is certain that this is TAP.
    fn is_tap(&self) -> bool {
        !self.is_bare || (self.plan.is_some() && self.points > 0)
    }

    /// Whether a plan or a first point is the beginning of another output, and not a part of this one.
    fn gives_way_to(&self, line: &str) -> bool {
        let is_over = self.plan == Some(self.points);
        let had_only_a_plan = self.points == 0 && plan(line).is_some();
        self.is_bare && (is_over || had_only_a_plan)
    }

    fn line(&mut self, line: &str) {
        let (spaces, text) = indent(line);
        if let Some(depth) = self.details {
            if spaces == depth && text == "..." {
                self.details = None;
            }
            return;
        }
        if text == "---" && spaces > 0 {
            self.details = Some(spaces);
        } else if let Some(name) = text.strip_prefix("# Subtest: ") {
            self.path.retain(|(depth, _)| *depth < spaces);
            if self.path.len() < DEPTH_MAX {
                self.path.push((spaces, name.to_owned()));
            }
        } else if let Some(plan) = plan(text) {
            if spaces == 0 {
                self.repeated_plan |= self.plan.is_some();
                self.plan = Some(plan);
            }
        } else if let Some(point) = point(text).filter(|point| self.takes(spaces, point)) {
            self.point(spaces, &point);
        } else if spaces == 0
            && let Some((word, n)) = text.strip_prefix("# ").and_then(|text| text.split_once(' '))
            && let Ok(n) = n.parse()
            && self.plan.is_some()
            && node::END.contains(&word)
            && self.end.len() < node::END.len()
        {
            self.end.push((word.to_owned(), n));
        }
    }

    /// Without a version, points count from the first one on.
    fn takes(&self, spaces: usize, point: &Point<'_>) -> bool {
        !self.is_bare || self.points > 0 || spaces > 0 || point.number == 1
    }

    fn point(&mut self, spaces: usize, point: &Point<'_>) {
        if spaces == 0 {
            self.points += 1;
        }
        self.path.retain(|(depth, _)| *depth < spaces);
        let after_children = std::mem::replace(&mut self.depth, spaces) > spaces;
        self.has_braces |= point.has_children;
        if point.has_children && self.path.len() < DEPTH_MAX {
            self.path.push((spaces, point.name.to_owned()));
        }
        if point.has_children || (after_children && !self.has_braces) {
            self.parents += 1;
            return;
        }
        let mut parts: Vec<&str> = self.path.iter().map(|(_, name)| name.as_str()).collect();
        parts.push(point.name);
        self.tests.push(&parts.join(" > "), point.outcome);
    }
}

struct Point<'a> {
    number: u64,
    name: &'a str,
    outcome: Outcome,
    has_children: bool,
}

/// Whether TAP without a version can begin here.
fn begins(line: &str) -> bool {
    plan(line).is_some_and(|plan| plan > 0) || point(line).is_some_and(|point| point.number == 1)
}

/// `1..5`, also with a reason for an empty one.
fn plan(text: &str) -> Option<u64> {
    let mut cut = Cut(text);
    cut.literal("1..")?;
    let plan = cut.number()?;
    (cut.0.is_empty() || cut.0.starts_with(" #")).then_some(plan)
}

/// `not ok 2 - subtracts # TODO fix`, `ok 1 - calc # time=9.06ms {`
fn point(text: &str) -> Option<Point<'_>> {
    let mut cut = Cut(text);
    let failed = cut.literal("not ").is_some();
    cut.literal("ok ")?;
    let number = cut.number()?;
    if !(cut.0.is_empty() || cut.0.starts_with(' ')) {
        return None;
    }
    let _ = cut.literal(" -");
    let has_children = cut.0.ends_with(" {");
    let text = cut.0.strip_suffix(" {").unwrap_or(cut.0);
    let (name, directive) = text.rsplit_once(" # ").unwrap_or((text, ""));
    let word = directive.split([' ', ':']).next().unwrap_or_default();
    let is_directive = directive.starts_with("time=") || matches!(word, "SKIP" | "TODO" | "skip" | "todo");
    let (name, is_skipped) = match is_directive {
        true => (name, !directive.starts_with("time=")),
        false => (text, false),
    };
    let outcome = match (is_skipped, failed) {
        (true, _) => Outcome::Skipped,
        (false, true) => Outcome::Failed,
        (false, false) => Outcome::Passed,
    };
    Some(Point { number, name: name.trim_start(), outcome, has_children })
}
