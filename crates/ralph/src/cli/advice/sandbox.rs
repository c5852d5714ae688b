//! A sandbox that cannot be used.

use crate::error::{CliError, Code};
use crate::sandbox::SandboxError;
use crate::similar;
use ralph_loop::sandbox::tools::{self, UnknownTool};

impl From<&SandboxError> for CliError {
    fn from(error: &SandboxError) -> CliError {
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            SandboxError::Unusable { why, .. } | SandboxError::NoneWorks { why } => usage.cause(why).hint(
                "`ralph sandbox check` tries each of them; --no-sandbox runs agents with your own rights",
            ),
            SandboxError::Home(_) => {
                usage.hint("--no-sandbox runs agents with your own rights, and needs no home for them")
            }
            SandboxError::Network(_) => {
                usage.hint("\"network\": \"open\" in the sandbox settings shares the network of this machine")
            }
            SandboxError::Host { .. } => usage.hint(
                "an entry is a host (example.org, *.example.org, example.org:8443) or one of the groups npm, crates, \
                 pypi, go, maven, github, debian",
            ),
            SandboxError::Forward { .. } => usage,
            SandboxError::RecordsInside { .. } => {
                usage.hint("set RALPH_HOME to a directory outside of the project, or use --no-sandbox")
            }
            SandboxError::Tool(UnknownTool(name)) => {
                let all: Vec<&str> = tools::names().collect();
                let all = format!("known are {}; a path begins with / or ~", all.join(", "));
                usage.hint(similar::hint(similar::nearest(name, tools::names()), &all))
            }
            SandboxError::Git(_) | SandboxError::Protected(_) => usage.hint("use --no-sandbox"),
            SandboxError::HomeInside(_) => {
                usage.hint("start ralph in a directory of its own, or use --no-sandbox")
            }
        }
    }
}
