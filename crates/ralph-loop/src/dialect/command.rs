//! The command line that starts an agent, and how its prompt gets in.
//!
//! Pure: names in, arguments out. Invariant: what the user wrote wins. A flag of ours is left
//! out where theirs says the same thing or contradicts it.
//!
//! Deliberately absent: environment and working directory. Those belong to the place the agent
//! runs in.

use super::Dialect;
use thiserror::Error;

/// Linux takes single arguments below this, the terminating zero included.
const ARGUMENT_MAX: usize = 131_072;

/// What is asked of an agent, in no agent's words.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    pub program: &'a str,
    /// The user's own flags.
    ///
    /// For a known agent, one that holds a flag and its value (`--model opus`) is split at the
    /// first space: in a settings file it is the natural way to write it, and no agent would take
    /// it as a single argument. A plain command gets its arguments as they are.
    pub args: &'a [String],
    pub model: Option<&'a str>,
    /// Nobody is there to be asked for permission.
    pub autonomous: bool,
    /// Events while it works, or only its final words.
    pub streaming: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The program first.
    pub argv: Vec<String>,
    pub stdin: PromptVia,
    /// What its output is to be read as. Claude without its stream is a plain agent.
    pub output: Dialect,
}

/// What the agent's standard input gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptVia {
    Stdin,
    /// The prompt is in an argument or in a file; an open pipe would be waited for.
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandLineError {
    #[error("the command has no `{{model}}` to pass the model by: {program}")]
    NoModelFlag { program: String },
    #[error("the command asks for a model and none is set: {argument}")]
    NoModel { argument: String },
    #[error("the prompt is too long for an argument, in bytes: {bytes}")]
    PromptTooLong { bytes: usize },
}

/// The command line for one iteration. `prompt_file` is where the prompt can also be read.
pub fn command_line(
    dialect: Dialect,
    invocation: &Invocation<'_>,
    prompt_file: &str,
    prompt: &str,
) -> Result<CommandLine, CommandLineError> {
    match dialect {
        Dialect::Claude => Ok(claude(invocation)),
        Dialect::Plain => plain(invocation, prompt_file, prompt),
    }
}

fn claude(invocation: &Invocation<'_>) -> CommandLine {
    let user = Flags(invocation.args.iter().flat_map(|arg| split_flag(arg)).map(str::to_owned).collect());
    let mut argv = vec![invocation.program.to_owned()];
    if !user.has("-p") && !user.has("--print") {
        argv.push("-p".to_owned());
    }
    let ours = if invocation.streaming { "stream-json" } else { "text" };
    let format = user.value("--output-format").unwrap_or(ours).to_owned();
    if !user.has("--output-format") {
        argv.extend(["--output-format".to_owned(), format.clone()]);
    }
    // Claude refuses to stream without it; with the other formats it changes what they are.
    if format == "stream-json" && !user.has("--verbose") {
        argv.push("--verbose".to_owned());
    }
    let permissions = ["--dangerously-skip-permissions", "--permission-mode"];
    if invocation.autonomous && !permissions.iter().any(|flag| user.has(flag)) {
        argv.push("--dangerously-skip-permissions".to_owned());
    }
    if let Some(model) = invocation.model
        && !user.has("--model")
    {
        argv.extend(["--model".to_owned(), model.to_owned()]);
    }
    argv.extend(user.0);
    let output = if format == "text" { Dialect::Plain } else { Dialect::Claude };
    CommandLine { argv, stdin: PromptVia::Stdin, output }
}

fn plain(
    invocation: &Invocation<'_>,
    prompt_file: &str,
    prompt: &str,
) -> Result<CommandLine, CommandLineError> {
    let mut argv = vec![invocation.program.to_owned()];
    let mut stdin = PromptVia::Stdin;
    let mut model_passed = false;
    for argument in invocation.args {
        let mut filled = String::new();
        for part in parts(argument) {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Prompt => filled.push_str(prompt),
                Part::PromptFile => filled.push_str(prompt_file),
                Part::Model => {
                    let missing = || CommandLineError::NoModel { argument: argument.clone() };
                    filled.push_str(invocation.model.ok_or_else(missing)?);
                    model_passed = true;
                }
            }
            if matches!(part, Part::Prompt | Part::PromptFile) {
                stdin = PromptVia::Nothing;
            }
        }
        if filled.len() >= ARGUMENT_MAX {
            return Err(CommandLineError::PromptTooLong { bytes: filled.len() });
        }
        argv.push(filled);
    }
    if invocation.model.is_some() && !model_passed {
        return Err(CommandLineError::NoModelFlag { program: invocation.program.to_owned() });
    }
    Ok(CommandLine { argv, stdin, output: Dialect::Plain })
}

