//! Recipes: commands that a makefile or a `package.json` has under a name.
//!
//! Only files that are handed over or were written in this session are looked into, and only what
//! the names on the command line lead to: an `install` nearby does not count against a `make test`.

use super::Walk;
use crate::guard::arg::Arg;
use crate::guard::invocation::{Invocation, Stdin};
use crate::guard::matches;
use std::cell::Cell;
use std::collections::HashMap;

/// Rules that are looked at, and names on each side of their colon.
const MOST_RULES: usize = 256;
const MOST_NAMES: usize = 64;
/// How deep variables are put into each other, and how many bytes that may make in all.
const DEEPEST_VARIABLE: usize = 8;
const MOST_FILLED: usize = 256 << 10;

impl Walk<'_> {
    /// The recipes of a makefile that is handed over or was written here.
    pub(super) fn make(&mut self, invocation: &Invocation) {
        let dir = ["-C", "--directory"].iter().find_map(|flag| invocation.flag_value(flag));
        let in_dir = |name: &str| match &dir {
            Some(dir) => Arg::new(format!("{}/{name}", dir.text())),
            None => Arg::new(name),
        };
        let file = ["-f", "--file", "--makefile"].iter().find_map(|flag| invocation.flag_value(flag));
        let text = match file.as_ref().map(Arg::text) {
            Some("-" | "/dev/stdin") => invocation.stdin.text.clone(),
            Some(file) => self.file_text(&in_dir(file)).map(|text| text.text),
            None => ["GNUmakefile", "makefile", "Makefile"]
                .iter()
                .find_map(|name| self.file_text(&in_dir(name)))
                .map(|text| text.text),
        };
        let mut text = text.map(|text| text.text().to_owned()).unwrap_or_default();
        for more in ["--eval", "-E"].iter().flat_map(|flag| invocation.flag_values(flag)) {
            text = format!("{}\n{text}", more.text());
        }
        let mut makefile = Makefile::of(&text);
        let words: Vec<&str> = invocation.operands().into_iter().map(Arg::text).collect();
        for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
            let name = name.trim_end_matches([':', '?', '+']);
            makefile.variables.insert(name.to_owned(), value.to_owned());
        }
        let targets: Vec<&str> = words.into_iter().filter(|word| !word.contains('=')).collect();
        // `$(MAKE) all` in the recipe of `all`.
        let key = format!("make {}", invocation.args.iter().map(Arg::text).collect::<Vec<_>>().join(" "));
        if self.scope.calling.contains(&key) {
            return;
        }
        self.scope.calling.push(key);
        for recipe in makefile.recipes(&targets) {
            self.code_apart(&recipe, &Stdin::default(), |scope| {
                if let Some(dir) = &dir {
                    scope.cwd = scope.cwd.take().map(|cwd| cwd.join(dir.text()));
                    scope.stayed = None;
                }
            });
        }
        self.scope.calling.pop();
    }

    /// `npm run clean`, of a `package.json` that was written here.
    pub(super) fn package_script(&mut self, invocation: &Invocation) {
        let words: Vec<&str> = invocation.operands().into_iter().map(Arg::text).collect();
        let name = match words.as_slice() {
            ["run" | "run-script", name, ..] => *name,
            [name @ ("test" | "start" | "stop" | "restart"), ..] => *name,
            [name, ..] if matches("yarn|pnpm", invocation) => *name,
            _ => return,
        };
        let Some(text) = self.file_text(&Arg::new("package.json")) else { return };
        let Ok(package) = serde_json::from_str::<serde_json::Value>(text.text.text()) else { return };
        for name in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
            let script = package.get("scripts").and_then(|scripts| scripts.get(&name));
            let Some(code) = script.and_then(serde_json::Value::as_str) else { continue };
            let key = format!("package.json {name}");
            // A script that starts itself: its recipe is already looked into.
            if self.scope.calling.contains(&key) {
                continue;
            }
            self.step("looks into", key.clone());
            self.scope.calling.push(key);
            self.code_apart(code, &Stdin::default(), |_| {});
            self.scope.calling.pop();
        }
    }
}

