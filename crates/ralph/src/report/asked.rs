//! Requests from another terminal, shown in the terminal of the run.

use super::bytes;
use ralph_loop::ask::{Ask, Changes};
use ralph_loop::{Run, State};

/// `None` for requests that are shown elsewhere.
pub fn asked(run: &Run, state: &State, ask: &Ask) -> Option<String> {
    Some(match ask {
        Ask::Pause => {
            let first = match state.first_flight() {
                Some(_) => format!(", after iteration {}", state.iteration()),
                None => String::new(),
            };
            format!("paused{first}; continue with: ralph resume {}", run.id)
        }
        Ask::Continue => "resumed".to_string(),
        Ask::Kill => "killed: stopping everything now".to_string(),
        Ask::Say { .. } => "received a note for the next iteration".to_string(),
        Ask::Set(changes) => {
            let parts: Vec<String> =
                changed(changes).into_iter().map(|(name, value)| format!("{name} is now {value}")).collect();
            parts.join(", ")
        }
        Ask::Leave => return None,
    })
}

/// What was set, by the names of its flags.
pub fn changed(changes: &Changes) -> Vec<(&'static str, String)> {
    let Changes { totals, prompt_file, done_pattern, min_free } = changes;
    let others = [
        ("prompt-file", prompt_file.as_ref().map(|path| path.display().to_string())),
        ("done-pattern", done_pattern.clone()),
        ("min-free-space", min_free.map(bytes)),
    ];
    let others = others.into_iter().filter_map(|(name, value)| Some((name, value?)));
    totals.shown().chain(others).collect()
}
