//! The checks of a run, from settings and flags.

use super::{RequestError, Terms};
use crate::process::SHELL;
use crate::process::tool::Tool;
use crate::settings::Settings;
use ralph_loop::check::{CheckSpec, Excerpt, FailAction, Origin};
use std::path::Path;

/// The settings' guardrails, then the commands that were asked for besides.
pub(super) fn checks(
    asked: &[String],
    terms: &Terms,
    settings: &Settings,
    dir: &Path,
) -> Result<Vec<CheckSpec>, RequestError> {
    let ms = |seconds: f64| (seconds * 1000.0).max(1.0) as u64;
    let usual = terms.check_timeout.unwrap_or(ms(settings.check_timeout));
    let guardrails = settings.guardrails.iter().map(|guardrail| CheckSpec {
        command: guardrail.command.clone(),
        timeout_ms: guardrail.timeout.map_or(usual, ms),
        fail_action: guardrail.fail_action,
        hint: guardrail.hint.clone(),
        excerpt: Excerpt::Head { chars: settings.output_truncate_chars },
        origin: Origin::Guardrail,
    });
    const TAIL_CHARS: usize = 2_000;
    let flags = asked.iter().map(|command| CheckSpec {
        command: command.clone(),
        timeout_ms: usual,
        fail_action: FailAction::Append,
        hint: None,
        excerpt: Excerpt::Tail { chars: TAIL_CHARS },
        origin: Origin::Flag,
    });
    let checks: Vec<CheckSpec> = guardrails.chain(flags).collect();
    for check in &checks {
        if check.command.trim().is_empty() {
            return Err(RequestError::EmptyCheck);
        }
        if let Some(program) = missing_program(&check.command, dir) {
            return Err(RequestError::CheckMissing { program, check: check.command.clone() });
        }
    }
    Ok(checks)
}

/// The program that a check begins with, if it is a plain name that the shell does not know.
/// Paths may be created by the agent, and anything more than a name is the shell's business.
fn missing_program(command: &str, dir: &Path) -> Option<String> {
    let word = command.split_whitespace().next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
    if !word.chars().all(plain) {
        return None;
    }
    let known = Tool::new(SHELL).args(["-c", "command -v -- \"$1\"", "sh", word]).cwd(dir).run();
    matches!(known, Ok(answer) if !answer.success()).then(|| word.to_string())
}
