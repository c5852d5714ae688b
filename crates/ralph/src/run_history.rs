//! A run read back from its journal, whole, for the commands that look at history.

use crate::git::NoRepository;
use crate::git::shadow::{Shadow, ShadowError};
use crate::journal::{self, Replayed, UnreadableRun};
use crate::layout::{Home, RunDir};
use crate::place::{self, Access, PlaceError};
use ralph_loop::plan::stories::StoriesPlan;
use ralph_loop::story_id::StoryId;
use ralph_loop::view::{Iteration, Moment, Moments, RunView};
use ralph_loop::{Run, State};
use std::collections::BTreeMap;
use std::path::PathBuf;
use thiserror::Error;

/// Why a run, or a tree of it, cannot be read back.
#[derive(Debug, Error)]
pub enum HistoryError {
    #[error(transparent)]
    Unreadable(#[from] UnreadableRun),
    #[error("run {run} has no checkpoints")]
    NoCheckpoints {
        run: String,
        #[source]
        why: NoCheckpoints,
    },
    #[error("the directory of run {run} is gone: {}", top.display())]
    DirectoryGone { run: String, top: PathBuf },
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("the checkpoint before iteration {iteration} of run {run} was removed")]
    CheckpointRemoved {
        run: String,
        iteration: u32,
        /// The first iteration after it whose checkpoint is still there.
        oldest: Option<u32>,
    },
    #[error("no checkpoint before iteration {iteration} of run {run}")]
    NotRecorded {
        run: String,
        iteration: u32,
        /// The last iteration that has one.
        last: Option<u32>,
    },
}

/// Why there is no tree to compare with.
#[derive(Debug, Error)]
pub enum TreeError {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Shadow(#[from] ShadowError),
}

#[derive(Debug, Error)]
pub enum NoCheckpoints {
    #[error("its directory is not a git repository, or is gone")]
    NoRepository,
    #[error("none were taken, or they were cleaned up")]
    NoneKept,
}

pub struct RunHistory {
    pub run: Run,
    pub state: State,
    pub run_dir: RunDir,
    pub opened_at: i64,
    pub last_at: i64,
    /// The run as it was after the last fact.
    pub view: RunView,
    pub iterations: Vec<Iteration>,
    /// The tree before each iteration; the last one may be the tree at the end.
    pub trees: BTreeMap<u32, String>,
    pub left_out: Vec<String>,
    /// What each iteration's last agent was asked, by hash, which of the agents it was, and which
    /// attempt.
    pub asked: BTreeMap<u32, SentPrompt>,
}

pub struct SentPrompt {
    pub prompt: String,
    pub agent: usize,
    pub attempt: u32,
}

impl RunHistory {
    pub fn read(home: &Home, id: &str) -> Result<RunHistory, HistoryError> {
        let run_dir = home.run(id);
        let (mut moments, mut notes) = (Moments::default(), Notes::default());
        let replayed = journal::replay(&run_dir, |run, state, event| {
            let update = moments.follow(run, state, event);
            update.moments.into_iter().for_each(|moment| notes.take(moment));
        })
        .map_err(|cause| cause.of_run(id))?;
        let Replayed { run, state, opened_at, last_at, .. } = replayed;
        let Notes { iterations, trees, left_out, asked } = notes;
        let view = moments.view(&run, &state);
        Ok(RunHistory { run, state, run_dir, opened_at, last_at, view, iterations, trees, left_out, asked })
    }

    /// The recorded trees and the work tree they are of.
    pub fn shadow(&self) -> Result<Shadow, HistoryError> {
        let run = || self.run.id.clone();
        let shadow = place::shadow(&self.run, &self.run_dir).ok_or_else(|| {
            if let Some(top) = Shadow::top_of(&self.run_dir.checkpoints()).filter(|top| !top.exists()) {
                return HistoryError::DirectoryGone { run: run(), top };
            }
            match Access::to(&self.run).find_repository() {
                Err(why @ (NoRepository::Untrusted { .. } | NoRepository::Unanswered(_))) => {
                    PlaceError::no_repository(why, &self.run.workspace).into()
                }
                Ok(_) | Err(NoRepository::None) => {
                    HistoryError::NoCheckpoints { run: run(), why: NoCheckpoints::NoRepository }
                }
            }
        })?;
        match shadow.exists() {
            true => Ok(shadow),
            false => Err(HistoryError::NoCheckpoints { run: run(), why: NoCheckpoints::NoneKept }),
        }
    }

    /// The stories of `specs/` that were done before an iteration, or when the run ended.
    pub fn stories_done(&self, plan: &StoriesPlan, before: Option<u32>) -> Vec<StoryId> {
        let settled = self.iterations.iter().filter(|past| past.settled);
        let earlier = settled.filter(|past| before.is_none_or(|iteration| past.iteration < iteration));
        let ids = earlier.filter_map(|past| past.story.as_deref()?.parse().ok());
        plan.done.iter().copied().chain(ids).collect()
    }

    /// Whether these stories were the ones that were done at some moment of the run. Each
    /// iteration adds one at most.
    pub fn were_done(&self, plan: &StoriesPlan, stories: &[StoryId]) -> bool {
        stories.len() >= plan.done.len() && self.stories_done(plan, None).starts_with(stories)
    }

