//! Marks a story done in its spec: the word `pending` becomes `done`, and no other byte changes.

use super::frontmatter::{self, Block};
use crate::fsx;
use std::io;
use std::ops::Range;
use std::path::Path;

const PENDING: &[u8] = b"pending";
const DONE: &[u8] = b"done";

/// The spec with its `status: pending` done; nothing if there is no such line.
pub fn marked_done(spec: &[u8]) -> Option<Vec<u8>> {
    let Range { start, end } = pending(spec)?;
    Some([&spec[..start], DONE, &spec[end..]].concat())
}

/// Whether there was something to mark. A link stays one: the file that it leads to is changed.
pub fn mark_done(path: &Path) -> io::Result<bool> {
    let spec = fsx::read_regular(path)?;
    match marked_done(&spec) {
        Some(marked) => fsx::replace_content(path, &marked).map(|()| true),
        None => Ok(false),
    }
}

/// The word in the frontmatter's own `status` line.
fn pending(spec: &[u8]) -> Option<Range<usize>> {
    let Block::At(block) = frontmatter::find(spec) else { return None };
    let mut begin = block.start;
    let mut indent = None;
    for line in spec[block].split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_start();
        let depth = line.len() - text.len();
        if !text.is_empty() && !text.starts_with(b"#") {
            // The first field shows how deep those are that belong to no other.
            let top = *indent.get_or_insert(depth);
            if let Some(word) = (depth == top).then(|| pending_in(text)).flatten() {
                let at = begin + depth;
                return Some(at + word.start..at + word.end);
            }
        }
        begin += line.len();
    }
    None
}

/// Where a line says `pending`, if it is `status: pending`, with or without quotes and a comment.
fn pending_in(line: &[u8]) -> Option<Range<usize>> {
    let unquoted = line.strip_prefix(b"status");
    let rest = unquoted
        .or_else(|| line.strip_prefix(b"\"status\""))
        .or_else(|| line.strip_prefix(b"'status'"))?
        .trim_ascii_start()
        .strip_prefix(b":")?;
    let value = rest.trim_ascii_start();
    // `status:pending` is a word, not a field.
    if value.len() == rest.len() {
        return None;
    }
    let begin = line.len() - value.len();
    let quote = value.first().filter(|byte| matches!(byte, b'"' | b'\''));
    let word = &value[usize::from(quote.is_some())..];
    let after = word.strip_prefix(PENDING)?;
    let after = match quote {
        Some(quote) => after.strip_prefix(&[*quote])?,
        None => after,
    };
    let behind = after.trim_ascii_start();
    let comment = behind.starts_with(b"#") && behind.len() < after.len();
    (behind.is_empty() || comment).then(|| {
        let begin = begin + usize::from(quote.is_some());
        begin..begin + PENDING.len()
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out files")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(before: &str, after: Option<&str>) {
        let marked = marked_done(before.as_bytes());
        let marked = marked.map(|marked| String::from_utf8(marked).unwrap());
        assert_eq!(marked.as_deref(), after, "{before:?}");
    }

    #[test]
    fn only_the_word_changes() {
        for (line, marked) in [
            ("status: pending", "status: done"),
            ("status:   pending  ", "status:   done  "),
            ("status\t:\tpending", "status\t:\tdone"),
            ("status: pending # not yet", "status: done # not yet"),
            ("status: \"pending\"", "status: \"done\""),
            ("status: 'pending' # x", "status: 'done' # x"),
            ("\"status\": pending", "\"status\": done"),
        ] {
            for (begin, newline) in [("", "\n"), ("\u{feff}", "\n"), ("", "\r\n")] {
                let spec = |line: &str| {
                    let lines = [
                        "---",
                        "# status: pending",
                        "title: x",
                        line,
                        "priority: 1",
                        "---",
                        "status: pending",
                    ];
                    format!("{begin}{}", lines.join(newline))
                };
                check(&spec(line), Some(&spec(marked)));
            }
        }
    }

    #[test]
    fn a_frontmatter_that_is_indented_as_a_whole_has_its_status_too() {
        check("---\n  title: x\n  status: pending\n---\n", Some("---\n  title: x\n  status: done\n---\n"));
    }

    #[test]
    fn without_the_line_there_is_nothing_to_change() {
        for spec in [
            "",
            "status: pending\n",
            "---\nstatus: pending\n",
            "---\nstatus: done\n---\n",
            "---\nstatus:pending\n---\n",
            "---\nstatus: pending later\n---\n",
            "---\nstatus: pending#x\n---\n",
            "---\nstatus: \"pending'\n---\n",
            "---\nstatus: pendings\n---\n",
            "---\nmy-status: pending\n---\n",
            "---\n#status: pending\n---\n",
            "---\nchild:\n  status: pending\n---\n",
            "---\ntitle: |\n  status: pending\n---\n",
            "---\ntitle: x\n---\nstatus: pending\n---\n",
        ] {
            check(spec, None);
        }
    }

    #[test]
    fn what_is_marked_reads_as_done() {
        let marked = marked_done(b"---\ntitle: x\nstatus: 'pending' # x\n---\n").unwrap();
        assert_eq!(frontmatter::read(&marked).status.as_deref(), Some("done"));
    }

    #[test]
    fn a_marked_file_keeps_its_permissions_and_a_link_its_target() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let [file, link] = ["spec.md", "link.md"].map(|name| dir.path().join(name));
        std::fs::write(&file, "---\nstatus: pending\n---").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("spec.md", &link).unwrap();
        assert!(mark_done(&link).unwrap());
        assert_eq!(std::fs::read(&file).unwrap(), b"---\nstatus: done\n---");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(!mark_done(&link).unwrap());
        assert!(mark_done(&dir.path().join("nowhere")).is_err());
    }

    fn line() -> impl Strategy<Value = String> {
        let likely = prop::sample::select(vec![
            "---",
            "status: pending",
            "status: \"pending\" # x",
            " status: pending",
            "title: status: pending",
            "",
            "# status: pending",
            "status: done",
        ]);
        prop_oneof![3 => likely.prop_map(String::from), 1 => "[ -~é\t]{0,12}"]
    }

    proptest! {
        #[test]
        fn everything_but_one_word_is_identical(
            mark in prop::sample::select(vec!["", "\u{feff}"]),
            lines in prop::collection::vec((line(), prop::sample::select(vec!["\n", "\r\n"])), 0..12),
            last in line(),
        ) {
            let spec: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
            let spec = format!("{mark}---\n{spec}{last}");
            if let Some(marked) = marked_done(spec.as_bytes()) {
                let marked = String::from_utf8(marked).unwrap();
                let same = spec.bytes().zip(marked.bytes()).take_while(|(a, b)| a == b).count();
                prop_assert_eq!(&spec[same..same + 7], "pending");
                prop_assert_eq!(&marked[same..same + 4], "done");
                prop_assert_eq!(&spec[same + 7..], &marked[same + 4..]);
                let number = spec[..same].matches('\n').count();
                prop_assert!(spec.split('\n').nth(number).unwrap().starts_with("status") || spec[..same].contains("\n "));
                prop_assert!(spec[same..].contains("\n---"), "it is in the frontmatter");
            }
        }
    }
}
