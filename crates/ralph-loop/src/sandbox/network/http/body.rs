//! Where the body of a message ends. Bytes are counted and passed on as they are.

/// A body that is being passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body(Rest);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rest {
    Bytes(u64),
    Chunks(Chunks),
    UntilEnd,
}

/// The next byte of a chunked body is…
#[derive(Clone, Debug, PartialEq, Eq)]
enum Chunks {
    /// in the line before a chunk. So many digits were read; more of the line may follow.
    Size {
        size: u64,
        digits: u8,
        in_extension: bool,
        line: usize,
    },
    /// the end of that line.
    SizeEnd {
        size: u64,
    },
    Data {
        left: u64,
    },
    /// after the data of a chunk.
    DataEnd {
        carriage_return: bool,
    },
    /// in the lines at the end, of which the current one has so many bytes.
    Trailer {
        line: usize,
        all: usize,
        carriage_return: bool,
    },
    Over,
}

/// A chunked body that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadChunks;

/// Hexadecimal; a chunk of more bytes cannot be meant.
const MOST_DIGITS: u8 = 15;
const LONGEST_LINE: usize = 4 << 10;
const LONGEST_TRAILER: usize = 64 << 10;

impl Body {
    pub fn none() -> Body {
        Body(Rest::Bytes(0))
    }

    pub fn of_length(length: u64) -> Body {
        Body(Rest::Bytes(length))
    }

    pub fn chunked() -> Body {
        Body(Rest::Chunks(Chunks::START))
    }

    pub fn until_end() -> Body {
        Body(Rest::UntilEnd)
    }

    pub fn is_over(&self) -> bool {
        match &self.0 {
            Rest::Bytes(left) => *left == 0,
            Rest::Chunks(chunks) => *chunks == Chunks::Over,
            Rest::UntilEnd => false,
        }
    }

    /// The end of the connection is its end.
    pub fn ends_with_connection(&self) -> bool {
        self.0 == Rest::UntilEnd
    }

    /// How many of these bytes belong to it. Fewer than there are only if it is over.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, BadChunks> {
        match &mut self.0 {
            Rest::UntilEnd => Ok(bytes.len()),
            Rest::Bytes(left) => {
                let taken = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                *left -= taken as u64;
                Ok(taken)
            }
            Rest::Chunks(chunks) => chunks.take(bytes),
        }
    }
}

impl Chunks {
    const START: Chunks = Chunks::Size { size: 0, digits: 0, in_extension: false, line: 0 };

    fn take(&mut self, bytes: &[u8]) -> Result<usize, BadChunks> {
        let mut at = 0;
        while at < bytes.len() && *self != Chunks::Over {
            if let Chunks::Data { left } = self {
                let taken =
                    usize::try_from(*left).map_or(bytes.len() - at, |left| left.min(bytes.len() - at));
                (*left, at) = (*left - taken as u64, at + taken);
                if *left == 0 {
                    *self = Chunks::DataEnd { carriage_return: false };
                }
                continue;
            }
            *self = self.after(bytes[at])?;
            at += 1;
        }
        Ok(at)
    }

