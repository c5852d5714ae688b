//! What an agent prints, byte by byte, in files of bounded size.
//!
//! The beginning goes to the file itself. What comes after that goes to a second file, `NAME.tail`;
//! once that is full it becomes `NAME.tail.1`, in place of the one before, and another begins. So
//! the end is always there too, while the agent is still printing, nothing is copied, and each file
//! can be read with `less`. The last line of the beginning says where to read on.

use crate::fsx;
use crate::layout;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) struct RawLog {
    path: PathBuf,
    /// The beginning. Made when it is needed: most agents print nothing on standard error.
    file: Option<File>,
    tail: Option<Tail>,
    /// Bytes of the beginning.
    beginning: u64,
    /// Something between the beginning and the end is gone.
    has_gap: bool,
}

struct Tail {
    file: File,
    bytes: u64,
    /// Of the file before it.
    older_bytes: u64,
}

impl RawLog {
    pub(super) fn at(path: PathBuf) -> RawLog {
        RawLog { path, file: None, tail: None, beginning: 0, has_gap: false }
    }

    pub(super) fn open(&mut self) -> io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(fsx::fresh(&self.path)?)),
        }
    }

    /// The beginning takes `room` bytes more, each file of the tail `part` bytes. Returns how many
    /// went to the beginning.
    pub(super) fn add(&mut self, bytes: &[u8], room: u64, part: u64) -> io::Result<u64> {
        let room = if self.tail.is_some() { 0 } else { usize::try_from(room).unwrap_or(usize::MAX) };
        let (fits, rest) = bytes.split_at(bytes.len().min(room));
        if !fits.is_empty() {
            self.open()?.write_all(fits)?;
            self.beginning += fits.len() as u64;
        }
        if !rest.is_empty() {
            self.add_to_tail(rest, part.max(1))?;
        }
        Ok(fits.len() as u64)
    }

    fn add_to_tail(&mut self, mut rest: &[u8], part: u64) -> io::Result<()> {
        while !rest.is_empty() {
            let tail = match &mut self.tail {
                Some(tail) if tail.bytes < part => tail,
                _ => self.next_tail()?,
            };
            let room = usize::try_from(part - tail.bytes).unwrap_or(usize::MAX);
            let (fits, after) = rest.split_at(rest.len().min(room));
            tail.file.write_all(fits)?;
            tail.bytes += fits.len() as u64;
            rest = after;
        }
        Ok(())
    }

    fn next_tail(&mut self) -> io::Result<&mut Tail> {
        let [older, newest] = layout::tails_of_stream(&self.path);
        let older_bytes = match self.tail.take() {
            None => {
                let notice = cut(&older, &newest);
                self.open()?.write_all(notice.as_bytes())?;
                0
            }
            Some(full) => {
                self.has_gap |= full.older_bytes > 0;
                fsx::rename(&newest, &older)?;
                full.bytes
            }
        };
        Ok(self.tail.insert(Tail { file: fsx::fresh(&newest)?, bytes: 0, older_bytes }))
    }

    /// What it takes up.
    pub(super) fn kept(&self) -> u64 {
        self.beginning + self.tail.as_ref().map_or(0, |tail| tail.bytes + tail.older_bytes)
    }

    pub(super) fn has_gap(&self) -> bool {
        self.has_gap
    }
}

/// The last line of the beginning.
fn cut(older: &Path, newest: &Path) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (older, newest) = (name(older), name(newest));
    format!("\n[ralph] continued in {older} and {newest}: output in between was dropped (keepStreams)\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(pieces: &[&str], room: u64, part: u64) -> (tempfile::TempDir, [String; 3], u64) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1-1.out");
        let mut log = RawLog::at(path.clone());
        let mut left = room;
        for piece in pieces {
            left -= log.add(piece.as_bytes(), left, part).unwrap();
        }
        let [older, newest] = layout::tails_of_stream(&path);
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let found = [&path, &older, &newest].map(|path| read(path));
        (dir, found, log.kept())
    }

    const CUT: &str = "\n[ralph] continued in 1-1.out.tail.1 and 1-1.out.tail: output in between was dropped (keepStreams)\n";

    #[test]
    fn what_fits_is_one_file() {
        let (_dir, found, kept) = print(&["abc", "def"], 6, 2);
        assert_eq!((found, kept), (["abcdef".into(), String::new(), String::new()], 6));
    }

    #[test]
    fn the_beginning_and_the_end_are_kept_in_whatever_pieces_they_come() {
        let whole = "0123456789abcdefghijklmnopqrstuvwxyz";
        let pieces: Vec<&str> = whole.split("").collect();
        for pieces in [&[whole][..], &pieces, &[&whole[..3], &whole[3..20], &whole[20..]]] {
            let (_dir, found, kept) = print(pieces, 10, 4);
            assert_eq!(found, [format!("0123456789{CUT}"), "uvwx".into(), "yz".into()]);
            assert_eq!(kept, 16);
        }
        let (_dir, found, _) = print(&["0123456789", "ab", "cdefg"], 10, 4);
        assert_eq!(found, [format!("0123456789{CUT}"), "abcd".into(), "efg".into()]);
    }
}
