//! What a file looks like from outside: while that is the same, so is the file.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds and nanoseconds since the epoch.
pub(super) type Moment = (i64, i64);

/// Times closer than this to a look prove nothing. Git takes one second.
const RECENT_SECONDS: i64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    Executable,
    Link,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) kind: Kind,
    mode: u32,
    device: u64,
    inode: u64,
    pub(super) size: u64,
    modified: Moment,
    changed: Moment,
    /// A hash of the content of a `.gitignore`: what git ignores must be certain.
    pub(super) patterns: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Link,
    /// A fifo, a socket, a device.
    Special,
}

impl Stamp {
    /// Of a file that was not changed just now: while its stamp is the same, so is its content.
    pub(super) fn settled(path: &Path) -> Option<Stamp> {
        let before = settled_before_now();
        let stamp = Stamp::of(&path.metadata().ok()?);
        stamp.is_settled(before).then_some(stamp)
    }

    /// Whether a file that was looked at after `before` cannot have been changed since without
    /// looking different.
    pub(super) fn is_settled(&self, before: Moment) -> bool {
        self.modified.max(self.changed) < before
    }

    /// The same for a `.gitignore`, by the hash of its content.
    pub(super) fn with_patterns(self, patterns: Option<u64>) -> Stamp {
        Stamp { patterns, ..self }
    }

    /// What a tree has for it.
    pub(super) fn recorded_mode(&self) -> Mode {
        match self.kind {
            Kind::Link => Mode::Link,
            Kind::File | Kind::Special if self.mode & 0o100 != 0 => Mode::Executable,
            Kind::File | Kind::Special => Mode::Plain,
        }
    }

    pub(super) fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// The permissions that git gives to such a file, if new files have the `usual` ones.
    pub(super) fn as_recorded(&self, usual: u32) -> u32 {
        match self.recorded_mode() {
            Mode::Executable => usual | (usual & 0o444) >> 2,
            Mode::Plain | Mode::Link => usual,
        }
    }

    pub(super) fn of(meta: &Metadata) -> Stamp {
        let of_type = meta.file_type();
        let special =
            of_type.is_fifo() || of_type.is_socket() || of_type.is_block_device() || of_type.is_char_device();
        let kind = match of_type.is_symlink() {
            true => Kind::Link,
            false if special => Kind::Special,
            false => Kind::File,
        };
        Stamp {
            kind,
            mode: meta.mode(),
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            patterns: None,
        }
    }
}

/// What was changed later than this proves nothing if it is looked at now.
pub(super) fn settled_before_now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    // As before: a whole second that is not over counts as recent.
    (seconds - RECENT_SECONDS + 1, 0)
}
