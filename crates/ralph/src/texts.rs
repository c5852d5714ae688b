//! Long texts of a run, kept beside its journal and named by their hash.
//!
//! A text is what its name says or it is refused: a power cut can leave a file that is there
//! and empty, and an agent must not be sent half a prompt.
//!
//! A text is as old as its last use, so that old ones can be removed beside the loop: see
//! `engine/retention.rs`. Removing one and finding it still there exclude each other.

use crate::fsx;
use crate::layout::{self, RunDir};
use crate::secrets;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::NamedTempFile;

pub struct Texts {
    run: RunDir,
    /// The prompt mostly stays the same from one iteration to the next.
    last: Option<String>,
    /// Written and not yet known to be on the disk: the newest.
    unsettled: VecDeque<PathBuf>,
    /// How many were written, and bytes.
    written: (usize, u64),
    /// For the next ones: making a file takes longer than writing a text to it.
    ready: Vec<NamedTempFile>,
    gate: Gate,
}

/// Held while a text is looked for, or looked at and removed.
pub type Gate = Arc<Mutex<()>>;

/// A difference and a prompt.
const READY: usize = 2;

/// More than an iteration writes. What was written before those has long been on its way to the disk.
const MOST_UNSETTLED: usize = 256;

impl Texts {
    pub fn of(run: &RunDir) -> Texts {
        let (unsettled, gate) = (VecDeque::new(), Gate::default());
        Texts { run: run.clone(), last: None, unsettled, written: (0, 0), ready: Vec::new(), gate }
    }

    /// Makes files for the next texts, where there is time for it. One that cannot be made is made
    /// when it is needed, or fails there.
    pub fn prepare(&mut self) {
        while self.ready.len() < READY
            && let Ok(file) = fsx::ready_file(&self.run.ready_text(self.ready.len()))
        {
            self.ready.push(file);
        }
    }

    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        match self.ready.pop().map(|ready| fsx::write_ready(ready, path, text.as_bytes())) {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => fsx::write_whole(path, text.as_bytes()),
        }
    }

    /// Keeps a text without secrets and returns its name.
    pub fn put(&mut self, text: &str) -> io::Result<String> {
        let text = secrets::mask(text);
        self.keep(layout::hash(text.as_bytes()), &text)
    }

    /// Keeps a text that an agent gets as it is, and returns its name. The file has the names of its secrets,
    /// from which they are put back.
    pub fn put_sealed(&mut self, text: &str) -> io::Result<String> {
        let sealed = secrets::masker().seal(text, &self.run.id()).into_owned();
        self.keep(layout::hash(text.as_bytes()), &sealed)
    }

    /// Keeps a copy of a file of the user's, which may have to be put back, and returns its name.
    pub fn put_exact(&mut self, text: &str) -> io::Result<String> {
        self.keep(layout::hash(text.as_bytes()), text)
    }

    fn keep(&mut self, hash: String, text: &str) -> io::Result<String> {
        if self.last.as_ref() != Some(&hash) {
            let path = self.run.text(&hash);
            if !self.is_kept(&path, text.len() as u64) {
                self.write(&path, text)?;
                self.written.0 += 1;
                self.written.1 += text.len() as u64;
                if self.unsettled.len() == MOST_UNSETTLED {
                    self.unsettled.pop_front();
                }
                self.unsettled.push_back(path);
            }
            self.last = Some(hash.clone());
        }
        Ok(hash)
    }

    /// Whether it is there; if so, it is as new as if it were written now.
    fn is_kept(&self, path: &Path, bytes: u64) -> bool {
        let _gate = self.gate.lock();
        path.metadata().is_ok_and(|file| file.len() == bytes) && fsx::touch(path).is_ok()
    }

    pub fn get(&self, hash: &str) -> io::Result<String> {
        let text = fs_err::read_to_string(self.run.text(hash))?;
        if layout::hash(text.as_bytes()) == hash {
            return Ok(text);
        }
        let invalid = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        match secrets::masker().unseal(&text, &self.run.id()) {
            Ok(unsealed) if layout::hash(unsealed.as_bytes()) == hash => Ok(unsealed.into_owned()),
            Ok(unsealed) if *unsealed != text => {
                invalid("the value of a secret in it has changed since the run began".to_owned())
            }
            Ok(_) => invalid(format!("damaged: {}", self.run.text(hash).display())),
            Err(gone) => invalid(gone.to_string()),
        }
    }

    /// What returns once every text so far is on the disk, wherever it is called.
    pub fn settling(&mut self) -> impl FnOnce() -> io::Result<()> + Send + use<> {
        let unsettled = std::mem::take(&mut self.unsettled);
        move || {
            unsettled.into_iter().try_for_each(|path| match File::open(path) {
                Ok(file) => file.sync_data(),
                // It is no longer kept.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(cause) => Err(cause),
            })
        }
    }

    /// The text that was put last: it is not looked for again while it stays the same.
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// How many texts were written since this was last asked, and their bytes.
    pub fn take_written(&mut self) -> (usize, u64) {
        std::mem::take(&mut self.written)
    }

    pub fn gate(&self) -> Gate {
        Arc::clone(&self.gate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Home;

    fn run_dir(dir: &tempfile::TempDir) -> RunDir {
        let run = Home::at(dir.path().to_path_buf()).run("r");
        fsx::private_dir(&run.texts()).unwrap();
        run
    }

    #[test]
    fn a_damaged_text_is_refused_and_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let run = run_dir(&dir);
        let hash = Texts::of(&run).put("do it").unwrap();
        fsx::write_whole(&run.text(&hash), b"").unwrap();
        assert_eq!(Texts::of(&run).get(&hash).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(Texts::of(&run).put("do it").unwrap(), hash);
        assert_eq!(Texts::of(&run).get(&hash).unwrap(), "do it");
    }

    #[test]
    fn texts_are_the_same_in_files_that_were_made_ahead_of_time() {
        let dir = tempfile::tempdir().unwrap();
        let run = run_dir(&dir);
        let mut killed = Texts::of(&run);
        killed.prepare();
        // What a kill leaves is used again.
        std::mem::forget(killed);
        let mut texts = Texts::of(&run);
        texts.prepare();
        fsx::remove(&run.ready_text(1)).unwrap();
        for text in ["one", "two", "three"] {
            let hash = texts.put(text).unwrap();
            assert_eq!(texts.get(&hash).unwrap(), text);
            let whole = texts.run.text("whole");
            fsx::write_whole(&whole, b"").unwrap();
            let mode = |path: &Path| path.metadata().unwrap().permissions();
            assert_eq!(mode(&run.text(&hash)), mode(&whole));
        }
        texts.prepare();
        drop(texts);
        assert!((0..READY).all(|number| !run.ready_text(number).exists()));
    }

    #[test]
    fn what_waits_to_be_on_the_disk_is_bounded_and_may_be_gone() {
        let dir = tempfile::tempdir().unwrap();
        let run = run_dir(&dir);
        let mut texts = Texts::of(&run);
        for number in 0..3 * MOST_UNSETTLED {
            texts.put(&number.to_string()).unwrap();
        }
        assert_eq!(texts.unsettled.len(), MOST_UNSETTLED);
        let last = texts.put("last").unwrap();
        fsx::remove(&run.text(&last)).unwrap();
        texts.settling()().unwrap();
        assert!(texts.unsettled.is_empty());
    }
}
