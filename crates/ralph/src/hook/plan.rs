//! `ralph hook plan-stop`: says inside of a planning conversation whether the drafts are valid.
//!
//! A turn that leaves faults in the drafts is not over: the agent gets them to repair. That happens a few times in a
//! row at most; the user sees what is left, and ralph puts nothing in place that has faults. It fails open.

use super::{HookAnswer, Input, variable};
use crate::fsx;
use crate::layout::{self, PlanDir};
use crate::planner::drafts::{self, Draft};
use crate::planner::{PLAN, PlanSpec};
use ralph_loop::strict::repairs;
use ralph_loop::text::counted;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// So often in a row a turn goes on because of faults.
const BLOCKS: u32 = 3;

/// What was said before in this conversation.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Told {
    /// The drafts that were called valid last.
    valid: String,
    /// How often in a row the turn was not over.
    blocks: u32,
}

pub(super) fn stop(input: Result<&[u8], String>) -> HookAnswer {
    let Some(dir) = variable(PLAN) else { return HookAnswer::nothing() };
    let record = PlanDir::at(PathBuf::from(dir));
    let input: Input = input.ok().and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    let failed =
        |cause: &dyn std::fmt::Display| HookAnswer::failed(format!("cannot check the drafts: {cause}"));
    let spec = match PlanSpec::read(&record) {
        Ok(spec) => spec,
        Err(cause) => return failed(&cause),
    };
    // Without it the conversation cannot be continued by name.
    if !input.session_id.is_empty()
        && let Err(cause) = fsx::write_private(&record.session(), input.session_id.as_bytes())
    {
        return failed(&cause);
    }
    match drafts::read(&spec, &record, &[]) {
        Ok(None) => HookAnswer::nothing(),
        Ok(Some(draft)) => answer(&record, &input, &draft).unwrap_or_else(|cause| failed(&cause)),
        Err(error) => failed(&error),
    }
}

fn answer(record: &PlanDir, input: &Input, draft: &Draft) -> io::Result<HookAnswer> {
    let before = fsx::read_regular(&record.told()).unwrap_or_default();
    let mut told: Told = serde_json::from_slice(&before).unwrap_or_default();
    if !input.stop_hook_active {
        told.blocks = 0;
    }
    let answer = match draft.is_valid() {
        true => {
            let content = hash(draft);
            let is_new = std::mem::replace(&mut told.valid, content.clone()) != content;
            told.blocks = 0;
            is_new.then(|| HookAnswer::message(&valid(draft)))
        }
        false if told.blocks < BLOCKS => {
            told.blocks += 1;
            let repairs = repairs(draft.findings());
            Some(HookAnswer::block(&format!("ralph checked the drafts. Repair them:\n{repairs}")))
        }
        false => {
            let faults = counted(faults(draft) as u64, "fault");
            let text = format!("ralph: the plan is not valid yet ({faults}). Ask the agent to repair it.");
            Some(HookAnswer::message(&text))
        }
    };
    fsx::write_private(&record.told(), &serde_json::to_vec(&told)?)?;
    Ok(answer.unwrap_or_else(HookAnswer::nothing))
}

fn faults(draft: &Draft) -> usize {
    draft.findings().iter().filter(|found| found.level == ralph_loop::strict::Level::Fault).count()
}

fn valid(draft: &Draft) -> String {
    let stories = counted(draft.stories().len() as u64, "story");
    let warnings = match draft.findings().len() {
        0 => String::new(),
        some => format!(", {}", counted(some as u64, "warning")),
    };
    format!(
        "ralph: the plan is valid ({stories}{warnings}). Leave the agent (Ctrl+D) to see it and to start it."
    )
}

fn hash(draft: &Draft) -> String {
    match draft {
        Draft::Tasks(draft) => {
            layout::hash(format!("{}{}", draft.merged.list.to_text(), draft.prd).as_bytes())
        }
        Draft::Stories(draft) => {
            layout::hash(&draft.new.iter().flat_map(|(_, text)| text.clone()).collect::<Vec<_>>())
        }
    }
}
