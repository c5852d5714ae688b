//! The files that `ralph stories` keeps in a project: which stories are done, what happened to
//! them, and the status of their specs.
//!
//! They are written from the facts. After a crash all of a run's lines are due again, and
//! only those are written that are not there: each line is its own proof, by its time. A power
//! cut can take a fact and leave its line: that line stands for the fact when it comes again.

use crate::fsx;
use crate::layout::Project;
use crate::stories::mark;
use crate::stories::progress_txt::{self, timeless};
use crate::stories::state_file::{self, StoryState};
use jiff::Timestamp;
use ralph_loop::plan::stories::StoriesPlan;
use ralph_loop::plan::{Item, Plan, PlanState};
use ralph_loop::verdict::{Judgement, Settlement};
use ralph_loop::view::{Moment, Update};
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

#[derive(Default)]
pub(super) struct StoryFiles {
    /// Lines that are perhaps not in `progress.txt` yet.
    lines: Vec<String>,
    /// Some of them may be there: another life of the run has been at it, or a write has failed.
    unsure: bool,
    /// They are all that the run has ever had.
    all: bool,
    /// Lines of this run that none of its facts mentions.
    orphans: Vec<String>,
    opened_at: i64,
    state: Option<StoryState>,
    /// Specs that are perhaps not marked yet.
    unmarked: Vec<PathBuf>,
    /// All that this run has done.
    done: Vec<PathBuf>,
    learned: Vec<String>,
}

/// More of a reason would be an essay.
const REASON_CHARS: usize = 300;

impl StoryFiles {
    pub(super) fn follow(&mut self, update: &Update<'_>, moment: &Moment<'_>) {
        let (Plan::Stories(plan), PlanState::Stories(stories)) = (&update.run.plan, &update.state.plan)
        else {
            return;
        };
        match moment {
            Moment::Opened => {
                self.opened_at = update.event.at.div_euclid(1000);
                let project = Project::at(update.run.workspace.clone());
                let before = fsx::read_regular(&project.progress_txt());
                let before = before.map(|text| String::from_utf8_lossy(&text).into_owned());
                self.learned = progress_txt::learned(&before.unwrap_or_default());
            }
            Moment::AgentEnded { end, .. } => {
                for text in &end.seen.signals.learned {
                    let text = one_line(text);
                    if !self.learned.contains(&text) {
                        self.lines.push(format!("[LEARN] {text}"));
                        self.learned.push(text);
                    }
                }
            }
            // It may have put a spec back to before it was marked.
            Moment::Restored(_) => self.unmarked.clone_from(&self.done),
            Moment::IterationEnded { judgement, .. } => self.judged(plan, judgement, update.event.at),
            Moment::Resumed => (self.unsure, self.all) = (true, true),
            Moment::AgentBegan { .. } => {}
            _ => return,
        }
        self.state = Some(StoryState {
            completed_stories: stories.done.clone(),
            current_story: stories.current,
            retry_count: stories.retries,
        });
    }

    fn judged(&mut self, plan: &StoriesPlan, judgement: &Judgement, at: i64) {
        let Item::Story { id, attempt } = judgement.item else { return };
        let Some(story) = plan.story(id) else { return };
        let time = stamp(at);
        match &judgement.settlement {
            Settlement::Settled => {
                self.lines.push(format!("[DONE] Story {id} - {} - {time}", one_line(&story.title)));
                self.done.push(story.spec.clone());
                self.unmarked.push(story.spec.clone());
            }
            Settlement::Retry { why } => {
                let why: String = one_line(why).chars().take(REASON_CHARS).collect();
                let of = plan.max_retries;
                self.lines.push(format!("[FAIL] Story {id} - {why} - {time} (attempt {attempt}/{of})"));
            }
            Settlement::Continue => {}
        }
    }

    /// What earlier stories have taught, the newest last.
    pub(super) fn learned(&self) -> &[String] {
        &self.learned
    }

    /// One file that cannot be written is no reason to leave out the others.
    pub(super) fn write(&mut self, project: &Project) -> io::Result<()> {
        let wrote_lines = self.write_lines(project);
        let wrote_state = self.write_state(project);
        let marked = self.mark_specs(project);
        wrote_lines.and(wrote_state).and(marked)
    }

    /// Whenever there is a state to write; the file is made with the first.
    fn write_lines(&mut self, project: &Project) -> io::Result<()> {
        if self.state.is_none() && self.lines.is_empty() {
            return Ok(());
        }
        let path = project.progress_txt();
        // It grows with the run, and mostly only its end is of interest.
        let from_start = self.all || self.unsure;
        let read = if from_start { fsx::read_regular(&path) } else { fsx::read_last_byte(&path) };
        let before = match read {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => String::new(),
            Err(cause) => return Err(cause),
        };
        if std::mem::take(&mut self.all) {
            self.orphans = orphans(&before, &self.lines, self.opened_at);
        }
        if std::mem::replace(&mut self.unsure, true) {
            let known: HashSet<&str> = before.lines().map(str::trim_end).collect();
            self.lines.retain(|line| !known.contains(line.trim_end()));
        }
        self.lines.retain(|line| !adopted(&mut self.orphans, line));
        let mut text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        if !text.is_empty() && !before.is_empty() && !before.ends_with('\n') {
            text.insert(0, '\n');
        }
        if !text.is_empty() || !path.exists() {
            fsx::append_unlinked(&path, text.as_bytes())?;
        }
        self.lines.clear();
        self.unsure = false;
        Ok(())
    }

    fn write_state(&mut self, project: &Project) -> io::Result<()> {
        let Some(state) = &self.state else { return Ok(()) };
        state_file::write(project, state)?;
        self.state = None;
        Ok(())
    }

    fn mark_specs(&mut self, project: &Project) -> io::Result<()> {
        let mut refused = Ok(());
        while let Some(spec) = self.unmarked.last() {
            let path = project.dir().join(spec);
            if let Err(cause) = fsx::check_inside(project.dir(), &path) {
                refused = Err(cause);
                self.unmarked.pop();
                continue;
            }
            match mark::mark_done(&path) {
                // An agent may have moved its spec: then there is nothing to mark.
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
                Ok(_) | Err(_) => self.unmarked.pop(),
            };
        }
        refused
    }
}

/// Lines about stories since the run began that are none of these.
fn orphans(progress_txt: &str, lines: &[String], opened_at: i64) -> Vec<String> {
    let own: HashSet<&str> = lines.iter().map(String::as_str).collect();
    let others = progress_txt.lines().map(str::trim_end).filter(|line| !own.contains(line));
    let since = |line: &&str| timeless(line).is_some_and(|(_, at)| at.as_second() >= opened_at);
    others.filter(since).map(String::from).collect()
}

/// Whether one of the orphans says the same; it is none any more then.
fn adopted(orphans: &mut Vec<String>, line: &str) -> bool {
    let Some((line, _)) = timeless(line) else { return false };
    let same = |orphan: &String| timeless(orphan).is_some_and(|(orphan, _)| orphan == line);
    orphans.iter().position(same).map(|at| orphans.remove(at)).is_some()
}

/// In one time zone, so that a run that is resumed elsewhere knows its own lines.
fn stamp(at: i64) -> String {
    let second = Timestamp::from_second(at.div_euclid(1000)).unwrap_or(Timestamp::UNIX_EPOCH);
    second.to_string()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
