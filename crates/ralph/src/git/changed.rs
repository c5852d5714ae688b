//! Questions about many trees at once.
//!
//! One git answers for all of them: a process for each would make `ralph show` of a long run
//! take minutes.

use super::shadow::Shadow;

/// So much is read of one git's answer. What comes after is asked again.
const ANSWER: usize = 8 << 20;

/// Paths that differ between two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub count: usize,
    /// The first of them.
    pub paths: Vec<String>,
    bytes: usize,
}

/// So much of the names of one change is kept.
const NAMES: usize = 64 << 10;

impl Shadow {
    /// What has changed from the one tree to the other, for each pair; nothing where one of them is
    /// no longer there.
    pub fn changed(&self, pairs: &[(&str, &str)]) -> Vec<Option<Changed>> {
        self.changed_in_pieces(pairs, ANSWER)
    }

    fn changed_in_pieces(&self, pairs: &[(&str, &str)], most: usize) -> Vec<Option<Changed>> {
        let mut found: Vec<Option<Changed>> = vec![None; pairs.len()];
        let headers: Vec<String> = pairs.iter().map(|(from, to)| format!("{from} {to}")).collect();
        let mut begin = 0;
        while begin < pairs.len() {
            let asked = headers[begin..].join("\n") + "\n";
            let diff = ["diff-tree", "--stdin", "-r", "--name-only", "--no-renames"];
            let Ok(answer) = self.git().args(diff).stdin(asked.as_bytes()).keep(most).run() else { break };
            let text = String::from_utf8_lossy(&answer.stdout);
            let last = note(&text, &headers, begin, &mut found);
            let whole = answer.success() && answer.stdout.len() < most;
            begin = match last {
                _ if whole => pairs.len(),
                // Cut off in the middle of this one, which is asked for again in front.
                Some(last) if last > begin && answer.success() => {
                    found[last] = None;
                    last
                }
                // There is more of it than is read, or git could not go on with it.
                Some(last) => last + 1,
                None => begin + 1,
            };
        }
        found
    }

    /// The first of these trees that is there.
    pub fn first_of<'t>(&self, trees: &[&'t str]) -> Option<&'t str> {
        let asked = trees.join("\n") + "\n";
        let look = self.git().args(["cat-file", "--batch-check=%(objecttype)"]).stdin(asked.as_bytes());
        let answer = look.run().ok()?;
        let at = String::from_utf8_lossy(&answer.stdout).lines().position(|line| line == "tree")?;
        trees.get(at).copied()
    }
}

/// Reads an answer: the line of a pair, then its paths. Pairs that git cannot read have no line.
/// Returns the last pair that has one.
fn note(text: &str, headers: &[String], begin: usize, found: &mut [Option<Changed>]) -> Option<usize> {
    let mut at = None;
    for line in text.lines() {
        let next = at.map_or(begin, |at| at + 1);
        let is_header = line.len() == headers[begin].len() && line.bytes().all(is_hex_or_space);
        let header = is_header.then(|| headers[next..].iter().position(|header| header == line)).flatten();
        if let Some(skipped) = header {
            at = Some(next + skipped);
            found[next + skipped] = Some(Changed::default());
        } else if let Some(changed) = at.and_then(|at| found[at].as_mut()) {
            changed.count += 1;
            changed.bytes += line.len();
            if changed.bytes <= NAMES {
                changed.paths.push(line.to_string());
            }
        }
    }
    at
}

fn is_hex_or_space(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b' '
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use crate::git::{Repository, git};
    use std::fs;

    #[test]
    fn many_pairs_are_answered_in_order_however_the_answer_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let (top, own) = (dir.path().join("top"), dir.path().join("own"));
        fs::create_dir(&top).unwrap();
        assert!(git(&top).args(["init", "-q"]).run().unwrap().success());
        let shadow = Shadow::over(Repository::around(&top).unwrap(), own, 1 << 20);
        shadow.set_up(&top).unwrap();
        let trees: Vec<String> = (0..9)
            .map(|number| {
                fs::write(top.join("all"), number.to_string()).unwrap();
                fs::write(top.join(format!("of {number}")), "").unwrap();
                shadow.record(&shadow.changes().unwrap()).unwrap()
            })
            .collect();
        let gone = "0123456789012345678901234567890123456789";
        let mut pairs: Vec<(&str, &str)> =
            trees.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
        pairs.insert(3, (&trees[0], &trees[0]));
        pairs.insert(5, (gone, &trees[1]));
        pairs.push((&trees[2], gone));
        // The second is cut after one pair or two, the last within the first.
        for most in [ANSWER, 250, 1] {
            let found = shadow.changed_in_pieces(&pairs, most);
            let counts: Vec<Option<usize>> =
                found.iter().map(|changed| changed.as_ref().map(|changed| changed.count)).collect();
            let whole = [2, 2, 2, 0, 2, 9, 2, 2, 2, 2, 9].map(|count| (count < 9).then_some(count));
            match most {
                1 => assert_eq!(counts, [None; 11]),
                _ => assert_eq!(counts, whole, "{most}"),
            }
        }
        assert_eq!(shadow.changed(&pairs)[0].as_ref().unwrap().paths, ["all", "of 1"]);
        assert_eq!(shadow.first_of(&[gone, &trees[4], &trees[5]]), Some(trees[4].as_str()));
        assert_eq!(shadow.first_of(&[gone]), None);
        assert_eq!(shadow.first_of(&[]), None);
    }
}
