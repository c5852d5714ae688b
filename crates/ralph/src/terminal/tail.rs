//! A file that an agent appends to, read line by line.

use crate::fsx;
use ralph_loop::dialect::{Line, Lines};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::SystemTime;

pub struct Tail {
    path: PathBuf,
    /// Not there before the agent has made it.
    file: Option<File>,
    /// What was there before is not of this session.
    began: SystemTime,
    lines: Lines,
}

impl Tail {
    /// A file that is older than `began`, as that of a conversation that goes on, is read from its present end.
    pub fn of(path: PathBuf, began: SystemTime) -> Tail {
        Tail { path, file: None, began, lines: Lines::default() }
    }

    pub fn path(&self) -> &PathBuf {
        &self.path
    }

    /// The whole lines that are new.
    pub fn read(&mut self) -> io::Result<Vec<String>> {
        if self.file.is_none() {
            match fsx::open_regular(&self.path) {
                Ok(mut file) => {
                    // Not all file systems know it.
                    if file.metadata()?.created().is_ok_and(|created| created < self.began) {
                        file.seek(SeekFrom::End(0))?;
                    }
                    self.file = Some(file);
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_conversation_that_goes_on_is_read_from_where_it_is_now() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("session.jsonl");
        let hour = Duration::from_secs(3600);
        for (began, first) in [(SystemTime::now() - hour, vec!["old"]), (SystemTime::now() + hour, vec![])] {
            fsx::write_whole(&path, b"old\n").unwrap();
            let mut tail = Tail::of(path.clone(), began);
            assert_eq!(tail.read().unwrap(), first);
            fsx::append(&path, b"new\n").unwrap();
            assert_eq!(tail.read().unwrap(), ["new"]);
        }
        assert_eq!(Tail::of(dir.path().join("missing"), SystemTime::now()).read().unwrap(), [""; 0]);
    }
}
