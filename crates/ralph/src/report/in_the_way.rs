//! What to do about a sandbox that keeps checks from passing.

use ralph_loop::State;
use ralph_loop::proof::in_the_way::distinct;
use ralph_loop::sandbox::needs;

/// What was printed, the settings to add, and what else helps; nothing if no check is broken.
pub fn advice(state: &State) -> Vec<String> {
    let broken = &state.proof.in_the_way;
    let needed = distinct(broken);
    let mut lines: Vec<String> = needed.iter().map(|need| format!("it printed: {}", need.line)).collect();
    lines.extend(settings(state).map(|json| format!("add to .ralph/settings.json: {json}")));
    let helps = needed.iter().filter_map(|need| Some((need.what.sentence(), need.what.advice()?)));
    lines.extend(helps.map(|(sentence, advice)| format!("{sentence}: {advice}")));
    if needed.is_empty() {
        let logs = broken.iter().map(|broken| {
            format!("compare what it printed: {} and {}", broken.log.display(), broken.log_outside.display())
        });
        lines.extend(logs);
    }
    if !broken.is_empty() {
        lines.push("or start it without a sandbox: --no-sandbox".to_string());
    }
    lines
}

/// What to add to the settings, as JSON.
pub fn settings(state: &State) -> Option<String> {
    needs::settings(distinct(&state.proof.in_the_way))
}
