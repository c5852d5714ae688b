//! Refs: how they are read, and which of them are carried over.

use super::format::Format;
use super::scratch::Scratch;
use crate::git::{GitError, checked};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Id(String),
    /// The name of another ref.
    Symbolic(Vec<u8>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Refs {
    pub(super) values: BTreeMap<Vec<u8>, Value>,
    /// Names of files that are no refs.
    pub(super) broken: BTreeSet<Vec<u8>>,
}

impl Refs {
    /// Of a git directory that no agent can write. `scratch` is for a git directory of ralph's own.
    pub(super) fn of(
        dir: &Path,
        format: Format,
        scratch: PathBuf,
        objects: &[PathBuf],
    ) -> Result<Refs, GitError> {
        if format.reftable {
            Refs::in_tables(dir, format, scratch, objects)
        } else {
            Ok(Refs::in_files(dir, format))
        }
    }

    fn in_tables(
        dir: &Path,
        format: Format,
        scratch: PathBuf,
        objects: &[PathBuf],
    ) -> Result<Refs, GitError> {
        // Git takes a table that is not there for an empty one.
        let tables = fs::read(dir.join("reftable/tables.list")).map_err(GitError::Io)?;
        let tables = tables.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
        for table in tables.map(|name| dir.join("reftable").join(OsStr::from_bytes(name))) {
            fs::metadata(&table).map_err(GitError::Io)?;
        }
        let scratch = Scratch::make(scratch, format, dir, objects).map_err(GitError::Io)?;
        let list = ["for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)"];
        let listed = checked("for-each-ref", scratch.git().args(list))?;
        let mut refs = Refs::default();
        for line in listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let mut fields = line.split(|byte| *byte == 0).map(<[u8]>::to_vec);
            let (Some(name), Some(id), Some(target)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let id = Value::Id(String::from_utf8_lossy(&id).into_owned());
            refs.values.insert(name, if target.is_empty() { id } else { Value::Symbolic(target) });
        }
        Ok(refs)
    }

    /// A file of its own counts more than a line in `packed-refs`. It is read first: git writes that
    /// line before it removes the file.
    fn in_files(dir: &Path, format: Format) -> Refs {
        let mut refs = Refs::default();
        let mut dirs = vec![dir.join("refs")];
        while let Some(inner) = dirs.pop() {
            for entry in fs::read_dir(inner).into_iter().flatten().filter_map(Result::ok) {
                let path = entry.path();
                if path.is_dir() {
                    dirs.push(path);
                    continue;
                }
                let Ok(name) = path.strip_prefix(dir).map(|name| name.as_os_str().as_bytes().to_vec()) else {
                    continue;
                };
                match fs::read(&path).ok().and_then(|content| Value::of_file(&content, format)) {
                    Some(value) if is_name(&name) => drop(refs.values.insert(name, value)),
                    Some(_) | None if name.ends_with(b".lock") => {}
                    Some(_) | None => drop(refs.broken.insert(name)),
                }
            }
        }
        let packed = fs::read(dir.join("packed-refs")).unwrap_or_default();
        for line in packed.split(|byte| *byte == b'\n') {
            let Some((id, name)) = line.split_at_checked(format.id_length()) else { continue };
            let Some(name) = name.strip_prefix(b" ").filter(|name| is_name(name)) else { continue };
            if format.is_id(id) && !refs.broken.contains(name) {
                let id = Value::Id(String::from_utf8_lossy(id).into_owned());
                refs.values.entry(name.to_vec()).or_insert(id);
            }
        }
        refs
    }
}

impl Value {
    /// The content of a file, be it of a ref or of HEAD.
    pub(super) fn of_file(content: &[u8], format: Format) -> Option<Value> {
        if let Some(target) = content.strip_prefix(b"ref:") {
            let target = target.trim_ascii();
            return is_name(target).then(|| Value::Symbolic(target.to_vec()));
        }
        let id = content.trim_ascii_end();
        format.is_id(id).then(|| Value::Id(String::from_utf8_lossy(id).into_owned()))
    }

    pub(super) fn in_file(&self) -> Vec<u8> {
        match self {
            Value::Id(id) => format!("{id}\n").into_bytes(),
            Value::Symbolic(target) => [b"ref: ", target.as_slice(), b"\n"].concat(),
        }
    }

    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Value::Id(id) => Some(id),
            Value::Symbolic(_) => None,
        }
    }
}

