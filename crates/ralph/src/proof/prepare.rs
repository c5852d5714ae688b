//! Making ready what a round of checks runs on. Runs on a thread beside the loop.

use super::copy::{CleanCopy, CopyError, Refreshed, joined, scratch_index};
use super::gates;
use crate::fsx;
use crate::git::checkpoint::Checkpoints;
use crate::git::delivered::{Edit, TreeChange, TreeChangeKind};
use crate::git::shadow::{Shadow, ShadowError};
use crate::layout::RunDir;
use ralph_loop::gates::{Change, GateChange, GateKind};
use ralph_loop::proof::{Prepared, ProofSpec, Round, Site};
use std::path::PathBuf;
use std::thread;

/// So many links are named.
const MOST_NAMED: usize = 10;

/// What is to be made ready, and for which round.
pub struct Preparation {
    pub round: Round,
    pub spec: ProofSpec,
    pub run_dir: RunDir,
    pub project: PathBuf,
    /// The tree that a claim is compared with.
    pub base: Option<String>,
    /// What is delivered, for the rounds that follow the one on it.
    pub delivered: Option<String>,
    /// Where the proof runs, once that is known.
    pub site: Option<Site>,
    /// The commands of the checks, as if they ran at the top of the work tree.
    pub checks: Vec<String>,
    /// Ralph's own files, which are no part of what an agent delivers; relative to the top.
    pub own_files: Vec<String>,
    /// Directories in which the plan lies, likewise.
    pub plan_dirs: Vec<String>,
    /// Programs of the run's agents, which may replace themselves.
    pub agents: Vec<String>,
    /// Whether prompts carry the difference from the first tree.
    pub with_diff: bool,
}

impl Preparation {
    /// A copy that cannot be made or refreshed is not the end of a run: the checks run in place then.
    pub fn carry_out(&self, checkpoints: Option<&mut Checkpoints>, copy: &mut Option<CleanCopy>) -> Prepared {
        let Some(checkpoints) = checkpoints else {
            return in_place(self.why_in_place().or(self.wanted("the project is not a git repository")));
        };
        if copy.is_none() && self.round != Round::Baseline {
            // Made by a life of the run that is over.
            *copy = CleanCopy::open(&self.run_dir, checkpoints.top());
        }
        match self.prepare(checkpoints, copy) {
            Ok(prepared) => prepared,
            // What could not be compared may have changed.
            Err(cause) => Prepared {
                tree: self.base.clone(),
                gates: vec![uncompared(&cause)],
                ..in_place(self.wanted(&format!("the copy cannot be made: {cause}")))
            },
        }
    }

    /// A reason, where a copy is wanted at all.
    fn wanted(&self, why: &str) -> Option<String> {
        self.spec.mode.wants_copy().then(|| why.to_string())
    }

    fn why_in_place(&self) -> Option<String> {
        match &self.site {
            Some(Site::Workspace { why }) => why.clone(),
            Some(Site::Copy) | None => None,
        }
    }

    fn prepare(
        &self,
        checkpoints: &mut Checkpoints,
        copy: &mut Option<CleanCopy>,
    ) -> Result<Prepared, CopyError> {
        let tree = match &self.delivered {
            Some(tree) => tree.clone(),
            None => self.record(checkpoints)?,
        };
        match self.round {
            Round::Baseline => self.baseline(checkpoints, copy, tree),
            Round::Delivered => self.delivered(checkpoints, copy, tree),
            Round::StartGates | Round::OldSource => self.edited(checkpoints, copy, &tree),
            Round::Workspace | Round::BaselineInPlace => Ok(in_place(None)),
        }
    }

    /// The tree that the round begins with: that of the workspace, or a recorded one.
    fn record(&self, checkpoints: &mut Checkpoints) -> Result<String, CopyError> {
        let needed = self.base.as_deref();
        let taken = checkpoints.take(&self.project, self.with_diff, needed, &self.own_files)?;
        if let Some(replay) = &self.spec.replay {
            checkpoints.shadow().borrow_from(&replay.objects)?;
            let tree = if self.round == Round::Baseline { &replay.base } else { &replay.delivered };
            return Ok(tree.clone());
        }
        taken.end.tree.ok_or_else(|| CopyError::Shadow(ShadowError::Io(std::io::Error::other("no tree"))))
    }

    fn baseline(
        &self,
        checkpoints: &Checkpoints,
        copy: &mut Option<CleanCopy>,
        tree: String,
    ) -> Result<Prepared, CopyError> {
        if !self.spec.mode.wants_copy() {
            return Ok(Prepared { tree: Some(tree), ..in_place(None) });
        }
        let (shadow, unrecorded) = (checkpoints.shadow(), checkpoints.unrecorded());
        match CleanCopy::make(&self.run_dir, shadow, &tree, &self.spec, &unrecorded, &self.agents)? {
            Ok(made) => {
                let made = copy.insert(made);
                let found = made.refresh(shadow, &tree, &self.spec, &unrecorded, &self.agents)?;
                let (taken_along, setup) = (found.taken_along, found.setup);
                let recorded = self.spec.replay.is_some();
                Ok(Prepared { tree: Some(tree), taken_along, setup, recorded, ..Prepared::default() })
            }
            Err(why) => Ok(Prepared { tree: Some(tree), ..in_place(Some(why)) }),
        }
    }

