//! Masks a stream of bytes, whatever pieces it comes in.
//!
//! Only bytes that may be the beginning of a secret are held back, so a line that ends with none is passed
//! on at once. Memory is flat: less than the longest pattern is held back.

use super::{Masker, SHORTEST};
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct MaskedStream {
    masker: Arc<Masker>,
    /// A possible beginning of a secret.
    held: Vec<u8>,
    /// So many bytes of it are part of a secret whose mark was passed on.
    covered: usize,
    /// What was held with what came after it.
    joined: Vec<u8>,
    masked: Vec<u8>,
}

impl MaskedStream {
    pub fn new(masker: Arc<Masker>) -> MaskedStream {
        MaskedStream { masker, ..MaskedStream::default() }
    }

    /// Takes the next piece; returns what can be passed on by now. Copies nothing unless there is a secret in
    /// it, or the piece before has ended with what may be the beginning of one.
    pub fn feed<'b>(&'b mut self, piece: &'b [u8]) -> &'b [u8] {
        if self.masker.is_idle() || piece.is_empty() {
            return piece;
        }
        if self.held.is_empty() {
            let open = self.masker.open_end(piece);
            if self.masker.find(piece, 0).is_none_or(|found| found.at.start >= open) {
                self.held.extend_from_slice(&piece[open..]);
                return &piece[..open];
            }
            return self.pass_on(piece, open);
        }
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.extend_from_slice(&self.held);
        joined.extend_from_slice(piece);
        let open = self.masker.open_end(&joined);
        self.pass_on(&joined, open);
        self.joined = joined;
        &self.masked
    }

    /// The stream has ended; returns the rest. One that was cut off in the middle of a secret shows none of it,
    /// unless the part is too short to be one.
    pub fn finish(&mut self) -> &[u8] {
        self.masked.clear();
        if self.held.len() < SHORTEST {
            self.masked.extend_from_slice(&self.held[self.covered..]);
        } else if self.covered == 0 {
            let whole = self.masker.find(&self.held, 0).filter(|found| found.at.start == 0);
            let pattern = whole.map(|found| found.pattern).or_else(|| self.masker.goes_on(&self.held));
            self.masked
                .extend_from_slice(pattern.map_or("***", |pattern| self.masker.mark(pattern)).as_bytes());
        }
        self.held.clear();
        self.covered = 0;
        &self.masked
    }

    /// Passes on what comes before `open`, and holds back the rest.
    fn pass_on(&mut self, bytes: &[u8], open: usize) -> &[u8] {
        self.masked.clear();
        // What is behind this has been passed on, or is part of a secret.
        let mut at = std::mem::take(&mut self.covered);
        // A secret that begins inside of the one before belongs to it.
        let mut next = self.masker.find(bytes, 0);
        while let Some(found) = next.filter(|found| found.at.start < open) {
            if found.at.start >= at {
                self.masked.extend_from_slice(&bytes[at..found.at.start]);
                self.masked.extend_from_slice(self.masker.mark(found.pattern).as_bytes());
            }
            let (end, after) = self.masker.region(bytes, &found.at);
            (at, next) = (at.max(end), after);
        }
        if at < open {
            self.masked.extend_from_slice(&bytes[at..open]);
        }
        self.covered = at.saturating_sub(open);
        self.held.clear();
        self.held.extend_from_slice(&bytes[open..]);
        &self.masked
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Secret, forms};
    use super::*;
    use proptest::prelude::*;

    fn masker(secrets: &[(&str, &str)]) -> Arc<Masker> {
        let one = |(name, value): &(&str, &str)| Secret { name: (*name).into(), value: (*value).into() };
        Arc::new(Masker::new(&secrets.iter().map(one).collect::<Vec<_>>()))
    }

