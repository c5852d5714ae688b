//! Texts and check logs of old iterations, kept up to a cap.
//!
//! The oldest go first, by bytes and by number. What the run may still read stays, whatever its
//! age, as does all that was written since the iteration before the one at work began. Directories
//! are listed and files removed on a thread; the loop only counts what it adds. A thread that is
//! cut short has removed some of what was to go.
//!
//! Deliberately absent: streams, which grow while an agent prints (`streams.rs`).

use super::check_log;
use crate::fsx::{Held, HeldFile};
use crate::layout::{Project, RunDir};
use crate::texts::{Gate, Texts};
use ralph_loop::{Run, State, needed_logs, needed_texts};
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

/// Files of each kind: those of some thousand iterations.
pub(super) const MOST_FILES: usize = 2000;

/// File times come from a clock that is a tick behind.
const CLOCK_LAG_MS: i64 = 50;

pub(super) struct Retention {
    texts: Shelf,
    logs: Shelf,
    /// When the last iteration of this life was judged, by the wall clock.
    judged_at: Option<i64>,
}

/// What is worth a warning, once each.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Notice {
    Removed(&'static str),
    Failed(String),
}

impl Retention {
    pub(super) fn new(run_dir: &RunDir, project: &Project, texts: &Texts) -> Retention {
        Retention {
            texts: Shelf::new(
                run_dir.dir().to_path_buf(),
                run_dir.texts(),
                "prompts and other texts",
                RunDir::is_text,
                texts.gate(),
            ),
            logs: Shelf::new(
                project.dir().to_path_buf(),
                project.ralph_dir(),
                "check logs",
                Project::is_check_log,
                Gate::default(),
            ),
            judged_at: None,
        }
    }

    /// An iteration was judged. Starts removing what is too much.
    pub(super) fn iteration_over(
        &mut self,
        run: &Run,
        state: &State,
        project: &Project,
        texts: &mut Texts,
        at: i64,
    ) -> Vec<Notice> {
        let (files, bytes) = texts.take_written();
        // What came after the iteration before this one, and what is to come, is not touched.
        let before = self.judged_at.replace(at);
        if run.keep_streams == 0 {
            return Vec::new();
        }
        self.texts.added.add(Size { files, bytes });
        for name in check_log::names(run) {
            let log = project.dir().join(Project::check_log(state.ledger.judged, &name));
            let bytes = log.symlink_metadata().map_or(0, |meta| meta.len());
            self.logs.added.add(Size { files: 1, bytes });
        }
        let most = Size { files: MOST_FILES, bytes: run.keep_streams };
        let notices = [&mut self.texts, &mut self.logs].into_iter().filter_map(Shelf::look).collect();
        let Some(before) = before.map(|at| at - CLOCK_LAG_MS) else { return notices };
        if self.texts.is_over(most) {
            let needed = needed_texts(run, state).into_iter().chain(texts.last());
            self.texts.trim(most, before, needed.map(String::from).collect());
        }
        if !run.checks.is_empty() && self.logs.is_over(most) {
            let names = needed_logs(state).filter_map(|log| log.file_name()?.to_str());
            self.logs.trim(most, before, names.map(String::from).collect());
        }
        notices
    }

    /// Returns when nothing is being removed any more.
    pub(super) fn close(&mut self) -> Vec<Notice> {
        [&mut self.texts, &mut self.logs].into_iter().filter_map(Shelf::finish).collect()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    files: usize,
    bytes: u64,
}

impl Size {
    fn add(&mut self, more: Size) {
        self.files += more.files;
        self.bytes = self.bytes.saturating_add(more.bytes);
    }

    fn fits(self, most: Size) -> bool {
        self.files <= most.files && self.bytes <= most.bytes
    }

