//! Entries of a git index, replaced without git.
//!
//! Only the format that git writes by default is read (version 2). What an index knows beside its
//! entries is left out, since it would no longer be true; git makes it again. An index that cannot be
//! understood without it (a split one, a sparse one) is left to git.

use super::long_lived::Unable;
use super::loose::{Entry, Format, OLD_PLAIN, raw};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// What is to be in the place of a path, with the file as it is on the disk; none if nothing is.
pub(super) type Replaced = BTreeMap<Vec<u8>, Option<(Entry, Metadata)>>;

const VERSION: u32 = 2;
const HEADER: usize = 12;
/// Times, device, inode, mode, owner and size of a file.
const STAT: usize = 40;
const FLAGS: usize = 2;

/// The index with these entries instead of those that it has.
pub(super) fn with_entries(index: &[u8], format: Format, replaced: &Replaced) -> Result<Vec<u8>, Unable> {
    let count = number_at(index, 8).ok_or(Unable)?;
    if !index.starts_with(b"DIRC") || number_at(index, 4) != Some(VERSION) {
        return Err(Unable);
    }
    let mut new = Vec::with_capacity(index.len() + 128 * replaced.len());
    new.extend_from_slice(&index[..HEADER]);
    let (mut at, mut kept) = (HEADER, 0_u32);
    let mut ahead = replaced.iter().peekable();
    for _ in 0..count {
        let (path, end) = entry_at(index, at, format).ok_or(Unable)?;
        while let Some((wanted, with)) = ahead.next_if(|(wanted, _)| wanted.as_slice() < path) {
            kept += push(&mut new, wanted, with.as_ref())?;
        }
        match ahead.next_if(|(wanted, _)| wanted.as_slice() == path) {
            Some((wanted, with)) => kept += push(&mut new, wanted, with.as_ref())?,
            None => {
                new.extend_from_slice(&index[at..end]);
                kept += 1;
            }
        }
        at = end;
    }
    for (wanted, with) in ahead {
        kept += push(&mut new, wanted, with.as_ref())?;
    }
    if !has_only_optional_extensions(index, at, format) {
        return Err(Unable);
    }
    new[8..HEADER].copy_from_slice(&kept.to_be_bytes());
    // Git does not look at it, but other programs that read an index do.
    new.extend(format.digest(&new)?);
    Ok(new)
}

/// Whether the entries are all there is to know. The name of an extension that can be left out begins
/// with a capital letter.
fn has_only_optional_extensions(index: &[u8], mut at: usize, format: Format) -> bool {
    let end = index.len() - format.id_bytes();
    while at < end {
        let (name, size) = (index.get(at).copied(), number_at(index, at + 4));
        let (Some(b'A'..=b'Z'), Some(size)) = (name, size) else { return false };
        at += 8 + size as usize;
    }
    at == end
}

/// The path of the entry that begins there, and where it ends.
fn entry_at(index: &[u8], at: usize, format: Format) -> Option<(&[u8], usize)> {
    let fixed = STAT + format.id_bytes() + FLAGS;
    let flags = u16::from_be_bytes(index.get(at + fixed - FLAGS..at + fixed)?.try_into().ok()?);
    // Of a conflict, or with more flags.
    if flags & 0x7000 != 0 {
        return None;
    }
    let name = index.get(at + fixed..)?;
    let length = name.iter().position(|byte| *byte == 0)?;
    let end = at + padded(fixed + length);
    (end + format.id_bytes() <= index.len()).then_some((&name[..length], end))
}

/// Adds an entry; how many that were.
fn push(index: &mut Vec<u8>, path: &[u8], with: Option<&(Entry, Metadata)>) -> Result<u32, Unable> {
    let Some((entry, meta)) = with else { return Ok(0) };
    let begin = index.len();
    let mode = if entry.mode == OLD_PLAIN { "100644" } else { entry.mode };
    let mode = u32::from_str_radix(mode, 8).map_err(|_| Unable)?;
    // Of each number git has the lower half.
    let low = |number: i64| number as u32;
    let numbers = [
        low(meta.ctime()),
        low(meta.ctime_nsec()),
        low(meta.mtime()),
        low(meta.mtime_nsec()),
        meta.dev() as u32,
        meta.ino() as u32,
        mode,
        meta.uid(),
        meta.gid(),
        meta.size() as u32,
    ];
    numbers.iter().for_each(|number| index.extend(number.to_be_bytes()));
    index.extend(raw(&entry.id).ok_or(Unable)?);
    let length = u16::try_from(path.len()).unwrap_or(u16::MAX).min(0x0fff);
    index.extend(length.to_be_bytes());
    index.extend_from_slice(path);
    index.resize(begin + padded(index.len() - begin), 0);
    Ok(1)
}

