//! A byte stream cut into lines.
//!
//! Invariant: each byte is looked at once and copied at most once, however the stream is cut
//! into reads, and no more than one line's cap is kept. A line that lies wholly inside a
//! read is lent out of it and not copied at all.
//!
//! Deliberately absent: text. Whether a line is UTF-8 is for the dialect to judge.

use memchr::memchr;

/// Agents have printed lines of 1.6 MB; this is well above, and still nothing to a machine.
const LINE_MAX: usize = 8 << 20;

/// A buffer that one long line has blown up is given back beyond this.
const BUFFER_KEPT: usize = 256 << 10;

/// One line, without its newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Whole(&'a [u8]),
    /// Longer than the cap: counted, not kept.
    TooLong {
        bytes: u64,
    },
}

/// Splits what it is fed at newlines. A carriage return before a newline is dropped.
#[derive(Debug)]
pub struct Lines {
    /// The begun line, unless it is too long.
    buffer: Vec<u8>,
    /// The length of a begun line that is too long.
    overflow: Option<u64>,
    cap: usize,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines::with_cap(LINE_MAX)
    }
}

impl Lines {
    /// `cap` is the length in bytes, newline excluded, up to which a line is kept.
    pub fn with_cap(cap: usize) -> Lines {
        Lines { buffer: Vec::new(), overflow: None, cap }
    }

    /// The next bytes of the stream; `each` gets every line that ends in them.
    pub fn feed(&mut self, bytes: &[u8], each: &mut impl FnMut(Line<'_>)) {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            let (piece, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            if self.buffer.is_empty() && self.overflow.is_none() && piece.len() <= self.cap {
                each(Line::Whole(without_return(piece)));
            } else {
                self.keep(piece);
                self.end_line(without_return, each);
            }
        }
        self.keep(rest);
    }

    /// The stream is over: `each` gets the last line, if it had no newline.
    pub fn finish(&mut self, each: &mut impl FnMut(Line<'_>)) {
        if !self.buffer.is_empty() || self.overflow.is_some() {
            self.end_line(|line| line, each);
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let begun = self.overflow.unwrap_or(self.buffer.len() as u64);
        let length = begun + piece.len() as u64;
        if length > self.cap as u64 {
            self.overflow = Some(length);
            self.buffer = Vec::new();
        } else {
            // In doublings that end at the cap: the allocator may hold the old and the new
            // buffer at once, and together they are one and a half caps at most.
            let wanted = self.buffer.len() + piece.len();
            if wanted > self.buffer.capacity() {
                let capacity = wanted.next_power_of_two().min(self.cap);
                self.buffer.reserve_exact(capacity - self.buffer.len());
            }
            self.buffer.extend_from_slice(piece);
        }
    }

    fn end_line(&mut self, trim: fn(&[u8]) -> &[u8], each: &mut impl FnMut(Line<'_>)) {
        match self.overflow.take() {
            Some(bytes) => each(Line::TooLong { bytes }),
            None => each(Line::Whole(trim(&self.buffer))),
        }
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_KEPT);
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(cap: usize, reads: &[&[u8]]) -> Vec<String> {
        let mut found = Vec::new();
        let mut each = |line: Line<'_>| {
            found.push(match line {
                Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong { bytes } => format!("too long: {bytes}"),
            });
        };
        let mut lines = Lines::with_cap(cap);
        for read in reads {
            lines.feed(read, &mut each);
        }
        lines.finish(&mut each);
        found
    }

    #[test]
    fn lines_end_at_newlines_wherever_the_reads_do() {
        assert_eq!(split(99, &[b"ab\nc", b"d\r", b"\n\nlast"]), ["ab", "cd", "", "last"]);
        assert_eq!(split(99, &[b"a\n"]), ["a"]);
        assert_eq!(split(99, &[]), [""; 0]);
    }

    #[test]
    fn a_line_over_the_cap_is_counted_once() {
        assert_eq!(split(3, &[b"abc\nabcd\nx"]), ["abc", "too long: 4", "x"]);
        assert_eq!(split(3, &[b"ab", b"cd", b"ef\ny\n"]), ["too long: 6", "y"]);
        assert_eq!(split(3, &[b"abcdef"]), ["too long: 6"]);
    }

    #[test]
    fn the_buffer_of_a_long_line_is_given_back() {
        let mut lines = Lines::default();
        lines.feed(&vec![b'x'; 4 << 20], &mut |_| {});
        lines.feed(b"\n", &mut |line| assert!(matches!(line, Line::Whole(x) if x.len() == 4 << 20)));
        assert!(lines.buffer.capacity() <= BUFFER_KEPT);
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_lines(
            stream in prop::collection::vec(prop::sample::select(b"\n\r\nab".to_vec()), 0..60),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
            cap in 1usize..6,
        ) {
            let mut marks: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            marks.extend([0, stream.len()]);
            marks.sort_unstable();
            let reads: Vec<&[u8]> = marks.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(split(cap, &reads), split(cap, &[&stream]));
        }
    }
}
