//! Which agent is at work: a run may have fallback agents, and others for reviews and fixes.

use ralph_loop::Run;
use ralph_loop::event::{Event, Fact, Step};
use ralph_loop::run::AgentSpec;

/// The agent that began last. The fact of its end does not name it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtWork {
    agent: usize,
}

impl AtWork {
    pub fn follow(&mut self, event: &Event) {
        if let Fact::Began { step: Step::Agent { agent, .. }, .. } = &event.fact {
            self.agent = *agent;
        }
    }

    pub fn spec(self, run: &Run) -> Option<&AgentSpec> {
        run.agents.get(self.agent)
    }

    /// Its name, if the run has several agents.
    pub fn name(self, run: &Run) -> Option<&str> {
        let spec = self.spec(run).filter(|_| run.agents.len() > 1)?;
        Some(&spec.name)
    }

    /// Its name, or what it is called in a run with one agent.
    pub fn called<'r>(self, run: &'r Run, alone: &'r str) -> &'r str {
        self.name(run).unwrap_or(alone)
    }
}
