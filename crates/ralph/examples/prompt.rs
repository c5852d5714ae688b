//! Repeats a prompt until the checks pass, then prints what each iteration did.
#![expect(clippy::disallowed_macros, reason = "an example prints")]

use ralph::{Config, StopReason};
use std::time::Duration;

pub fn main() -> Result<(), ralph::Error> {
    let mut config = Config::new("make the tests pass");
    config.checks = vec!["make test".into()];
    config.max_iterations = Some(5);
    config.max_time = Some(Duration::from_secs(3600));

    let result = config.run()?;
    for iteration in &result.iterations {
        for check in iteration.check_results.iter().filter(|check| !check.passed) {
            println!("{}: {} failed: {}", iteration.iteration, check.name, check.output);
        }
    }
    match result.stop_reason {
        StopReason::Completed => println!("done, iterations: {}", result.total_iterations),
        StopReason::MaxIterations | StopReason::Timeout => println!("not done: reached a limit"),
        reason => println!("stopped: {reason}"),
    }
    Ok(())
}