/// At least one byte, up to a multiple of eight.
fn padded(length: usize) -> usize {
    (length + 8) & !7
}

fn number_at(index: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use crate::git::git;
    use crate::git::loose::{Kind, Object};
    use std::fs;

    #[test]
    fn git_reads_what_was_added_replaced_and_removed() {
        for (name, format) in [("sha1", Format::Sha1), ("sha256", Format::Sha256)] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path();
            let run = |args: &[&str]| {
                let ran = git(top).args(["-c", "index.version=2"]).args(args).run().unwrap();
                assert!(ran.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
                String::from_utf8(ran.stdout).unwrap()
            };
            run(&["init", "-q", &format!("--object-format={name}")]);
            // Every length of padding, and one that is longer than the flags can say.
            let names: Vec<String> = (1..20).map(|length| "n".repeat(length)).collect();
            for name in &names {
                fs::write(top.join(name), name).unwrap();
            }
            run(&["add", "."]);
            let index = fs::read(top.join(".git/index")).unwrap();
            let mut replaced = Replaced::new();
            fs::create_dir(top.join("n-")).unwrap();
            for name in ["a", "n/", "nnn", "n-/x", "z"].map(|name| name.trim_end_matches('/')) {
                fs::write(top.join(name), format!("new {name}")).unwrap();
                let object = Object::new(format, Kind::Blob, format!("new {name}").as_bytes()).unwrap();
                run(&["hash-object", "-w", name]);
                let entry = Entry { mode: "100644", id: object.name };
                let meta = fs::symlink_metadata(top.join(name)).unwrap();
                replaced.insert(name.as_bytes().to_vec(), Some((entry, meta)));
            }
            for name in ["nnnnn", &"n".repeat(19), "not there"] {
                let _ = fs::remove_file(top.join(name));
                replaced.insert(name.as_bytes().to_vec(), None);
            }
            fs::write(top.join(".git/index"), with_entries(&index, format, &replaced).unwrap()).unwrap();
            let (listed, written) = (run(&["ls-files", "-s"]), fs::read(top.join(".git/index")).unwrap());
            let (entries, checksum) = written.split_at(written.len() - format.id_bytes());
            assert_eq!(format.digest(entries).unwrap(), checksum);
            assert_eq!(run(&["diff-files"]), "", "git need not read them");
            assert_eq!(run(&["status", "--porcelain", "-uall"]).matches("?? ").count(), 0);
            fs::remove_file(top.join(".git/index")).unwrap();
            run(&["add", "."]);
            assert_eq!(listed, run(&["ls-files", "-s"]));
        }
    }

    #[test]
    fn an_index_in_another_format_is_left_to_git() {
        let dir = tempfile::tempdir().unwrap();
        let run = |args: &[&str]| assert!(git(dir.path()).args(args).run().unwrap().success());
        run(&["init", "-q"]);
        for name in ["one", "only", "other"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        run(&["-c", "index.version=4", "add", "."]);
        let index = || fs::read(dir.path().join(".git/index")).unwrap();
        assert!(with_entries(&index(), Format::Sha1, &Replaced::new()).is_err());
        run(&["update-index", "--index-version=2"]);
        with_entries(&index(), Format::Sha1, &Replaced::new()).unwrap();
        // With flags that need another version.
        run(&["update-index", "--skip-worktree", "one"]);
        assert!(with_entries(&index(), Format::Sha1, &Replaced::new()).is_err());
        assert!(with_entries(&index()[..50], Format::Sha1, &Replaced::new()).is_err());
        run(&["update-index", "--no-skip-worktree", "one"]);
        run(&["update-index", "--index-version=2"]);
        with_entries(&index(), Format::Sha1, &Replaced::new()).unwrap();
        // Most of its entries are in another file.
        run(&["update-index", "--split-index"]);
        assert!(with_entries(&index(), Format::Sha1, &Replaced::new()).is_err());
    }
}
