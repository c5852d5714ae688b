//! Descriptors that are connections: `exec 3<>/dev/tcp/host/port`.
//!
//! A port that is tried out, or a request to a service of the project, is ordinary work. A shell that
//! reads its commands from one is not, whatever the host is.

use super::Walk;
use super::shells::is_shell;
use crate::guard::arg::Arg;
use crate::guard::shell::ast::{Part, Redirect, RedirectKind, Simple, Target, Word};

impl Walk<'_> {
    /// Notes a shell whose input is a connection, and remembers the connections that `exec` opens.
    pub(super) fn connect(&mut self, simple: &Simple) {
        if simple.redirects.is_empty() {
            return;
        }
        let connected = self.connected(&simple.redirects);
        // Only what is written as it is: words are carried out elsewhere, and once is enough.
        let words: Vec<&str> = simple.words.iter().map(leading).collect();
        match words.as_slice() {
            ["exec"] => self.scope.connections = connected,
            ["exec", words @ ..] | words if connected.contains(&0) => {
                let Some((program, rest)) = words.split_first() else { return };
                let is_code =
                    |word: &str| word.starts_with('-') && word.contains('c') && !word.contains("--");
                let names_code = rest.iter().any(|word| is_code(word) || !word.starts_with(['-', '+']));
                let program = Arg::new(*program);
                if is_shell(program.base_name()) && !names_code {
                    self.note("<reverse-shell>", vec![program]);
                }
            }
            _ => {}
        }
    }

    /// The descriptors that are connections after these redirections.
    fn connected(&self, redirects: &[Redirect]) -> Vec<u32> {
        let mut connected = self.scope.connections.clone();
        for redirect in redirects {
            let Target::Word(word) = &redirect.target else { continue };
            let target = leading(word);
            let names_one = ["/dev/tcp/", "/dev/udp/"].iter().any(|dir| target.starts_with(dir));
            let copies_one = redirect.kind == RedirectKind::Duplicate
                && target.parse().is_ok_and(|fd: u32| connected.contains(&fd));
            let fd = redirect.fd.unwrap_or(match redirect.kind {
                RedirectKind::Write | RedirectKind::Append => 1,
                // `>& /dev/tcp/…`, but `<&3`.
                RedirectKind::Duplicate if names_one => 1,
                RedirectKind::Duplicate | RedirectKind::Read | RedirectKind::Both | RedirectKind::Text => 0,
            });
            match names_one || copies_one {
                true => connected.push(fd),
                false => connected.retain(|known| *known != fd),
            }
        }
        connected
    }
}

/// What a word begins with, as far as nothing has to be put in.
fn leading(word: &Word) -> &str {
    fn first(parts: &[Part]) -> &str {
        match parts.first() {
            Some(Part::Plain(text) | Part::Quoted(text)) => text,
            Some(Part::Double(parts)) => first(parts),
            _ => "",
        }
    }
    first(&word.0)
}
