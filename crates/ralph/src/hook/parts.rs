//! Files of which only a part is read.

use ralph_loop::review::Difference;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// A file from some byte on.
pub(super) struct Part {
    file: File,
    start: usize,
    len: usize,
}

/// Compared at once. New memory costs more than reading does, so no file is held as a whole.
const BLOCK: usize = 16 << 10;

impl Part {
    pub(super) fn of(file: File, start: usize) -> io::Result<Part> {
        let end = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        Ok(Part { file, start, len: end.saturating_sub(start) })
    }

    pub(super) fn read(&self, range: Range<usize>) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; range.len()];
        self.fill(&mut bytes, range.start)?;
        Ok(bytes)
    }

    pub(super) fn whole(&self) -> io::Result<Vec<u8>> {
        self.read(0..self.len)
    }

    fn fill(&self, bytes: &mut [u8], at: usize) -> io::Result<()> {
        self.file.read_exact_at(bytes, (self.start + at) as u64)
    }

    /// Where two of them differ, if they do.
    pub(super) fn difference(&self, after: &Part) -> io::Result<Option<Difference>> {
        let shorter = self.len.min(after.len);
        let head = self.shared(after, End::First, shorter)?;
        if head == self.len && head == after.len {
            return Ok(None);
        }
        let tail = self.shared(after, End::Last, shorter - head)?;
        Ok(Some(Difference { before: self.len, after: after.len, head, tail }))
    }

    /// How many bytes are the same at one end, of at most so many.
    fn shared(&self, other: &Part, end: End, most: usize) -> io::Result<usize> {
        let (mut ours, mut theirs) = ([0; BLOCK], [0; BLOCK]);
        let mut count = 0;
        while count < most {
            let block = BLOCK.min(most - count);
            let (ours, theirs) = (&mut ours[..block], &mut theirs[..block]);
            for (part, bytes) in [(self, &mut *ours), (other, &mut *theirs)] {
                let at = match end {
                    End::First => count,
                    End::Last => part.len - count - block,
                };
                part.fill(bytes, at)?;
            }
            if ours != theirs {
                let same = |(a, b): &(&u8, &u8)| a == b;
                let pairs = ours.iter().zip(&*theirs);
                return Ok(match end {
                    End::First => count + pairs.take_while(same).count(),
                    End::Last => count + pairs.rev().take_while(same).count(),
                });
            }
            count += block;
        }
        Ok(count)
    }
}

#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_the_same_at_both_ends_is_counted_across_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let part = |name: &str, text: &[u8]| {
            let path = dir.path().join(name);
            fs::write(&path, [b"head\n", text].concat()).unwrap();
            Part::of(File::open(path).unwrap(), 5).unwrap()
        };
        let long = |length: usize, changed: &[usize]| {
            let mut text: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            changed.iter().for_each(|at| text[*at] ^= 0xff);
            text
        };
        let check = |old: &[u8], new: &[u8], expected: Option<(usize, usize)>| {
            let (before, after) = (part("old", old), part("new", new));
            assert_eq!(
                (before.whole().unwrap(), before.read(0..old.len()).unwrap()),
                (old.into(), old.into())
            );
            let found = before.difference(&after).unwrap();
            assert_eq!(
                found.map(|found| (found.before, found.after)),
                expected.map(|_| (old.len(), new.len()))
            );
            assert_eq!(found.map(|found| (found.head, found.tail)), expected);
        };
        let length = 3 * BLOCK + 7;
        check(b"", b"", None);
        check(b"", b"x", Some((0, 0)));
        check(b"aaa", b"aa", Some((2, 0)));
        check(&long(length, &[]), &long(length, &[]), None);
        for at in [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 1, length - 1] {
            check(&long(length, &[]), &long(length, &[at]), Some((at, length - at - 1)));
        }
        check(&long(length, &[]), &long(length, &[5, 2 * BLOCK]), Some((5, length - 2 * BLOCK - 1)));
        check(&long(length, &[]), &long(length - 9, &[]), Some((length - 9, 0)));
    }
}