#[derive(Clone, Copy)]
enum Part<'a> {
    Text(&'a str),
    Prompt,
    PromptFile,
    Model,
}

/// An argument's texts and placeholders in their order. What is filled in is not looked at again:
/// a prompt may well say `{model}`.
fn parts(argument: &str) -> Vec<Part<'_>> {
    const PLACEHOLDERS: [(&str, Part<'_>); 3] =
        [("{prompt}", Part::Prompt), ("{prompt_file}", Part::PromptFile), ("{model}", Part::Model)];
    let mut found = Vec::new();
    let mut rest = argument;
    let next = |text: &str| {
        PLACEHOLDERS
            .iter()
            .filter_map(|(name, part)| Some((text.find(name)?, name.len(), *part)))
            .min_by_key(|(at, ..)| *at)
    };
    while let Some((at, len, part)) = next(rest) {
        found.extend([Part::Text(&rest[..at]), part]);
        rest = &rest[at + len..];
    }
    found.push(Part::Text(rest));
    found
}

/// `--model opus` as two arguments. Left whole: `--flag=a value`, and what is not a flag at all,
/// such as a value that begins with a dash and a space.
fn split_flag(argument: &str) -> Vec<&str> {
    match argument.split_once(char::is_whitespace) {
        Some((flag, value)) if is_flag(flag) && !value.trim().is_empty() => vec![flag, value.trim_start()],
        Some((flag, _)) if is_flag(flag) => vec![flag],
        _ => vec![argument],
    }
}

fn is_flag(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    name.len() < word.len()
        && !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
}

struct Flags(Vec<String>);

impl Flags {
    fn has(&self, flag: &str) -> bool {
        self.given().any(|arg| arg == flag || value_after(arg, flag).is_some())
    }

    fn value(&self, flag: &str) -> Option<&str> {
        let mut args = self.given();
        while let Some(arg) = args.next() {
            if arg == flag {
                return args.next();
            }
            if let Some(value) = value_after(arg, flag) {
                return Some(value);
            }
        }
        None
    }

    /// After `--` there are no flags.
    fn given(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str).take_while(|arg| *arg != "--")
    }
}

