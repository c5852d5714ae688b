//! Errors as people get to see them: what failed, why, and a way out.

use crate::report::ErrorReport;
use std::error::Error;
use std::fmt;

/// How a command ends other than well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// It could not do what was asked.
    Failed = 1,
    /// Bad usage, configuration or prerequisites.
    Usage = 2,
}

#[derive(Debug)]
pub struct CliError {
    pub message: String,
    pub cause: Option<String>,
    pub hint: Option<String>,
    pub code: Code,
    /// The run that it happened to, if there is one already.
    pub run: Option<String>,
}

impl CliError {
    pub fn usage(message: impl Into<String>) -> CliError {
        CliError { message: message.into(), cause: None, hint: None, code: Code::Usage, run: None }
    }

    pub fn failed(message: impl Into<String>) -> CliError {
        CliError { code: Code::Failed, ..CliError::usage(message) }
    }

    /// The error's own words and those of what lies behind it.
    pub fn from_error(error: &dyn Error, code: Code) -> CliError {
        CliError { message: error.to_string(), cause: causes(error), hint: None, code, run: None }
    }

    pub fn cause(self, cause: impl fmt::Display) -> CliError {
        CliError { cause: Some(cause.to_string()), ..self }
    }

    pub fn hint(self, hint: impl Into<String>) -> CliError {
        CliError { hint: Some(hint.into()), ..self }
    }

    /// What to do about it, where that is known.
    pub fn hint_if(self, hint: Option<impl Into<String>>) -> CliError {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    pub fn report(&self) -> ErrorReport {
        ErrorReport { message: self.message.clone(), cause: self.cause.clone(), hint: self.hint.clone() }
    }
}

/// The way out for a run that did not come to its end.
pub fn continue_with(run: &str) -> String {
    format!("continue with: ralph resume {run}")
}

/// What lies behind an error, if anything does.
fn causes(error: &dyn Error) -> Option<String> {
    let mut causes = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    (!causes.is_empty()).then(|| causes.join(": "))
}

/// An error and what lies behind it, in one line.
pub fn with_causes(error: &dyn Error) -> String {
    causes(error).map_or_else(|| error.to_string(), |causes| format!("{error}: {causes}"))
}

impl Error for CliError {}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ralph: error: {}", self.message)?;
        if let Some(cause) = &self.cause {
            write!(f, "\n  cause: {cause}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    #[test]
    fn modules_below_the_command_line_have_errors_of_their_own() {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let may_present = |file: &Path| {
            file.starts_with(src.join("cli"))
                || ["error.rs", "lib.rs"].iter().any(|name| file == src.join(name))
        };
        let sources = files_in(&src);
        assert!(sources.len() > 100, "{}", sources.len());
        for file in sources.iter().filter(|file| !may_present(file)) {
            let text = fs::read_to_string(file).unwrap();
            assert!(
                !text.contains("CliError"),
                "hints and exit codes belong to cli/advice: {}",
                file.display()
            );
        }
    }

    fn files_in(dir: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
    }
}
