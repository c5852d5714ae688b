//! Long texts of a run, kept beside its journal and named by their hash.

use crate::fsx;
use crate::layout::{self, RunDir};
use std::io;

pub struct Texts {
    run: RunDir,
    /// The prompt mostly stays the same from one iteration to the next.
    last: Option<String>,
}

impl Texts {
    pub fn of(run: &RunDir) -> Texts {
        Texts { run: run.clone(), last: None }
    }

    /// Keeps a text and returns its name.
    pub fn put(&mut self, text: &str) -> io::Result<String> {
        let hash = layout::hash(text.as_bytes());
        if self.last.as_ref() != Some(&hash) {
            let path = self.run.text(&hash);
            if !path.exists() {
                fsx::write_whole(&path, text.as_bytes())?;
            }
            self.last = Some(hash.clone());
        }
        Ok(hash)
    }

    pub fn get(&self, hash: &str) -> io::Result<String> {
        fs_err::read_to_string(self.run.text(hash))
    }
}