/// The value in `--flag=value`.
fn value_after<'a>(arg: &'a str, flag: &str) -> Option<&'a str> {
    arg.strip_prefix(flag)?.strip_prefix('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ask<'a> {
        args: &'a [&'a str],
        model: Option<&'a str>,
        autonomous: bool,
        streaming: bool,
    }

    const PLAIN_ASK: Ask<'_> = Ask { args: &[], model: None, autonomous: true, streaming: true };

    fn build(program: &str, ask: &Ask<'_>) -> Result<CommandLine, CommandLineError> {
        let args: Vec<String> = ask.args.iter().map(|arg| (*arg).to_owned()).collect();
        let &Ask { model, autonomous, streaming, .. } = ask;
        let invocation = Invocation { program, args: &args, model, autonomous, streaming };
        command_line(Dialect::of_program(program), &invocation, "/run/prompt.md", "say {model}")
    }

    #[track_caller]
    fn check(program: &str, ask: &Ask<'_>, argv: &[&str], stdin: PromptVia) {
        let line = build(program, ask).unwrap();
        assert_eq!(line.argv, argv);
        assert_eq!(line.stdin, stdin);
    }

    const STREAM: [&str; 5] = ["claude", "-p", "--output-format", "stream-json", "--verbose"];
    const SKIP: &str = "--dangerously-skip-permissions";

    #[test]
    fn claude_streams_and_gets_the_prompt_on_stdin() {
        check("claude", &PLAIN_ASK, &[&STREAM[..], &[SKIP]].concat(), PromptVia::Stdin);
        check("claude", &Ask { autonomous: false, ..PLAIN_ASK }, &STREAM, PromptVia::Stdin);
        let asked = Ask { model: Some("opus"), args: &["--max-turns", "3"], ..PLAIN_ASK };
        let flags = [SKIP, "--model", "opus", "--max-turns", "3"];
        check("claude", &asked, &[&STREAM[..], &flags].concat(), PromptVia::Stdin);
    }

    #[test]
    fn without_a_stream_its_output_is_plain_text() {
        let line = build("claude", &Ask { streaming: false, autonomous: false, ..PLAIN_ASK }).unwrap();
        assert_eq!(line.argv, ["claude", "-p", "--output-format", "text"]);
        assert_eq!(line.output, Dialect::Plain);
        let json = build("claude", &Ask { args: &["--output-format=json"], autonomous: false, ..PLAIN_ASK })
            .unwrap();
        assert_eq!(json.argv, ["claude", "-p", "--output-format=json"]);
        assert_eq!(json.output, Dialect::Claude);
    }

    #[test]
    fn what_the_user_wrote_is_not_doubled_and_wins() {
        let asked = Ask {
            args: &["--model sonnet", "--verbose"],
            model: Some("opus"),
            autonomous: false,
            ..PLAIN_ASK
        };
        let argv = ["claude", "-p", "--output-format", "stream-json", "--model", "sonnet", "--verbose"];
        check("claude", &asked, &argv, PromptVia::Stdin);
        let plan = Ask { args: &["--permission-mode", "plan"], ..PLAIN_ASK };
        check("claude", &plan, &[&STREAM[..], &["--permission-mode", "plan"]].concat(), PromptVia::Stdin);
    }

    #[test]
    fn a_flag_with_its_value_is_split_once() {
        for (argument, parts) in [
            ("--model opus", vec!["--model", "opus"]),
            ("-c  key=a b", vec!["-c", "key=a b"]),
            ("--verbose ", vec!["--verbose"]),
            ("--settings={\"a\": 1}", vec!["--settings={\"a\": 1}"]),
            ("- a list item", vec!["- a list item"]),
            ("two words", vec!["two words"]),
            ("", vec![""]),
        ] {
            assert_eq!(split_flag(argument), parts, "{argument:?}");
        }
    }

    #[test]
    fn a_plain_command_is_left_as_it_is() {
        check(
            "./agent",
            &Ask { args: &["--model opus", "-x"], ..PLAIN_ASK },
            &["./agent", "--model opus", "-x"],
            PromptVia::Stdin,
        );
    }

    #[test]
    fn placeholders_are_filled_once_and_leave_stdin_empty() {
        let file = Ask { args: &["--file={prompt_file}"], ..PLAIN_ASK };
        check("agent", &file, &["agent", "--file=/run/prompt.md"], PromptVia::Nothing);
        let both = Ask { args: &["{prompt}!", "-m{model}"], model: Some("m1"), ..PLAIN_ASK };
        check("agent", &both, &["agent", "say {model}!", "-mm1"], PromptVia::Nothing);
    }

    #[test]
    fn a_model_that_cannot_be_passed_is_an_error() {
        let no_flag = build("agent", &Ask { model: Some("m1"), ..PLAIN_ASK });
        assert_eq!(no_flag, Err(CommandLineError::NoModelFlag { program: "agent".into() }));
        let no_model = build("agent", &Ask { args: &["-m{model}"], ..PLAIN_ASK });
        assert_eq!(no_model, Err(CommandLineError::NoModel { argument: "-m{model}".into() }));
    }

    #[test]
    fn a_prompt_that_no_argument_can_hold_is_an_error() {
        let args = ["{prompt}".to_owned()];
        let invocation =
            Invocation { program: "agent", args: &args, model: None, autonomous: true, streaming: true };
        let prompt = "x".repeat(ARGUMENT_MAX);
        let line = command_line(Dialect::Plain, &invocation, "f", &prompt);
        assert_eq!(line, Err(CommandLineError::PromptTooLong { bytes: ARGUMENT_MAX }));
        assert!(command_line(Dialect::Plain, &invocation, "f", &prompt[1..]).is_ok());
    }
}
