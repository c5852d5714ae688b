//! Long texts of a run, kept beside its journal and named by their hash.
//!
//! A text is what its name says or it is refused: a power cut can leave a file that is there
//! and empty, and an agent must not be sent half a prompt.

use crate::fsx;
use crate::layout::{self, RunDir};
use std::fs::File;
use std::io;
use std::path::PathBuf;

pub struct Texts {
    run: RunDir,
    /// The prompt mostly stays the same from one iteration to the next.
    last: Option<String>,
    /// Written and not yet known to be on the disk.
    unsettled: Vec<PathBuf>,
}

impl Texts {
    pub fn of(run: &RunDir) -> Texts {
        Texts { run: run.clone(), last: None, unsettled: Vec::new() }
    }

    /// Keeps a text and returns its name.
    pub fn put(&mut self, text: &str) -> io::Result<String> {
        let hash = layout::hash(text.as_bytes());
        if self.last.as_ref() != Some(&hash) {
            let path = self.run.text(&hash);
            let kept = path.metadata().is_ok_and(|file| file.len() == text.len() as u64);
            if !kept {
                fsx::write_whole(&path, text.as_bytes())?;
                self.unsettled.push(path);
            }
            self.last = Some(hash.clone());
        }
        Ok(hash)
    }

    pub fn get(&self, hash: &str) -> io::Result<String> {
        let text = fs_err::read_to_string(self.run.text(hash))?;
        if layout::hash(text.as_bytes()) != hash {
            let path = self.run.text(hash);
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("damaged: {}", path.display())));
        }
        Ok(text)
    }

    /// What returns once every text so far is on the disk, wherever it is called.
    pub fn settling(&mut self) -> impl FnOnce() -> io::Result<()> + Send + use<> {
        let unsettled = std::mem::take(&mut self.unsettled);
        move || unsettled.into_iter().try_for_each(|path| File::open(path)?.sync_data())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Home;

    #[test]
    fn a_damaged_text_is_refused_and_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let run = Home::at(dir.path().to_path_buf()).run("r");
        fsx::private_dir(&run.texts()).unwrap();
        let hash = Texts::of(&run).put("do it").unwrap();
        fsx::write_whole(&run.text(&hash), b"").unwrap();
        assert_eq!(Texts::of(&run).get(&hash).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(Texts::of(&run).put("do it").unwrap(), hash);
        assert_eq!(Texts::of(&run).get(&hash).unwrap(), "do it");
    }
}
