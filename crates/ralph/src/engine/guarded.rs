//! The guard of the agents: what they call before a tool runs, and what became of it.

use crate::fsx;
use crate::guard::{Failures, Orders};
use crate::hook::RUN_CODES;
use crate::layout::RunDir;
use ralph_loop::Run;
use ralph_loop::event::End;
use ralph_loop::text::shell_word;
use std::io;
use std::path::{Path, PathBuf};

/// Makes the guard ready for an agent that is about to start. The script that the agent is to call.
pub(super) fn prepare(run: &Run, run_dir: &RunDir, ralph: &Path) -> io::Result<PathBuf> {
    Orders::of_run(run, run_dir, ralph).write(run_dir)?;
    let script = run_dir.guard_script();
    fsx::write_private(&script, text(ralph, run_dir).as_bytes())?;
    // In a sandbox only files that exist can be written.
    for file in [run_dir.guard_log(), run_dir.guard_failures()] {
        fsx::appending(&file)?;
    }
    // The user has looked, and the run goes on.
    let failures = run_dir.guard_failures();
    if Failures(&failures).too_many().is_some() {
        Failures(&failures).forget()?;
    }
    Ok(script)
}

/// Seconds. The guard itself takes less before it gives up.
const PATIENCE: u32 = 15;

/// Agents run the tool if a hook cannot be started, crashes or takes too long (Codex always, Claude in earlier versions), so something
/// else than ralph has to deny it then. What is not one of the guard's own answers is none. Codex wants to be told why: an exit code alone denies nothing.
fn text(ralph: &Path, run_dir: &RunDir) -> String {
    let word = |path: &Path| shell_word(&path.to_string_lossy());
    format!(
        "\
#!/bin/sh
# Asks ralph whether a tool call may run, and denies it if ralph does not answer.
limit=
[ -x /usr/bin/timeout ] && limit='/usr/bin/timeout -s KILL {PATIENCE}'
$limit {ralph} hook guard --policy {policy}
code=$?
case $code in
    {allowed}) exit 0 ;;
    {denied}) exit 2 ;;
esac
why=\"ralph hook guard ended with exit code $code\"
echo \"$why\" >>{failures}
echo \"ralph hook: denied, because the guard cannot judge it: $why\" >&2
exit 2
",
        allowed = RUN_CODES.done,
        denied = RUN_CODES.denied,
        ralph = word(ralph),
        policy = word(&run_dir.guard()),
        failures = word(&run_dir.guard_failures()),
    )
}

/// An agent that was denied everything has shown nothing.
pub(super) fn note_failures(run_dir: &RunDir, mut end: End) -> End {
    if let End::Agent(agent) = &mut end {
        agent.guard = Failures(&run_dir.guard_failures()).too_many();
    }
    end
}
