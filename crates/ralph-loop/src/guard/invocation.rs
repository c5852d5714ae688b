//! A program that a command would start.

use super::arg::Arg;
use super::repo::Repo;
use super::value_flags::{letter_takes_value, takes_value};
use std::fmt;
use std::path::PathBuf;

/// One start of a program, after everything around it (`sudo`, `env`, `xargs`, `sh -c`) was looked through.
///
/// What is no program has a name in angle brackets: see [`super::rules`].
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// As written, with its path.
    pub program: Arg,
    pub args: Vec<Arg>,
    /// Variables that are set for it, or exported before it in the same command.
    pub variables: Vec<(String, Arg)>,
    pub stdin: Stdin,
    pub stdout: Stdout,
    /// Nothing if it cannot be known.
    pub cwd: Option<PathBuf>,
    /// Where it runs instead if a `cd` before it has failed.
    pub stayed: Option<PathBuf>,
    pub site: Site,
    /// Of git: the repository that it finds.
    pub repo: Repo,
}

/// What is known of the text that a program reads from its standard input.
#[derive(Clone, Debug, Default)]
pub struct Stdin {
    /// Nothing if it is not redirected. Otherwise with holes.
    pub text: Option<Arg>,
    /// Whether it is this text, and not only one like it.
    pub is_exact: bool,
    /// The programs of the pipeline before it, nearest last, with their arguments.
    pub from: Vec<Invocation>,
}

/// Where the output of a program goes.
#[derive(Clone, Debug, Default)]
pub struct Stdout {
    /// The programs of the pipeline after it, nearest first, as many as matter.
    pub through: Vec<Invocation>,
    pub end: End,
}

/// What is left of an output at last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The agent reads it.
    #[default]
    Shown,
    /// It becomes a part of another command: `$(…)`.
    Captured,
    File(Arg),
}

impl Stdout {
    /// Whether the agent gets to read what this program prints, and not what others make of it.
    pub fn is_shown(&self) -> bool {
        self.end == End::Shown && self.through.is_empty()
    }
}

/// Where a program would run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Site {
    #[default]
    Here,
    /// On another machine, by ssh and the like.
    Remote,
    /// Inside a container.
    Container,
}

impl Invocation {
    /// The program's name without its path and without `.exe`.
    pub fn name(&self) -> &str {
        let name = self.program.base_name();
        name.strip_suffix(".exe").unwrap_or(name)
    }

    /// Without what comes before and after it in a pipeline.
    pub fn alone(&self) -> Invocation {
        Invocation {
            program: self.program.clone(),
            args: self.args.clone(),
            variables: self.variables.clone(),
            stdin: Stdin { text: self.stdin.text.clone(), is_exact: self.stdin.is_exact, from: Vec::new() },
            stdout: Stdout::default(),
            cwd: self.cwd.clone(),
            stayed: self.stayed.clone(),
            site: self.site,
            repo: self.repo.clone(),
        }
    }

    /// Arguments that are no flags, in order, up to what follows `--` and that as well.
    pub fn words(&self) -> Vec<&Arg> {
        let mut only_words = false;
        let mut words = Vec::new();
        for arg in &self.args {
            match arg.text() {
                "--" if !only_words => only_words = true,
                _ if only_words || !arg.is_flag() => words.push(arg),
                _ => {}
            }
        }
        words
    }

