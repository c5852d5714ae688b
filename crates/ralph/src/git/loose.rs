//! Blobs, trees and commits in the format of git's loose objects.
//!
//! An object is named by the hash of its kind, its size and its content, so ralph can write a blob
//! and the trees above it without asking git for a name in between. None is ever half written under
//! its name. They are not compressed, which the format allows: git packs them soon (`tidy.rs`).
//!
//! Deliberately absent: reading objects. Git does that.

use super::is_object_id;
use super::shadow::Shadow;
use crate::fsx::{self, Prepared};
use sha1_checked::Sha1;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// What a tree consists of, by name.
pub(super) type Entries = BTreeMap<Vec<u8>, Entry>;

/// What a tree has under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: &'static str,
    pub(super) id: String,
}

pub(super) const TREE: &str = "40000";
/// A commit of another repository, which is never read.
pub(super) const SUBMODULE: &str = "160000";
/// As some trees of long ago have it; the same as `100644`.
pub(super) const OLD_PLAIN: &str = "100664";

/// Another mode is nothing that this file knows.
const MODES: [&str; 6] = ["100644", OLD_PLAIN, "100755", "120000", TREE, SUBMODULE];

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Commit,
    Tree,
    Blob,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Commit => "commit",
            Kind::Tree => "tree",
            Kind::Blob => "blob",
        }
    }

    /// In a pack.
    pub(super) fn number(self) -> u8 {
        match self {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
        }
    }
}

/// How the objects of a repository are named.
#[derive(Clone, Copy)]
pub(super) enum Format {
    Sha1,
    Sha256,
}

impl Format {
    /// Of the repository that an object with this name is in.
    pub(super) fn of(id: &str) -> Option<Format> {
        match id.len() {
            _ if !is_object_id(id.as_bytes()) => None,
            40 => Some(Format::Sha1),
            _ => Some(Format::Sha256),
        }
    }

    pub(super) fn id_bytes(self) -> usize {
        match self {
            Format::Sha1 => 20,
            Format::Sha256 => 32,
        }
    }

    pub(super) fn digest(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Format::Sha1 => {
                let hash = Sha1::try_digest(bytes);
                // Git refuses these as well: two contents would be one object.
                if hash.has_collision() {
                    return Err(io::Error::other("made for a collision of SHA-1"));
                }
                Ok(hash.hash().to_vec())
            }
            Format::Sha256 => Ok(Sha256::digest(bytes).to_vec()),
        }
    }
}

/// An object that need not have been written.
#[derive(Clone)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The content begins there.
    header: usize,
    bytes: Vec<u8>,
}

impl Object {
    pub(super) fn new(format: Format, kind: Kind, content: &[u8]) -> io::Result<Object> {
        let header = format!("{} {}\0", kind.word(), content.len());
        let bytes = [header.as_bytes(), content].concat();
        Ok(Object { name: hex(&format.digest(&bytes)?), kind, header: header.len(), bytes })
    }

    pub(super) fn content(&self) -> &[u8] {
        &self.bytes[self.header..]
    }
}

/// The objects of a repository.
pub(super) struct Loose {
    dir: PathBuf,
    prepared: Prepared,
    /// How many were written since they were last packed.
    written: usize,
}

/// From so many objects on they are worth packing.
const MANY: usize = 48;

impl Loose {
    pub(super) fn below(dir: PathBuf) -> Loose {
        Loose { prepared: Prepared::below(dir.clone()), dir, written: 0 }
    }

    /// Whether something is to be done before more is written, where there is time for it.
    pub(super) fn is_care_due(&self) -> bool {
        self.are_many() || self.prepared.is_low()
    }

    pub(super) fn care(&mut self, shadow: &Shadow) {
        if self.are_many() {
            // What cannot be packed stays as it is. Once it is very much, a snapshot says why.
            let _ = shadow.pack_all();
            self.written = 0;
        }
        self.prepared.refill();
    }

    /// Whether they will be packed.
    pub(super) fn are_many(&self) -> bool {
        self.written >= MANY
    }

    pub(super) fn write(&mut self, object: &Object) -> io::Result<()> {
        self.prepared.write(&path_of(&self.dir, &object.name), || stored(&object.bytes))?;
        self.written += 1;
        Ok(())
    }
}