    /// A tenth less, so that not every iteration has something to remove.
    fn with_room(self) -> Size {
        Size { files: self.files - self.files / 10, bytes: self.bytes - self.bytes / 10 }
    }
}

/// Files of one kind.
struct Shelf {
    /// Links are followed as long as they stay below it.
    root: PathBuf,
    dir: PathBuf,
    what: &'static str,
    is_ours: fn(&str) -> bool,
    gate: Gate,
    /// What was there when it was last listed.
    found: Option<Size>,
    /// What was added since, or since before that.
    added: Size,
    at_work: Option<JoinHandle<io::Result<Trimmed>>>,
    removal_warned: bool,
    failure_warned: bool,
}

/// What came of one go.
struct Trimmed {
    left: Size,
    removed: usize,
}

impl Shelf {
    fn new(root: PathBuf, dir: PathBuf, what: &'static str, is_ours: fn(&str) -> bool, gate: Gate) -> Shelf {
        Shelf {
            root,
            dir,
            what,
            is_ours,
            gate,
            found: None,
            added: Size::default(),
            at_work: None,
            removal_warned: false,
            failure_warned: false,
        }
    }

    /// Whether there is too much, or it has not been measured yet.
    fn is_over(&self, most: Size) -> bool {
        let now = self.found.map(|mut found| {
            found.add(self.added);
            found
        });
        self.at_work.is_none() && now.is_none_or(|now| !now.fits(most))
    }

    fn trim(&mut self, most: Size, before: i64, needed: HashSet<String>) {
        self.added = Size::default();
        let round = Round {
            root: self.root.clone(),
            dir: self.dir.clone(),
            is_ours: self.is_ours,
            gate: Gate::clone(&self.gate),
            most,
            before,
            needed,
        };
        // Without a thread it is tried again after the next iteration.
        self.at_work = thread::Builder::new().name("retention".into()).spawn(move || round.trim()).ok();
    }

    /// What a thread that has ended has to report.
    fn look(&mut self) -> Option<Notice> {
        self.at_work.as_ref()?.is_finished().then(|| self.finish()).flatten()
    }

