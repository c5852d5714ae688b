//! Findings as lines for an agent that is to repair its list.

use super::{Finding, Level};
use crate::text::one_line;

/// More than these are not fixed at once, and would only fill the prompt.
const MOST: usize = 50;

/// One line per finding, faults first: where it is, what is wrong, and what to change. Empty if
/// there are none.
pub fn repairs(findings: &[Finding]) -> String {
    let mut ordered: Vec<&Finding> = findings.iter().collect();
    ordered.sort_by_key(|finding| finding.level);
    let mut lines: Vec<String> = ordered.iter().take(MOST).map(|finding| line(finding)).collect();
    if let Some(more) = ordered.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("… and {more} more"));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn line(finding: &Finding) -> String {
    let Finding { file, line, story, rule, level, what, fix } = finding;
    let must = match level {
        Level::Fault => "must be fixed",
        Level::Warning => "worth a look",
    };
    let story = story.as_ref().map(|story| format!("{story}: ")).unwrap_or_default();
    one_line(&format!("- {file}:{line}: {story}{what} [{rule}, {must}]. To fix it, {fix}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strict::Rule;

    fn finding(level: Level, line: usize) -> Finding {
        Finding {
            file: "ralph/tasks.json".into(),
            line,
            story: (line > 1).then(|| "US-001".to_owned()),
            rule: Rule::Criteria,
            level,
            what: "is vague: \"it\nworks\"".into(),
            fix: "say what is seen".into(),
        }
    }

    #[test]
    fn each_finding_is_a_line_and_faults_come_first() {
        assert_eq!(repairs(&[]), "");
        assert_eq!(
            repairs(&[finding(Level::Warning, 1), finding(Level::Fault, 7)]),
            "- ralph/tasks.json:7: US-001: is vague: \"it works\" [criteria, must be fixed]. \
             To fix it, say what is seen.\n\
             - ralph/tasks.json:1: is vague: \"it works\" [criteria, worth a look]. \
             To fix it, say what is seen.\n"
        );
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let many = vec![finding(Level::Fault, 7); MOST + 3];
        let text = repairs(&many);
        assert_eq!(text.lines().count(), MOST + 1);
        assert!(text.ends_with("… and 3 more\n"));
    }
}