/// Writes an object into a directory of objects, unless it is there.
pub(super) fn write_object(dir: &Path, object: &Object) -> io::Result<()> {
    let path = path_of(dir, &object.name);
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(above) = path.parent() {
        fsx::private_dir(above)?;
    }
    fsx::write_whole(&path, &stored(&object.bytes))
}

fn path_of(dir: &Path, name: &str) -> PathBuf {
    let (start, rest) = name.split_at(2);
    dir.join(start).join(rest)
}

/// A zlib stream that holds bytes as they are.
pub(super) fn stored(bytes: &[u8]) -> Vec<u8> {
    const LONGEST_BLOCK: usize = u16::MAX as usize;
    let mut stream = Vec::with_capacity(bytes.len() + bytes.len() / LONGEST_BLOCK * 5 + 16);
    stream.extend([0x78, 0x01]);
    // Also of nothing there is one block.
    let (whole, last) = bytes.split_at(bytes.len().saturating_sub(1) / LONGEST_BLOCK * LONGEST_BLOCK);
    let mut blocks = whole.chunks(LONGEST_BLOCK).chain([last]).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler32(bytes).to_be_bytes());
    stream
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    // So many sums of bytes fit into 32 bits.
    const AT_ONCE: usize = 5_552;
    let (mut low, mut high) = (1_u32, 0_u32);
    for some in bytes.chunks(AT_ONCE) {
        for byte in some {
            low += u32::from(*byte);
            high += low;
        }
        (low, high) = (low % MODULUS, high % MODULUS);
    }
    high << 16 | low
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn raw(id: &str) -> Option<Vec<u8>> {
    let pairs = id.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

/// The content of a tree: `mode name`, a zero byte and the raw id, again and again.
pub(super) fn tree_of(entries: &Entries) -> Option<Vec<u8>> {
    let mut sorted: Vec<_> = entries.iter().collect();
    // A directory's place is that of the files in it.
    let end = |entry: &Entry| if entry.mode == TREE { &b"/"[..] } else { b"" };
    sorted.sort_by(|(name, entry), (other, beside)| {
        name.iter().chain(end(entry)).cmp(other.iter().chain(end(beside)))
    });
    let mut content = Vec::new();
    for (name, Entry { mode, id }) in sorted {
        content.extend(mode.as_bytes());
        content.push(b' ');
        content.extend(name);
        content.push(0);
        content.extend(raw(id)?);
    }
    Some(content)
}

/// The entries of a tree, if all of them are of a known kind.
pub(super) fn entries_of(mut content: &[u8], id_bytes: usize) -> Option<Entries> {
    let mut entries = Entries::new();
    while !content.is_empty() {
        let space = content.iter().position(|byte| *byte == b' ')?;
        let end = content.iter().position(|byte| *byte == 0).filter(|end| *end > space)?;
        let mode = MODES.iter().find(|mode| mode.as_bytes() == &content[..space])?;
        let id = hex(content.get(end + 1..end + 1 + id_bytes)?);
        entries.insert(content[space + 1..end].to_vec(), Entry { mode, id });
        content = &content[end + 1 + id_bytes..];
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{Repository, git};
    use crate::process::tool::Tool;
    use tempfile::TempDir;

    struct Bench {
        _dir: TempDir,
        shadow: Shadow,
        format: Format,
        loose: Loose,
    }

    impl Bench {
        fn new(format: &str) -> Bench {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap().join("top");
            fsx::dir(&top).unwrap();
            assert!(
                git(&top).args(["init", "-q", &format!("--object-format={format}")]).run().unwrap().success()
            );
            let shadow = Shadow::over(Repository::around(&top).unwrap(), dir.path().join("own"), 1 << 20);
            let tree = shadow.set_up(&top).unwrap().unwrap();
            let (loose, format) = (Loose::below(shadow.objects()), Format::of(&tree).unwrap());
            Bench { _dir: dir, shadow, format, loose }
        }

        fn write(&mut self, kind: Kind, content: &[u8]) -> String {
            let object = Object::new(self.format, kind, content).unwrap();
            self.loose.write(&object).unwrap();
            object.name
        }

        fn answer(&self, tool: impl FnOnce(Tool<'static>) -> Tool<'static>) -> Vec<u8> {
            let answer = tool(self.shadow.git()).run().unwrap();
            assert!(answer.success(), "{}", String::from_utf8_lossy(&answer.stderr));
            answer.stdout
        }

        fn fsck(&self) {
            self.answer(|git| git.args(["fsck", "--strict", "--no-dangling", "--no-progress"]));
        }
    }

    /// Also where it consists of several blocks, or ends with one.
    #[test]
    fn git_reads_blobs_of_any_length_under_the_names_that_it_would_give_them() {
        for format in ["sha1", "sha256"] {
            let mut bench = Bench::new(format);
            // The header of these is eleven bytes long.
            let about_a_block = 65_535 - 13..65_535 + 3;
            for length in [0, 1, 9, 10, 5_552, 131_059, 200_000].into_iter().chain(about_a_block) {
                let content: Vec<u8> = (0..length).map(|at: usize| (at * at % 251) as u8).collect();
                let name = bench.write(Kind::Blob, &content);
                let hash = ["hash-object", "--stdin"];
                let named = checked_hash(&bench, &hash, &content);
                assert_eq!(name, named, "{length}");
                assert!(bench.answer(|git| git.args(["cat-file", "blob", &name])) == content, "{length}");
            }
            bench.fsck();
        }
    }

    fn checked_hash(bench: &Bench, args: &[&str], content: &[u8]) -> String {
        let answer = bench.shadow.git().args(args).stdin(content).run().unwrap();
        String::from_utf8(answer.stdout).unwrap().trim().to_string()
    }

    #[test]
    fn a_tree_is_sorted_as_git_sorts_it_and_read_back() {
        for format in ["sha1", "sha256"] {
            let mut bench = Bench::new(format);
            let blob = bench.write(Kind::Blob, b"x");
            let file = |name: &str, mode| (name.as_bytes().to_vec(), Entry { mode, id: blob.clone() });
            let inner = Entries::from([file("in\nside", "100755")]);
            let inner = bench.write(Kind::Tree, &tree_of(&inner).unwrap());
            let mut entries =
                Entries::from(["a", "a-b", "a.b", "a0", "b", "\u{fc}"].map(|name| file(name, "100644")));
            entries.extend(["a.", "b-"].map(|name| file(name, "120000")));
            let dir = Entry { mode: TREE, id: inner };
            entries.extend(["ab", "a.c", "b."].map(|name| (name.as_bytes().to_vec(), dir.clone())));
            // As a directory, it is behind `a.b`.
            entries.insert(b"a".to_vec(), dir);
            let content = tree_of(&entries).unwrap();
            let name = bench.write(Kind::Tree, &content);
            let listing = bench.answer(|git| git.args(["ls-tree", "-z", &name]));
            let again = bench.shadow.git().args(["mktree", "-z"]).stdin(&listing).run().unwrap();
            assert_eq!(String::from_utf8(again.stdout).unwrap().trim(), name);
            assert_eq!(entries_of(&content, name.len() / 2), Some(entries));
            bench.fsck();
        }
    }

    #[test]
    fn an_entry_that_is_cut_or_of_an_unknown_kind_is_not_handed_through() {
        assert!(entries_of(b"160000 module\0aaaaaaaaaaaaaaaaaaaa", 20).is_some());
        assert_eq!(entries_of(b"100600 old\0aaaaaaaaaaaaaaaaaaaa", 20), None);
        assert_eq!(entries_of(b"100644 cut\0aaaaaaaaaaaaaaaaaaa", 20), None);
    }

    #[test]
    fn packed_objects_are_still_there_and_leave_no_loose_ones() {
        let mut bench = Bench::new("sha1");
        let contents: Vec<String> = (0..MANY).map(|number| format!("object {number}")).collect();
        let mut names = Vec::new();
        for content in &contents {
            assert!(!bench.loose.are_many());
            names.push(bench.write(Kind::Blob, content.as_bytes()));
        }
        assert!(bench.loose.is_care_due());
        bench.loose.care(&bench.shadow);
        assert!(!bench.loose.is_care_due());
        for (name, content) in names.iter().zip(&contents) {
            assert!(!path_of(&bench.shadow.objects(), name).exists());
            assert_eq!(bench.answer(|git| git.args(["cat-file", "blob", name])), content.as_bytes());
        }
        bench.fsck();
    }
}
