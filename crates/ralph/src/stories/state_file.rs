//! `.ralph/state.json`: which stories are done, and which one is being worked on.
//!
//! The file is a projection that other programs read too, so it has exactly three fields. It can
//! be missing or damaged at any time: `progress.txt` says the same, and nothing that was in the
//! file is thrown away.

use super::progress_txt;
use crate::fsx;
use crate::layout::Project;
use ralph_loop::story_id::StoryId;
use serde::Serialize;
use serde_json::Value;
use std::io;
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoryState {
    /// In the order in which they were done.
    pub completed_stories: Vec<StoryId>,
    pub current_story: Option<StoryId>,
    /// How often the current story has failed.
    pub retry_count: u32,
}

const FIELDS: [&str; 3] = ["completed_stories", "current_story", "retry_count"];

#[derive(Debug, PartialEq, Eq)]
pub struct Loaded {
    pub state: StoryState,
    /// What people should know about it.
    pub notes: Vec<String>,
}

/// As jq prints it.
pub fn render(state: &StoryState) -> String {
    // Three plain fields: there is nothing in them that could fail.
    let mut text = serde_json::to_string_pretty(state).unwrap_or_default();
    text.push('\n');
    text
}

pub fn write(project: &Project, state: &StoryState) -> io::Result<()> {
    fsx::dir_inside(project.dir(), &project.ralph_dir())?;
    fsx::write_whole(&project.state(), render(state).as_bytes())
}

/// The state to start with. A file that would lose something when rewritten is kept aside.
pub fn load(project: &Project) -> io::Result<Loaded> {
    let Seen { mut loaded, lossy } = see(project)?;
    if let Some(lossy) = lossy {
        let kept = keep_aside(project, &lossy)?;
        let kept = project.shown(&kept);
        loaded.notes.push(format!("the old {} is kept as {}", shown(project), kept.display()));
    }
    Ok(loaded)
}

/// The same without touching anything, for who only wants to know.
pub fn look(project: &Project) -> io::Result<Loaded> {
    see(project).map(|seen| seen.loaded)
}

struct Seen {
    loaded: Loaded,
    lossy: Option<Lossy>,
}

/// Why a file cannot simply be rewritten.
enum Lossy {
    Damaged,
    /// What is understood of it counts, and the rest may matter to another program.
    Partly(Vec<u8>),
}

fn see(project: &Project) -> io::Result<Seen> {
    let Some(bytes) = read_if_there(&project.state())? else {
        let mut loaded = rebuilt(project)?;
        let count = loaded.state.completed_stories.len();
        if count > 0 {
            let note = format!("{} is missing; {} according to progress.txt", shown(project), done(count));
            loaded.notes.insert(0, note);
        }
        return Ok(Seen { loaded, lossy: None });
    };
    match understand(&bytes) {
        Ok(loaded) => {
            let lossy = (!loaded.notes.is_empty()).then_some(Lossy::Partly(bytes));
            let notes = loaded.notes.iter().map(|note| format!("{}: {note}", shown(project))).collect();
            Ok(Seen { loaded: Loaded { notes, ..loaded }, lossy })
        }
        Err(why) => {
            let mut loaded = rebuilt(project)?;
            let count = loaded.state.completed_stories.len();
            let file = shown(project);
            let note = format!("{file} is damaged ({why}); rebuilt from progress.txt: {}", done(count));
            loaded.notes.insert(0, note);
            Ok(Seen { loaded, lossy: Some(Lossy::Damaged) })
        }
    }
}

pub fn done(count: usize) -> String {
    if count == 1 { "1 story is done".to_string() } else { format!("{count} stories are done") }
}

fn shown(project: &Project) -> String {
    project.shown(&project.state()).display().to_string()
}

fn rebuilt(project: &Project) -> io::Result<Loaded> {
    let progress = read_if_there(&project.progress_txt())?.unwrap_or_default();
    let (completed_stories, notes) = progress_txt::done(&String::from_utf8_lossy(&progress));
    Ok(Loaded { state: StoryState { completed_stories, ..StoryState::default() }, notes })
}

fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fsx::read_regular(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => {
            Err(io::Error::new(cause.kind(), format!("failed to read `{}`: {cause}", path.display())))
        }
    }
}

