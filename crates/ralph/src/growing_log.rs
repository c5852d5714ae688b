//! A log that another process may still write to: read as far as it goes, then on from there.
//!
//! It may go on in another file, start over, or not be there yet.

use crate::layout::{self, OutputLog};
use crate::worker::output;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Which files a log consists of.
#[derive(Clone, Debug)]
pub enum Source {
    /// One file.
    File(PathBuf),
    /// What a worker prints: full files are put aside and counted.
    Output(OutputLog),
    /// What an agent prints: the beginning, and two files of which the older one is replaced.
    Stream(PathBuf),
}

pub struct GrowingLog {
    source: Source,
    file: Option<File>,
    /// Of the file that is read; 0 before the first.
    number: u32,
    buffer: Vec<u8>,
}

/// What a reader gets.
pub enum Piece<'b> {
    Bytes(&'b [u8]),
    /// Files in between are gone.
    Gap,
}

/// One of its files.
struct Part {
    file: File,
    /// Counted from 1; the newest has the highest.
    number: u32,
    newest: bool,
}

const PIECE: usize = 64 << 10;

impl GrowingLog {
    pub fn of(source: Source) -> GrowingLog {
        GrowingLog { source, file: None, number: 0, buffer: vec![0; PIECE] }
    }

    /// Whether there is anything to read.
    pub fn exists(&self) -> bool {
        self.file.is_some() || self.parts().is_ok_and(|parts| !parts.is_empty())
    }

    /// Goes to where the last lines begin; stays before the first part if there are not as many.
    pub fn skip_to_last(&mut self, lines: u64) -> io::Result<()> {
        let (mut left, mut at_end) = (lines, true);
        for part in self.parts()?.into_iter().rev() {
            let mut end = part.file.metadata()?.len();
            while end > 0 || left == 0 {
                let start = end.saturating_sub(PIECE as u64);
                let piece = &mut self.buffer[..(end - start) as usize];
                part.file.read_exact_at(piece, start)?;
                if let Some(at) = last_lines(piece, at_end, &mut left) {
                    let mut file = part.file;
                    file.seek(SeekFrom::Start(start + at as u64))?;
                    (self.file, self.number) = (Some(file), part.number);
                    return Ok(());
                }
                (end, at_end) = (start, false);
            }
        }
        Ok(())
    }

    /// Leaves out all but the last so many bytes, and the rest of a line that is cut by that. Returns whether
    /// anything was left out. To be called before the first read.
    pub fn skip_to_last_bytes(&mut self, most: u64) -> io::Result<bool> {
        let mut left = most;
        for part in self.parts()?.into_iter().rev() {
            let bytes = part.file.metadata()?.len();
            if bytes <= left {
                left -= bytes;
                continue;
            }
            let mut file = part.file;
            let start = self.line_after(&file, bytes - left)?;
            file.seek(SeekFrom::Start(start))?;
            (self.file, self.number) = (Some(file), part.number);
            return Ok(true);
        }
        Ok(false)
    }

    /// Where the first line begins that does so at this place or later; the end of the file if none does.
    fn line_after(&mut self, file: &File, at: u64) -> io::Result<u64> {
        let mut start = at.saturating_sub(1);
        loop {
            let count = file.read_at(&mut self.buffer, start)?;
            match self.buffer[..count].iter().position(|byte| *byte == b'\n') {
                Some(found) => return Ok(start + found as u64 + 1),
                None if count == 0 => return Ok(start),
                None => start += count as u64,
            }
        }
    }