/// Whether git allows a ref of this name. Every git checks that again.
pub(super) fn is_name(name: &[u8]) -> bool {
    let is_part = |part: &[u8]| !part.is_empty() && !part.starts_with(b".") && !part.ends_with(b".lock");
    let is_bad = |byte: &u8| *byte <= b' ' || *byte == 0x7f || b"~^:?*[\\".contains(byte);
    let has = |pair: &[u8]| name.windows(2).any(|found| found == pair);
    name.starts_with(b"refs/")
        && name.len() < 2048
        && name.split(|byte| *byte == b'/').all(is_part)
        && !name.iter().any(is_bad)
        && !has(b"..")
        && !has(b"@{")
        && !name.ends_with(b".")
}

/// One ref, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) name: Vec<u8>,
    pub(super) old: Option<Value>,
    pub(super) new: Option<Value>,
}

/// What is to be done with what changed inside.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) carry: Vec<Change>,
    /// Changed outside as well, and differently; the value outside is `old`.
    pub(super) conflicts: Vec<Change>,
    /// Not carried over, whatever they are.
    pub(super) refused: Vec<Vec<u8>>,
}

/// `base` is what both were, `theirs` what is outside now, `ours` what is inside. `linked` says that
/// the run has a linked worktree, and so none of the refs that belong to the main one.
pub(super) fn plan(base: &Refs, theirs: &Refs, ours: &Refs, linked: bool) -> Plan {
    let mut plan = Plan::default();
    let names: BTreeSet<&Vec<u8>> = base.values.keys().chain(ours.values.keys()).collect();
    for name in names {
        let of = |refs: &Refs| refs.values.get(name).cloned();
        let (was, old, new) = (of(base), of(theirs), of(ours));
        if was == new || old == new || ours.broken.contains(name) || is_ralphs(name) {
            continue;
        }
        if linked && is_per_worktree(name) {
            continue;
        }
        let change = Change { name: name.clone(), old: old.clone(), new };
        if is_refused(name) {
            plan.refused.push(change.name);
        } else if old == was {
            plan.carry.push(change);
        } else {
            plan.conflicts.push(change);
        }
    }
    plan.refused.extend(ours.broken.iter().filter(|name| !base.broken.contains(*name)).cloned());
    plan
}

/// Ralph's own, which agents have no business with.
fn is_ralphs(name: &[u8]) -> bool {
    name.starts_with(b"refs/ralph/")
}

/// Git would show other objects in the place of those that have the right names.
fn is_refused(name: &[u8]) -> bool {
    name.starts_with(b"refs/replace/")
}

fn is_per_worktree(name: &[u8]) -> bool {
    [&b"refs/bisect/"[..], b"refs/worktree/", b"refs/rewritten/"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Whether there can be only one of two refs: one would be a directory of the other.
pub(super) fn exclude_each_other(one: &[u8], other: &[u8]) -> bool {
    let is_above =
        |above: &[u8], name: &[u8]| name.strip_prefix(above).is_some_and(|rest| rest.starts_with(b"/"));
    is_above(one, other) || is_above(other, one)
}

/// As people call it: `the branch main`.
pub(super) fn called(name: &[u8]) -> String {
    let text = ralph_loop::text::printable(&String::from_utf8_lossy(name)).into_owned();
    for (prefix, kind) in [("refs/heads/", "branch"), ("refs/tags/", "tag")] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return format!("the {kind} {rest}");
        }
    }
    if text == "refs/stash" { "the stash".to_string() } else { text }
}

