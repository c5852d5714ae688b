//! Source control in the sandbox of a run, by a process of ralph's own there (`own_commit.rs`).

use super::own_commit::{self, OwnCommit};
use crate::place::Access;
use crate::process::tool::Tool;
use crate::sandbox::Sandbox;
use ralph_loop::event::End;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The hooks of a commit may run all tests.
const TIMEOUT: Duration = Duration::from_secs(600);

pub(super) struct InSandbox<'a> {
    pub(super) access: &'a Access,
    pub(super) sandbox: &'a Arc<Sandbox>,
    /// Held for as long as the process lives.
    pub(super) lock: Option<&'a OwnedFd>,
}

impl InSandbox<'_> {
    /// What came of it, or why that is not known.
    pub(super) fn perform(&self, what: &OwnCommit) -> Result<End, String> {
        let argument = serde_json::to_string(what).map_err(|cause| cause.to_string())?;
        // In `/`: agents can have removed the workspace.
        let tool =
            Tool::new(self.sandbox.ralph()).args([own_commit::SUBCOMMAND, &argument]).cwd(Path::new("/"));
        let lock = self.lock.and_then(|lock| lock.try_clone().ok());
        let tool = lock.into_iter().fold(tool.timeout(TIMEOUT), Tool::holding);
        self.sandbox.before_step();
        let ran = self.access.tool(tool).run();
        self.sandbox.after_step();
        let output = ran.map_err(|cause| cause.to_string())?;
        let printed = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
        what.ended(output.exit, printed)
    }
}
