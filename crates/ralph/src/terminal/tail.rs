//! A file that an agent appends to, read line by line.

use crate::fsx;
use ralph_loop::dialect::{Line, Lines};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

pub struct Tail {
    path: PathBuf,
    /// Not there before the agent has made it.
    file: Option<File>,
    lines: Lines,
}

impl Tail {
    pub fn of(path: PathBuf) -> Tail {
        Tail { path, file: None, lines: Lines::default() }
    }

    pub fn path(&self) -> &PathBuf {
        &self.path
    }

    /// The whole lines that are new.
    pub fn read(&mut self) -> io::Result<Vec<String>> {
        if self.file.is_none() {
            match fsx::open_regular(&self.path) {
                Ok(file) => self.file = Some(file),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(cause) => return Err(cause),
            }
        }
        let Some(file) = &mut self.file else { return Ok(Vec::new()) };
        let (mut found, mut buffer) = (Vec::new(), [0; 64 << 10]);
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(found);
            }
            self.lines.feed(&buffer[..read], &mut |line| {
                // A line that is too long to be kept is no message.
                if let Line::Whole(bytes) = line {
                    found.push(String::from_utf8_lossy(bytes).into_owned());
                }
            });
        }
    }
}
