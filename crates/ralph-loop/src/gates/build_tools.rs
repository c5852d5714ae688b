//! What make, just and the package managers of JavaScript run: recipes and scripts, followed like any
//! other commands.
//!
//! Deliberately absent: which packages of a workspace a script runs in. A script's name counts in all
//! of them.

use super::GateKind;
use super::named::{Call, Finder, LONGEST};
use super::recipes;
use super::words::{self, joined};

/// Whether a target looks like a task, and not like a file.
fn is_plain(target: &str) -> bool {
    !target.is_empty() && target.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
}

impl Finder<'_> {
    pub(super) fn make(&mut self, call: &Call<'_>) {
        let mut dir = call.dir.to_string();
        let mut files: Vec<String> = Vec::new();
        let mut goals: Vec<String> = Vec::new();
        let mut words = call.words.iter();
        while let Some(word) = words.next() {
            let value = |attached: &str, words: &mut std::slice::Iter<'_, String>| match attached {
                "" => words.next().cloned().unwrap_or_default(),
                attached => attached.trim_start_matches('=').to_string(),
            };
            if let Some(to) = word.strip_prefix("--directory").or_else(|| word.strip_prefix("-C")) {
                dir = joined(&dir, &value(to, &mut words)).unwrap_or_default();
            } else if let Some(file) =
                ["--makefile", "--file", "-f"].iter().find_map(|option| word.strip_prefix(option))
            {
                files.push(value(file, &mut words));
            } else if !word.starts_with('-') && !words::is_assignment(word) {
                goals.push(word.clone());
            }
        }
        let call = call.with(&dir, &[]);
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let usual = ["GNUmakefile", "makefile", "Makefile"];
        self.recipes(&call, if files.is_empty() { &usual } else { &files }, &goals);
    }

    /// The recipes of a makefile or justfile, those of the goals and what they need.
    pub(super) fn recipes(&mut self, call: &Call<'_>, files: &[&str], goals: &[String]) {
        let found: Vec<String> = files.iter().filter_map(|file| joined(call.dir, file)).collect();
        for path in &found {
            self.named.add(path, GateKind::Check);
        }
        let Some(text) = found.iter().find_map(|path| (self.read)(path)) else { return };
        if text.len() > LONGEST || !self.may_follow(&format!("{}:{}", found.join(":"), goals.join(" "))) {
            return;
        }
        let goals: Vec<&str> =
            goals.iter().map(String::as_str).filter(|goal| !goal.starts_with('-')).collect();
        let rules = recipes::read(&text);
        for included in &rules.includes {
            if let Some(path) = self.resolved(call, included) {
                self.named.add(&path, GateKind::Check);
            }
        }
        // A new file with the name of a target that makes none: make takes it for up to date.
        for target in rules.targets_for(&goals).into_iter().filter(|target| is_plain(target)) {
            if let Some(path) = joined(call.dir, target).filter(|path| (self.read)(path).is_none()) {
                self.named.add(&path, GateKind::Check);
            }
        }
        for recipe in rules.recipes_for(&goals) {
            self.script(&recipe, call.dir, call.dir, call.depth + 1);
        }
    }

    pub(super) fn package_script(&mut self, call: &Call<'_>, program: &str) {
        let mut dir = call.dir.to_string();
        let mut rest: Vec<String> = Vec::new();
        let mut words = call.words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--prefix" | "-C" | "--cwd" | "--dir" => {
                    let to = words.next().map(String::as_str).unwrap_or_default();
                    dir = joined(&dir, to).unwrap_or_default();
                }
                "-w" | "--workspace" | "--filter" | "-F" if rest.is_empty() => _ = words.next(),
                "--" => rest.extend(words.by_ref().cloned()),
                word if word.starts_with('-') && rest.is_empty() => {
                    if let Some(to) =
                        ["--prefix=", "--cwd=", "--dir="].iter().find_map(|o| word.strip_prefix(o))
                    {
                        dir = joined(&dir, to).unwrap_or_default();
                    }
                }
                word => rest.push(word.to_string()),
            }
        }
        let call = call.with(&dir, &rest);
        match rest.first().map(String::as_str) {
            Some("exec" | "x" | "dlx") => self.call(&call.with(&dir, &rest[1..])),
            Some("test") if program.ends_with("bun") => self.runner(&call.with(&dir, &rest[1..])),
            Some("run" | "run-script" | "rum" | "urn") => self.scripts(&call, rest[1..].iter().take(1)),
            Some("t" | "tst") => self.scripts(&call, [&"test".to_string()].into_iter()),
            Some("workspaces" | "workspace") => self.scripts(&call, rest[1..].iter().rev().take(1)),
            Some(_) => self.scripts(&call, rest.iter().take(1)),
            None => {}
        }
    }

    /// Scripts of `package.json`, with those that npm runs before and after them.
    pub(super) fn scripts<'w>(&mut self, call: &Call<'_>, names: impl Iterator<Item = &'w String>) {
        self.named.packages.insert(call.dir.to_string());
        let manifest = joined(call.dir, "package.json").and_then(|path| (self.read)(&path));
        let manifest: serde_json::Value =
            manifest.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        for name in names {
            self.named.scripts.insert(name.clone());
            for name in [format!("pre{name}"), name.clone(), format!("post{name}")] {
                if let Some(text) = manifest["scripts"][&name].as_str()
                    && self.may_follow(&format!("{}/package.json:{name}", call.dir))
                {
                    self.script(text, call.dir, call.dir, call.depth + 1);
                }
            }
        }
    }
}
