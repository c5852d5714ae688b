//! The command line that starts an agent, and how its prompt gets in.
//!
//! Pure: names in, arguments out. Invariant: what the user wrote wins. A flag of ours is left
//! out where theirs says the same thing or contradicts it.
//!
//! Deliberately absent: environment and working directory. Those belong to the place the agent
//! runs in.

use super::{Dialect, DialectSpec};
use crate::money::Usd;
use thiserror::Error;

/// Linux takes single arguments below this, the terminating zero included.
pub(super) const ARGUMENT_MAX: usize = 131_072;

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
    /// No one is there to grant permission.
    pub autonomous: bool,
    /// It runs in a sandbox of ralph's, in which another one cannot be set up.
    pub sandboxed: bool,
    pub wants: Wants<'a>,
    /// A name for the session, never used before.
    pub session: Option<&'a str>,
    /// What it may cost at most, for agents that can hold themselves to it.
    pub budget: Option<Usd>,
    /// What it is to call while it works.
    pub hooks: Option<Hooks<'a>>,
}

/// Hooks, in the forms in which agents take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hooks<'a> {
    /// A file of settings.
    pub settings: &'a str,
    /// Lines of a configuration, `key=value` each; none where the agent is not to be told.
    pub config: &'a [String],
}

impl Hooks<'_> {
    /// Whether a command line tells the agent of them. One with settings of the user's own does not.
    pub fn are_in(&self, argv: &[String]) -> bool {
        argv.iter().any(|arg| arg == self.settings || self.config.contains(arg))
    }
}

/// What the agent is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants<'a> {
    /// Its work, reported as events while it goes on.
    Events,
    /// Only what it says in the end, such as a commit message.
    LastWords {
        /// Where to put them, for an agent that writes them to a file.
        file: &'a str,
    },
    /// Its work, in a terminal.
    Terminal(Terminal<'a>),
}

/// What else counts for an agent in a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal<'a> {
    /// Where it works: a directory that it need not ask about.
    pub workspace: &'a str,
    pub prompt_as: PromptAs,
}

/// What the prompt is to an agent in a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptAs {
    /// What it is asked.
    Question,
    /// An addition to its own instructions, with a short question.
    SystemPrompt,
}

/// What an agent in a terminal is asked first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandedOver {
    /// The whole of it.
    pub text: String,
    /// What of it was added in front of the prompt, so that its first character has no meaning of its own.
    pub lead_in: &'static str,
}

impl HandedOver {
    /// The prompt, with a lead-in where it needs one.
    pub(super) fn new(prompt: &str, lead_in: &'static str) -> HandedOver {
        HandedOver { text: format!("{lead_in}{prompt}"), lead_in }
    }

    /// A prompt that cannot be handed over itself.
    pub(super) fn file(path: &str) -> HandedOver {
        HandedOver::new(&format!("Read the file {path} and do what it says."), "")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The program first.
    pub argv: Vec<String>,
    pub stdin: PromptVia,
    /// What its output is to be read as. A known agent without its stream is a plain one.
    pub output: Dialect,
    pub answer: AnswerIn,
    /// For an agent in a terminal.
    pub handed_over: Option<HandedOver>,
}

impl CommandLine {
    /// Whether the agent is told of a file.
    pub fn names(&self, file: &str) -> bool {
        let asked = self.handed_over.iter().map(|handed| &handed.text);
        self.argv.iter().chain(asked).any(|text| text.contains(file))
    }
}

/// How the agent gets its prompt. Without it standard input is empty: an open pipe would be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptVia {
    Stdin,
    Argument,
    /// An argument names the file that it is in.
    File,
    /// A terminal, into which the prompt is typed.
    Typed,
}

/// Where the agent's last words are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerIn {
    Stdout,
    /// There is no file if the agent failed.
    File(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandLineError {
    #[error("the command has no `{{model}}` placeholder for the model: {program}")]
    NoModelFlag { program: String },
    #[error("the command needs a model, but none is set: {argument}")]
    NoModel { argument: String },
    #[error("the prompt is too long for an argument, use `{{prompt_file}}`: {bytes} bytes")]
    PromptTooLong { bytes: usize },
    #[error("`{flag}` is for agents without a terminal: remove it from the agent's arguments")]
    NotInTerminal { flag: String },
    #[error("{program} takes no addition to its system prompt")]
    NoSystemPrompt { program: String },
}

/// A prompt, and where it can also be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prompt<'a> {
    pub(super) text: &'a str,
    pub(super) file: &'a str,
}

pub(super) type Built = Result<CommandLine, CommandLineError>;

/// The command line for one run of an agent. `prompt_file` is where the prompt can also be read.
pub fn command_line(
    dialect: Dialect,
    invocation: &Invocation<'_>,
    prompt_file: &str,
    prompt: &str,
) -> Result<CommandLine, CommandLineError> {
    (dialect.spec().command_line)(invocation, &Prompt { text: prompt, file: prompt_file })
}

