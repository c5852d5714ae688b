//! `ralph hook context-monitor`: tells an agent, after a tool call, that its context fills up.

use super::state::Memory;
use super::{HookAnswer, Input, Surroundings, WINDOW, variable};
use crate::fsx;
use ralph_loop::context::{Alert, THRESHOLDS, Usage, last_usage};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How much of a transcript's end is read, piece after larger piece, to find a number. The
/// largest tool results that were seen take a line of 1.6 MB.
const TAILS: [u64; 3] = [64 << 10, 512 << 10, 8 << 20];

/// How the memory calls a threshold that has spoken.
pub(super) fn fired(threshold: u8) -> String {
    format!("context-{threshold}")
}

pub(super) fn monitor(around: &Surroundings, input: &Input) -> HookAnswer {
    let (window, remark) = match variable(WINDOW).map(|window| window.to_string_lossy().into_owned()) {
        None => (None, None),
        Some(text) => match text.trim().parse() {
            Ok(window) => (Some(window), None),
            Err(_) => (None, Some(format!("{WINDOW} is not a number of tokens: {text}"))),
        },
    };
    let answer = usage(&input.transcript_path)
        .map_err(|cause| format!("cannot read the transcript {}: {cause}", input.transcript_path.display()))
        .and_then(|usage| match Alert::reached(usage, window) {
            Some(alert) => alert_once(around, input, alert),
            None => Ok(HookAnswer::nothing()),
        })
        .unwrap_or_else(HookAnswer::failed);
    remark.into_iter().fold(answer, HookAnswer::remark)
}

fn alert_once(around: &Surroundings, input: &Input, alert: Alert) -> Result<HookAnswer, String> {
    let memory = Memory::of(around, input);
    let is_news = || -> io::Result<bool> {
        // A higher one speaks for those below it.
        for higher in THRESHOLDS.into_iter().filter(|threshold| *threshold > alert.threshold) {
            if memory.has(&fired(higher))? {
                return Ok(false);
            }
        }
        memory.note(&fired(alert.threshold))
    };
    // What cannot be remembered would be said after every tool call, so it is not said.
    match is_news().map_err(|cause| format!("cannot record the alert: {cause}"))? {
        true => Ok(HookAnswer::context(event(input), &alert.to_string())),
        false => Ok(HookAnswer::nothing()),
    }
}

fn event(input: &Input) -> &str {
    if input.hook_event_name.is_empty() { "PostToolUse" } else { &input.hook_event_name }
}

/// From the numbers in the transcript, else from its size.
fn usage(transcript: &Path) -> io::Result<Usage> {
    let file = fsx::open_regular(transcript)?;
    let size = file.metadata()?.len();
    for tail in TAILS {
        let bytes = end_of(&file, size, tail)?;
        if let Some(usage) = last_usage(&bytes, tail >= size) {
            return Ok(usage);
        }
        if tail >= size {
            break;
        }
    }
    Ok(Usage::of_size(size))
}

fn end_of(file: &File, size: u64, most: u64) -> io::Result<Vec<u8>> {
    let start = size.saturating_sub(most);
    let mut bytes = vec![0; usize::try_from(size - start).unwrap_or_default()];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}
