//! A function as the agent: it is called once per iteration, with a prompt that says which checks
//! failed.
#![expect(clippy::disallowed_macros, reason = "an example prints")]
#![expect(clippy::disallowed_methods, reason = "an agent writes files")]

use ralph::{Agent, AgentCall, AgentError, Config};
use std::fs;

pub fn main() -> Result<(), ralph::Error> {
    let mut config = Config::new("write three lines to lines.txt");
    config.checks = vec!["test $(wc -l < lines.txt) -ge 3".into()];
    config.max_iterations = Some(5);
    config.agent = Agent::function(write_a_line);

    let result = config.run()?;
    println!("{}, iterations: {}", result.stop_reason, result.total_iterations);
    Ok(())
}

/// A real one would ask a model. What it returns are the agent's last words.
fn write_a_line(call: &AgentCall) -> Result<String, AgentError> {
    let file = call.dir().join("lines.txt");
    let before = fs::read_to_string(&file).unwrap_or_default();
    call.print(&format!("iteration {}, the prompt has {} bytes\n", call.iteration(), call.prompt().len()));
    fs::write(file, before + "a line\n")?;
    Ok("<response>DONE</response>".into())
}