/// A program that is only known by its screen.
pub(super) fn typed(
    argv: Vec<String>,
    invocation: &Invocation<'_>,
    prompt_as: PromptAs,
    prompt: &Prompt<'_>,
) -> Built {
    if prompt_as == PromptAs::SystemPrompt {
        return Err(CommandLineError::NoSystemPrompt { program: invocation.program.to_owned() });
    }
    Ok(CommandLine {
        argv,
        stdin: PromptVia::Typed,
        output: Dialect::Plain,
        answer: AnswerIn::Stdout,
        handed_over: Some(HandedOver::new(prompt.text, "")),
    })
}

/// The model that an agent will work with, as far as its command line says so.
pub fn stated_model(dialect: Dialect, args: &[String], model: Option<&str>) -> Option<String> {
    let user = Flags::split(args);
    (dialect.spec().model)(&user).or(model).map(str::to_owned)
}

/// The model of an agent that takes it in one flag.
pub(super) fn model_of_flag(user: &Flags) -> Option<&str> {
    user.value("--model")
}

/// The model that an agent's arguments name by themselves.
pub fn named_model(dialect: Dialect, args: &[String]) -> Option<String> {
    if dialect != Dialect::Plain {
        return stated_model(dialect, args, None);
    }
    let named = Flags::split(args).value("--model").map(str::to_owned);
    named.filter(|model| !model.contains(MODEL_PLACE))
}

/// Where a plain agent's arguments have its model.
const MODEL_PLACE: &str = "{model}";

/// The arguments without the model that they name. Those of a plain agent say where it belongs.
pub fn without_model(dialect: Dialect, args: &[String]) -> Vec<String> {
    let DialectSpec { model_flags, model_in_config, .. } = dialect.spec();
    let is_model = |word: &str| model_flags.contains(&word);
    let is_config = |word: &str| model_in_config.is_some() && matches!(word, "-c" | "--config");
    let names_model = |line: &str| model_in_config.is_some_and(|find| find(line).is_some());
    let attached = |word: &str| {
        word.strip_prefix("--config=").is_some_and(names_model)
            || model_flags.iter().any(|flag| value_after(word, flag).is_some())
    };
    let mut left = Vec::new();
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        let named = match split_flag(arg)[..] {
            ["--"] => {
                left.push(arg.clone());
                break;
            }
            [flag] if is_model(flag) => args.next().is_some(),
            [flag, _] if is_model(flag) => true,
            [flag] if is_config(flag) => args.next_if(|value| names_model(value)).is_some(),
            [flag, value] if is_config(flag) => names_model(value),
            [word] => attached(word),
            _ => false,
        };
        match named {
            false => left.push(arg.clone()),
            true if dialect == Dialect::Plain => left.extend(in_its_place(arg)),
            true => {}
        }
    }
    left.extend(args.cloned());
    left
}

/// The arguments that `--model`, `--model X` or `--model=X` becomes.
fn in_its_place(arg: &str) -> Vec<String> {
    match arg.trim_end() {
        "--model" => ["--model", MODEL_PLACE].map(String::from).to_vec(),
        arg if arg.starts_with("--model=") => vec![format!("--model={MODEL_PLACE}")],
        _ => vec![format!("--model {MODEL_PLACE}")],
    }
}

/// Whether an agent is started in the mode in which Claude refuses to work for root.
pub fn skips_permissions(dialect: Dialect, args: &[String], autonomous: bool) -> bool {
    dialect.spec().skips_permissions.is_some_and(|skips| skips(&Flags::split(args), autonomous))
}

/// The settings that Claude is given on its command line: a path, or JSON.
pub fn claude_settings(args: &[String]) -> Option<String> {
    Flags::split(args).value("--settings").map(str::to_owned)
}

/// Whether an agent that works in a repository can commit there. `sandboxed` is as in [`Invocation`].
pub fn can_commit(dialect: Dialect, args: &[String], sandboxed: bool) -> bool {
    dialect.spec().can_commit.is_none_or(|can| can(&Flags::split(args), sandboxed))
}

/// The user's flags, and what they already say.
pub(super) struct Flags(pub(super) Vec<String>);

impl Flags {
    pub(super) fn of(invocation: &Invocation<'_>) -> Flags {
        Flags::split(invocation.args)
    }

    pub(super) fn split(args: &[String]) -> Flags {
        Flags(args.iter().flat_map(|arg| split_flag(arg)).map(str::to_owned).collect())
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        self.given().any(|arg| arg == flag || value_after(arg, flag).is_some())
    }

    pub(super) fn has_any(&self, flags: &[&str]) -> bool {
        flags.iter().any(|flag| self.has(flag))
    }

