//! Files of an agent that may have secrets in them: a prompt that it reads from a file, a message that it writes to one.
//!
//! Records are copied and sent to others as a whole. So these files are outside of them, for the user alone, and only for as
//! long as they are used. What a process leaves that was killed is removed by the next one: see [`sweep`].

use crate::fsx;
use crate::layout::{self, Home};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Gone when it is dropped.
#[derive(Debug)]
pub struct HandedFile {
    path: PathBuf,
    /// Shows others that it is used.
    _in_use: File,
    _dir: TempDir,
}

impl HandedFile {
    /// A file of the same name as the one in a record that has the text without secrets.
    pub fn instead_of(recorded: &Path, home: &Home, content: &[u8]) -> io::Result<HandedFile> {
        let _gate = gate(home)?;
        fsx::private_dir(&home.handed())?;
        let dir = fsx::scratch_dir(&home.handed())?;
        let in_use = fsx::lock_file(&layout::handed_lock(dir.path()))?;
        in_use.lock()?;
        let path = dir.path().join(recorded.file_name().unwrap_or_default());
        fsx::write_private(&path, content)?;
        Ok(HandedFile { path, _in_use: in_use, _dir: dir })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes the files of processes that were killed.
pub fn sweep(home: &Home) -> io::Result<()> {
    if !home.handed().exists() {
        return Ok(());
    }
    let _gate = gate(home)?;
    for entry in fs::read_dir(home.handed())? {
        let dir = entry?.path();
        if fsx::lock_file(&layout::handed_lock(&dir))?.try_lock().is_ok() {
            fsx::remove_tree(&dir)?;
        }
    }
    Ok(())
}

/// Held for a moment: a file that is made is not yet used.
fn gate(home: &Home) -> io::Result<File> {
    fsx::private_dir(&home.locks())?;
    let gate = fsx::lock_file(&home.handed_gate())?;
    gate.lock()?;
    Ok(gate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_the_users_alone_and_gone_after_its_use_or_the_next_sweep() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_path_buf());
        sweep(&home).unwrap();
        assert!(!home.handed().exists(), "nothing is made in passing");
        let file = HandedFile::instead_of(Path::new("/record/prompt.md"), &home, b"secret").unwrap();
        assert!(file.path().ends_with("prompt.md"));
        assert_eq!(fs::read(file.path()).unwrap(), b"secret");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(file.path()), mode(&home.handed())), (0o600, 0o700));
        let killed = home.handed().join("scratch.killed");
        fsx::private_dir(&killed).unwrap();
        fsx::write_private(&killed.join("prompt.md"), b"secret").unwrap();
        sweep(&home).unwrap();
        assert!(!killed.exists() && file.path().exists());
        // As by an agent that replaces the file.
        fsx::write_private(file.path(), b"other").unwrap();
        sweep(&home).unwrap();
        assert!(file.path().exists());
        drop(file);
        assert_eq!(fs::read_dir(home.handed()).unwrap().count(), 0);
    }
}
