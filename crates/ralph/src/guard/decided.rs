//! What the user has decided about the guard: the settings, and `ralph/allowed-commands.txt`.

use crate::fsx;
use crate::layout::Project;
use crate::settings::GuardSettings;
use ralph_loop::guard::{Category, GuardSpec, Level, PolicyError, Scope};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// More than anyone writes by hand.
const LONGEST_LIST: u64 = 1 << 20;

#[derive(Debug, Error)]
pub enum DecidedError {
    #[error("{place}: {cause}")]
    Entry { place: String, cause: PolicyError },
    #[error("cannot read the allowed commands: {}: {cause}", file.display())]
    List { file: PathBuf, cause: io::Error },
}

impl DecidedError {
    fn of_setting(key: &str) -> impl FnOnce(PolicyError) -> DecidedError {
        let place = format!("guard.{key}");
        |cause| DecidedError::Entry { place, cause }
    }
}

/// The guard that a project's settings ask for. Whatever is wrong with it is known now and not in the middle of a run.
pub fn decided(settings: &GuardSettings, project: &Project) -> Result<GuardSpec, DecidedError> {
    let category =
        |name: &String| Category::by_name(name).ok_or_else(|| PolicyError::NoCategory(name.clone()));
    let ask = settings.ask.iter().map(category).collect::<Result<_, _>>();
    let levels = settings.categories.iter().filter(|(_, level)| **level != Level::Block);
    let mut spec = GuardSpec {
        allow: settings.allow.clone(),
        deny: settings.deny.clone(),
        ask: ask.map_err(DecidedError::of_setting("ask"))?,
        levels: levels.map(|(category, level)| (*category, *level)).collect(),
        writable: settings.writable.iter().map(|path| absolute(path, project)).collect(),
        unwatched: Vec::new(),
    };
    let check = |spec: &GuardSpec, place: &str| {
        let wrong = |cause| DecidedError::Entry { place: place.to_owned(), cause };
        spec.policy(Scope::Everything).map(drop).map_err(wrong)
    };
    check(&GuardSpec { allow: Vec::new(), ..spec.clone() }, "guard.deny")?;
    check(&spec, "guard.allow")?;
    let file = project.allowed_commands();
    let listed = match fsx::read_at_most(&file, LONGEST_LIST) {
        Ok(bytes) => entries(&String::from_utf8_lossy(&bytes)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(cause) => return Err(DecidedError::List { file, cause }),
    };
    spec.allow.extend(listed);
    check(&spec, &project.shown(&file).display().to_string())?;
    Ok(spec)
}

/// A command a line; a line that starts with `#` is a comment.
fn entries(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// `~` is the home; what is relative belongs to the project.
fn absolute(path: &str, project: &Project) -> PathBuf {
    let home = std::env::home_dir();
    let path = match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => project.dir().join(path),
    };
    path.canonicalize().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings;

    #[test]
    fn the_list_of_the_project_is_added_to_the_settings() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::at(dir.path().to_path_buf());
        fsx::dir(&dir.path().join("ralph")).unwrap();
        let list = "# what we publish\n\nnpm publish --access public\n  git push --force origin wip/*  \n";
        fsx::write_whole(&project.allowed_commands(), list.as_bytes()).unwrap();
        let settings = settings::defaults().unwrap().guard;
        let settings = GuardSettings { allow: vec!["docker system prune *".into()], ..settings };
        let spec = decided(&settings, &project).unwrap();
        assert_eq!(
            spec.allow,
            ["docker system prune *", "npm publish --access public", "git push --force origin wip/*"]
        );
        assert!(spec.levels.is_empty(), "every category blocks: {spec:?}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::at(dir.path().to_path_buf());
        let defaults = settings::defaults().unwrap().guard;
        let check = |settings: GuardSettings, message: &str| {
            assert_eq!(decided(&settings, &project).unwrap_err().to_string(), message);
        };
        let with = |value: &str| vec![value.to_owned()];
        check(GuardSettings { ask: with("gti"), ..defaults.clone() }, "guard.ask: no such category: gti");
        check(
            GuardSettings { allow: with("* *"), ..defaults.clone() },
            "guard.allow: an entry allows every command: \"* *\"",
        );
        fsx::dir(&dir.path().join("ralph")).unwrap();
        fsx::write_whole(&project.allowed_commands(), b"*\n").unwrap();
        check(defaults, "ralph/allowed-commands.txt: an entry allows every command: \"*\"");
    }
}
