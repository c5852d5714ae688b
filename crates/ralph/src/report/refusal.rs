//! What to do about an agent that will keep refusing.

use crate::request::root;
use ralph_loop::dialect::Refusal;
use ralph_loop::{Run, State, refusal};

/// Nothing where some agent would go on.
pub fn advice(run: &Run, state: &State) -> Option<String> {
    let refused = refusal(run, state)?;
    let (id, agent) = (&run.id, run.agents.get(refused.agent)?);
    Some(match refused.about {
        Refusal::Login => format!("{}, then: ralph resume {id}", agent.dialect.spec().log_in),
        Refusal::Model => {
            "choose a model your account can use (-m MODEL, agent.model) and start a new run; a resumed run keeps its model"
                .into()
        }
        Refusal::Quota => format!("add credit or raise the plan's limit, then: ralph resume {id}"),
        Refusal::Root => format!("{}; then start a new run", root::ADVICE),
        Refusal::Flag => {
            "remove the flag (agent.flags, or after --) and start a new run; a resumed run keeps its command"
                .into()
        }
        Refusal::Address => {
            format!(
                "correct the address of the agent's service (base_url, *_BASE_URL), then: ralph resume {id}"
            )
        }
    })
}
