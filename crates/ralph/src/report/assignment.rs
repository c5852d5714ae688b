//! What a run was asked to do, in words, for lists and the head of a report.
//!
//! Always one line that can be printed, however the prompt looks. Deliberately absent: a length. Lists cut it to
//! the room that they have.

use crate::layout::RunDir;
use ralph_loop::text::{counted, one_line};
use ralph_loop::view::Assignment;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Enough for the first line of a prompt; prompts can have megabytes.
const ENOUGH: u64 = 16 << 10;

/// The first line of the prompt, the name of its file, `stories 1.1 to 2.4`, `tasks: Shop`.
pub fn assignment(assignment: &Assignment, run_dir: &RunDir) -> String {
    match assignment {
        Assignment::Text { hash } => match beginning(&run_dir.text(hash)) {
            Some(text) => first_line(&text).unwrap_or_else(|| "an empty prompt".to_string()),
            None => "a prompt that is no longer kept".to_string(),
        },
        Assignment::File { path } => name(path),
        Assignment::Stories { count, first, last } => match (count, first, last) {
            (1, Some(only), _) => one_line(&format!("story {only}")),
            (_, Some(first), Some(last)) => one_line(&format!("stories {first} to {last}")),
            (count, ..) => counted(*count as u64, "story"),
        },
        Assignment::Tasks { project: Some(project), .. } => one_line(&format!("tasks: {project}")),
        Assignment::Tasks { dir, project: None } => format!("tasks in {}", name(dir)),
    }
}

fn name(path: &Path) -> String {
    one_line(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

fn beginning(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(ENOUGH).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first line with something to read, without the marks of a heading.
fn first_line(text: &str) -> Option<String> {
    let line = |line: &str| {
        let line = one_line(line);
        let words = line.trim_start_matches('#');
        words.strip_prefix(' ').map_or_else(|| line.clone(), str::to_string)
    };
    text.lines().map(line).find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;
    use crate::layout::Home;
    use std::path::PathBuf;

    #[test]
    fn what_was_asked_is_one_line_of_words() {
        let dir = tempfile::tempdir().unwrap();
        let run_dir = Home::at(dir.path().to_path_buf()).run("r");
        fsx::private_dir(&run_dir.texts()).unwrap();
        let long = format!("{}\nrest", "x".repeat(100_000));
        let texts = [
            ("a", "\n \n## Fix the  login\nand more", "Fix the login"),
            ("b", "#12 is broken", "#12 is broken"),
            ("c", "\x1b[2J\n\u{202e}do it", "do it"),
            ("d", "", "an empty prompt"),
            ("e", &long, &long[..ENOUGH as usize]),
        ];
        for (hash, text, words) in texts {
            fsx::write_whole(&run_dir.text(hash), text.as_bytes()).unwrap();
            assert_eq!(assignment(&Assignment::Text { hash: hash.into() }, &run_dir), words, "{hash}");
        }
        let gone = Assignment::Text { hash: "gone".into() };
        assert_eq!(assignment(&gone, &run_dir), "a prompt that is no longer kept");
        let stories = |count, first: Option<&str>, last: Option<&str>| Assignment::Stories {
            count,
            first: first.map(String::from),
            last: last.map(String::from),
        };
        let tasks = |project: Option<&str>| Assignment::Tasks {
            dir: PathBuf::from("/p/ralph"),
            project: project.map(String::from),
        };
        for (asked, words) in [
            (Assignment::File { path: PathBuf::from("/p/PRO\nMPT.md") }, "PRO MPT.md"),
            (stories(9, Some("1.1"), Some("2.4")), "stories 1.1 to 2.4"),
            (stories(1, Some("1.1"), Some("1.1")), "story 1.1"),
            (stories(0, None, None), "0 stories"),
            (tasks(Some("Shop\u{1b}[31m")), "tasks: Shop"),
            (tasks(None), "tasks in ralph"),
        ] {
            assert_eq!(assignment(&asked, &run_dir), words);
        }
    }
}
