//! Follows a run from within a tokio runtime and cancels it if it takes too long.
#![expect(clippy::disallowed_macros, reason = "an example prints")]

use ralph::{Config, Moment, RunHandle};
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), ralph::Error> {
    let mut config = Config::new("make the tests pass");
    config.checks = vec!["make test".into()];

    let mut handle = config.start()?;
    println!("ralph show {}", handle.run_id());
    if tokio::time::timeout(Duration::from_secs(600), follow(&mut handle)).await.is_err() {
        // The current step still finishes. A second call would end it.
        handle.cancel();
    }
    let result = handle.finished().await?;
    println!("{}", result.stop_reason);
    Ok(())
}

/// Until the run has ended.
async fn follow(handle: &mut RunHandle) {
    while let Some(moment) = handle.next().await {
        match moment {
            Moment::AgentStarted { iteration, agent, .. } => println!("{iteration}: {agent}"),
            Moment::AgentSaid { text } => println!("  {text}"),
            Moment::ToolStarted { name, summary } => println!("  {name}: {summary}"),
            Moment::CheckEnded { name, passed, .. } => {
                println!("  {name}: {}", if passed { "passed" } else { "failed" });
            }
            Moment::Warning { text } => println!("  warning: {text}"),
            // There are more, and later versions may add some.
            _ => {}
        }
    }
}
