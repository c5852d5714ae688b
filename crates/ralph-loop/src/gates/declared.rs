//! Tests that the project's own configuration declares, where no pattern of an ecosystem finds them:
//! targets of Cargo with a path, and what pytest is told to collect.
//!
//! Invariant: read from the tree at the start. What the delivered configuration says is a change of it.
//!
//! Deliberately absent: patterns of JavaScript's runners. Their syntax is that of a glob library, and
//! mostly they are in code.

use super::glob::Glob;
use super::programs;
use super::words::joined;

const MOST_MEMBERS: usize = 200;

/// Patterns for tests, from the top of the tree.
pub(super) fn declared(read: &dyn Fn(&str) -> Option<String>) -> Vec<Glob> {
    let mut tests = cargo_targets("", read);
    tests.extend(pytest_options(read).iter().flat_map(|(key, value)| pytest_tests(key, value)));
    tests
}

fn table(path: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<toml::Table> {
    toml::from_str(&read(path)?).ok()
}

/// The paths of `[[test]]` in a package and in the members of its workspace, those without a star.
fn cargo_targets(dir: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<Glob> {
    let Some(manifest) = joined(dir, "Cargo.toml").and_then(|path| table(&path, read)) else {
        return Vec::new();
    };
    let targets = manifest.get("test").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let paths = targets.iter().filter_map(|target| joined(dir, target.get("path")?.as_str()?));
    let mut tests: Vec<Glob> = paths.map(|path| Glob::new(&format!("/{path}"))).collect();
    if dir.is_empty()
        && let Some(members) =
            manifest.get("workspace").and_then(|workspace| workspace.get("members")?.as_array())
    {
        let members = members.iter().filter_map(toml::Value::as_str).filter(|member| !member.is_empty());
        tests.extend(members.take(MOST_MEMBERS).flat_map(|member| cargo_targets(member, read)));
    }
    tests
}

/// `testpaths` and `python_files`, wherever pytest finds its options first.
fn pytest_options(read: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    for (file, section) in [("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")] {
        let options = read(file).map(|text| ini_section(&text, section)).unwrap_or_default();
        if !options.is_empty() {
            return options;
        }
    }
    let options = table("pyproject.toml", read).and_then(|mut manifest| {
        manifest.remove("tool")?.get("pytest")?.get("ini_options")?.as_table().cloned()
    });
    let words = |value: toml::Value| match value {
        toml::Value::String(text) => text,
        toml::Value::Array(all) => all.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    options.into_iter().flatten().map(|(key, value)| (key, words(value))).collect()
}

fn pytest_tests(key: &str, value: &str) -> Vec<Glob> {
    let words = value.split_whitespace();
    match key {
        // The directory of the sources is there for the doctests in them.
        "testpaths" => words
            .filter(|dir| programs::says_that_it_checks(dir))
            .filter_map(|dir| joined("", dir))
            .map(|dir| Glob::new(&format!("/{dir}")))
            .collect(),
        "python_files" => words.filter(|pattern| *pattern != "*.py").map(Glob::new).collect(),
        _ => Vec::new(),
    }
}

/// The keys of one section, with lines that go on indented.
fn ini_section(text: &str, wanted: &str) -> Vec<(String, String)> {
    let mut inside = false;
    let mut options: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.trim().strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            inside = name.trim() == wanted;
        } else if !inside || line.trim_start().starts_with(['#', ';']) {
            continue;
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = options.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once('=') {
            options.push((key.trim().to_string(), value.trim().to_string()));
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], path: &str, expected: bool) {
        let read =
            |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.to_string());
        let found = declared(&read).iter().any(|test| test.matches(path));
        assert_eq!(found, expected, "{path} with {files:?}");
    }

    #[test]
    fn declared_tests_are_tests() {
        let cargo = &[
            (
                "Cargo.toml",
                "[[test]]\nname = \"a\"\npath = \"qa/a.rs\"\n[workspace]\nmembers = [\"x\", \"y/*\"]\n",
            ),
            ("x/Cargo.toml", "[[test]]\nname = \"b\"\npath = \"../qa/b.rs\"\n"),
        ];
        check(cargo, "qa/a.rs", true);
        check(cargo, "qa/b.rs", true);
        check(cargo, "qa/c.rs", false);
        check(cargo, "x/qa/a.rs", false);
        let ini =
            &[("pytest.ini", "[pytest]\ntestpaths =\n    checks\n    src\npython_files = check_*.py\n")];
        check(ini, "checks/a.py", true);
        check(ini, "src/a.py", false);
        check(ini, "src/check_a.py", true);
        let pyproject = &[(
            "pyproject.toml",
            "[tool.pytest.ini_options]\ntestpaths = [\"verify\"]\npython_files = \"*.py\"\n",
        )];
        check(pyproject, "verify/a.py", true);
        check(pyproject, "a.py", false);
        check(
            &[("setup.cfg", "[x]\ntestpaths = checks\n[tool:pytest]\n# testpaths = checks\n")],
            "checks/a.py",
            false,
        );
        check(&[("Cargo.toml", "[[")], "qa/a.rs", false);
    }
}
