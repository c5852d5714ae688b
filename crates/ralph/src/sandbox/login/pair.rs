//! The files of a login, each in two places: where the user has it, and where agents inside have it.
//!
//! Invariant: the user's file is replaced only if it is still what the copy was made of, as a whole and with
//! its permissions. What is decided is in [`ralph_loop::sandbox::credential`].

use crate::fsx;
use crate::layout;
use crate::secrets;
use ralph_loop::sandbox::credential::{Credential, Due, Sides, Unchanged, is_whole};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No login is larger.
const MOST_READ: u64 = 1 << 20;
/// A file that is being written is whole after so many looks.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Pair {
    pub credential: &'static Credential,
    /// Without links.
    pub original: PathBuf,
    /// In a directory that agents can write to.
    pub copy: PathBuf,
}

/// All files of one agent.
#[derive(Debug)]
pub struct Pairs {
    agent: &'static str,
    pairs: Vec<Pair>,
    /// What both sides were when they were the same, as hashes by the name of the file.
    record: PathBuf,
    /// Held while both sides are looked at and changed.
    lock: PathBuf,
}

type Record = BTreeMap<String, String>;

impl Pairs {
    /// `root` is out of the reach of agents.
    pub fn at(root: &Path, agent: &'static str) -> Pairs {
        let file = |ending: &str| root.join(format!("{agent}.{ending}"));
        Pairs { agent, pairs: Vec::new(), record: file("json"), lock: file("lock") }
    }

    pub fn add(&mut self, pair: Pair) {
        self.pairs.push(pair);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter()
    }

    /// Takes over what is new on both sides. What is half written waits for the next time.
    pub fn sync(&self) -> Vec<String> {
        self.sync_all(|_, _| Ok(None))
    }

    /// The same, and where an agent has left something that is no login, the user's takes its place.
    pub fn settle(&self) -> Vec<String> {
        let mut said = Vec::new();
        for _ in 0..LOOKS {
            said.extend(self.sync());
            if self.pairs.iter().all(|pair| !pair.waits(&self.read_record())) {
                return said;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        said.extend(self.sync_all(|pair, original| {
            if !is_whole(original) {
                return Ok(None);
            }
            fsx::write_private(&pair.copy, original)?;
            Ok(Some("what was left of the login in the sandbox cannot be used: replaced by yours".to_owned()))
        }));
        said
    }

    fn sync_all(&self, wait: impl Fn(&Pair, &[u8]) -> io::Result<Option<String>>) -> Vec<String> {
        let mut said = Vec::new();
        let held = fsx::lock_file(&self.lock).and_then(|lock| lock.lock().map(|()| lock));
        let mut record = self.read_record();
        let before = record.clone();
        for pair in &self.pairs {
            match pair.sync(self.agent, &mut record, &wait) {
                Ok(Some(words)) => said.push(format!("{}: {words}", self.agent)),
                Ok(None) => {}
                Err(cause) => said.push(format!("{}: cannot keep the login up to date: {cause}", self.agent)),
            }
        }
        if record != before {
            let text = serde_json::to_vec(&record).map_err(io::Error::other);
            // Without a record, the user's own login counts the next time.
            let _ = text.and_then(|text| fsx::write_private(&self.record, &text));
        }
        drop(held);
        said
    }

    fn read_record(&self) -> Record {
        let bytes = fsx::read_at_most(&self.record, MOST_READ).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

impl Pair {
    fn sync(
        &self,
        agent: &str,
        record: &mut Record,
        wait: &impl Fn(&Pair, &[u8]) -> io::Result<Option<String>>,
    ) -> io::Result<Option<String>> {
        let (original, copy) = (self.read_original()?, self.read_copy());
        for login in [&original, &copy].into_iter().flatten() {
            secrets::learn_login(agent, login);
        }
        let due = self.due(original.as_deref(), copy.as_deref(), record);
        let said = match (due, &original, &copy) {
            (Due::WriteBack, Some(original), Some(copy)) => {
                // Another process may have been faster just now.
                if self.read_original()?.as_ref() != Some(original) {
                    return Ok(None);
                }
                fsx::replace_content(&self.original, copy)?;
                Some(format!("the refreshed login was written to {}", self.original.display()))
            }
            (Due::Copy, Some(original), _) => {
                fsx::write_private(&self.copy, original)?;
                None
            }
            (Due::CopyOver, Some(original), _) => {
                fsx::write_private(&self.copy, original)?;
                Some(format!("the login changed inside and outside: kept {}", self.original.display()))
            }
            (Due::RemoveCopy, ..) => {
                fsx::remove(&self.copy)?;
                None
            }
            (Due::Wait, Some(original), _) => return wait(self, original),
            _ => None,
        };
        match if due == Due::WriteBack { copy } else { original } {
            Some(now) => record.insert(self.credential.file.to_owned(), layout::hash(&now)),
            None => record.remove(self.credential.file),
        };
        Ok(said)
    }

    fn due(&self, original: Option<&[u8]>, copy: Option<&[u8]>, record: &Record) -> Due {
        let was = record.get(self.credential.file);
        let is = |side: Option<&[u8]>, was: &String| side.is_some_and(|side| layout::hash(side) == *was);
        let unchanged = was.map(|was| Unchanged { original: is(original, was), copy: is(copy, was) });
        self.credential.due(Sides { original, copy, unchanged })
    }

    fn waits(&self, record: &Record) -> bool {
        let original = self.read_original().unwrap_or_default();
        self.due(original.as_deref(), self.read_copy().as_deref(), record) == Due::Wait
    }

    /// A file that cannot be read is not one that is gone.
    fn read_original(&self) -> io::Result<Option<Vec<u8>>> {
        match fsx::read_at_most(&self.original, MOST_READ) {
            Ok(content) => Ok(Some(content)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause),
        }
    }

    /// A link leads where an agent wants ralph to look, and a file can be of any size.
    fn read_copy(&self) -> Option<Vec<u8>> {
        fsx::read_unlinked_at_most(&self.copy, MOST_READ).ok()
    }
}
