//! Works through the stories in `specs/`, then through the task list in `ralph/tasks.json`.
#![expect(clippy::disallowed_macros, reason = "an example prints")]

use ralph::{Agent, Config, Error, Moment, Stories, Tasks};

pub fn main() -> Result<(), Error> {
    let stories = Stories { max_retries: Some(2), commit: true, ..Stories::default() };
    run(&Config { agent: Agent::named("codex"), ..stories.into() })?;

    let tasks = Tasks { review_agent: Some("claude".into()), ..Tasks::default() };
    run(&Config { agent: Agent::named("codex"), max_cost: Some(20.0), ..tasks.into() })
}

fn run(config: &Config) -> Result<(), Error> {
    let mut handle = config.start()?;
    for moment in handle.moments() {
        if let Moment::IterationEnded(iteration) = moment {
            let story = iteration.story.unwrap_or_default();
            let mode = iteration.mode.map_or_else(String::new, |mode| mode.to_string());
            println!("{story} {mode} {}", if iteration.settled { "done" } else { "to be continued" });
        }
    }
    let result = handle.wait()?;
    for task in result.tasks.iter().filter(|task| !task.done) {
        println!("left: {}", task.id);
    }
    Ok(())
}