/// Whether something may be lost with it. Others come and go, such as the stash.
pub(super) fn is_of_value(name: &[u8]) -> bool {
    [&b"refs/heads/"[..], b"refs/tags/", b"refs/notes/"].iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refs(values: &[(&str, &str)]) -> Refs {
        let value = |text: &str| match text.strip_prefix('>') {
            Some(target) => Value::Symbolic(target.as_bytes().to_vec()),
            None => Value::Id(text.to_string()),
        };
        let values = values.iter().map(|(name, text)| (name.as_bytes().to_vec(), value(text))).collect();
        Refs { values, broken: BTreeSet::new() }
    }

    fn names(changes: &[Change]) -> Vec<String> {
        changes.iter().map(|change| String::from_utf8_lossy(&change.name).into_owned()).collect()
    }

    #[test]
    fn only_what_changed_inside_alone_is_carried_over() {
        let base = refs(&[
            ("refs/heads/same", "1"),
            ("refs/heads/inside", "1"),
            ("refs/heads/outside", "1"),
            ("refs/heads/both", "1"),
            ("refs/heads/alike", "1"),
            ("refs/heads/gone", "1"),
            ("refs/heads/gone-outside", "1"),
            ("refs/ralph/run/attempt-1", "1"),
        ]);
        let theirs = refs(&[
            ("refs/heads/same", "1"),
            ("refs/heads/inside", "1"),
            ("refs/heads/outside", "2"),
            ("refs/heads/both", "3"),
            ("refs/heads/alike", "2"),
            ("refs/heads/gone", "1"),
            ("refs/ralph/run/attempt-1", "1"),
        ]);
        let mut ours = refs(&[
            ("refs/heads/same", "1"),
            ("refs/heads/inside", "2"),
            ("refs/heads/outside", "1"),
            ("refs/heads/both", "2"),
            ("refs/heads/alike", "2"),
            ("refs/heads/gone-outside", "2"),
            ("refs/heads/new", "2"),
            ("refs/remotes/o/HEAD", ">refs/remotes/o/main"),
            ("refs/replace/1", "2"),
            ("refs/bisect/bad", "2"),
            ("refs/ralph/run/attempt-2", "9"),
        ]);
        ours.broken.insert(b"refs/heads/same".to_vec());
        let found = plan(&base, &theirs, &ours, true);
        let carried = ["refs/heads/gone", "refs/heads/inside", "refs/heads/new", "refs/remotes/o/HEAD"];
        assert_eq!(names(&found.carry), carried);
        assert_eq!(names(&found.conflicts), ["refs/heads/both", "refs/heads/gone-outside"]);
        assert_eq!(found.refused, [b"refs/replace/1".to_vec(), b"refs/heads/same".to_vec()]);
        assert!(names(&plan(&base, &theirs, &ours, false).carry).contains(&"refs/bisect/bad".to_string()));
    }

    #[test]
    fn names_and_contents_that_git_would_refuse_are_no_refs() {
        for good in ["refs/heads/a", "refs/heads/a/b.c", "refs/stash", "refs/heads/@"] {
            assert!(is_name(good.as_bytes()), "{good}");
        }
        for bad in [
            "HEAD",
            "refs/",
            "refs//a",
            "refs/heads/.a",
            "refs/heads/a.lock",
            "refs/heads/a..b",
            "refs/heads/a b",
            "refs/heads/a\n",
            "refs/heads/a@{b",
            "refs/heads/a.",
            "../refs/heads/a",
            "refs/../../x",
        ] {
            assert!(!is_name(bad.as_bytes()), "{bad}");
        }
        let (short, long) = (Format::default(), Format { sha256: true, reftable: false });
        let id = "0123456789012345678901234567890123456789";
        assert_eq!(Value::of_file(format!("{id}\n").as_bytes(), short), Some(Value::Id(id.to_string())));
        assert_eq!(
            Value::of_file(b"ref: refs/heads/x\n", short),
            Some(Value::Symbolic(b"refs/heads/x".to_vec()))
        );
        assert_eq!(Value::of_file(format!("{id}\n").as_bytes(), long), None);
        for bad in [
            "",
            "ref: /etc/passwd",
            "ref: refs/heads/../../x",
            "nonsense",
            &format!("{id}0"),
            &id.replace('9', "g"),
        ] {
            assert_eq!(Value::of_file(bad.as_bytes(), short), None, "{bad}");
        }
    }
}
