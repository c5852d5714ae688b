//! A pack of a few objects, with its index, in git's format.
//!
//! One file for many objects: making a file takes longer than writing these. Nothing is compressed and
//! nothing is a delta.

use super::loose::{Format, Object, raw, stored};
use std::io;
use std::path::PathBuf;

pub(super) struct Pack {
    format: Format,
    pack: Vec<u8>,
    index: Vec<u8>,
}

impl Pack {
    pub(super) fn of(format: Format, objects: &[Object]) -> io::Result<Pack> {
        let (pack, entries) = pack_of(format, objects)?;
        let index = index_of(format, &entries, &pack)?;
        Ok(Pack { format, pack, index })
    }

    /// By their paths in a repository. The name is the same for each pack: one is enough, and the next
    /// takes its place.
    pub(super) fn into_files(self) -> [(PathBuf, Vec<u8>); 2] {
        let name = "0".repeat(self.format.id_bytes() * 2);
        let path = |end: &str| PathBuf::from(format!("objects/pack/pack-{name}.{end}"));
        [(path("pack"), self.pack), (path("idx"), self.index)]
    }
}

struct PackedEntry {
    id: Vec<u8>,
    offset: u32,
    crc: u32,
}

fn pack_of(format: Format, objects: &[Object]) -> io::Result<(Vec<u8>, Vec<PackedEntry>)> {
    let mut pack = [&b"PACK"[..], &2_u32.to_be_bytes(), &number(objects.len())?.to_be_bytes()].concat();
    let mut entries = Vec::new();
    for object in objects {
        let begin = pack.len();
        pack.extend(header_of(object));
        pack.extend(stored(object.content()));
        let id = raw(&object.name).ok_or(io::ErrorKind::InvalidData)?;
        entries.push(PackedEntry { id, offset: number(begin)?, crc: crc32(&pack[begin..]) });
    }
    pack.extend(format.digest(&pack)?);
    entries.sort_by(|one, other| one.id.cmp(&other.id));
    Ok((pack, entries))
}

/// The kind and the size: four bits of it, then seven in each byte.
fn header_of(object: &Object) -> Vec<u8> {
    const MORE: u8 = 0x80;
    let size = object.content().len();
    let mut header = vec![object.kind.number() << 4 | (size & 0x0f) as u8];
    let mut left = size >> 4;
    while left > 0 {
        if let Some(last) = header.last_mut() {
            *last |= MORE;
        }
        header.push((left & 0x7f) as u8);
        left >>= 7;
    }
    header
}

fn index_of(format: Format, entries: &[PackedEntry], pack: &[u8]) -> io::Result<Vec<u8>> {
    let mut index = [&b"\xfftOc"[..], &2_u32.to_be_bytes()].concat();
    for first in 0..=u8::MAX {
        let below = entries.partition_point(|entry| entry.id[0] <= first);
        index.extend(number(below)?.to_be_bytes());
    }
    entries.iter().for_each(|entry| index.extend(&entry.id));
    entries.iter().for_each(|entry| index.extend(entry.crc.to_be_bytes()));
    entries.iter().for_each(|entry| index.extend(entry.offset.to_be_bytes()));
    index.extend(&pack[pack.len() - format.id_bytes()..]);
    index.extend(format.digest(&index)?);
    Ok(index)
}

/// Larger packs have another format.
fn number(number: usize) -> io::Result<u32> {
    i32::try_from(number).map(i32::cast_unsigned).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let step = |sum: u32| if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
    let table: [u32; 256] = std::array::from_fn(|byte| (0..8).fold(byte as u32, |sum, _| step(sum)));
    !bytes.iter().fold(!0, |sum: u32, byte| sum >> 8 ^ table[usize::from(sum as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;
    use crate::git::loose::{Entries, Entry, Kind, tree_of};
    use crate::git::{git, is_object_id};

    #[test]
    fn git_finds_and_verifies_what_was_packed() {
        for (name, format) in [("sha1", Format::Sha1), ("sha256", Format::Sha256)] {
            let dir = tempfile::tempdir().unwrap();
            let init = ["init", "-q", &format!("--object-format={name}")];
            assert!(git(dir.path()).args(init).run().unwrap().success());
            let lengths = [0, 1, 15, 16, 127, 2047, 2048, 70_000];
            let contents = lengths.map(|length| (0..length).map(|at: usize| (at * at % 251) as u8).collect());
            let mut objects: Vec<Object> = contents
                .iter()
                .map(|content: &Vec<u8>| Object::new(format, Kind::Blob, content).unwrap())
                .collect();
            let entry = |object: &Object| Entry { mode: "100644", id: object.name.clone() };
            let entries: Entries =
                objects.iter().map(|object| (object.name.clone().into_bytes(), entry(object))).collect();
            let tree = Object::new(format, Kind::Tree, &tree_of(&entries).unwrap()).unwrap();
            let said = format!("tree {}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n", tree.name);
            let commit = Object::new(format, Kind::Commit, said.as_bytes()).unwrap();
            let head = commit.name.clone();
            assert!(is_object_id(head.as_bytes()));
            objects.extend([tree, commit]);
            for (path, content) in Pack::of(format, &objects).unwrap().into_files() {
                fsx::place(&dir.path().join(".git").join(path), &content, false).unwrap();
            }
            let check = git(dir.path()).args(["fsck", "--strict", "--full", "--no-progress", &head]);
            let check = check.run().unwrap();
            assert!(check.success(), "{}", String::from_utf8_lossy(&check.stderr));
            for (object, content) in objects.iter().zip(&contents) {
                let shown = git(dir.path()).args(["cat-file", "blob", &object.name]).run().unwrap();
                assert!(shown.success() && shown.stdout == *content, "{}", content.len());
            }
        }
    }
}
