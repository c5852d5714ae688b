//! The table of results.

use std::fmt;

#[derive(Default)]
pub struct Table(Vec<Row>);

struct Row {
    measure: String,
    ralph: String,
    floor: String,
    ratio: String,
    goal: String,
    verdict: &'static str,
}

/// A result that is to stay under a limit, or over one.
pub enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// Told for comparison.
    None,
}

impl Goal {
    fn verdict(&self, value: f64) -> &'static str {
        let reached = match self {
            Goal::AtMost(limit) => value <= *limit,
            Goal::AtLeast(limit) => value >= *limit,
            Goal::None => return "",
        };
        if reached { "ok" } else { "MISSED" }
    }

    fn text(&self, unit: &str) -> String {
        match self {
            Goal::AtMost(limit) => format!("≤ {limit}{unit}"),
            Goal::AtLeast(limit) => format!("≥ {limit}{unit}"),
            Goal::None => String::new(),
        }
    }
}

impl Table {
    /// A value of ralph's and one of the floor's; the goal is for the first over the second.
    pub fn ratio(&mut self, measure: &str, (ralph, floor): (f64, f64), unit: &str, goal: &Goal) {
        let ratio = ralph / floor;
        self.0.push(Row {
            measure: measure.to_owned(),
            ralph: number(ralph, unit),
            floor: number(floor, unit),
            ratio: format!("{ratio:.2}"),
            goal: goal.text(" ×"),
            verdict: goal.verdict(ratio),
        });
    }

    /// A value whose goal is absolute; the floor is there to compare.
    pub fn value(&mut self, measure: &str, ralph: f64, floor: Option<f64>, unit: &str, goal: &Goal) {
        self.0.push(Row {
            measure: measure.to_owned(),
            ralph: number(ralph, unit),
            floor: floor.map_or_else(String::new, |floor| number(floor, unit)),
            ratio: floor.map_or_else(String::new, |floor| format!("{:.2}", ralph / floor)),
            goal: goal.text(&format!(" {unit}")),
            verdict: goal.verdict(ralph),
        });
    }

    /// A time of ralph's that is to be short, and so many times shorter than another program's.
    pub fn faster(&mut self, measure: &str, (ralph, other): (f64, f64), most: f64, times: f64) {
        let reached = ralph <= most && other / ralph >= times;
        self.0.push(Row {
            measure: measure.to_owned(),
            ralph: number(ralph, "ms"),
            floor: number(other, "ms"),
            ratio: format!("1 : {:.1}", other / ralph),
            goal: format!("≤ {most} ms, 1 : {times}"),
            verdict: if reached { "ok" } else { "MISSED" },
        });
    }

    /// Something that either holds or does not.
    pub fn holds(&mut self, measure: &str, found: &str, goal: &str, holds: bool) {
        self.0.push(Row {
            measure: measure.to_owned(),
            ralph: found.to_owned(),
            floor: String::new(),
            ratio: String::new(),
            goal: goal.to_owned(),
            verdict: if holds { "ok" } else { "MISSED" },
        });
    }

    pub fn missing(&mut self, measure: &str) {
        self.holds(measure, "not measured", "", false);
    }
}

fn number(value: f64, unit: &str) -> String {
    match value {
        100.0.. => format!("{value:.0} {unit}"),
        10.0..100.0 => format!("{value:.1} {unit}"),
        _ => format!("{value:.2} {unit}"),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| measure | ralph | floor | ratio | goal | |")?;
        writeln!(f, "|---|---:|---:|---:|---:|---|")?;
        for Row { measure, ralph, floor, ratio, goal, verdict } in &self.0 {
            writeln!(f, "| {measure} | {ralph} | {floor} | {ratio} | {goal} | {verdict} |")?;
        }
        Ok(())
    }
}
