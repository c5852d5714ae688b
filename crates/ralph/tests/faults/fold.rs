//! The journal, read and folded by the driver itself.

use ralph_loop::event::{AgentEnd, End, Event, Fact, SnapshotEnd, Step, StepId};
use ralph_loop::money::Cost;
use ralph_loop::state::Resumable;
use ralph_loop::verdict::Judgement;
use ralph_loop::view::Moments;
use ralph_loop::{Run, State, progress};
use std::collections::BTreeMap;

/// A run by the whole lines of its journal.
#[derive(Debug)]
pub struct Fold {
    pub run: Run,
    pub state: State,
    pub events: Vec<Event>,
    pub judgements: Vec<Judgement>,
    /// Ends of agents and the iterations they belong to.
    pub agents: Vec<(u32, AgentEnd)>,
    lost_cost: Cost,
    /// How many agents were begun in each iteration.
    pub begun: BTreeMap<u32, usize>,
    pub snapshots: Vec<SnapshotEnd>,
    pub progress: String,
}

/// What stands in a journal up to its last whole line.
pub fn whole_lines(journal: &[u8]) -> &[u8] {
    let end = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = &journal[..end];
    // A last line may be there in length only.
    let last = lines[..end.saturating_sub(1)].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if serde_json::from_slice::<Event>(&lines[last..]).is_ok() { lines } else { &lines[..last] }
}

/// Nothing for a journal without a first line; an error for one that does not replay.
pub fn fold(journal: &[u8]) -> Result<Option<Fold>, String> {
    let mut folded: Option<(Fold, Moments, BTreeMap<StepId, Step>)> = None;
    for (number, line) in whole_lines(journal).split_inclusive(|byte| *byte == b'\n').enumerate() {
        let event: Event = serde_json::from_slice(line)
            .map_err(|cause| format!("line {} of the journal is damaged: {cause}", number + 1))?;
        let illegal = |cause| format!("line {} of the journal is illegal: {cause}", number + 1);
        match &mut folded {
            None => {
                let state = State::open(&event).map_err(illegal)?;
                let Fact::Opened(run) = &event.fact else { return Err("not opened".into()) };
                folded =
                    Some((Fold::new(Run::clone(run), state, event), Moments::default(), BTreeMap::new()));
            }
            Some((fold, moments, steps)) => {
                fold.state.apply(&event).map_err(illegal)?;
                fold.follow(event, moments, steps);
            }
        }
    }
    Ok(folded.map(|(fold, ..)| fold))
}

impl Fold {
    fn new(run: Run, state: State, event: Event) -> Fold {
        Fold {
            run,
            state,
            events: vec![event],
            judgements: Vec::new(),
            agents: Vec::new(),
            lost_cost: Cost::default(),
            begun: BTreeMap::new(),
            snapshots: Vec::new(),
            progress: String::new(),
        }
    }

    fn follow(&mut self, event: Event, moments: &mut Moments, steps: &mut BTreeMap<StepId, Step>) {
        if let Some(iteration) = moments.iteration(&self.run, &self.state, &event) {
            self.progress += &progress::section(&iteration);
        }
        match &event.fact {
            Fact::Began { id, step } => {
                if let Step::Agent { iteration, .. } = step {
                    *self.begun.entry(*iteration).or_default() += 1;
                }
                steps.insert(*id, step.clone());
            }
            Fact::Ended { id, end } => match (end, steps.get(id)) {
                (End::Agent(end), Some(Step::Agent { iteration, .. })) => {
                    self.agents.push((*iteration, AgentEnd::clone(end)));
                }
                (End::Snapshot(end), _) => self.snapshots.push(end.clone()),
                // An agent whose keeper was killed has cost what it had reported by then.
                (end @ End::Lost { .. }, _) => self.lost_cost += end.cost().unwrap_or_default(),
                _ => {}
            },
            Fact::Judged(judgement) => self.judgements.push(judgement.clone()),
            _ => {}
        }
        self.events.push(event);
    }

    pub fn cost(&self) -> Cost {
        let mut cost = self.lost_cost;
        self.agents.iter().filter_map(|(_, end)| end.cost()).for_each(|more| cost += more);
        cost
    }

    pub fn is_over(&self) -> bool {
        self.state.resumable() != Resumable::Now
    }
}
