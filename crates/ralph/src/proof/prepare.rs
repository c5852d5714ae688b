//! Making ready what a round of checks runs on. Runs on a thread beside the loop.

use super::copy::{Around, CleanCopy, CopyError, Looked, Refreshed};
use super::gates;
use super::settings_outside::{ChangedSetting, SettingsOutside};
use super::test_data::Memory;
use crate::fsx;
use crate::git::checkpoint::Checkpoints;
use crate::git::objects::Objects;
use crate::git::shadow::ShadowError;
use crate::git::tree_changes::{Edit, TreeChange, TreeChangeKind};
use crate::layout::RunDir;
use ralph_loop::gates::{Change, GateChange, GateKind};
use ralph_loop::proof::{Prepared, ProofSpec, Round, Site};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

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
    pub memory: Arc<Mutex<Memory>>,
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
        let prepared = self.prepare(checkpoints, copy);
        match prepared.and_then(|prepared| self.noted(checkpoints, copy.as_ref(), prepared)) {
            Ok(prepared) => prepared,
            Err(cause) => {
                if self.round == Round::Baseline {
                    self.give_up_copy(checkpoints, copy);
                }
                // What could not be compared may have changed.
                Prepared {
                    tree: self.base.clone(),
                    gates: vec![uncompared(&cause)],
                    ..in_place(self.wanted(&format!("the copy cannot be made: {cause}")))
                }
            }
        }
    }

    /// Half a copy is of no use, and may have filled the disk that the run has to write to.
    fn give_up_copy(&self, checkpoints: &Checkpoints, copy: &mut Option<CleanCopy>) {
        *copy = None;
        let _ = fsx::remove_tree(&self.run_dir.proof());
        let _ = SettingsOutside::note(&self.run_dir, checkpoints.top());
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
        let copy_is_next = matches!(self.round, Round::Delivered | Round::StartGates | Round::OldSource);
        let may_copy = copy_is_next && self.may_copy();
        let (tree, looked) = thread::scope(|scope| {
            // Nothing of it depends on the tree.
            let looked =
                copy.as_ref().filter(|_| may_copy).map(|copy| scope.spawn(|| copy.look(&self.agents)));
            let tree = match &self.delivered {
                Some(tree) => Ok(tree.clone()),
                None => self.record(checkpoints),
            };
            (tree, looked.map(thread::ScopedJoinHandle::join).transpose())
        });
        let (tree, looked) = (tree?, looked.map_err(|_| io::Error::other("a thread has ended early"))?);
        match self.round {
            Round::Baseline => self.baseline(checkpoints, copy, tree),
            Round::Delivered => self.delivered(checkpoints, copy.as_mut().zip(looked), tree),
            Round::StartGates | Round::OldSource => {
                self.edited(checkpoints, copy.as_mut().zip(looked), &tree)
            }
            Round::Workspace | Round::BaselineInPlace | Round::BaselineOutside => Ok(in_place(None)),
        }
    }

    fn may_copy(&self) -> bool {
        !matches!(self.site, Some(Site::Workspace { .. })) && self.spec.mode.wants_copy()
    }

    fn around(&self, checkpoints: &Checkpoints) -> Result<Around<'_>, ShadowError> {
        let (ignored, unrecorded) = (checkpoints.ignored()?, checkpoints.unrecorded());
        Ok(Around { spec: &self.spec, agents: &self.agents, ignored, unrecorded })
    }

    /// The tree that the round begins with: that of the workspace, or a recorded one.
    fn record(&self, checkpoints: &mut Checkpoints) -> Result<String, CopyError> {
        let needed = self.base.as_deref();
        let taken = checkpoints.take(&self.project, self.with_diff, needed, &self.own_files)?;
        if let Some(replay) = &self.spec.replay {
            checkpoints.borrow_from(&replay.objects)?;
            let tree = if self.round == Round::Baseline { &replay.base } else { &replay.delivered };
            return Ok(tree.clone());
        }
        taken.end.tree.ok_or_else(|| CopyError::Shadow(ShadowError::Io(io::Error::other("no tree"))))
    }

    /// Before the first agent, what tools read outside of the project is noted; at a claim, changes to
    /// it are changed gates.
    fn noted(
        &self,
        checkpoints: &Checkpoints,
        copy: Option<&CleanCopy>,
        mut prepared: Prepared,
    ) -> Result<Prepared, CopyError> {
        match self.round {
            Round::Baseline => SettingsOutside::note(&self.run_dir, checkpoints.top())?,
            Round::Delivered => {
                let changed = self.changed_settings(checkpoints.top(), copy.filter(|_| prepared.is_copy()));
                prepared.gates.splice(0..0, changed.iter().map(ChangedSetting::gate).take(MOST_NAMED));
            }
            Round::Workspace
            | Round::BaselineInPlace
            | Round::BaselineOutside
            | Round::StartGates
            | Round::OldSource => {}
        }
        Ok(prepared)
    }

    fn changed_settings(&self, top: &Path, copy: Option<&CleanCopy>) -> Vec<ChangedSetting> {
        let mut changed = SettingsOutside::changed(&self.run_dir, top);
        let hides = copy.is_some_and(CleanCopy::is_mounted);
        changed.retain(|setting| !(hides && setting.is_temporary()));
        changed
    }

    fn baseline(
        &self,
        checkpoints: &mut Checkpoints,
        copy: &mut Option<CleanCopy>,
        tree: String,
    ) -> Result<Prepared, CopyError> {
        if !self.spec.mode.wants_copy() {
            return Ok(Prepared { tree: Some(tree), ..in_place(None) });
        }
        let around = self.around(checkpoints)?;
        let objects = checkpoints.objects();
        match CleanCopy::make(&self.run_dir, objects.shadow(), &tree, &around)? {
            Ok(made) => {
                let made = copy.insert(made);
                let looked = made.look(&self.agents);
                let found = made.refresh(objects, &tree, &around, looked)?;
                let recorded = self.spec.replay.is_some();
                let Refreshed { taken_along, setup, .. } = found;
                Ok(Prepared { tree: Some(tree), taken_along, setup, recorded, ..Prepared::default() })
            }
            Err(why) => Ok(Prepared { tree: Some(tree), ..in_place(Some(why)) }),
        }
    }

    fn delivered(
        &self,
        checkpoints: &mut Checkpoints,
        copy: Option<(&mut CleanCopy, Looked)>,
        tree: String,
    ) -> Result<Prepared, CopyError> {
        let around = self.around(checkpoints)?;
        let objects = checkpoints.objects();
        let base = self.base.clone().unwrap_or_else(|| tree.clone());
        let mut differing = objects.differing(&base, &tree)?;
        let (tree, undelivered) = without_ignored(objects, &differing, tree)?;
        if !undelivered.is_empty() {
            differing = objects.differing(&base, &tree)?;
        }
        let gates = gates::find(objects, &base, &tree, &differing, self);
        let refreshed = copy.map(|(copy, looked)| refresh_for_claim(copy, objects, &tree, &around, looked));
        let refreshed = refreshed.transpose()?;
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
                let links = objects.links_outside(&tree, &differing).into_iter().take(MOST_NAMED);
                let links = links.map(|(path, target)| format!("{path}, a link to {target}"));
                prepared.carried = found.carried.into_iter().chain(links).collect();
                prepared.taken_along = found.taken_along;
                prepared.refresh_ms = Some(millis(found.took));
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
    pub fn changed_gates(&self, checkpoints: &mut Checkpoints, tree: &str) -> Vec<GateChange> {
        let objects = checkpoints.objects();
        let base = self.base.as_deref().filter(|base| *base != tree);
        let differing = base.and_then(|base| Some((base, objects.differing(base, tree).ok()?)));
        differing.map_or_else(Vec::new, |(base, differing)| {
            gates::find(objects, base, tree, &differing, self).changes()
        })
    }

    /// The delivered tree with the gates of the start, or the other way round.
    fn edited(
        &self,
        checkpoints: &mut Checkpoints,
        copy: Option<(&mut CleanCopy, Looked)>,
        delivered: &str,
    ) -> Result<Prepared, CopyError> {
        let Some((copy, looked)) = copy else { return Ok(in_place(self.wanted("the copy is gone"))) };
        let around = self.around(checkpoints)?;
        let objects = checkpoints.objects();
        let base = self.base.as_deref().unwrap_or(delivered);
        let differing = objects.differing(base, delivered)?;
        let gates = gates::find(objects, base, delivered, &differing, self);
        let tree = match self.round {
            Round::OldSource => objects.edited(base, delivered, &gates.new_tests_on_old_source())?,
            _ => objects.edited(delivered, base, &gates.as_at_the_start())?,
        };
        let found = refresh_for_claim(copy, objects, &tree, &around, looked)?;
        if self.round == Round::StartGates {
            let changed = self.changed_settings(objects.shadow().top(), Some(copy));
            let shows = |setting: ChangedSetting| {
                setting.as_before().is_some_and(|(from, to)| copy.show_as(from, to))
            };
            if !changed.into_iter().all(shows) {
                return Ok(in_place(self.wanted("settings outside of the project cannot be put back")));
            }
        }
        let Refreshed { carried, taken_along, setup, took, .. } = found;
        let (tree, refresh_ms) = (Some(tree), Some(millis(took)));
        Ok(Prepared { tree, carried, taken_along, setup, refresh_ms, ..Prepared::default() })
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

fn refresh_for_claim(
    copy: &mut CleanCopy,
    objects: &mut Objects,
    tree: &str,
    around: &Around<'_>,
    looked: Looked,
) -> Result<Refreshed, CopyError> {
    copy.leave_second();
    let refreshed = copy.refresh(objects, tree, around, looked);
    copy.note_second();
    refreshed
}

/// New files that the user's repository ignores by now, though not by a file of the tree, would not
/// be committed. Returns the tree without them, and their names.
fn without_ignored(
    objects: &mut Objects,
    differing: &[TreeChange],
    tree: String,
) -> Result<(String, Vec<String>), CopyError> {
    let added = differing.iter().filter(|change| change.kind == TreeChangeKind::Added);
    let added: Vec<&[u8]> = added.map(|change| change.path.as_slice()).collect();
    let ignored = objects.shadow().ignored_now(&added);
    if ignored.is_empty() {
        return Ok((tree, Vec::new()));
    }
    let names = ignored.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    let edits: Vec<Edit> = ignored.into_iter().map(Edit::Remove).collect();
    Ok((objects.edited(&tree, &tree, &edits)?, names))
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

fn millis(took: Duration) -> u64 {
    u64::try_from((took.as_micros() + 500) / 1000).unwrap_or(u64::MAX)
}

fn in_place(why: Option<String>) -> Prepared {
    Prepared { site: Site::Workspace { why }, ..Prepared::default() }
}