    fn delivered(
        &self,
        checkpoints: &Checkpoints,
        copy: &mut Option<CleanCopy>,
        tree: String,
    ) -> Result<Prepared, CopyError> {
        let shadow = checkpoints.shadow();
        let base = self.base.clone().unwrap_or_else(|| tree.clone());
        let mut differing = shadow.differing(&base, &tree)?;
        let (tree, undelivered) = self.without_ignored(shadow, &differing, tree)?;
        if !undelivered.is_empty() {
            differing = shadow.differing(&base, &tree)?;
        }
        let may_copy = !matches!(self.site, Some(Site::Workspace { .. })) && self.spec.mode.wants_copy();
        let (copy, unrecorded) = (copy.as_mut().filter(|_| may_copy), checkpoints.unrecorded());
        // Neither needs what the other finds.
        let (gates, refreshed) = thread::scope(|scope| {
            let gates = scope.spawn(|| gates::find(shadow, &base, &tree, &differing, self));
            let refresh =
                |copy: &mut CleanCopy| copy.refresh(shadow, &tree, &self.spec, &unrecorded, &self.agents);
            let refreshed = copy.map(refresh);
            (gates.join(), refreshed)
        });
        let (gates, refreshed) = (joined(gates)?, refreshed.transpose()?);
        let mut prepared = Prepared {
            changed: Some(differing.iter().any(|change| self.is_work(change))),
            new_tests: gates.has_new_tests(),
            gates: gates.changes(),
            ..Prepared::default()
        };
        match refreshed {
            Some(found) => {
                prepared.setup = found.setup;
                let is_taken_along = |path: &String| found.taken_along.contains(path);
                if found.carried.iter().any(is_taken_along) {
                    // A submodule at another commit: no tree tells.
                    prepared.changed = Some(true);
                }
                let links = shadow.links_outside(&tree, &differing).into_iter().take(MOST_NAMED);
                let links = links.map(|(path, target)| format!("{path}, a link to {target}"));
                prepared.carried = found.carried.into_iter().chain(links).collect();
                prepared.taken_along = found.taken_along;
                prepared.ignored = undelivered.into_iter().chain(found.ignored).collect();
            }
            None => {
                let why =
                    self.why_in_place().or_else(|| self.wanted("no copy was made before the first agent"));
                prepared.site = Site::Workspace { why };
            }
        }
        prepared.tree = Some(tree);
        Ok(prepared)
    }

    /// Tests, checks and their configuration that differ from the tree that the work began with.
    pub fn changed_gates(&self, checkpoints: &Checkpoints, tree: &str) -> Vec<GateChange> {
        let shadow = checkpoints.shadow();
        let base = self.base.as_deref().filter(|base| *base != tree);
        let differing = base.and_then(|base| Some((base, shadow.differing(base, tree).ok()?)));
        differing.map_or_else(Vec::new, |(base, differing)| {
            gates::find(shadow, base, tree, &differing, self).changes()
        })
    }

    /// New files that the user's repository ignores by now, though not by a file of the tree, would not
    /// be committed. Returns the tree without them, and their names.
    fn without_ignored(
        &self,
        shadow: &Shadow,
        differing: &[TreeChange],
        tree: String,
    ) -> Result<(String, Vec<String>), CopyError> {
        let added = differing.iter().filter(|change| change.kind == TreeChangeKind::Added);
        let added: Vec<&[u8]> = added.map(|change| change.path.as_slice()).collect();
        let ignored = shadow.ignored_now(&added);
        if ignored.is_empty() {
            return Ok((tree, Vec::new()));
        }
        let names = ignored.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        let edits: Vec<Edit> = ignored.into_iter().map(Edit::Remove).collect();
        let scratch = scratch_index(&self.run_dir);
        fsx::private_dir(&self.run_dir.proof())?;
        Ok((shadow.edited(&tree, &tree, &edits, &scratch)?, names))
    }

    /// The delivered tree with the gates of the start, or the other way round.
    fn edited(
        &self,
        checkpoints: &Checkpoints,
        copy: &mut Option<CleanCopy>,
        delivered: &str,
    ) -> Result<Prepared, CopyError> {
        let shadow = checkpoints.shadow();
        let Some(copy) = copy else { return Ok(in_place(self.wanted("the copy is gone"))) };
        let base = self.base.as_deref().unwrap_or(delivered);
        let differing = shadow.differing(base, delivered)?;
        let gates = gates::find(shadow, base, delivered, &differing, self);
        let scratch = scratch_index(&self.run_dir);
        let tree = match self.round {
            Round::OldSource => shadow.edited(base, delivered, &gates.new_tests_on_old_source(), &scratch)?,
            _ => shadow.edited(delivered, base, &gates.as_at_the_start(), &scratch)?,
        };
        let found = copy.refresh(shadow, &tree, &self.spec, &checkpoints.unrecorded(), &self.agents)?;
        let Refreshed { carried, taken_along, setup, .. } = found;
        Ok(Prepared { tree: Some(tree), carried, taken_along, setup, ..Prepared::default() })
    }

    /// Whether a change is part of what was asked for, and not of the list that asks for it.
    pub(super) fn is_work(&self, change: &TreeChange) -> bool {
        let path = String::from_utf8_lossy(&change.path);
        let planned =
            |dir: &String| path.strip_prefix(dir.as_str()).is_some_and(|rest| rest.starts_with('/'));
        !self.is_own(&path) && !self.plan_dirs.iter().any(planned)
    }

    /// Whether it is a file that ralph writes.
    pub(super) fn is_own(&self, path: &str) -> bool {
        self.own_files.iter().any(|own| own == path)
    }
}

fn uncompared(cause: &CopyError) -> GateChange {
    let details = vec![format!("not compared: {cause}")];
    GateChange {
        path: "tests and checks".to_string(),
        kind: GateKind::Test,
        change: Change::Changed,
        details,
    }
}

fn in_place(why: Option<String>) -> Prepared {
    Prepared { site: Site::Workspace { why }, ..Prepared::default() }
}
