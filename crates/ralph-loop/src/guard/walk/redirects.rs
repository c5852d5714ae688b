//! Redirections: files that are written and read, texts that are handed over.

use super::output::Output;
use super::{MOST_LINKED, Walk};
use crate::guard::arg::{Arg, REMOTE, SECRET};
use crate::guard::invocation::{End, Invocation, Stdin};
use crate::guard::paths::{is_secret, locate};
use crate::guard::shell::ast::{Redirect, RedirectKind, Target};

impl Walk<'_> {
    /// The standard input of a command, after its redirections.
    pub(super) fn redirected_stdin(&mut self, redirects: &[Redirect], before: &Stdin) -> Stdin {
        let mut stdin = before.clone();
        for redirect in redirects {
            let is_input = redirect.fd.is_none_or(|fd| fd == 0);
            match (redirect.kind, &redirect.target) {
                (RedirectKind::Text, target) => {
                    let text = match target {
                        Target::Word(word) => format!("{}\n", self.text_of(word, 0).text()),
                        Target::Heredoc(body) => body
                            .get()
                            .map_or_else(String::new, |word| self.text_of(word, 0).text().to_owned()),
                    };
                    stdin = Stdin { text: Some(Arg::new(text)), is_exact: true, from: Vec::new() };
                }
                (RedirectKind::Read | RedirectKind::Both, Target::Word(word)) => {
                    for path in self.fields(word) {
                        let output = self.read_file(&path);
                        if is_input {
                            // What has no end matters to what it is written to.
                            let read = Invocation {
                                program: Arg::new("<read>"),
                                args: vec![path.clone()],
                                ..self.blank()
                            };
                            let is_endless =
                                matches!(path.text(), "/dev/zero" | "/dev/urandom" | "/dev/random");
                            let from = if is_endless { vec![read] } else { Vec::new() };
                            stdin = Stdin { text: Some(output.text), is_exact: output.is_exact, from };
                        }
                    }
                }
                // What a connection says is code from the network, if it is run.
                (RedirectKind::Duplicate, Target::Word(word)) if is_input => {
                    let fd = self.text_of(word, 0).text().parse::<u32>();
                    if fd.is_ok_and(|fd| self.scope.connections.contains(&fd)) {
                        let text = Some(Arg::new(REMOTE.to_string()));
                        stdin = Stdin { text, is_exact: false, from: Vec::new() };
                    }
                }
                _ => {}
            }
        }
        stdin
    }

    /// Notes a file that is read, and returns what is known of it.
    fn read_file(&mut self, path: &Arg) -> Output {
        let invocation = self.blank();
        let place = locate(path, &invocation, self.world);
        self.note("<read>", vec![path.clone()]);
        if is_secret(&place.path, self.world) {
            return Output::like(SECRET.to_string());
        }
        if path.text() == "/dev/null" {
            return Output::nothing();
        }
        self.file_text(path).unwrap_or_else(Output::unknown)
    }

    /// What is left of the output for what comes next, after redirections to files.
    pub(super) fn redirected_output(&mut self, redirects: &[Redirect], output: Output) -> Output {
        let mut left = output;
        for redirect in redirects {
            let Target::Word(word) = &redirect.target else { continue };
            let is_file = match redirect.kind {
                RedirectKind::Write | RedirectKind::Append | RedirectKind::Both => true,
                RedirectKind::Duplicate | RedirectKind::Read | RedirectKind::Text => false,
            };
            let is_output = redirect.fd.is_none_or(|fd| fd == 1);
            for path in self.fields(word) {
                let is_name =
                    |text: &str| !text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
                if !(is_file || redirect.kind == RedirectKind::Duplicate && is_name(path.text())) {
                    continue;
                }
                self.note("<write>", vec![path.clone()]);
                if !is_output {
                    continue;
                }
                if let Some(key) = self.file_key(&path) {
                    let mut content = left.clone();
                    if redirect.kind == RedirectKind::Append {
                        let mut whole = self.file_text(&path).unwrap_or_else(Output::nothing);
                        whole.add(&content);
                        content = whole;
                    }
                    self.scope.files.insert(key, content);
                }
                left = Output::nothing();
            }
        }
        left
    }

    /// Marks what was started since then as printing into the file that these redirections name.
    pub(super) fn end_in_file(&mut self, start: usize, redirects: &[Redirect]) {
        let is_written = redirects.iter().any(|redirect| {
            let is_file =
                matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append | RedirectKind::Both);
            is_file && redirect.fd.is_none_or(|fd| fd == 1)
        });
        let started = &mut self.invocations[start..];
        let written = started.iter().rev().find(|new| new.program.text() == "<write>");
        let file = written.and_then(|write| write.args.first()).cloned();
        if let (true, Some(file)) = (is_written, file) {
            mark(started, &End::File(file));
        }
    }

    /// Marks what was started since then as a part of another command.
    pub(super) fn end_captured(&mut self, start: usize) {
        mark(&mut self.invocations[start..], &End::Captured);
    }

    /// Names the programs after each one in a pipeline. `ends` has where the invocations of each command end.
    pub(super) fn link_outputs(&mut self, start: usize, ends: &[usize]) {
        let mut from = start;
        for end in ends {
            let later: Vec<Invocation> = self.invocations[*end..]
                .iter()
                .filter(|next| !next.program.text().starts_with('<') && next.stdout.end != End::Captured)
                .take(MOST_LINKED)
                .map(Invocation::alone)
                .collect();
            let last = self.invocations.last().map(|last| last.stdout.end.clone());
            for known in
                self.invocations[from..*end].iter_mut().filter(|known| known.stdout.end == End::Shown)
            {
                if known.stdout.through.len() < MOST_LINKED && !later.is_empty() {
                    known.stdout.through.extend(later.iter().cloned());
                    known.stdout.end = last.clone().unwrap_or_default();
                }
            }
            from = *end;
        }
    }
}

fn mark(started: &mut [Invocation], end: &End) {
    for new in started.iter_mut().filter(|new| new.stdout.end == End::Shown) {
        new.stdout.end = end.clone();
    }
}