/// What is understood of a makefile.
#[derive(Debug)]
struct Makefile {
    variables: HashMap<String, String>,
    rules: Vec<MakeRule>,
    /// Bytes that variables may still make.
    room: Cell<usize>,
}

#[derive(Debug)]
struct MakeRule {
    targets: Vec<String>,
    needs: Vec<String>,
    recipe: Vec<String>,
}

impl Makefile {
    fn of(text: &str) -> Makefile {
        let mut makefile =
            Makefile { variables: HashMap::new(), rules: Vec::new(), room: Cell::new(MOST_FILLED) };
        let text = text.replace("\\\n", " ");
        for line in text.lines() {
            match line.strip_prefix('\t') {
                Some(recipe) => {
                    if let Some(rule) = makefile.rules.last_mut() {
                        rule.recipe.push(recipe.to_owned());
                    }
                }
                None => makefile.line(line.split('#').next().unwrap_or_default()),
            }
        }
        makefile
    }

    /// `NAME = value` or `targets: needs ; recipe`.
    fn line(&mut self, line: &str) {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let equals = line.find('=');
        let colon =
            line.find(':').filter(|at| !line[*at..].starts_with(":=") && !line[*at..].starts_with("::="));
        match (equals, colon) {
            (Some(at), colon) if colon.is_none_or(|colon| at < colon) => {
                let name = line[..at].trim_end_matches(['?', ':', '+', '!']).trim();
                self.variables.insert(name.to_owned(), line[at + 1..].trim().to_owned());
            }
            (_, Some(colon)) if self.rules.len() < MOST_RULES => {
                let words =
                    |text: &str| text.split_whitespace().take(MOST_NAMES).map(str::to_owned).collect();
                let rest = line[colon + 1..].trim_start_matches(':');
                let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
                self.rules.push(MakeRule {
                    targets: words(&self.filled(&line[..colon], 0)),
                    needs: words(&self.filled(needs, 0)),
                    recipe: vec![recipe.to_owned()],
                });
            }
            _ => {}
        }
    }

    /// The commands that these targets lead to; without targets, the first one.
    fn recipes(&self, targets: &[&str]) -> Vec<String> {
        let first = self.rules.iter().flat_map(|rule| &rule.targets).find(|target| !target.starts_with('.'));
        let mut wanted: Vec<&str> = match targets {
            [] => first.map(String::as_str).into_iter().collect(),
            targets => targets.to_vec(),
        };
        let mut is_taken = vec![false; self.rules.len()];
        // The shell is started for every recipe.
        let shell = self.variables.get("SHELL").filter(|shell| shell.contains(' '));
        let mut recipes: Vec<String> = shell.map(|shell| self.filled(shell, 0)).into_iter().collect();
        while let Some(target) = wanted.pop() {
            for (rule, is_taken) in self.rules.iter().zip(&mut is_taken) {
                let is_wanted = |name: &String| name == target || stem(name, target).is_some();
                if *is_taken || !rule.targets.iter().any(is_wanted) {
                    continue;
                }
                *is_taken = true;
                wanted.extend(rule.needs.iter().map(String::as_str));
                let commands = rule.recipe.iter().map(|line| line.trim_start_matches(['@', '-', '+', ' ']));
                recipes.extend(commands.filter(|line| !line.is_empty()).map(|line| self.filled(line, 0)));
            }
        }
        recipes
    }

