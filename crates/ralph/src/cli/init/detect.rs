//! What is there already: agents on the `PATH`, and commands that test this project.

use ralph_loop::dialect::Dialect;
use serde_json::Value;
use std::path::Path;

/// Plain agents, offered after those that ralph knows.
const OTHER_AGENTS: [&str; 5] = ["gemini", "opencode", "cursor-agent", "copilot", "qwen"];

/// In the order in which they are offered.
pub fn agents() -> Vec<&'static str> {
    let known = Dialect::KNOWN.into_iter().map(Dialect::name);
    known.chain(OTHER_AGENTS).filter(|agent| which::which(agent).is_ok()).collect()
}

/// Commands that look like the project's own checks, without doubles.
pub fn checks(project: &Path) -> Vec<String> {
    let read = |name: &str| std::fs::read_to_string(project.join(name)).ok();
    let has = |name: &str| project.join(name).exists();
    let mut checks: Vec<String> = Vec::new();
    if let Some(makefile) = ["GNUmakefile", "makefile", "Makefile"].iter().find_map(|name| read(name)) {
        let targets = ["lint", "test"].into_iter().filter(|target| has_target(&makefile, target));
        checks.extend(targets.map(|target| format!("make {target}")));
    }
    if has("Cargo.toml") {
        checks.push("cargo test".into());
    }
    if let Some(package) = read("package.json") {
        let manager = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")];
        let manager = manager.into_iter().find(|(lock, _)| has(lock)).map_or("npm", |(_, name)| name);
        checks.extend(npm_scripts(&package).map(|script| match script {
            "test" => format!("{manager} test"),
            other => format!("{manager} run {other}"),
        }));
    }
    let pytest = |name| read(name).is_some_and(|text| text.contains("pytest"));
    if has("pytest.ini") || ["pyproject.toml", "setup.cfg", "tox.ini"].into_iter().any(pytest) {
        checks.push("pytest".into());
    }
    if has("go.mod") {
        checks.push("go test ./...".into());
    }
    checks
}

fn has_target(makefile: &str, target: &str) -> bool {
    makefile.lines().any(|line| {
        let Some((names, rest)) = line.split_once(':') else { return false };
        // `test := x` is a variable; an indented line is part of a recipe.
        !rest.starts_with('=')
            && !line.starts_with(char::is_whitespace)
            && names.split_whitespace().any(|name| name == target)
    })
}

fn npm_scripts(package: &str) -> impl Iterator<Item = &'static str> {
    let package: Value = serde_json::from_str(package).unwrap_or_default();
    let real = move |script: &&str| {
        // What `npm init` writes is a script that always fails.
        package["scripts"][*script].as_str().is_some_and(|command| !command.contains("no test specified"))
    };
    ["lint", "test"].into_iter().filter(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        for (name, content) in files {
            crate::fsx::write_whole(&dir.path().join(name), content.as_bytes()).unwrap();
        }
        assert_eq!(checks(dir.path()), expected, "{files:?}");
    }

    #[test]
    fn each_kind_of_project_has_its_commands() {
        check(&[], &[]);
        check(&[("Makefile", "all: test\n\nlint test: build\n\ttrue\n")], &["make lint", "make test"]);
        check(&[("Makefile", "test := 1\nbuild:\n\ttest: x\n# lint\n")], &[]);
        check(&[("Cargo.toml", "")], &["cargo test"]);
        check(&[("go.mod", "")], &["go test ./..."]);
        check(&[("pyproject.toml", "[tool.pytest.ini_options]")], &["pytest"]);
        check(&[("pyproject.toml", "[project]")], &[]);
        check(
            &[("package.json", r#"{"scripts": {"test": "jest", "lint": "x"}}"#)],
            &["npm run lint", "npm test"],
        );
        let empty = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        check(&[("package.json", empty)], &[]);
        check(&[("package.json", "not json")], &[]);
        check(&[("package.json", r#"{"scripts": {"test": "x"}}"#), ("yarn.lock", "")], &["yarn test"]);
    }
}
