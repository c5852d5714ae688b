//! The files that `ralph stories` keeps in a project: which stories are done, what happened to
//! them, and the status of their specs.
//!
//! They are written from the facts. After a crash all of a run's lines are due again, and
//! only those are written that are not there: each line is its own proof, by its time.

use crate::fsx;
use crate::layout::Project;
use crate::stories::state_file::{self, StoryState};
use crate::stories::{mark, progress_txt};
use jiff::Timestamp;
use ralph_loop::event::{End, Event, Fact, Step};
use ralph_loop::plan::stories::StoriesPlan;
use ralph_loop::plan::{Item, Plan, PlanState};
use ralph_loop::verdict::{Judgement, Settlement};
use ralph_loop::{Run, State};
use std::io;
use std::path::PathBuf;

#[derive(Default)]
pub(super) struct StoryFiles {
    /// Lines that are perhaps not in `progress.txt` yet.
    lines: Vec<String>,
    /// Some of them may be there: another life of the run has been at it, or a write has failed.
    unsure: bool,
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
    pub(super) fn follow(&mut self, run: &Run, state: &State, event: &Event) {
        let (Plan::Stories(plan), PlanState::Stories(stories)) = (&run.plan, &state.plan) else { return };
        match &event.fact {
            Fact::Opened(_) => {
                let before = fsx::read_regular(&Project::at(run.workspace.clone()).progress_txt());
                let before = before.map(|text| String::from_utf8_lossy(&text).into_owned());
                self.learned = progress_txt::learned(&before.unwrap_or_default());
            }
            Fact::Ended { end: End::Agent(end), .. } => {
                for text in &end.seen.signals.learned {
                    let text = one_line(text);
                    if !self.learned.contains(&text) {
                        self.lines.push(format!("[LEARN] {text}"));
                        self.learned.push(text);
                    }
                }
            }
            // It may have put a spec back to before it was marked.
            Fact::Ended { end: End::Restore(_), .. } => self.unmarked.clone_from(&self.done),
            Fact::Judged(judgement) => self.judged(plan, judgement, event.at),
            Fact::Resumed { .. } => self.unsure = true,
            Fact::Began { step: Step::Agent { .. }, .. } => {}
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
        let unsure = std::mem::replace(&mut self.unsure, true);
        add(project, &self.lines, unsure)?;
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
        while let Some(spec) = self.unmarked.last() {
            match mark::mark_done(&project.dir().join(spec)) {
                // An agent may have moved its spec: then there is nothing to mark.
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
                Ok(_) | Err(_) => self.unmarked.pop(),
            };
        }
        Ok(())
    }
}

/// Appends lines to the file, which is made if it is not there; of lines that may be there only
/// those that are not.
fn add(project: &Project, lines: &[String], unsure: bool) -> io::Result<()> {
    let path = project.progress_txt();
    let before = match fsx::read_regular(&path) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => String::new(),
        Err(cause) => return Err(cause),
    };
    let known: std::collections::HashSet<&str> = before.lines().map(str::trim_end).collect();
    let missing = lines.iter().filter(|line| !unsure || !known.contains(line.trim_end()));
    let mut text: String = missing.map(|line| format!("{line}\n")).collect();
    if !text.is_empty() && !before.is_empty() && !before.ends_with('\n') {
        text.insert(0, '\n');
    }
    if text.is_empty() && path.exists() {
        return Ok(());
    }
    fsx::append(&path, text.as_bytes())
}

/// In one time zone, so that a run that is resumed elsewhere knows its own lines.
fn stamp(at: i64) -> String {
    let second = Timestamp::from_second(at.div_euclid(1000)).unwrap_or(Timestamp::UNIX_EPOCH);
    second.to_string()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