    pub(super) fn value(&self, flag: &str) -> Option<&str> {
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

    /// An error if one of these flags is among them.
    pub(super) fn have_none_of(&self, flags: &[&str]) -> Result<(), CommandLineError> {
        match flags.iter().find(|flag| self.has(flag)) {
            Some(flag) => Err(CommandLineError::NotInTerminal { flag: (*flag).to_owned() }),
            None => Ok(()),
        }
    }

    /// After `--` there are no flags.
    pub(super) fn given(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str).take_while(|arg| *arg != "--")
    }
}

/// The value in `--flag=value`, `-f=value` or `-fvalue`.
fn value_after<'a>(arg: &'a str, flag: &str) -> Option<&'a str> {
    let rest = arg.strip_prefix(flag)?;
    let attached = Some(rest).filter(|rest| !flag.starts_with("--") && !rest.is_empty());
    rest.strip_prefix('=').or(attached)
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What a test asks for. The prompt is `say {model}`.
    #[derive(Clone, Copy)]
    pub(in crate::dialect) struct Ask<'a> {
        pub(in crate::dialect) args: &'a [&'a str],
        pub(in crate::dialect) model: Option<&'a str>,
        pub(in crate::dialect) autonomous: bool,
        pub(in crate::dialect) sandboxed: bool,
        pub(in crate::dialect) wants: Wants<'a>,
        pub(in crate::dialect) session: Option<&'a str>,
        pub(in crate::dialect) budget: Option<Usd>,
        pub(in crate::dialect) hooks: Option<Hooks<'a>>,
    }

    pub(in crate::dialect) const ASK: Ask<'_> = Ask {
        args: &[],
        model: None,
        autonomous: true,
        sandboxed: false,
        wants: Wants::Events,
        session: None,
        budget: None,
        hooks: None,
    };
    pub(in crate::dialect) const TERMINAL: Wants<'_> =
        Wants::Terminal(Terminal { workspace: "/w", prompt_as: PromptAs::Question });
    pub(in crate::dialect) const WORDS: Wants<'_> = Wants::LastWords { file: "/run/words" };

    pub(in crate::dialect) fn build(program: &str, ask: &Ask<'_>) -> Result<CommandLine, CommandLineError> {
        build_for(program, ask, "say {model}")
    }

    pub(in crate::dialect) fn build_for(
        program: &str,
        ask: &Ask<'_>,
        prompt: &str,
    ) -> Result<CommandLine, CommandLineError> {
        let args: Vec<String> = ask.args.iter().map(|arg| (*arg).to_owned()).collect();
        let &Ask { model, autonomous, sandboxed, wants, session, budget, hooks, .. } = ask;
        let args = &args;
        let invocation =
            Invocation { program, args, model, autonomous, sandboxed, wants, session, budget, hooks };
        command_line(Dialect::of_program(program), &invocation, "/run/prompt.md", prompt)
    }

    /// The command as it would be typed, without any quoting.
    #[track_caller]
    pub(in crate::dialect) fn check(program: &str, ask: &Ask<'_>, typed: &str, stdin: PromptVia) {
        let line = build(program, ask).unwrap();
        assert_eq!(line.argv.join(" "), typed);
        assert_eq!(line.stdin, stdin);
    }

    #[track_caller]
    fn check_model(program: &str, args: &[&str], model: Option<&str>, left: &[&str]) {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let dialect = Dialect::of_program(program);
        assert_eq!(named_model(dialect, &args).as_deref(), model, "{args:?}");
        assert_eq!(without_model(dialect, &args), left, "{args:?}");
    }

    #[test]
    fn a_model_is_taken_out_of_the_arguments_however_it_is_written() {
        for args in
            [&["-v", "--model", "x", "-d"][..], &["-v", "--model x", "-d"], &["-v", "--model=x", "-d"]]
        {
            check_model("claude", args, Some("x"), &["-v", "-d"]);
            check_model("codex", args, Some("x"), &["-v", "-d"]);
        }
        check_model("gemini", &["--model", "x", "-d"], Some("x"), &["--model", "{model}", "-d"]);
        check_model("gemini", &["--model x", "-d"], Some("x"), &["--model {model}", "-d"]);
        check_model("gemini", &["--model=x", "-d"], Some("x"), &["--model={model}", "-d"]);
        for args in [
            &["-m", "x"][..],
            &["-m x"],
            &["-mx"],
            &["-c", "model=x"],
            &["-c model=x"],
            &["--config=model=x"],
            &["-c", "model = \"x\""],
            &["-c model = 'x'"],
            &["--config=model = x"],
        ] {
            check_model("codex", args, Some("x"), &[]);
        }
        check_model("codex", &["-c", "a=b", "exec"], None, &["-c", "a=b", "exec"]);
        check_model("gemini", &["-m", "x"], None, &["-m", "x"]);
        check_model("gemini", &["--model={model}"], None, &["--model={model}"]);
        check_model(
            "claude",
            &["--verbose", "--", "--model", "x"],
            None,
            &["--verbose", "--", "--model", "x"],
        );
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
}
