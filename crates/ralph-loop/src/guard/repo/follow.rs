//! A git command carried out on what is known of its repository.

use super::placed::has_paths;
use super::{Branch, CURRENT_BRANCH, Head, Placed, Ref, Repo, Strength, behind, placed};
use crate::guard::arg::Arg;
use crate::guard::invocation::Invocation;
use crate::guard::world::GitQuestion;

/// Commands that are judged by what HEAD is, or change it.
const USES_HEAD: [&str; 14] = [
    "am",
    "branch",
    "checkout",
    "cherry-pick",
    "commit",
    "merge",
    "pull",
    "push",
    "rebase",
    "reset",
    "revert",
    "switch",
    "tag",
    "update-ref",
];

/// Ends or undoes what was begun before.
const ENDS: [&str; 3] = ["--abort", "--quit", "--show-current-patch"];

impl Repo {
    /// Finds out what `git checkout WORD` was, now that it matters to this command.
    pub fn settle(&mut self, git: &Invocation, ask: impl Fn(GitQuestion<'_>) -> Option<bool>) {
        let Branch::Word(word, before) = &self.head.branch else { return };
        if !git.operand(0).is_some_and(|subcommand| USES_HEAD.contains(&subcommand.text())) {
            return;
        }
        let has_branch = ask(GitQuestion::HasRef(&format!("refs/heads/{word}")));
        let head = match has_branch {
            Some(true) => Head::named(word, Some(word.clone())),
            // Without an answer, a word is rather a branch than a file.
            None => Head::named(word, Some(word.clone())),
            Some(false) if ask(GitQuestion::IsPublished(word)).is_some() => {
                Head::detached(Some(word.clone()))
            }
            Some(false) if ask(GitQuestion::HasRemoteBranch(word)) == Some(true) => {
                Head::named(word, Some(format!("origin/{word}")))
            }
            Some(false) => {
                self.head = (**before).clone();
                return;
            }
        };
        self.head = head;
    }

    /// What the repository is after a command.
    pub fn follow(&mut self, invocation: &Invocation) {
        let git = behind(invocation);
        let operands = git.operands();
        let Some((subcommand, subjects)) = operands.split_first() else { return };
        if git.has_any_flag(&ENDS) || git.has_flag("--dry-run") {
            return;
        }
        match subcommand.text() {
            "checkout" | "switch" => self.check_out(&git, subcommand.text(), subjects),
            "commit" if !git.has_flag("--amend") => self.head.newer = self.head.newer.map(|newer| newer + 1),
            "cherry-pick" | "revert" => self.head.newer = self.picked(&git, subjects),
            "merge" | "pull" | "am" => self.head.newer = None,
            "rebase" => {
                let at = if git.has_flag("--root") { 0 } else { 1 };
                if let Some(branch) = subjects.get(at) {
                    self.switch_to(branch);
                }
                self.head.newer = None;
            }
            "branch" if git.has_any_flag(&["-d", "-D", "--delete"]) => {
                let is_deleted = |name: &Ref| {
                    subjects.iter().any(|subject| *name == Ref::Branch(subject.text().to_owned()))
                };
                self.made.retain(|made| !is_deleted(&made.name));
            }
            "branch" if subjects.len() == 1 && git.has_any_flag(&["-m", "-M", "--move"]) => {
                self.place(placed(&git));
                if let Some(name) = subjects[0].known() {
                    self.head.branch = Branch::Named(name.to_owned());
                }
            }
            _ => self.place(placed(&git)),
        }
    }

    fn picked(&self, git: &Invocation, subjects: &[&Arg]) -> Option<u32> {
        let adds_one = matches!(subjects, [commit] if !commit.text().contains("..") && commit.is_known());
        match git.has_any_flag(&["-n", "--no-commit"]) {
            true => self.head.newer,
            false if adds_one => self.head.newer.map(|newer| newer + 1),
            false => None,
        }
    }

    fn check_out(&mut self, git: &Invocation, subcommand: &str, subjects: &[&Arg]) {
        let moved = placed(git);
        if let Some(Placed { name: Ref::Branch(name), to, .. }) = moved.first() {
            let commit = to.as_deref().and_then(|to| self.resolve(to));
            let head = Head::named(name, commit);
            self.place(moved);
            return self.switch(head);
        }
        if git.has_flag("--orphan") {
            return self.switch(Head::unknown());
        }
        let [subject] = subjects else {
            if subjects.is_empty() && git.has_flag("--detach") {
                let commit = self.resolve("HEAD");
                self.switch(Head::detached(commit));
            }
            return;
        };
        if has_paths(git)
            || git.has_any_flag(&["-p", "--patch", "--ours", "--theirs", "--pathspec-from-file"])
        {
            return;
        }
        let is_switch = subcommand == "switch";
        if git.has_flag("--detach") || (is_switch && git.has_flag("-d")) {
            let commit = subject.known().and_then(|commit| self.resolve(commit));
            return self.switch(Head::detached(commit));
        }
        match subject.known() {
            Some("." | "./" | "HEAD" | "@") => {}
            Some(CURRENT_BRANCH) => self.switch(Head::default()),
            Some("@{-1}") => self.switch_to(&Arg::new("-")),
            Some(word) if word.contains(['~', '^']) || word.contains("@{") => {
                let commit = self.resolve(word);
                self.switch(Head::detached(commit));
            }
            Some(word) if !is_switch && word != "-" && self.made_at(word).is_none() => {
                let before = Box::new(self.head.clone());
                let branch = Branch::Word(word.to_owned(), before);
                self.switch(Head { branch, commit: Some(word.to_owned()), newer: Some(0) });
            }
            _ => self.switch_to(subject),
        }
    }

    /// To a branch.
    fn switch_to(&mut self, branch: &Arg) {
        let head = match branch.known() {
            Some("-") => {
                self.previous.take().unwrap_or_else(|| Head::named("@{-1}", Some("@{-1}".to_owned())))
            }
            Some(name) => {
                let commit = self.made_at(name).cloned().unwrap_or_else(|| Some(name.to_owned()));
                Head::named(name, commit)
            }
            None => Head::unknown(),
        };
        self.switch(head);
    }

    /// Where the line has put a branch.
    fn made_at(&self, branch: &str) -> Option<&Option<String>> {
        let made = self.made.iter().find(|made| made.name == Ref::Branch(branch.to_owned()))?;
        Some(&made.commit)
    }

    fn place(&mut self, placed: Vec<Placed>) {
        for Placed { name, to, strength } in placed {
            let commit = to.and_then(|to| self.resolve(&to));
            match (name, &self.head.branch) {
                (Ref::Current, branch) => {
                    if let Branch::Named(name) = branch {
                        self.make(Ref::Branch(name.clone()), commit.clone(), Strength::Forced);
                    }
                    self.head.commit = commit;
                    self.head.newer = Some(0);
                }
                (Ref::EveryBranch, _) => {}
                (name, _) => self.make(name, commit, strength),
            }
        }
    }
}