/// The state and what is strange in it, or why it is none.
fn understand(bytes: &[u8]) -> Result<Loaded, String> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let value: Value = serde_json::from_slice(text).map_err(|cause| format!("not valid JSON: {cause}"))?;
    let Value::Object(fields) = value else { return Err("not a JSON object".to_string()) };
    let mut notes = Vec::new();
    let mut story = |text: &str| match text.parse::<StoryId>() {
        Ok(id) => Some(id),
        Err(cause) => {
            notes.push(cause.to_string());
            None
        }
    };
    let mut state = StoryState::default();
    let Some(Value::Array(completed)) = fields.get("completed_stories") else {
        return Err("completed_stories is not a list".to_string());
    };
    for item in completed {
        let Value::String(text) = item else {
            return Err("completed_stories is not a list of strings".to_string());
        };
        let id = story(text).filter(|id| !state.completed_stories.contains(id));
        state.completed_stories.extend(id);
    }
    state.current_story = match fields.get("current_story") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => story(text),
        Some(_) => return Err("current_story is neither text nor null".to_string()),
    };
    state.retry_count = match fields.get("retry_count") {
        None | Some(Value::Null) => 0,
        Some(count) => count
            .as_u64()
            .and_then(|count| u32::try_from(count).ok())
            .ok_or("retry_count is not a whole number, 0 or more")?,
    };
    let unknown: Vec<&str> =
        fields.keys().map(String::as_str).filter(|name| !FIELDS.contains(name)).collect();
    if !unknown.is_empty() {
        notes.push(format!("ignoring fields of a newer version: {}", unknown.join(", ")));
    }
    Ok(Loaded { state, notes })
}