    /// With variables filled in, as shell code. What make itself knows is some file of the workspace.
    fn filled(&self, text: &str, depth: usize) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let closing = match rest.chars().next() {
                Some('(') => ')',
                Some('{') => '}',
                Some('$') => {
                    filled.push('$');
                    rest = &rest[1..];
                    continue;
                }
                // `$@`, `$<`, `$X`
                Some(one) => {
                    filled.push_str("some-file");
                    rest = &rest[one.len_utf8()..];
                    continue;
                }
                None => break,
            };
            let end = end_of(rest, closing);
            filled.push_str(&self.value(&rest[1..end], depth));
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        filled.push_str(rest);
        filled
    }

    /// What `$(name)` stands for.
    fn value(&self, name: &str, depth: usize) -> String {
        if let Some(code) = name.strip_prefix("shell ").filter(|_| depth < DEEPEST_VARIABLE) {
            return format!("$({})", self.filled(code, depth + 1));
        }
        match (self.variables.get(name), name) {
            (Some(value), _) if depth < DEEPEST_VARIABLE && value.len() < self.room.get() => {
                self.room.set(self.room.get() - value.len() - 1);
                self.filled(value, depth + 1)
            }
            (_, "MAKE") => "make".to_owned(),
            (_, "RM") => "rm -f".to_owned(),
            (_, "CURDIR" | "PWD") => ".".to_owned(),
            // Of the environment: the shell knows it, or that it is not set.
            (None, name) if !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') => {
                format!("${{{name}}}")
            }
            _ => "some-file".to_owned(),
        }
    }
}

/// Where a group that starts at 0 is closed.
fn end_of(text: &str, closing: char) -> usize {
    let opening = text.chars().next();
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if Some(c) == opening {
            depth += 1;
        } else if c == closing {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    text.len()
}

/// What `%` is in a target that a pattern such as `test-%` covers.
fn stem<'a>(pattern: &str, target: &'a str) -> Option<&'a str> {
    let (before, after) = pattern.split_once('%')?;
    target.strip_prefix(before)?.strip_suffix(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
BUILD = out
DIRS := $(BUILD) $(BUILD)/cache
.PHONY: all
all: prepare ; @echo all
prepare:
\t@mkdir -p $(DIRS) $$HOME/x \\
\t  y
clean:; rm -rf $(HOME) ${BUILD} $@
install:
\tsudo cp app /usr/bin
test-%: all
\techo $(shell git log) $(wildcard *.c)
";

    #[track_caller]
    fn check(targets: &[&str], expected: &[&str]) {
        assert_eq!(Makefile::of(TEXT).recipes(targets), expected);
    }

    #[test]
    fn a_target_leads_to_its_recipe_and_to_those_that_it_needs() {
        check(&[], &["echo all", "mkdir -p out out/cache $HOME/x  \t  y"]);
        check(&["clean"], &["rm -rf ${HOME} out some-file"]);
        check(
            &["test-unit"],
            &["echo $(git log) some-file", "echo all", "mkdir -p out out/cache $HOME/x  \t  y"],
        );
        check(&["other"], &[]);
    }

    #[test]
    fn text_that_is_no_makefile_has_no_recipes() {
        for text in ["", ":", "=", "$(", "a: $(b", "\tx", "é$é: ;$", "a = $(a)\nx:; $(a)"] {
            let makefile = Makefile::of(text);
            makefile.recipes(&["x"]);
            makefile.recipes(&[]);
        }
    }

    #[test]
    fn substitutions_in_substitutions_are_bounded() {
        let text = format!("x:; {}", "$(shell ".repeat(100_000));
        assert_eq!(Makefile::of(&text).recipes(&["x"]).len(), 1);
    }

    #[test]
    fn variables_in_variables_are_bounded() {
        let thrice = |name: char, of: char| format!("{name} = {}\n", format!("$({of})").repeat(500));
        let text = "abcdefg".chars().zip("bcdefgh".chars()).map(|(name, of)| thrice(name, of));
        let text: String = text.chain(["h = hhhhhhhh\nx:; $(a)\n".to_owned()]).collect();
        let recipes = Makefile::of(&text).recipes(&["x"]);
        assert!(recipes[0].len() < 16 * MOST_FILLED, "{}", recipes[0].len());
    }
}