    fn finish(&mut self) -> Option<Notice> {
        match self.at_work.take()?.join() {
            Ok(Ok(Trimmed { left, removed })) => {
                self.found = Some(left);
                let news = removed > 0 && !std::mem::replace(&mut self.removal_warned, true);
                news.then_some(Notice::Removed(self.what))
            }
            Ok(Err(cause)) => {
                // Looked at again once as much was added.
                self.found = Some(Size::default());
                let news = !std::mem::replace(&mut self.failure_warned, true);
                news.then(|| Notice::Failed(format!("cannot remove old {}: {cause}", self.what)))
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// One go at a directory.
struct Round {
    root: PathBuf,
    dir: PathBuf,
    is_ours: fn(&str) -> bool,
    gate: Gate,
    most: Size,
    /// Only what is older goes.
    before: i64,
    needed: HashSet<String>,
}

impl Round {
    fn trim(&self) -> io::Result<Trimmed> {
        let held = match Held::open_inside(&self.root, &self.dir) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return Ok(Trimmed { left: Size::default(), removed: 0 });
            }
            held => held?,
        };
        let mut files = held.files(self.is_ours)?;
        let mut left = Size::default();
        files.iter().for_each(|file| left.add(Size { files: 1, bytes: file.bytes }));
        let mut removed = 0;
        if !left.fits(self.most) {
            files.sort_unstable_by(|a, b| (a.modified, &a.name).cmp(&(b.modified, &b.name)));
            let goal = self.most.with_room();
            for file in files.iter().filter(|file| self.may_go(file)) {
                if left.fits(goal) {
                    break;
                }
                let _gate = self.gate.lock();
                // It may have been used again since it was listed.
                if held.file(&file.name).as_ref() == Some(file) {
                    held.remove(&file.name)?;
                    left = Size { files: left.files - 1, bytes: left.bytes - file.bytes };
                    removed += 1;
                }
            }
        }
        Ok(Trimmed { left, removed })
    }

    fn may_go(&self, file: &HeldFile) -> bool {
        file.modified < self.before && !self.needed.contains(&file.name)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::time::{Duration, UNIX_EPOCH};

    /// Logs of iterations 1 to `count`, each of so many bytes and from the second of its number.
    fn logs(count: u64, bytes: usize) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for number in 1..=count {
            let path = dir.path().join(format!("guardrail_{number}_true.log"));
            fs::write(&path, vec![b'x'; bytes]).unwrap();
            File::open(&path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(number)).unwrap();
        }
        dir
    }

    fn round(dir: &tempfile::TempDir, most: Size, before: i64, needed: &[&str]) -> Round {
        let (root, dir) = (dir.path().to_path_buf(), dir.path().to_path_buf());
        let (is_ours, gate) = (Project::is_check_log as fn(&str) -> bool, Gate::default());
        let needed = needed.iter().map(ToString::to_string).collect();
        Round { root, dir, is_ours, gate, most, before, needed }
    }

    /// The iterations whose log is left.
    fn left(dir: &tempfile::TempDir) -> Vec<u64> {
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let number = |name: std::ffi::OsString| name.to_str()?.split('_').nth(1)?.parse().ok();
        let mut left: Vec<u64> = names.filter_map(number).collect();
        left.sort_unstable();
        left
    }

    const ALL: i64 = i64::MAX;

    #[test]
    fn the_oldest_go_until_there_is_some_room() {
        let dir = logs(12, 10);
        let most = |files, bytes| Size { files, bytes };
        let trimmed = round(&dir, most(12, 120), ALL, &[]).trim().unwrap();
        assert_eq!((trimmed.removed, left(&dir).len()), (0, 12));
        let trimmed = round(&dir, most(10, 1000), ALL, &[]).trim().unwrap();
        assert_eq!((trimmed.removed, trimmed.left), (3, most(9, 90)));
        assert_eq!(left(&dir), [4, 5, 6, 7, 8, 9, 10, 11, 12]);
        round(&dir, most(10, 50), ALL, &[]).trim().unwrap();
        assert_eq!(left(&dir), [9, 10, 11, 12]);
    }

    #[test]
    fn what_is_needed_and_what_is_new_stays_however_much_it_is() {
        let dir = logs(12, 10);
        fs::write(dir.path().join("notes.md"), "mine").unwrap();
        fs::write(dir.path().join("guardrail_x.log"), "mine").unwrap();
        let trimmed =
            round(&dir, Size { files: 1, bytes: 1 }, 10_000, &["guardrail_2_true.log"]).trim().unwrap();
        assert_eq!((trimmed.removed, trimmed.left.files), (8, 4));
        assert_eq!(left(&dir), [2, 10, 11, 12]);
        assert!(dir.path().join("notes.md").exists() && dir.path().join("guardrail_x.log").exists());
    }

    #[test]
    fn no_directory_is_nothing_to_remove_and_a_link_that_leads_away_is_left_alone() {
        let dir = logs(12, 10);
        let mut elsewhere = round(&dir, Size { files: 1, bytes: 1 }, ALL, &[]);
        elsewhere.dir = dir.path().join("nowhere");
        assert_eq!(elsewhere.trim().unwrap().removed, 0);
        let link = tempfile::tempdir().unwrap();
        elsewhere.root = link.path().to_path_buf();
        elsewhere.dir = link.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &elsewhere.dir).unwrap();
        assert!(elsewhere.trim().is_err());
        assert_eq!(left(&dir).len(), 12);
    }

    #[test]
    fn a_text_that_is_used_again_is_new() {
        let dir = tempfile::tempdir().unwrap();
        let run = crate::layout::Home::at(dir.path().to_path_buf()).run("r");
        crate::fsx::private_dir(&run.texts()).unwrap();
        let mut texts = Texts::of(&run);
        let names: Vec<String> = ["a", "b", "c"].iter().map(|text| texts.put(text).unwrap()).collect();
        for name in &names {
            File::open(run.text(name)).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        }
        texts.put("a").unwrap();
        let round = Round {
            root: run.dir().to_path_buf(),
            dir: run.texts(),
            is_ours: RunDir::is_text,
            gate: texts.gate(),
            most: Size { files: 0, bytes: 0 },
            before: 5_000,
            needed: HashSet::from([names[1].clone()]),
        };
        assert_eq!(round.trim().unwrap().removed, 1);
        assert_eq!([0, 1, 2].map(|at| run.text(&names[at]).exists()), [true, true, false]);
    }
}
