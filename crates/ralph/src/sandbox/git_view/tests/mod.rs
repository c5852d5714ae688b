//! Real gits in a real sandbox.
#![expect(clippy::disallowed_methods, reason = "tests write files")]

mod attacks;
mod daily;
mod outside;
mod unusual;

use super::*;
use crate::process::tool::ToolOutput;
use crate::sandbox::test_support::{self, succeeded};
use tempfile::TempDir;

/// A repository with one commit, and a view of it.
struct Bench {
    dir: TempDir,
    top: PathBuf,
    view: Option<GitView>,
}

const KEEP_UNDER: &str = "refs/ralph/run/";

impl Bench {
    fn new() -> Bench {
        Bench::with("git init -q -b main . && echo one >file && git add . && git commit -q -m one")
    }

    /// The repository that a script makes.
    fn with(script: &str) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        // A path with what paths may have in them.
        let top = dir.path().canonicalize().unwrap().join("a project");
        fs::create_dir(&top).unwrap();
        let bench = Bench { dir, top, view: None };
        bench.outside(script);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn prepare(&mut self) -> Result<(), GitViewError> {
        self.view = GitView::prepare(&self.path("run"), Some(&self.top), KEEP_UNDER.to_string())?;
        Ok(())
    }

    fn view(&mut self) -> &GitView {
        if self.view.is_none() {
            self.prepare().unwrap();
        }
        self.view.as_ref().unwrap()
    }

    /// A program that the user runs.
    fn try_outside(&self, script: &str) -> ToolOutput {
        let shell = Tool::new("sh").args(["-euc", script]).cwd(&self.top).env("HOME", self.dir.path());
        test_support::as_user(shell).run().unwrap()
    }

    fn outside(&self, script: &str) -> String {
        succeeded(script, &self.try_outside(script))
    }

    fn try_inside(&mut self, script: &str) -> ToolOutput {
        let top = self.top.clone();
        let mut mounts = test_support::mounts(&top);
        self.view().mount(&mut mounts);
        test_support::inside(&top, &mounts, script)
    }

    /// A step: what it printed, and the sentences about it.
    fn step(&mut self, script: &str) -> (String, Vec<String>) {
        let mut told = self.view().before_step().unwrap();
        let output = succeeded(script, &self.try_inside(script));
        told.extend(self.view().after_step());
        (output, told)
    }

    /// A step that needs no sentence.
    fn inside(&mut self, script: &str) -> String {
        let (output, told) = self.step(script);
        assert_eq!(told, [""; 0], "{script}");
        self.is_sound();
        output
    }

    /// The same step, and what is said of it.
    fn told(&mut self, script: &str) -> String {
        let told = self.step(script).1.join("\n");
        self.is_sound();
        told
    }

    /// Nothing is missing outside, and nothing is left of the carrying over.
    fn is_sound(&self) {
        let look = "git fsck --connectivity-only --no-dangling && cd \"$(git rev-parse --git-common-dir)\" && \
                    find . -path ./refs/ralph -prune -o \\( -name '*.lock' -o -name '*ralph*' \\) -print";
        assert_eq!(self.outside(look), "");
    }

    /// Both sides say the same.
    fn agrees(&mut self, script: &str) -> String {
        let outside = self.outside(script);
        assert_eq!(self.inside(script), outside, "{script}");
        outside
    }

    /// The same branches, HEAD, index and tree on both sides.
    fn is_same(&mut self) {
        self.agrees(
            "git for-each-ref --format='%(refname) %(objectname) %(symref)' --exclude=refs/ralph
             git symbolic-ref -q HEAD || git rev-parse HEAD
             git ls-files -s
             git status --porcelain=v2",
        );
    }
}
