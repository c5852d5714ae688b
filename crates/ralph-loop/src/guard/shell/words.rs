//! Words: plain text, quotes, and what is substituted in them.

use super::ast::{Part, Word};
use super::parse::{Parser, balanced};
use super::{ShellError, parse, parse_text, quotes};

type Parsed<T> = Result<T, ShellError>;

impl Parser<'_> {
    /// A word, which may be empty, up to a blank or an operator.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        while let Some(byte) = self.peek() {
            let part = match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'\r' if self.rest().starts_with("\r\n") => break,
                b'<' | b'>' if self.rest()[1..].starts_with('(') => {
                    self.at += 1;
                    Part::Process(self.in_parentheses()?)
                }
                b'<' | b'>' => break,
                b'(' => {
                    // Extended globs: `!(a|b)`, `*.@(c|h)`.
                    if !plain.ends_with(['?', '*', '+', '@', '!']) {
                        break;
                    }
                    let length = balanced(self.rest()).ok_or_else(|| self.unexpected(")"))?;
                    self.at += length;
                    // It stands for names, like a star.
                    plain.pop();
                    plain.push('*');
                    continue;
                }
                b'\\' => match self.escaped() {
                    Some(text) => Part::Quoted(text),
                    None => continue,
                },
                b'\'' => Part::Quoted(self.single()?),
                b'"' => {
                    self.at += 1;
                    let parts = self.double(Some(b'"'))?;
                    self.expect("\"")?;
                    Part::Double(parts)
                }
                b'$' => match self.dollar(true)? {
                    Some(part) => part,
                    None => {
                        plain.push('$');
                        continue;
                    }
                },
                b'`' => self.backticks()?,
                _ => {
                    let Some(c) = self.rest().chars().next() else { break };
                    self.at += c.len_utf8();
                    plain.push(c);
                    continue;
                }
            };
            if !plain.is_empty() {
                parts.push(Part::Plain(std::mem::take(&mut plain)));
            }
            parts.push(part);
        }
        if !plain.is_empty() {
            parts.push(Part::Plain(plain));
        }
        Ok(Word(parts))
    }

    /// A backslash and what follows; nothing for a continued line.
    fn escaped(&mut self) -> Option<String> {
        self.at += 1;
        let c = self.rest().chars().next();
        self.at += c.map_or(0, char::len_utf8);
        match c {
            Some('\n') => None,
            Some(c) => Some(c.to_string()),
            None => Some("\\".to_owned()),
        }
    }

    fn single(&mut self) -> Parsed<String> {
        self.at += 1;
        let length = self.rest().find('\'').ok_or_else(|| self.unexpected("'"))?;
        let text = self.rest()[..length].to_owned();
        self.at += length + 1;
        Ok(text)
    }

    /// The inside of double quotes, or a whole text that is read like that.
    pub(super) fn double(&mut self, until: Option<u8>) -> Parsed<Vec<Part>> {
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            let part = match self.peek() {
                None if until.is_some() => return Err(self.unexpected("\"")),
                None => break,
                byte if byte == until => break,
                Some(b'\\') => {
                    self.at += 1;
                    let next = self.rest().chars().next();
                    match next {
                        Some('\n') => self.at += 1,
                        Some(c @ ('$' | '`' | '"' | '\\')) => {
                            self.at += 1;
                            text.push(c);
                        }
                        _ => text.push('\\'),
                    }
                    continue;
                }
                Some(b'$') => match self.dollar(false)? {
                    Some(part) => part,
                    None => {
                        text.push('$');
                        continue;
                    }
                },
                Some(b'`') => self.backticks()?,
                Some(_) => {
                    let Some(c) = self.rest().chars().next() else { break };
                    self.at += c.len_utf8();
                    text.push(c);
                    continue;
                }
            };
            if !text.is_empty() {
                parts.push(Part::Quoted(std::mem::take(&mut text)));
            }
            parts.push(part);
        }
        if !text.is_empty() {
            parts.push(Part::Quoted(text));
        }
        Ok(parts)
    }

    /// What a dollar begins; nothing for a dollar that is only that, which is then read.
    fn dollar(&mut self, outside_quotes: bool) -> Parsed<Option<Part>> {
        let rest = &self.rest()[1..];
        let part = match rest.as_bytes().first() {
            Some(b'(') if rest.starts_with("((") && is_number(rest) => {
                let length = balanced(rest).ok_or_else(|| self.unexpected("))"))?;
                let inner = &rest[2..length - 2];
                let parts = self.deeper(|parser| parse_text(inner, parser.depth))?.0;
                self.at += 1 + length;
                Part::Number(parts)
            }
            Some(b'(') => {
                self.at += 1;
                Part::Output(self.in_parentheses()?)
            }
            Some(b'[') => {
                let length = rest.find(']').ok_or_else(|| self.unexpected("]"))?;
                self.at += 1 + length + 1;
                Part::Number(Vec::new())
            }
            Some(b'{') => {
                self.at += 1;
                self.deeper(Parser::braced_parameter)?
            }
            Some(b'\'') if outside_quotes => {
                self.at += 2;
                let (text, length) = quotes::ansi_c(self.rest()).ok_or_else(|| self.unexpected("'"))?;
                self.at += length;
                Part::Quoted(text)
            }
            Some(b'"') if outside_quotes => {
                self.at += 2;
                let parts = self.double(Some(b'"'))?;
                self.expect("\"")?;
                Part::Double(parts)
            }
            Some(_) => {
                let length = super::parameter::name_length(rest);
                if length == 0 {
                    self.at += 1;
                    return Ok(None);
                }
                self.at += 1 + length;
                super::parameter::plain(&rest[..length])
            }
            None => {
                self.at += 1;
                return Ok(None);
            }
        };
        Ok(Some(part))
    }

    /// The commands in parentheses.
    fn in_parentheses(&mut self) -> Parsed<super::ast::List> {
        self.deeper(|parser| {
            parser.expect("(")?;
            let list = parser.list(&[])?;
            parser.expect(")")?;
            Ok(list)
        })
    }

    /// Backticks: the text inside, one level of backslashes removed, is read as commands.
    fn backticks(&mut self) -> Parsed<Part> {
        self.at += 1;
        let mut inner = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '`' => {
                    self.at += at + 1;
                    let list = self.deeper(|parser| parse(&inner, parser.depth))?;
                    return Ok(Part::Output(list));
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('`' | '\\' | '$'))) => inner.push(c),
                    Some((_, c)) => inner.extend(['\\', c]),
                    None => break,
                },
                c => inner.push(c),
            }
        }
        Err(self.unexpected("`"))
    }
}

/// Whether `((` begins arithmetic, and not a subshell in a substitution.
fn is_number(rest: &str) -> bool {
    balanced(&rest[1..]).is_some_and(|inner| rest[1 + inner..].starts_with(')'))
}
