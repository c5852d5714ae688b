//! Flags that mean something else in other tools: what was probably meant, and how to say it here.

use crate::error::CliError;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::Path;

/// What to say about a command line that clap does not understand, or answers with the version
/// although it asks for more.
pub fn of_refused(error: &clap::Error, args: &[OsString]) -> Option<CliError> {
    let words: Vec<&str> = args.iter().map_while(|arg| arg.to_str()).take_while(|arg| *arg != "--").collect();
    if error.kind() == ErrorKind::DisplayVersion {
        let other = words.iter().skip(1).any(|word| !matches!(*word, "-V" | "--version"));
        return other.then(|| {
            CliError::usage("-V prints the version and runs nothing").hint("for debug output use -v")
        });
    }
    let Some(ContextValue::String(unexpected)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    // Clap names only the letter of what it takes for a short flag.
    let prompt =
        words.iter().find(|word| word.starts_with(&**unexpected) && word.contains(char::is_whitespace));
    if let Some(prompt) = prompt.filter(|word| word.starts_with('-')) {
        let shown = prompt.lines().next().unwrap_or_default();
        return Some(
            CliError::usage(format!("a prompt that begins with a dash reads as a flag: {shown}"))
                .hint("pass it with -p, or in a file with -f"),
        );
    }
    let after_d = words.windows(2).any(|pair| pair == ["-d", unexpected.as_str()]);
    (words.first() == Some(&"tasks") && after_d).then(|| {
        CliError::usage(format!("-d is --dry-run and takes no value: {unexpected}")).hint(format!(
            "for the directory of the task list use --ralph-dir {unexpected}, for the project -C {unexpected}"
        ))
    })
}

/// A model is no number: elsewhere `-m` is the number of iterations.
pub fn model(model: Option<&str>) -> Result<(), CliError> {
    match model.filter(|model| model.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(number) => Err(CliError::usage(format!("-m is the agent's model, not a number: {number}"))
            .hint(format!("did you mean -n {number}?"))),
        None => Ok(()),
    }
}

/// A completion response is a word: elsewhere `-c` is a configuration file.
pub fn completion_response(word: Option<&str>) -> Result<(), CliError> {
    match word.filter(|word| Path::new(word).is_file()) {
        Some(file) => {
            Err(CliError::usage(format!("-c is the word that the agent says when it is done: {file}"))
                .hint(format!("that is a file; did you mean --config {file}?")))
        }
        None => Ok(()),
    }
}

/// `-p` takes any text, also one that begins with a dash, but not the next flag.
pub fn prompt(prompt: Option<&str>) -> Result<(), CliError> {
    let flag = prompt.filter(|text| text.starts_with('-') && !text.contains(char::is_whitespace));
    match flag.filter(|text| text.len() > 1) {
        Some(flag) => Err(CliError::usage(format!("-p is followed by a flag instead of a prompt: {flag}"))
            .hint("say what to do: -p \"fix the failing test\"")),
        None => Ok(()),
    }
}
