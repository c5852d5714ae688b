//! What agents have printed, kept up to a cap.
//!
//! The oldest goes first, an attempt at a time. If the attempt at work alone prints more than the
//! cap, its beginning and its end are kept ([`RawLog`](super::raw_log::RawLog)). Nothing is read back
//! from here but for people: a run goes on without it.

use crate::fsx;
use crate::layout::{self, RunDir};
use std::io;
use std::path::{Path, PathBuf};

/// What lies in the directory of a run's streams.
pub(super) struct Streams {
    run_dir: RunDir,
    /// Bytes of the attempts before the one at work; looked up when it is first needed.
    before: Option<u64>,
    at_work: Option<Attempt>,
    removal_reported: bool,
}

struct Attempt {
    age: Age,
    files: [PathBuf; 2],
}

impl Attempt {
    fn bytes(&self) -> u64 {
        let files = self.files.iter().flat_map(|file| {
            let [older, newest] = layout::tails_of_stream(file);
            [file.clone(), older, newest]
        });
        files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
    }
}

/// Counted by iteration, then by attempt; a commit message comes last.
type Age = (u32, u32);

/// One file there.
struct Stream {
    path: PathBuf,
    bytes: u64,
    age: Age,
}

/// What an agent is asked for that ralph reads back is kept at least up to here.
pub(super) const LEAST_KEPT: u64 = 1 << 20;

/// How the room for one attempt is shared out.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) most: u64,
    /// Of the beginning, which both of its streams share: one half.
    pub(super) beginning: u64,
    /// Of each file of a tail: there are two for each stream, in the other half.
    pub(super) tail_part: u64,
}

impl Room {
    pub(super) fn of(most: u64) -> Room {
        Room { most, beginning: most / 2, tail_part: most / 8 }
    }
}

impl Streams {
    pub(super) fn of(run_dir: &RunDir) -> Streams {
        Streams { run_dir: run_dir.clone(), before: None, at_work: None, removal_reported: false }
    }

    /// An attempt begins to print into these files.
    pub(super) fn begin(&mut self, files: [&Path; 2]) {
        let Some(age) = age(files[0]) else { return };
        let earlier = self.at_work.replace(Attempt { age, files: files.map(Path::to_path_buf) });
        if let (Some(before), Some(earlier)) = (&mut self.before, earlier) {
            *before = before.saturating_add(earlier.bytes());
        }
    }

    /// What the last attempt has left.
    pub(super) fn newest(&self) -> u64 {
        self.at_work.as_ref().map_or(0, Attempt::bytes)
    }

    /// Removes the oldest streams if there are more than `most` bytes, 0 being no limit. The
    /// attempt at work, or the last one that was, has `now` bytes. Returns the last iteration that
    /// has lost something, the first time that one does.
    pub(super) fn trim(&mut self, most: u64, now: u64) -> io::Result<Option<u32>> {
        let Some(at_work) = self.at_work.as_ref().map(|attempt| attempt.age) else { return Ok(None) };
        let before = match self.before {
            _ if most == 0 => return Ok(None),
            Some(before) => before,
            None => *self.before.insert(self.list(at_work)?.iter().map(|stream| stream.bytes).sum()),
        };
        if before == 0 || before.saturating_add(now) <= most {
            return Ok(None);
        }
        let mut streams = self.list(at_work)?;
        streams.sort_unstable_by(|a, b| (a.age, &a.path).cmp(&(b.age, &b.path)));
        let mut left: u64 = streams.iter().map(|stream| stream.bytes).sum();
        // A tenth more than has to go, so that the directory is not read for every line.
        let goal = (most - most / 10).saturating_sub(now);
        let mut last = None;
        for stream in streams {
            if left <= goal {
                break;
            }
            fsx::remove(&stream.path)?;
            left -= stream.bytes;
            last = Some(stream.age.0);
        }
        self.before = Some(left);
        Ok(last.filter(|_| !std::mem::replace(&mut self.removal_reported, true)))
    }

