//! A line, taken apart from its beginning.
//!
//! Every step consumes what it names or returns `None`, so that a shape is a chain of `?` and nothing
//! that is almost the shape passes.

/// The part of a line that was not read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut<'a>(pub &'a str);

impl<'a> Cut<'a> {
    pub fn literal(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// A number of at most 15 digits.
    pub fn number(&mut self) -> Option<u64> {
        let end = self.0.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(self.0.len());
        if end > 15 {
            return None;
        }
        let number = self.0[..end].parse().ok()?;
        self.0 = &self.0[end..];
        Some(number)
    }

    /// `12` or `0.12`.
    pub fn decimal(&mut self) -> Option<()> {
        self.number()?;
        if self.literal(".").is_some() {
            let end = self.0.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(self.0.len());
            if end == 0 {
                return None;
            }
            self.0 = &self.0[end..];
        }
        Some(())
    }

    /// Any number of spaces.
    pub fn spaces(&mut self) {
        self.0 = self.0.trim_start_matches(' ');
    }

    /// At least one space.
    pub fn gap(&mut self) -> Option<()> {
        self.literal(" ")?;
        self.spaces();
        Some(())
    }

    /// What comes before the next `end`, which is consumed too.
    pub fn until(&mut self, end: &str) -> Option<&'a str> {
        let (before, after) = self.0.split_once(end)?;
        self.0 = after;
        Some(before)
    }

    pub fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// The number of spaces that a line begins with, and the rest.
pub(super) fn indent(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len(), rest)
}

/// The text between two runs of `mark`, as in `=== 1 passed ===`.
pub(super) fn between(line: &str, mark: char) -> Option<&str> {
    let inner = line.strip_prefix(mark)?.trim_start_matches(mark).strip_suffix(mark)?.trim_end_matches(mark);
    inner.strip_prefix(' ')?.strip_suffix(' ')
}

/// The text before a closing ` (12 ms)` and the like, if it closes with one.
pub(super) fn without_time<'a>(text: &'a str, units: &[&str]) -> &'a str {
    let strip = || {
        let (name, time) = text.strip_suffix(')')?.rsplit_once(" (")?;
        let mut time = Cut(time);
        time.decimal()?;
        units.contains(&time.0).then_some(name)
    };
    strip().unwrap_or(text)
}