    /// What was not read yet.
    pub fn read(&mut self, each: &mut dyn FnMut(Piece<'_>)) -> io::Result<()> {
        self.read_file(each)?;
        while let Some((part, skips)) = self.next_part()? {
            // What was written there until it was full.
            self.read_file(each)?;
            if skips {
                each(Piece::Gap);
            }
            (self.file, self.number) = (Some(part.file), part.number);
            self.read_file(each)?;
        }
        Ok(())
    }

    fn read_file(&mut self, each: &mut dyn FnMut(Piece<'_>)) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if file.metadata()?.len() < file.stream_position()? {
            file.seek(SeekFrom::Start(0))?;
        }
        loop {
            match file.read(&mut self.buffer)? {
                0 => return Ok(()),
                n => each(Piece::Bytes(&self.buffer[..n])),
            }
        }
    }

    /// The file that comes after the one that is read, and whether some in between are gone.
    fn next_part(&self) -> io::Result<Option<(Part, bool)>> {
        let mut parts = self.parts()?;
        let inode = |file: &File| file.metadata().map(|meta| meta.ino());
        let read = self.file.as_ref().map(inode).transpose()?;
        let inodes: Vec<u64> = parts.iter().map(|part| inode(&part.file)).collect::<io::Result<_>>()?;
        let found = inodes.iter().position(|inode| Some(*inode) == read);
        let next = match (found, &self.source) {
            (Some(at), _) => Some(at + 1).filter(|next| *next < parts.len()),
            // Both files after the beginning were replaced meanwhile.
            (None, Source::Stream(_)) if self.number > 1 => Some(1).filter(|next| *next < parts.len()),
            (None, _) => {
                let later = parts.iter().position(|part| part.number > self.number);
                // Else it has started over; if there is no newest either, it is being removed.
                later.or_else(|| parts.iter().position(|part| part.newest))
            }
        };
        Ok(next.map(|at| {
            let part = parts.swap_remove(at);
            let skips = match self.source {
                Source::Stream(_) => found.is_none() && self.number > 1,
                Source::File(_) | Source::Output(_) => {
                    found.is_none() && part.number > self.number.saturating_add(1)
                }
            };
            (part, skips)
        }))
    }

    /// All that there is, oldest first.
    fn parts(&self) -> io::Result<Vec<Part>> {
        let newest = |file, number| Part { file, number, newest: true };
        match &self.source {
            Source::File(path) => Ok(open(path)?.map(|file| newest(file, 1)).into_iter().collect()),
            Source::Stream(path) => {
                let [older, newer] = layout::tails_of_stream(path);
                let mut parts = Vec::new();
                for (number, path) in (1..).zip([path, &older, &newer]) {
                    parts.extend(open(path)?.map(|file| newest(file, number)));
                }
                Ok(parts)
            }
            Source::Output(log) => loop {
                let aside = output::put_aside(log);
                let mut parts = Vec::new();
                for (number, path) in &aside {
                    parts.extend(open(path)?.map(|file| Part { file, number: *number, newest: false }));
                }
                let last = aside.last().map_or(0, |(number, _)| *number);
                parts.extend(open(&log.newest())?.map(|file| newest(file, last.saturating_add(1))));
                // One that was put aside meanwhile would be missing.
                if output::put_aside(log) == aside {
                    return Ok(parts);
                }
            },
        }
    }
}

/// A file, if it is there.
fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// Where the last `left` lines of a text begin; if it has fewer, nothing, and `left` is what is missing.
/// A newline at the very end ends the last line and begins no other.
pub fn last_lines(text: &[u8], at_end: bool, left: &mut u64) -> Option<usize> {
    let body = if at_end { text.strip_suffix(b"\n").unwrap_or(text) } else { text };
    if *left == 0 {
        return Some(text.len());
    }
    for (at, _) in body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
        *left -= 1;
        if *left == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "these stand for files that an agent's stream is kept in")]
mod tests {
    use super::*;
    use std::fs;

    fn read(log: &mut GrowingLog) -> String {
        let mut found = String::new();
        let each = &mut |piece: Piece<'_>| match piece {
            Piece::Bytes(bytes) => found.push_str(&String::from_utf8_lossy(bytes)),
            Piece::Gap => found.push('…'),
        };
        log.read(each).unwrap();
        found
    }

    #[test]
    fn an_agents_stream_is_read_on_through_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1-1.out");
        let [older, newer] = layout::tails_of_stream(&path);
        let mut log = GrowingLog::of(Source::Stream(path.clone()));
        assert!(!log.exists() && read(&mut log).is_empty());
        fs::write(&path, "begin").unwrap();
        assert_eq!(read(&mut log), "begin");
        fs::write(&path, "beginning").unwrap();
        fs::write(&newer, "a").unwrap();
        assert_eq!(read(&mut log), "ninga");
        // The one that is read becomes the older one.
        fs::rename(&newer, &older).unwrap();
        fs::write(&newer, "b").unwrap();
        assert_eq!(read(&mut log), "b");
        // Two files further: what was in between is gone.
        fs::rename(&newer, &older).unwrap();
        fs::remove_file(&older).unwrap();
        fs::write(&older, "d").unwrap();
        fs::write(&newer, "e").unwrap();
        assert_eq!(read(&mut log), "…de");
        let mut late = GrowingLog::of(Source::Stream(path));
        assert_eq!(read(&mut late), "beginningde");
    }

    #[test]
    fn the_last_bytes_begin_with_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1-1.out");
        let [_, newer] = layout::tails_of_stream(&path);
        fs::write(&path, "one\ntwo\n").unwrap();
        fs::write(&newer, "three\nfour\n").unwrap();
        let last = |bytes: u64| {
            let mut log = GrowingLog::of(Source::Stream(path.clone()));
            let is_cut = log.skip_to_last_bytes(bytes).unwrap();
            (is_cut, read(&mut log))
        };
        assert_eq!(last(19), (false, "one\ntwo\nthree\nfour\n".into()));
        assert_eq!(last(18), (true, "two\nthree\nfour\n".into()));
        assert_eq!(last(15), (true, "two\nthree\nfour\n".into()));
        assert_eq!(last(14), (true, "three\nfour\n".into()));
        assert_eq!(last(11), (true, "three\nfour\n".into()));
        assert_eq!(last(5), (true, "four\n".into()));
        assert_eq!(last(4), (true, String::new()));
        // A line that has not ended yet is longer than what is wanted.
        fs::write(&newer, "five is long").unwrap();
        assert_eq!(last(3), (true, String::new()));
    }
}