    /// Words that are no values of flags: the subcommand, then what it works on.
    pub fn operands(&self) -> Vec<&Arg> {
        let name = self.name();
        let mut found: Vec<&Arg> = Vec::new();
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            if arg.text() == "--" {
                found.extend(args);
                break;
            }
            if !arg.is_flag() {
                // `cargo +nightly publish`
                if !(name == "cargo" && found.is_empty() && arg.text().starts_with('+')) {
                    found.push(arg);
                }
                continue;
            }
            let before: Vec<&str> = found.iter().take(2).map(|word| word.text()).collect();
            if takes_value(name, &before, arg.text()) {
                args.next();
            }
        }
        found
    }

    /// The operand at a place.
    pub fn operand(&self, at: usize) -> Option<&Arg> {
        self.operands().get(at).copied()
    }

    /// Whether a flag is given: `--name`, `--name=value`, `-x`, or `x` among short flags (`-rxf`).
    pub fn has_flag(&self, flag: &str) -> bool {
        let name = self.name();
        self.args.iter().take_while(|arg| arg.text() != "--").any(|arg| is_flag(name, arg.text(), flag))
    }

    pub fn has_any_flag(&self, flags: &[&str]) -> bool {
        flags.iter().any(|flag| self.has_flag(flag))
    }

    /// The value of a flag: `--name value`, `--name=value`, `-n value`, `-nvalue`.
    pub fn flag_value(&self, flag: &str) -> Option<Arg> {
        self.flag_values(flag).into_iter().next()
    }

    pub fn flag_values(&self, flag: &str) -> Vec<Arg> {
        let is_short = flag.len() == 2;
        let mut values = Vec::new();
        for (at, arg) in self.args.iter().enumerate() {
            let text = arg.text();
            let next = || self.args.get(at + 1).cloned();
            match text.strip_prefix(flag) {
                Some("") => values.extend(next()),
                Some(rest) if is_short => values.push(Arg::new(rest)),
                Some(rest) => values.extend(rest.strip_prefix('=').map(Arg::new)),
                // At the end of a cluster of short flags.
                None if is_short
                    && text.len() > 2
                    && text.starts_with('-')
                    && !text.starts_with("--")
                    && text.ends_with(&flag[1..]) =>
                {
                    values.extend(next());
                }
                None => {}
            }
        }
        values
    }

    pub fn variable(&self, name: &str) -> Option<&Arg> {
        self.variables.iter().rev().find(|(set, _)| set == name).map(|(_, value)| value)
    }

    /// Whether some argument or the standard input holds a secret.
    pub fn carries_secret(&self) -> bool {
        self.args.iter().any(Arg::has_secret) || self.stdin.text.as_ref().is_some_and(Arg::has_secret)
    }
}

fn is_flag(program: &str, arg: &str, flag: &str) -> bool {
    if let Some(long) = flag.strip_prefix("--") {
        let Some(given) = arg.strip_prefix("--") else { return false };
        return given.split('=').next() == Some(long);
    }
    if arg == flag {
        return true;
    }
    // Go and find style: one dash and a word.
    if flag.len() > 2 {
        return arg.split('=').next() == Some(flag);
    }
    let Some(letter) = flag.chars().nth(1) else { return false };
    if !arg.starts_with('-') || arg.starts_with("--") {
        return false;
    }
    // What follows a letter that takes a value is that value.
    let mut is_value = false;
    let letters = arg[1..].chars().take_while(char::is_ascii_alphanumeric);
    letters
        .take_while(|c| !std::mem::replace(&mut is_value, letter_takes_value(program, *c)))
        .any(|c| c == letter)
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}={value} ")?;
        }
        write!(f, "{}", self.program)?;
        for arg in &self.args {
            match arg.text() {
                "" => f.write_str(" ''")?,
                text if text.contains(char::is_whitespace) => write!(f, " '{arg}'")?,
                _ => write!(f, " {arg}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invocation(line: &str) -> Invocation {
        let mut words = line.split_whitespace();
        let program = words.next().map(Arg::from).unwrap_or_default();
        Invocation { program, args: words.map(Arg::from).collect(), ..Invocation::default() }
    }

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let invocation = invocation(line);
        let operands: Vec<&str> = invocation.operands().into_iter().map(Arg::text).collect();
        assert_eq!(operands, expected, "{line}");
    }

    #[test]
    fn flags_with_values_do_not_hide_the_subcommand() {
        check("git -C dir -c a=b push origin main", &["push", "origin", "main"]);
        check("git switch -c topic", &["switch", "topic"]);
        check("kubectl -n prod delete pod x", &["delete", "pod", "x"]);
        check("kubectl delete -n prod pod x", &["delete", "pod", "x"]);
        check("docker --context c run image", &["run", "image"]);
        check("docker compose -f a.yml down", &["compose", "down"]);
        check("terraform -chdir=x destroy", &["destroy"]);
        check("aws --profile p ec2 terminate-instances", &["ec2", "terminate-instances"]);
        check("cargo +nightly publish", &["publish"]);
        check("rm -rf -- -x", &["-x"]);
        check("curl -sSLo out https://example.com", &["https://example.com"]);
    }
}
