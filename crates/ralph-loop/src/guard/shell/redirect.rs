//! Redirections and the texts of heredocs.

use super::ast::{Part, Redirect, RedirectKind, Target, Word};
use super::parse::{Parsed, Parser};
use super::parse_text;
use std::cell::OnceCell;
use std::rc::Rc;

/// A heredoc whose body starts after the end of this line.
pub struct Pending {
    delimiter: String,
    strips_tabs: bool,
    is_literal: bool,
    body: Rc<OnceCell<Word>>,
}

impl Parser<'_> {
    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        let rest = self.rest();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let named = match rest.starts_with('{') {
            true => rest
                .find('}')
                .filter(|end| rest[1..*end].chars().all(|c| c.is_ascii_alphanumeric() || c == '_')),
            false => None,
        };
        let prefix = named.map_or(digits, |end| end + 1);
        // Longest first.
        const OPERATORS: [(&str, RedirectKind); 12] = [
            ("&>>", RedirectKind::Append),
            ("&>", RedirectKind::Write),
            ("<<<", RedirectKind::Text),
            ("<<-", RedirectKind::Text),
            ("<<", RedirectKind::Text),
            ("<&", RedirectKind::Duplicate),
            ("<>", RedirectKind::Both),
            (">>", RedirectKind::Append),
            (">|", RedirectKind::Write),
            (">&", RedirectKind::Duplicate),
            ("<", RedirectKind::Read),
            (">", RedirectKind::Write),
        ];
        let after = &rest[prefix..];
        let Some((operator, kind)) = OPERATORS.iter().find(|(operator, _)| after.starts_with(operator))
        else {
            return Ok(None);
        };
        // A process substitution is a word.
        if matches!(*operator, "<" | ">") && after[1..].starts_with('(') {
            return Ok(None);
        }
        let fd = rest[..digits].parse().ok();
        self.at += prefix + operator.len();
        self.blanks();
        if matches!(*operator, "<<" | "<<-") {
            return Ok(Some(Redirect { fd, kind: *kind, target: self.heredoc(*operator == "<<-")? }));
        }
        Ok(Some(Redirect { fd, kind: *kind, target: Target::Word(self.some_word()?) }))
    }

    fn heredoc(&mut self, strips_tabs: bool) -> Parsed<Target> {
        let word = self.some_word()?;
        let mut delimiter = String::new();
        let mut is_literal = false;
        for part in &word.0 {
            match part {
                Part::Plain(text) => delimiter.push_str(text),
                Part::Quoted(text) => {
                    is_literal = true;
                    delimiter.push_str(text);
                }
                Part::Double(parts) => {
                    is_literal = true;
                    for part in parts {
                        if let Part::Quoted(text) = part {
                            delimiter.push_str(text);
                        }
                    }
                }
                Part::Parameter(_) | Part::Output(_) | Part::Process(_) | Part::Number(_) => {
                    return Err(self.unexpected("the end mark of a heredoc"));
                }
            }
        }
        let body = Rc::new(OnceCell::new());
        self.pending.push(Pending { delimiter, strips_tabs, is_literal, body: Rc::clone(&body) });
        Ok(Target::Heredoc(body))
    }

    /// The bodies that start here.
    pub(super) fn heredocs(&mut self) -> Parsed<()> {
        for pending in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            loop {
                let rest = self.rest();
                if rest.is_empty() {
                    break;
                }
                let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
                let line = &rest[..length];
                self.at += length;
                let content = if pending.strips_tabs { line.trim_start_matches('\t') } else { line };
                if content.trim_end_matches(['\n', '\r']) == pending.delimiter {
                    break;
                }
                body.push_str(content);
            }
            let word = match pending.is_literal {
                true => Word(vec![Part::Quoted(body)]),
                false => parse_text(&body, self.depth + 1)?,
            };
            let _ = pending.body.set(word);
        }
        Ok(())
    }
}