    fn after(&self, byte: u8) -> Result<Chunks, BadChunks> {
        match *self {
            Chunks::Size { line, .. } if line > LONGEST_LINE => Err(BadChunks),
            Chunks::Size { size, digits, in_extension, line } => match byte {
                b'\r' if digits > 0 => Ok(Chunks::SizeEnd { size }),
                b'\r' | b'\n' => Err(BadChunks),
                _ if in_extension => Ok(Chunks::Size { size, digits, in_extension, line: line + 1 }),
                b';' | b' ' | b'\t' if digits > 0 => {
                    Ok(Chunks::Size { size, digits, in_extension: true, line })
                }
                _ => {
                    let digit =
                        char::from(byte).to_digit(16).filter(|_| digits < MOST_DIGITS).ok_or(BadChunks)?;
                    let size = (size << 4) | u64::from(digit);
                    Ok(Chunks::Size { size, digits: digits + 1, in_extension, line: line + 1 })
                }
            },
            Chunks::SizeEnd { size } => match (byte, size) {
                (b'\n', 0) => Ok(Chunks::Trailer { line: 0, all: 0, carriage_return: false }),
                (b'\n', left) => Ok(Chunks::Data { left }),
                _ => Err(BadChunks),
            },
            Chunks::DataEnd { carriage_return: false } if byte == b'\r' => {
                Ok(Chunks::DataEnd { carriage_return: true })
            }
            Chunks::DataEnd { carriage_return: true } if byte == b'\n' => Ok(Chunks::START),
            Chunks::Trailer { all, .. } if all > LONGEST_TRAILER => Err(BadChunks),
            Chunks::Trailer { line, all, carriage_return } => match (byte, carriage_return) {
                (b'\n', true) if line == 0 => Ok(Chunks::Over),
                (b'\n', true) => Ok(Chunks::Trailer { line: 0, all: all + 1, carriage_return: false }),
                (b'\n', false) | (_, true) => Err(BadChunks),
                (b'\r', false) => Ok(Chunks::Trailer { line, all: all + 1, carriage_return: true }),
                (_, false) => Ok(Chunks::Trailer { line: line + 1, all: all + 1, carriage_return }),
            },
            Chunks::DataEnd { .. } | Chunks::Data { .. } | Chunks::Over => Err(BadChunks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_body_of_a_length_takes_no_more() {
        let mut body = Body::of_length(5);
        assert_eq!((body.take(b"abc"), body.is_over()), (Ok(3), false));
        assert_eq!((body.take(b"defg"), body.is_over()), (Ok(2), true));
        assert!(Body::none().is_over() && Body::until_end().ends_with_connection());
    }

    #[test]
    fn chunks_end_with_the_empty_one_and_its_trailer() {
        for text in ["3\r\nabc\r\n0\r\n\r\n", "A;x=y\r\n0123456789\r\n0\r\nT: v\r\nU: w\r\n\r\n", "0\r\n\r\n"]
        {
            let mut body = Body::chunked();
            assert_eq!(body.take(format!("{text}GET").as_bytes()), Ok(text.len()), "{text:?}");
            assert!(body.is_over());
        }
    }

    #[test]
    fn chunks_that_two_programs_could_read_differently_are_refused() {
        let long = format!("1;{}\r\n", "x".repeat(5000));
        for text in [
            "\r\n",
            "x\r\n",
            "3\nabc\r\n",
            "3\r\nabcd\r\n",
            "-1\r\n",
            "fffffffffffffffff\r\n",
            " 3\r\n",
            long.as_str(),
            "0\r\nA: b\n\r\n",
        ] {
            assert_eq!(Body::chunked().take(text.as_bytes()), Err(BadChunks), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_chunked_body_ends_at_the_same_byte_however_it_is_cut(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
            after in proptest::collection::vec(any::<u8>(), 0..10),
            step in 1usize..20,
        ) {
            let mut text = Vec::new();
            for chunk in &chunks {
                text.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                text.extend_from_slice(chunk);
                text.extend_from_slice(b"\r\n");
            }
            text.extend_from_slice(b"0\r\n\r\n");
            let end = text.len();
            text.extend_from_slice(&after);
            let (mut body, mut taken) = (Body::chunked(), 0);
            for part in text.chunks(step) {
                if body.is_over() {
                    break;
                }
                taken += body.take(part).unwrap();
            }
            prop_assert!(body.is_over());
            prop_assert_eq!(taken, end);
        }

        #[test]
        fn no_bytes_panic_or_take_more_than_there_are(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut body = Body::chunked();
            if let Ok(taken) = body.take(&bytes) {
                prop_assert!(taken == bytes.len() || body.is_over());
            }
        }
    }
}