    /// All of the attempts before this one.
    fn list(&self, at_work: Age) -> io::Result<Vec<Stream>> {
        let entries = fs_err::read_dir(self.run_dir.streams())?;
        let stream = |path: PathBuf| {
            let age = age(&path).filter(|age| *age < at_work)?;
            let bytes = path.symlink_metadata().ok()?.len();
            Some(Stream { path, bytes, age })
        };
        Ok(entries.filter_map(|entry| stream(entry.ok()?.path())).collect())
    }
}

/// `3-2.out` is of the second attempt at iteration 3, and so is `3-2.out.tail`.
fn age(path: &Path) -> Option<Age> {
    let (iteration, rest) = path.file_name()?.to_str()?.split_once('-')?;
    let attempt = rest.split_once('.')?.0.parse().unwrap_or(u32::MAX);
    Some((iteration.parse().ok()?, attempt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Home;

    fn streams(files: &[(&str, usize)]) -> (tempfile::TempDir, Streams) {
        let dir = tempfile::tempdir().unwrap();
        let run_dir = Home::at(dir.path().to_path_buf()).run("r");
        fsx::dir(&run_dir.streams()).unwrap();
        for (name, bytes) in files {
            fsx::write_whole(&run_dir.streams().join(name), &vec![b'x'; *bytes]).unwrap();
        }
        (dir, Streams::of(&run_dir))
    }

    fn left(streams: &Streams) -> Vec<String> {
        let entries = fs_err::read_dir(streams.run_dir.streams()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// So much is kept while the attempt of these files has printed so much.
    fn trim(streams: &mut Streams, name: &str, most: u64, now: u64) -> Option<u32> {
        let file = |ending: &str| streams.run_dir.streams().join(format!("{name}.{ending}"));
        let [out, err] = ["out", "err"].map(file);
        streams.begin([&out, &err]);
        streams.trim(most, now).unwrap()
    }

    #[test]
    fn the_oldest_goes_first_and_that_is_reported_once() {
        let files = [
            ("9-1.out.tail", 40),
            ("10-1.out", 40),
            ("10-1.err", 20),
            ("10-2.out", 40),
            ("2-message.out", 9),
        ];
        let (_dir, mut streams) = streams(&files);
        assert_eq!(trim(&mut streams, "11-1", 200, 51), None);
        assert_eq!(left(&streams).len(), 5);
        assert_eq!(streams.trim(200, 60).unwrap(), Some(9));
        assert_eq!(left(&streams), ["10-1.err", "10-1.out", "10-2.out"]);
        assert_eq!(streams.trim(200, 150).unwrap(), None, "reported before");
        assert_eq!(left(&streams), [] as [&str; 0]);
    }

    #[test]
    fn what_is_at_work_stays_however_much_it_is() {
        let (_dir, mut streams) = streams(&[("1-1.out", 10), ("2-1.out", 99), ("2-2.out", 99)]);
        assert_eq!(trim(&mut streams, "2-2", 20, 99), Some(2));
        assert_eq!(left(&streams), ["2-2.out"]);
        assert_eq!(trim(&mut streams, "2-2", 0, 99), None);
        assert_eq!(left(&streams), ["2-2.out"]);
    }

    #[test]
    fn what_an_attempt_has_left_counts_once_it_is_over() {
        let (_dir, mut streams) = streams(&[]);
        assert_eq!(trim(&mut streams, "1-1", 100, 0), None);
        let stdout = streams.run_dir.stdout(1, 1);
        for file in [&stdout, &layout::tails_of_stream(&stdout)[1]] {
            fsx::write_whole(file, &[b'x'; 40]).unwrap();
        }
        assert_eq!(trim(&mut streams, "2-1", 100, 20), None);
        assert_eq!(streams.trim(100, 21).unwrap(), Some(1));
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let (_dir, mut streams) = streams(&[("1-1.out", 10), ("notes", 99), ("x-1.out", 99)]);
        assert_eq!(trim(&mut streams, "3-1", 5, 0), Some(1));
        assert_eq!(left(&streams), ["notes", "x-1.out"]);
    }
}
