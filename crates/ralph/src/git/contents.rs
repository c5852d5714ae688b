//! Files of recorded trees, read by one git: most questions are about paths that no tree has, and
//! starting a git for each takes longer than its answer.

use super::shadow::Shadow;
use crate::process::dialog::{Dialog, Reply};

pub struct Contents<'s> {
    shadow: &'s Shadow,
    /// None before the first question, and after an answer that was cut.
    git: Option<Dialog>,
}

impl Shadow {
    pub fn contents(&self) -> Contents<'_> {
        Contents { shadow: self, git: None }
    }
}

impl Contents<'_> {
    /// What a tree has in the place of a file; at most so many bytes.
    pub fn get(&mut self, tree: &str, path: &str, most: usize) -> Option<Vec<u8>> {
        if path.contains('\n') {
            return self.shadow.content(tree, path.as_bytes(), most);
        }
        let mut git = match self.git.take() {
            Some(git) => git,
            None => Dialog::start(self.shadow.git().args(["cat-file", "--batch"])).ok()?,
        };
        let question = format!("{tree}:{path}\n");
        let longest_head = question.len() + 100;
        let is_whole = |answer: &[u8]| {
            let Some(end) = end_of_line(answer) else { return false };
            size(&answer[..end]).is_none_or(|size| answer.len() == end + 1 + size + 1)
        };
        let (answer, is_cut) = match git.ask(question.as_bytes(), most.saturating_add(longest_head), is_whole)
        {
            Ok(Reply::Whole(answer)) => (answer, false),
            Ok(Reply::Cut(answer)) => (answer, true),
            Err(_) => return self.shadow.content(tree, path.as_bytes(), most),
        };
        if !is_cut {
            self.git = Some(git);
        }
        let end = end_of_line(&answer)?;
        let head = &answer[..end];
        let content = answer.get(end + 1..)?;
        let content = &content[..content.len().min(size(head)?).min(most)];
        is_blob(head).then(|| content.to_vec())
    }
}

fn end_of_line(answer: &[u8]) -> Option<usize> {
    answer.iter().position(|byte| *byte == b'\n')
}

/// `ID KIND SIZE`. What is missing, ambiguous or not a file has no such line.
fn fields(head: &[u8]) -> Option<(&[u8], usize)> {
    let mut words = head.split(|byte| *byte == b' ');
    let (id, kind, size) = (words.next()?, words.next()?, words.next()?);
    let size = str::from_utf8(size).ok()?.parse().ok()?;
    (words.next().is_none() && super::is_object_id(id)).then_some((kind, size))
}

fn size(head: &[u8]) -> Option<usize> {
    fields(head).map(|(_, size)| size)
}

fn is_blob(head: &[u8]) -> bool {
    fields(head).is_some_and(|(kind, _)| kind == b"blob")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes the files that it records")]
mod tests {
    use crate::git::{Repository, scratch_repository, shadow::Shadow};
    use std::fs;

    #[test]
    fn one_git_says_the_same_as_one_for_each_file() {
        let dir = tempfile::tempdir().unwrap();
        let (top, home) = (dir.path().join("p"), dir.path().join("checkpoints.git"));
        fs::create_dir_all(top.join("dir")).unwrap();
        let names = ["a b", "empty", "dir/long", "new\nline", "é"];
        for (name, text) in names.iter().zip(["text\n", "", &"x".repeat(5000), "1", "2"]) {
            fs::write(top.join(name), text).unwrap();
        }
        assert!(scratch_repository(&top));
        let shadow = Shadow::over(Repository::around(&top).unwrap(), home, 1 << 20);
        shadow.set_up(&top).unwrap();
        let tree = shadow.record(&shadow.changes().unwrap()).unwrap();
        let mut contents = shadow.contents();
        for most in [3, 5000, 10_000] {
            for name in names.into_iter().chain(["dir", "gone", "a", "", "gone missing", "x blob 3"]) {
                let alone = shadow.content(&tree, name.as_bytes(), most);
                assert_eq!(contents.get(&tree, name, most), alone, "{name}, {most}");
            }
        }
        assert_eq!(contents.get(&tree, "a b", 100).unwrap(), b"text\n");
    }
}