fn keep_aside(project: &Project, lossy: &Lossy) -> io::Result<std::path::PathBuf> {
    fsx::check_inside(project.dir(), &project.ralph_dir())?;
    let mut number = 1;
    loop {
        let (aside, moved) = match lossy {
            Lossy::Damaged => {
                let aside = project.state_aside("damaged", number);
                let free = aside.symlink_metadata().is_err();
                let moved =
                    if free { fsx::rename(&project.state(), &aside).map(|()| true) } else { Ok(false) };
                (aside, moved)
            }
            Lossy::Partly(content) => {
                let aside = project.state_aside("kept", number);
                let moved = match fsx::write_new(&aside, content) {
                    Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                        // Who loads twice without running needs no second copy.
                        Ok(fsx::read_regular(&aside).is_ok_and(|kept| kept == *content))
                    }
                    written => written.map(|()| true),
                };
                (aside, moved)
            }
        };
        if moved? {
            return Ok(aside);
        }
        number += 1;
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out projects")]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    struct Stage {
        dir: TempDir,
        project: Project,
    }

    impl Stage {
        fn new(state: Option<&str>, progress: &str) -> Stage {
            let dir = tempfile::tempdir().unwrap();
            let stage = Stage { project: Project::at(dir.path().into()), dir };
            fs::create_dir(stage.project.ralph_dir()).unwrap();
            fs::write(stage.project.progress_txt(), progress).unwrap();
            if let Some(state) = state {
                fs::write(stage.project.state(), state).unwrap();
            }
            stage
        }

        fn files(&self) -> Vec<String> {
            let entries = fs::read_dir(self.dir.path().join(".ralph")).unwrap();
            let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }

        fn load(&self) -> (String, Vec<String>) {
            let loaded = load(&self.project).unwrap();
            (brief(&loaded.state), loaded.notes)
        }
    }

    fn brief(state: &StoryState) -> String {
        let ids = |ids: &[StoryId]| ids.iter().map(StoryId::to_string).collect::<Vec<_>>().join(" ");
        let StoryState { completed_stories, current_story, retry_count } = state;
        format!("{} / {} / {retry_count}", ids(completed_stories), ids(current_story.as_slice()))
    }

    const PROGRESS: &str =
        "[DONE] Story 1.1 - A - now\n[DONE] Story 1.2 - B - now\n[DONE] Story 1.1 - A - now\n";

    #[test]
    fn it_has_exactly_the_three_fields_as_jq_prints_them() {
        let state = StoryState {
            completed_stories: vec!["1.1".parse().unwrap(), "1.10".parse().unwrap()],
            current_story: Some("2.1".parse().unwrap()),
            retry_count: 2,
        };
        let text = "{\n  \"completed_stories\": [\n    \"1.1\",\n    \"1.10\"\n  ],\n  \
                    \"current_story\": \"2.1\",\n  \"retry_count\": 2\n}\n";
        assert_eq!(render(&state), text);
        let empty = "{\n  \"completed_stories\": [],\n  \"current_story\": null,\n  \"retry_count\": 0\n}\n";
        assert_eq!(render(&StoryState::default()), empty);
        for text in [text, empty] {
            let read = understand(text.as_bytes()).unwrap();
            assert_eq!((render(&read.state), read.notes), (text.to_string(), vec![]));
        }
    }

    #[test]
    fn a_missing_one_is_rebuilt_from_progress_txt() {
        let stage = Stage::new(None, PROGRESS);
        let (state, notes) = stage.load();
        assert_eq!(state, "1.1 1.2 /  / 0");
        assert_eq!(notes, [".ralph/state.json is missing; 2 stories are done according to progress.txt"]);
        assert!(stage.files().is_empty());
        fs::remove_file(stage.project.progress_txt()).unwrap();
        assert_eq!(stage.load(), (" /  / 0".to_string(), vec![]));
    }

    #[test]
    fn a_damaged_one_is_kept_aside_rebuilt_and_reported() {
        for (damaged, why) in [
            ("", "not valid JSON"),
            ("{\"completed_stories\": [\"1.", "not valid JSON"),
            ("[]", "not a JSON object"),
            ("{}", "completed_stories is not a list"),
            ("{\"completed_stories\": \"1.1\"}", "completed_stories is not a list"),
            ("{\"completed_stories\": [1.1]}", "not a list of strings"),
            ("{\"completed_stories\": [], \"current_story\": 8}", "current_story is neither"),
            ("{\"completed_stories\": [], \"retry_count\": -1}", "retry_count is not"),
        ] {
            let stage = Stage::new(Some(damaged), PROGRESS);
            fs::write(stage.project.ralph_dir().join("state.json.damaged-1"), "older").unwrap();
            // Looking changes nothing.
            let seen = look(&stage.project).unwrap();
            assert_eq!(stage.files(), ["state.json", "state.json.damaged-1"]);
            let (state, notes) = stage.load();
            assert_eq!(state, "1.1 1.2 /  / 0");
            assert_eq!(brief(&seen.state), state);
            assert!(notes[0].contains("is damaged") && notes[0].contains(why), "{notes:?}");
            assert_eq!(notes[1], "the old .ralph/state.json is kept as .ralph/state.json.damaged-2");
            assert_eq!(stage.files(), ["state.json.damaged-1", "state.json.damaged-2"]);
            assert_eq!(fs::read_to_string(stage.project.state_aside("damaged", 2)).unwrap(), damaged);
        }
    }

    #[test]
    fn of_a_newer_version_the_known_fields_count_and_a_copy_is_kept() {
        let newer = r#"{"completed_stories": ["1.1"], "retry_count": 1, "current_story": "1.3", "lanes": [], "v": 2}"#;
        let stage = Stage::new(Some(newer), "");
        let (state, notes) = stage.load();
        assert_eq!(state, "1.1 / 1.3 / 1");
        assert_eq!(
            notes,
            [
                ".ralph/state.json: ignoring fields of a newer version: lanes, v",
                "the old .ralph/state.json is kept as .ralph/state.json.kept-1",
            ]
        );
        stage.load();
        assert_eq!(stage.files(), ["state.json", "state.json.kept-1"]);
        assert_eq!(fs::read_to_string(stage.project.state_aside("kept", 1)).unwrap(), newer);
    }

    #[test]
    fn ids_like_these_are_reported_and_left_out() {
        for bad in ["../x", "8", "08.3", "8.3.1"] {
            let state =
                format!("{{\"completed_stories\": [\"1.1\", \"{bad}\"], \"current_story\": \"{bad}\"}}");
            let stage = Stage::new(Some(&state), "");
            let (state, notes) = stage.load();
            assert_eq!(state, "1.1 /  / 0");
            assert_eq!(notes.len(), 3, "{notes:?}");
            assert!(notes[0].contains(&format!("not a story id: `{bad}`")), "{notes:?}");
            assert!(stage.project.state_aside("kept", 1).exists());
        }
    }

    #[test]
    fn what_cannot_be_read_at_all_is_an_error_that_names_it() {
        let stage = Stage::new(None, "");
        fs::create_dir(stage.project.state()).unwrap();
        let error = load(&stage.project).unwrap_err().to_string();
        assert!(error.contains("state.json") && error.contains("not a regular file"), "{error}");
    }
}
