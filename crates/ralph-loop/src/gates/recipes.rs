//! The recipes of makefiles and justfiles, for the goals that a check names.
//!
//! Invariant: a goal's recipe and those of everything it needs are found once each; rules that need
//! each other end.
//!
//! Deliberately absent: conditionals, functions and pattern rules. Recipes of pattern rules are
//! taken always.

use std::collections::{BTreeMap, BTreeSet};

const MOST_RULES: usize = 2_000;

#[derive(Debug, Default)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    pub(super) includes: Vec<String>,
}

#[derive(Debug, Default)]
struct Rule {
    targets: Vec<String>,
    needs: Vec<String>,
    recipe: Vec<String>,
}

pub(super) fn read(text: &str) -> Rules {
    let mut rules = Rules::default();
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    for line in text.lines() {
        if line.starts_with(['\t', ' ']) {
            let command = line.trim_start().trim_start_matches(['@', '-', '+']);
            if let Some(rule) = rules.rules.last_mut().filter(|_| !command.is_empty()) {
                rule.recipe.push(expanded(command, &variables));
            }
            continue;
        }
        let line = line.split(" #").next().unwrap_or(line);
        if line.starts_with('#') || rules.rules.len() >= MOST_RULES {
            continue;
        }
        let included =
            ["include ", "-include ", "sinclude ", "import "].iter().find_map(|word| line.strip_prefix(word));
        if let Some(files) = included {
            let unquoted = |file: &str| file.trim_matches(['\'', '"']).to_string();
            rules.includes.extend(expanded(files, &variables).split_whitespace().map(unquoted));
        } else if let Some((name, value)) = assignment(line) {
            variables.insert(name.to_string(), expanded(value, &variables));
        } else if let Some((targets, rest)) = line.split_once(':') {
            let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
            let all = |text: &str| -> Vec<String> {
                expanded(text, &variables)
                    .split_whitespace()
                    .map(|word| word.trim_start_matches('@').to_string())
                    .collect()
            };
            let recipe = Some(expanded(recipe.trim(), &variables)).filter(|recipe| !recipe.is_empty());
            rules.rules.push(Rule {
                targets: all(targets),
                needs: all(needs.trim_start_matches(':')),
                recipe: recipe.into_iter().collect(),
            });
        }
    }
    rules
}

impl Rules {
    /// The recipes of these goals and of what they need; of the first rule if there is none.
    pub(super) fn recipes_for(&self, goals: &[&str]) -> Vec<String> {
        let taken = self.taken_for(goals);
        let is_pattern = |rule: &Rule| rule.targets.iter().any(|target| target.contains('%'));
        let rules = self.rules.iter().zip(taken).filter(|(rule, taken)| *taken || is_pattern(rule));
        rules.map(|(rule, _)| rule.recipe.join("\n")).collect()
    }

    /// The targets that are made for these goals.
    pub(super) fn targets_for(&self, goals: &[&str]) -> Vec<&str> {
        let taken = self.rules.iter().zip(self.taken_for(goals)).filter(|(_, taken)| *taken);
        taken.flat_map(|(rule, _)| &rule.targets).map(String::as_str).collect()
    }

    /// For each rule whether it is needed.
    fn taken_for(&self, goals: &[&str]) -> Vec<bool> {
        let first = || {
            let is_usual = |target: &&String| !target.starts_with('.') && !target.contains('%');
            self.rules.iter().flat_map(|rule| rule.targets.iter().take(1)).find(is_usual)
        };
        let mut wanted: Vec<&str> = goals.to_vec();
        if wanted.is_empty() {
            wanted.extend(first().map(String::as_str));
        }
        let mut makers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, rule) in self.rules.iter().enumerate() {
            rule.targets.iter().for_each(|target| makers.entry(target).or_default().push(at));
        }
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut taken = vec![false; self.rules.len()];
        while let Some(goal) = wanted.pop() {
            if !seen.insert(goal) {
                continue;
            }
            for at in makers.get(goal).into_iter().flatten() {
                if !taken[*at] {
                    taken[*at] = true;
                    wanted.extend(self.rules[*at].needs.iter().map(String::as_str));
                }
            }
        }
        taken
    }
}

/// `NAME = value`, `NAME := value`, `NAME ?= value`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    is_name.then(|| (name, value.trim()))
}

/// Variables of make replaced by their values, `$$` by `$`; what is not known is left.
fn expanded(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            result.push('$');
            rest = after;
            continue;
        }
        let close = match after.chars().next() {
            Some('(') => ')',
            Some('{') => '}',
            _ => {
                result.push('$');
                rest = after;
                continue;
            }
        };
        let Some(end) = after.find(close) else { break };
        match (&after[1..end], variables.get(&after[1..end])) {
            ("MAKE", _) => result.push_str("make"),
            (_, Some(value)) => result.push_str(value),
            // A directory of the makefile, mostly: the shell's reader looks for the rest.
            (_, None) => result.push_str("${unknown}"),
        }
        rest = &after[end + 1..];
        // Values that are longer than any real one are cut: they could double with each line.
        if result.len() > 16 * 1024 {
            break;
        }
    }
    if result.len() <= 16 * 1024 {
        result.push_str(rest);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(makefile: &str, goals: &[&str], expected: &[&str]) {
        assert_eq!(read(makefile).recipes_for(goals), expected, "{makefile:?} {goals:?}");
    }

    #[test]
    fn a_goal_brings_the_recipes_of_what_it_needs() {
        let makefile = "S = ci\nall: build\n\tcc x.c\n.PHONY: test\ntest: lint unit\n\t@sh $(S)/test.sh\n\
                        lint:\n\t-./lint.sh\nunit: ; python $(DIR)/u.py $$X\nrun:\n\t./app\n";
        check(makefile, &["test"], &["sh ci/test.sh", "./lint.sh", "python ${unknown}/u.py $X"]);
        check(makefile, &[], &["cc x.c"]);
        check(makefile, &["run"], &["./app"]);
        check(makefile, &["none"], &[]);
    }

    #[test]
    fn rules_that_need_each_other_end() {
        check("a: b\n\tx\nb: a\n\ty\n", &["a"], &["x", "y"]);
        check("%.ok: %.in\n\tcheck $<\n", &["a.ok"], &["check $<"]);
        check("a:\\\n b\nb:\n\tlong \\\n\tline\n", &["a"], &["", "long  \tline"]);
    }

    #[test]
    fn values_that_double_are_cut() {
        let lines: String = (1..60).map(|n| format!("A{n} = $(A{0})$(A{0})\n", n - 1)).collect();
        let rules = read(&format!("A0 = xxxxxxxx\n{lines}t:\n\t$(A59)\n"));
        assert!(rules.recipes_for(&["t"])[0].len() < 64 * 1024);
    }

    #[test]
    fn included_files_are_named() {
        assert_eq!(
            read("D=ci\ninclude $(D)/a.mk b.mk\n-include c.mk\n").includes,
            ["ci/a.mk", "b.mk", "c.mk"]
        );
    }
}
