//! The plugin: what keeps it from being installed, and what to do about what `ralph plugin status` finds.

use crate::error::{CliError, Code};
use crate::plugin::{Alerts, PluginError, Problem, Standing};

impl From<&PluginError> for CliError {
    fn from(error: &PluginError) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        match error {
            PluginError::NoProgram(agent) => {
                CliError { code: Code::Usage, ..failed }.hint(format!("install it: {}", agent.dialect().spec().install))
            }
            PluginError::NoPrograms => CliError { code: Code::Usage, ..failed }
                .hint("`ralph doctor` shows how to install them; `ralph plugin print DIR` writes the plugin's files"),
            PluginError::OtherMarketplace { agent, .. } => {
                failed.hint(format!("remove that one first: {} plugin marketplace remove ralph", agent.name()))
            }
            PluginError::Refused { agent, command, .. } | PluginError::Slow { agent, command, .. } => failed.hint(
                format!("run `{command}` and fix what it reports; plugins need a recent {}", agent.name()),
            ),
            PluginError::Unclear { agent, .. } => {
                failed.hint(format!("`{} --version`: plugins need a recent one", agent.name()))
            }
            PluginError::Linked(_) => {
                failed.hint("ralph does not change files behind a link: remove the link, then try again")
            }
            PluginError::NoHome => CliError { code: Code::Usage, ..failed }.hint("set HOME or XDG_DATA_HOME"),
            PluginError::Stopped { .. }
            | PluginError::Unanswered { .. }
            | PluginError::Unwritable { .. }
            | PluginError::Unremovable { .. } => failed,
        }
    }
}

/// The way out of a problem of the plugin.
pub fn fix(standing: &Standing, problem: &Problem) -> String {
    let agent = standing.agent;
    let alerts = match standing.alerts {
        Alerts::InRuns => "",
        Alerts::Everywhere => " --alerts",
    };
    let install = format!("ralph plugin install --agent {}{alerts}", agent.name());
    let fix = match problem {
        Problem::NoProgram => agent.dialect().spec().install,
        Problem::NotInstalled
        | Problem::NoFiles { .. }
        | Problem::NotLoaded(_)
        | Problem::Disabled
        | Problem::OtherVersion { .. }
        | Problem::Changed { .. } => return install,
        Problem::NoAnswer(_) => {
            return format!("run `{} plugin list` and fix what it reports", agent.name());
        }
        Problem::HooksUntrusted | Problem::HooksModified => {
            return format!(
                "start `codex` and choose \"Trust all and continue\", or run: {install} --trust-hooks"
            );
        }
        Problem::NoRalph => "add the directory of ralph to PATH",
        Problem::OtherRalph { .. } => "put this ralph before it in PATH, or remove the other one",
        Problem::HooksOff { .. } => "remove disableAllHooks or allowManagedHooksOnly there",
        Problem::NoHooks => {
            "start `codex` and turn them on with /hooks, or remove `hooks = false` from [features] in config.toml"
        }
        Problem::HooksUnknown(_) => "start `codex` and look at /hooks",
    };
    fix.to_owned()
}
