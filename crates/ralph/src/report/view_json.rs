//! The view of a run as JSON: what `ls`, `status` and `runs` print for programs.
//!
//! It has everything that [`RunView`] has: a field that is added there does not compile until it is here, and a test
//! compares this with `ralph schema view`. Dollars are numbers, the time of a live run is counted up to now.

use super::assignment::assignment;
use super::status::{doing_now, up_now};
use crate::layout::RunDir;
use jiff::Zoned;
use ralph_loop::dialect::{NeedsPerson, Tokens};
use ralph_loop::event::StopReason;
use ralph_loop::low_disk::Shortage;
use ralph_loop::money::Usd;
use ralph_loop::plan::Progress;
use ralph_loop::proof::Word;
use ralph_loop::run::Place;
use ralph_loop::state::Resumable;
use ralph_loop::text::one_line;
use ralph_loop::view::{AgentNow, Assignment, CheckView, Doing, OpenTool, RunView, WaitsForPerson};
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug, Serialize)]
pub struct ViewJson<'v> {
    id: &'v str,
    alive: bool,
    plan: &'v str,
    asked: String,
    assignment: &'v Assignment,
    project: &'v Path,
    workspace: &'v Path,
    place: &'v Place,
    agents: &'v [String],
    checks: &'v [String],
    opened_at: i64,
    last_at: i64,
    up_ms: u64,
    iteration: u32,
    agent_began_at: Option<i64>,
    judged: u32,
    max_iterations: u32,
    progress: Option<Progress>,
    story: Option<&'v str>,
    title: Option<&'v str>,
    now: Option<String>,
    doing: &'v Doing,
    check_results: &'v [CheckView],
    consecutive_failures: u32,
    total_failures: u32,
    spent: f64,
    spent_estimated: bool,
    tokens: TokensJson,
    max_cost: Option<f64>,
    agent_now: AgentJson<'v>,
    waits_for_person: Option<PersonJson<'v>>,
    paused: bool,
    leaving: bool,
    stops_asked: u32,
    low_disk: Option<&'v Shortage>,
    reason: Option<StopReason>,
    note: Option<&'v str>,
    success: bool,
    proof: Option<Word>,
    resumable: Resumable,
    begun: bool,
    prompt_file: Option<&'v PathBuf>,
    done_pattern: Option<&'v str>,
    silence_ms: Option<u64>,
}

#[derive(Debug, Serialize)]
struct AgentJson<'v> {
    tool: Option<ToolJson<'v>>,
    words: Option<&'v str>,
}

#[derive(Debug, Serialize)]
struct PersonJson<'v> {
    why: Option<NeedsPerson>,
    text: &'v str,
    since_ms: u64,
}

#[derive(Debug, Serialize)]
struct ToolJson<'v> {
    name: &'v str,
    input: &'v str,
    since_ms: Option<u64>,
}

/// With zeros.
#[derive(Debug, Serialize)]
pub struct TokensJson {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl From<Tokens> for TokensJson {
    fn from(Tokens { input, output, cache_read, cache_write }: Tokens) -> TokensJson {
        TokensJson { input, output, cache_read, cache_write }
    }
}

impl<'v> ViewJson<'v> {
    /// `is_live`: its loop works, waits or is paused.
    pub fn of(view: &'v RunView, run_dir: &RunDir, is_live: bool, at: &Zoned) -> ViewJson<'v> {
        let RunView {
            id,
            plan,
            assignment: asked,
            workspace,
            place,
            agents,
            checks,
            opened_at,
            last_at,
            up_ms,
            iteration,
            agent_began_at,
            judged,
            max_iterations,
            progress,
            story,
            title,
            doing,
            check_results,
            consecutive_failures,
            total_failures,
            spent,
            spent_estimated,
            tokens,
            max_cost,
            agent_now,
            waits_for_person,
            paused,
            leaving,
            stops_asked,
            low_disk,
            reason,
            note,
            success,
            proof,
            resumable,
            begun,
            prompt_file,
            done_pattern,
            silence_ms,
        } = view;
        ViewJson {
            id,
            alive: is_live,
            plan,
            asked: assignment(asked, run_dir),
            assignment: asked,
            project: place.origin().unwrap_or(workspace),
            workspace,
            place,
            agents,
            checks,
            opened_at: *opened_at,
            last_at: *last_at,
            up_ms: if is_live { up_now(view, at) } else { *up_ms },
            iteration: *iteration,
            agent_began_at: *agent_began_at,
            judged: *judged,
            max_iterations: *max_iterations,
            progress: *progress,
            story: story.as_deref(),
            title: title.as_deref(),
            now: is_live.then(|| one_line(&doing_now(view, at))),
            doing,
            check_results,
            consecutive_failures: *consecutive_failures,
            total_failures: *total_failures,
            spent: spent.dollars(),
            spent_estimated: *spent_estimated,
            tokens: (*tokens).into(),
            max_cost: max_cost.map(Usd::dollars),
            agent_now: agent(agent_now),
            waits_for_person: waits_for_person.as_ref().map(|WaitsForPerson { since_ms, awaited }| {
                PersonJson { why: awaited.why, text: &awaited.text, since_ms: *since_ms }
            }),
            paused: *paused,
            leaving: *leaving,
            stops_asked: *stops_asked,
            low_disk: low_disk.as_ref(),
            reason: *reason,
            note: note.as_deref(),
            success: *success,
            proof: *proof,
            resumable: *resumable,
            begun: *begun,
            prompt_file: prompt_file.as_ref(),
            done_pattern: done_pattern.as_deref(),
            silence_ms: *silence_ms,
        }
    }
}

fn agent(now: &AgentNow) -> AgentJson<'_> {
    let tool = now.tool.as_ref().map(|OpenTool { name, input, since_ms, .. }| ToolJson {
        name,
        input,
        since_ms: *since_ms,
    });
    AgentJson { tool, words: now.words.as_deref() }
}