    /// The trees before and after an iteration.
    pub fn trees_around(&self, iteration: u32) -> Option<(&str, &str)> {
        Some((self.trees.get(&iteration)?, self.trees.get(&(iteration + 1))?))
    }

    /// The tree before an iteration, if it is still there.
    pub fn tree_before(&self, shadow: &Shadow, iteration: u32) -> Result<&str, HistoryError> {
        let tree = self.recorded_before(iteration)?;
        if shadow.has(tree) {
            return Ok(tree);
        }
        let later: Vec<&str> = self.trees.range(iteration + 1..).map(|(_, tree)| tree.as_str()).collect();
        let kept = shadow.first_of(&later);
        let kept = kept.and_then(|kept| self.trees.range(iteration + 1..).find(|(_, tree)| *tree == kept));
        let oldest = kept.map(|(of, _)| *of);
        Err(HistoryError::CheckpointRemoved { run: self.run.id.clone(), iteration, oldest })
    }

    /// The tree after an iteration. What came after the last recorded tree is in the work tree only.
    pub fn tree_after(&self, shadow: &Shadow, iteration: u32) -> Result<String, TreeError> {
        match self.trees.contains_key(&(iteration + 1)) {
            true => Ok(self.tree_before(shadow, iteration + 1)?.to_owned()),
            false => Ok(as_it_is_now(shadow)?),
        }
    }

    /// The last iteration that has begun: an agent that is running, or was interrupted, has started one
    /// without a verdict.
    pub fn last_begun(&self) -> u32 {
        self.state.ledger.judged + u32::from(self.state.work.attempts > 0)
    }

    /// What the run, or one iteration of it, has changed, as git shows it: at most so many bytes.
    pub fn diff(
        &self,
        shadow: &Shadow,
        iteration: Option<u32>,
        flags: &[&str],
        most: usize,
    ) -> Result<Vec<u8>, TreeError> {
        let from = self.tree_before(shadow, iteration.unwrap_or(1))?;
        let to = self.tree_after(shadow, iteration.unwrap_or_else(|| self.last_begun()))?;
        Ok(shadow.diff(from, &to, flags, most)?)
    }

    /// How much the run has changed; nothing where that is not recorded.
    pub fn changed(&self) -> Option<Changed> {
        let shadow = self.shadow().ok()?;
        let from = self.tree_before(&shadow, 1).ok()?;
        let to = self.tree_after(&shadow, self.last_begun()).ok()?;
        let counts = shadow.diff(from, &to, &["--numstat"], MOST_COUNTED).ok()?;
        let commits = shadow.kept().start().map_or(0, |start| shadow.repository().commits_since(&start));
        Some(Changed { commits, ..Changed::of(&String::from_utf8_lossy(&counts)) })
    }

    fn recorded_before(&self, iteration: u32) -> Result<&str, HistoryError> {
        self.trees.get(&iteration).map(String::as_str).ok_or_else(|| {
            let last = self.trees.keys().next_back().copied();
            HistoryError::NotRecorded { run: self.run.id.clone(), iteration, last }
        })
    }
}

/// So many bytes of names and counts.
const MOST_COUNTED: usize = 16 << 20;

/// How much is different.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub files: u64,
    pub added: u64,
    pub removed: u64,
    pub commits: u64,
}

impl Changed {
    /// Of what `git diff --numstat` prints: lines added, removed, and the name.
    fn of(counts: &str) -> Changed {
        counts.lines().fold(Changed::default(), |sum, line| {
            let mut numbers = line.split('\t').map(|word| word.parse::<u64>().unwrap_or(0));
            let (added, removed) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            Changed {
                files: sum.files + 1,
                added: sum.added.saturating_add(added),
                removed: sum.removed.saturating_add(removed),
                ..sum
            }
        })
    }
}

/// The work tree as it is now. The run may be at work, so its own index is left alone.
fn as_it_is_now(shadow: &Shadow) -> Result<String, ShadowError> {
    let aside = shadow.aside()?;
    let recorded = aside.changes().and_then(|changes| aside.record(&changes));
    aside.forget();
    recorded
}

/// What is looked up later.
#[derive(Default)]
struct Notes {
    iterations: Vec<Iteration>,
    trees: BTreeMap<u32, String>,
    left_out: Vec<String>,
    asked: BTreeMap<u32, SentPrompt>,
}

impl Notes {
    fn take(&mut self, moment: Moment<'_>) {
        match moment {
            Moment::Checkpoint { iteration, end, after_answer: false, .. } => {
                if let Some(tree) = &end.tree {
                    self.trees.insert(iteration, tree.clone());
                }
                self.left_out.clone_from(&end.left_out);
            }
            Moment::AgentEnded { iteration, attempt, agent, end, .. } => {
                let prompt = end.prompt.clone();
                self.asked.insert(iteration, SentPrompt { prompt, agent, attempt });
            }
            Moment::IterationEnded { iteration, .. } => self.iterations.push(*iteration),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Changed;

    #[test]
    fn lines_are_counted_and_binary_files_have_none() {
        let counts = "3\t1\tsrc/a b.rs\n-\t-\tlogo.png\n10\t0\t\"odd\\tname\"\n";
        assert_eq!(Changed::of(counts), Changed { files: 3, added: 13, removed: 1, commits: 0 });
        assert_eq!(Changed::of(""), Changed::default());
    }
}