    fn masked<'p>(masker: &Arc<Masker>, pieces: impl IntoIterator<Item = &'p [u8]>) -> String {
        let (mut stream, mut all) = (MaskedStream::new(Arc::clone(masker)), Vec::new());
        for piece in pieces {
            all.extend_from_slice(stream.feed(piece));
            assert!(stream.held.len() < masker.longest_for_tests().max(1), "memory is flat");
        }
        all.extend_from_slice(stream.finish());
        String::from_utf8(all).unwrap()
    }

    /// Every occurrence of every pattern is looked for by itself; what overlaps is one.
    fn expected(secrets: &[(&str, &str)], text: &[u8]) -> String {
        let patterns: Vec<(&str, String)> = secrets
            .iter()
            .flat_map(|(name, value)| forms::patterns(value).into_iter().map(move |text| (*name, text)))
            .collect();
        let mut found: Vec<(usize, std::cmp::Reverse<usize>, bool, &str)> = Vec::new();
        for (name, pattern) in &patterns {
            let pattern = pattern.as_bytes();
            let at = (0..text.len()).filter(|at| text[*at..].starts_with(pattern));
            found.extend(at.map(|at| (at, std::cmp::Reverse(at + pattern.len()), false, *name)));
            let cut =
                (0..text.len()).filter(|at| text.len() - at >= SHORTEST && pattern.starts_with(&text[*at..]));
            found.extend(cut.map(|at| (at, std::cmp::Reverse(text.len()), true, *name)));
        }
        // Of those that begin together, one that is whole has the name.
        found.sort_by_key(|(at, end, cut, _)| (*at, *cut, *end));
        let (mut out, mut at) = (Vec::new(), 0);
        for (start, std::cmp::Reverse(end), _, name) in found {
            if start >= at {
                out.extend_from_slice(&text[at..start]);
                out.extend_from_slice(format!("***{name}***").as_bytes());
            }
            at = at.max(end);
        }
        out.extend_from_slice(&text[at..]);
        String::from_utf8(out).unwrap()
    }

    const TOKEN: (&str, &str) = ("TOKEN", "tok-12345678");
    const LONGER: (&str, &str) = ("LONGER", "tok-12345678-and-more");
    const OVERLAPPING: (&str, &str) = ("OVER", "5678-and-then");
    const QUOTED: (&str, &str) = ("QUOTED", "a\"b\\c\nsecond line/ä");

    #[test]
    fn every_shape_is_masked_wherever_a_piece_ends() {
        let all = [TOKEN, LONGER, OVERLAPPING, QUOTED];
        for (text, wanted) in [
            ("nothing of it", "nothing of it"),
            ("a tok-12345678 b", "a ***TOKEN*** b"),
            ("tok-12345678", "***TOKEN***"),
            ("tok-1234567", "***TOKEN***"),
            ("tok-123", "tok-123"),
            ("tok-123 tok-12345678tok-12345678", "tok-123 ***TOKEN******TOKEN***"),
            ("tok-12345678-and-more", "***LONGER***"),
            ("tok-12345678-and-less", "***TOKEN***-and-less"),
            ("tok-12345678-and-then", "***TOKEN***"),
            ("tok-12345678-and-then tok-12345678", "***TOKEN*** ***TOKEN***"),
            ("tok-12345678-and-m", "***TOKEN***"),
            ("tok-tok-12345678", "tok-***TOKEN***"),
            ("{\"text\":\"a\\\"b\\\\c\\nsecond line/ä\"}\n", "{\"text\":\"***QUOTED***\"}\n"),
            ("{\"text\":\"a\\\\\\\"b\\\\\\\\c\\\\nsecond line/ä\"}\n", "{\"text\":\"***QUOTED***\"}\n"),
            ("only the second line/ä here", "only the ***QUOTED*** here"),
            ("Basic dXNlcjp0b2stMTIzNDU2Nzg=", "Basic dXNlcjp***TOKEN***g="),
            ("a%22b%5Cc%0Asecond%20line%2F%C3%A4&x", "***QUOTED***&x"),
        ] {
            let known = masker(&all);
            let bytes = text.as_bytes();
            assert_eq!(masked(&known, [bytes]), wanted, "{text}");
            for split in 0..=bytes.len() {
                let (one, two) = bytes.split_at(split);
                assert_eq!(masked(&known, [one, two]), wanted, "{text} at {split}");
            }
            assert_eq!(masked(&known, bytes.chunks(1)), wanted, "{text} byte by byte");
            assert_eq!(expected(&all, bytes), wanted, "{text} by the reference");
        }
    }

    #[test]
    fn a_line_that_is_not_the_beginning_of_a_secret_is_passed_on_at_once() {
        let mut stream = MaskedStream::new(masker(&[TOKEN, QUOTED]));
        for line in ["a line\n", "tok-12345679\n", "Continue? "] {
            assert_eq!(stream.feed(line.as_bytes()), line.as_bytes());
        }
        assert_eq!(stream.feed(b"it is to"), b"it is ");
        assert_eq!(stream.feed(b"p"), b"top");
    }

    #[test]
    fn nothing_is_copied_without_a_secret() {
        let mut stream = MaskedStream::new(masker(&[TOKEN]));
        let piece = b"a line without any\n".repeat(100);
        assert_eq!(stream.feed(&piece).as_ptr(), piece.as_ptr());
        let mut idle = MaskedStream::default();
        assert_eq!(idle.feed(b"tok-12345678").len(), 12);
        assert!(idle.finish().is_empty());
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            secrets in proptest::collection::vec("[ab]{8,11}", 1..5),
            text in "[ab]{0,60}",
            cuts in proptest::collection::vec(1usize..9, 0..40),
        ) {
            let names = ["A", "B", "C", "D", "E"];
            let mut unique: Vec<&String> = secrets.iter().collect();
            unique.sort();
            unique.dedup();
            let secrets: Vec<(&str, &str)> =
                names.into_iter().zip(unique.into_iter().map(String::as_str)).collect();
            let known = masker(&secrets);
            let (mut rest, mut pieces) = (text.as_bytes(), Vec::new());
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            let wanted = expected(&secrets, text.as_bytes());
            prop_assert_eq!(masked(&known, pieces), wanted.clone());
            prop_assert_eq!(masked(&known, text.as_bytes().chunks(1)), wanted);
            prop_assert!(!known.finds(&known.mask(&text)));
        }
    }
}
