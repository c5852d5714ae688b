//! Flags that mean something else in other tools: what was probably meant, and how to say it here.

use crate::error::CliError;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use ralph_loop::sandbox::SandboxChoice;
use std::ffi::OsString;
use std::path::Path;

/// What to say about a command line that clap does not understand, or answers with the version
/// although it asks for more.
pub fn of_refused(error: &clap::Error, args: &[OsString]) -> Option<CliError> {
    let words: Vec<&str> = args.iter().map_while(|arg| arg.to_str()).take_while(|arg| *arg != "--").collect();
    if error.kind() == ErrorKind::DisplayVersion {
        let other = words.iter().skip(1).any(|word| !matches!(*word, "-V" | "--version"));
        return other.then(|| {
            CliError::usage("-V prints the version and does not run anything").hint("use -v for debug output")
        });
    }
    let Some(ContextValue::String(unexpected)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let command = words.first().copied().unwrap_or_default();
    // Clap names only the letter of what it takes for a short flag.
    let dashed = words.iter().find(|word| word.starts_with(&**unexpected) && is_dashed_text(word));
    if let Some(prompt) = dashed.filter(|_| matches!(command, "run" | "loop")) {
        let shown = prompt.lines().next().unwrap_or_default();
        return Some(
            CliError::usage(format!("a prompt that starts with a dash is read as a flag: {shown}"))
                .hint("pass it with -p, or put it in a file and use -f"),
        );
    }
    if unexpected == "-c" && matches!(command, "stories" | "tasks") {
        let file = words.windows(2).find(|pair| pair[0] == "-c" && Path::new(pair[1]).is_file())?[1];
        return Some(
            CliError::usage(format!("`ralph {command}` has no -c, and {file} is a file"))
                .hint(format!("did you mean --config {file}?")),
        );
    }
    let after_d = words.windows(2).any(|pair| pair == ["-d", unexpected.as_str()]);
    (command == "tasks" && after_d).then(|| {
        CliError::usage(format!("-d is --dry-run and takes no value: {unexpected}")).hint(format!(
            "use --ralph-dir {unexpected} for the task list's directory, -C {unexpected} for the project's"
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
        Some(file) => Err(CliError::usage(format!(
            "-c takes the word the agent says when it is done, not a file: {file}"
        ))
        .hint(format!("did you mean --config {file}?"))),
        None => Ok(()),
    }
}

/// Flags of a command whose value is free text, which may begin with a dash. `spawn` hands its words
/// on to one of these commands.
fn text_flags(command: &str) -> &'static [&'static str] {
    match command {
        "run" | "loop" => &["-p", "--prompt", "--check", "--done-pattern"],
        "stories" => &["--check"],
        "tasks" => &["--check", "--criterion", "--description"],
        "set" => &["--done-pattern"],
        _ => &[],
    }
}

/// The error for a text flag without a value: clap would take the next flag for it.
pub fn swallowed_flag(args: &[OsString]) -> Result<(), CliError> {
    let mut words = args.iter().map(|arg| arg.to_str().unwrap_or_default());
    let text_flags = text_flags(words.next().unwrap_or_default());
    while let Some(flag) = words.next().filter(|word| *word != "--") {
        if !text_flags.contains(&flag) {
            continue;
        }
        let value = words.next().unwrap_or_default();
        if value.len() > 1 && value.starts_with('-') && !is_dashed_text(value) {
            let long = if flag == "-p" { "--prompt" } else { flag };
            let error = CliError::usage(format!("{flag} is followed by a flag instead of a value: {value}"));
            return Err(error.hint(match long {
                "--prompt" => format!("say what to do: -p \"fix the failing test\", or {long}={value}"),
                _ => format!("if that is the value: {long}={value}"),
            }));
        }
    }
    Ok(())
}

/// The error for a sandbox's name after a space, where the prompt would be.
pub fn sandbox_name(args: &[OsString]) -> Result<(), CliError> {
    let words = args.iter().map(|arg| arg.to_str().unwrap_or_default()).take_while(|word| *word != "--");
    let words: Vec<&str> = words.collect();
    let named =
        words.windows(2).find(|pair| pair[0] == "--sandbox" && SandboxChoice::NAMES.contains(&pair[1]));
    match named {
        Some([_, name]) if words.first() != Some(&"sandbox") => {
            Err(CliError::usage(format!("after a space, {name} is the prompt and not the sandbox"))
                .hint(format!("did you mean --sandbox={name}?")))
        }
        Some(_) | None => Ok(()),
    }
}

/// No flag has a space in it.
fn is_dashed_text(word: &str) -> bool {
    word.starts_with('-') && word.contains(char::is_whitespace)
}

/// A note that begins with a dash, moved behind `--`. If the positional took such values itself, clap
/// would no longer tell the optional name before it from the text.
pub fn note_last(args: &[OsString]) -> Vec<OsString> {
    let is_note = |arg: &&OsString| arg.to_str().is_some_and(is_dashed_text);
    if args.first().is_none_or(|command| command != "say") || args.iter().any(|arg| arg == "--") {
        return args.to_vec();
    }
    let (notes, mut words): (Vec<&OsString>, Vec<&OsString>) = args.iter().partition(is_note);
    // Between an optional name and the text clap takes no flag.
    words[1..].sort_by_key(|word| *word != "--now");
    let dashes = OsString::from("--");
    if !notes.is_empty() {
        words.push(&dashes);
        words.extend(notes);
    }
    words.into_iter().cloned().collect()
}
