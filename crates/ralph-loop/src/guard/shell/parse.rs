//! Commands: lists, pipelines, functions and simple commands.

use super::ast::{Assignment, Command, Compound, Item, Joint, List, Part, Pipeline, Simple, Word};
use super::redirect::Pending;
use super::{DEEPEST, ShellError};
use std::rc::Rc;

pub struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) pending: Vec<Pending>,
}

pub(super) type Parsed<T> = Result<T, ShellError>;

/// Words that end a list, so that a command cannot begin with one.
const CLOSERS: [&str; 8] = ["then", "do", "done", "fi", "elif", "else", "esac", "}"];

impl<'a> Parser<'a> {
    pub fn new(text: &'a str, depth: usize) -> Parser<'a> {
        Parser { text, at: 0, depth, pending: Vec::new() }
    }

    pub(super) fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return Err(ShellError::TooDeep);
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn takes(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn expect(&mut self, token: &'static str) -> Parsed<()> {
        match self.takes(token) {
            true => Ok(()),
            false => Err(self.unexpected(token)),
        }
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> ShellError {
        ShellError::Unexpected { expected, at: self.at }
    }

    /// Everything has been read.
    pub fn end(&mut self) -> Parsed<()> {
        match self.at < self.text.len() {
            true => Err(self.unexpected("the end")),
            false => {
                self.heredocs()?;
                Ok(())
            }
        }
    }

    /// Blanks, continued lines and a comment.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.rest().starts_with("\\\n") => self.at += 2,
                Some(b'\\') if self.rest().starts_with("\\\r\n") => self.at += 3,
                Some(b'#') => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                _ => return,
            }
        }
    }

    pub(super) fn newline(&mut self) -> Parsed<()> {
        self.at += 1;
        self.heredocs()
    }

    pub(super) fn blank_lines(&mut self) -> Parsed<()> {
        loop {
            self.blanks();
            match self.peek() {
                Some(b'\n') => self.newline()?,
                _ => return Ok(()),
            }
        }
    }

    /// The unquoted word that begins here, if it is a plain one.
    pub(super) fn plain_word(&self) -> &'a str {
        let rest = self.rest();
        let length =
            rest.find(|c: char| c.is_whitespace() || ";&|()<>'\"\\$`".contains(c)).unwrap_or(rest.len());
        &rest[..length]
    }

    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let found =
            self.plain_word() == word && !self.rest()[word.len()..].starts_with(['\'', '"', '\\', '$', '`']);
        if found {
            self.at += word.len();
        }
        found
    }

    pub(super) fn expect_word(&mut self, word: &'static str) -> Parsed<()> {
        self.blank_lines()?;
        match self.takes_word(word) {
            true => Ok(()),
            false => Err(self.unexpected(word)),
        }
    }

    /// Commands up to one of the words that may end them, `)`, `;;`, or the end of the text.
    pub fn list(&mut self, enders: &[&str]) -> Parsed<List> {
        let mut items = Vec::new();
        loop {
            self.blank_lines()?;
            match self.peek() {
                None | Some(b')') => return Ok(List(items)),
                Some(b';') if self.rest().starts_with(";;") || self.rest().starts_with(";&") => {
                    return Ok(List(items));
                }
                Some(b';') => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let word = self.plain_word();
            if enders.contains(&word) {
                return Ok(List(items));
            }
            if CLOSERS.contains(&word) {
                return Err(self.unexpected("a command"));
            }
            items.push(self.item()?);
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        let mut pipelines = vec![self.pipeline()?];
        let mut joints = Vec::new();
        loop {
            self.blanks();
            let joint =
                [("&&", Joint::And), ("||", Joint::Or)].into_iter().find(|(text, _)| self.takes(text));
            if let Some((_, joint)) = joint {
                joints.push(joint);
                self.blank_lines()?;
                pipelines.push(self.pipeline()?);
                continue;
            }
            let in_background = self.peek() == Some(b'&');
            if in_background {
                self.at += 1;
            }
            return match self.peek() {
                None | Some(b'\n' | b')' | b';') => Ok(Item { pipelines, joints, in_background }),
                Some(_) if in_background => Ok(Item { pipelines, joints, in_background }),
                // The word of a closing brace needs no `;` before it after `)` and `}`.
                Some(_) if CLOSERS.contains(&self.plain_word()) => {
                    Ok(Item { pipelines, joints, in_background })
                }
                Some(_) => Err(self.unexpected("the end of a command")),
            };
        }
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        loop {
            self.blanks();
            let is_timed = self.takes_word("time");
            if is_timed {
                self.blanks();
                self.takes_word("-p");
                continue;
            }
            if self.takes_word("coproc") {
                self.coproc_name();
            } else if !self.takes_word("!") {
                break;
            }
        }
        let mut commands = Vec::new();
        loop {
            commands.push(self.deeper(Parser::command)?);
            self.blanks();
            if self.rest().starts_with("||") || !(self.takes("|&") || self.takes("|")) {
                return Ok(Pipeline(commands));
            }
            self.blank_lines()?;
        }
    }

    /// `coproc NAME { …; }`: a name is one only before a compound command.
    fn coproc_name(&mut self) {
        self.blanks();
        let name = self.plain_word();
        let after = self.rest()[name.len()..].trim_start_matches([' ', '\t']);
        if !matches!(name, "" | "{") && after.starts_with(['{', '(']) {
            self.at += name.len();
        }
    }

    pub(super) fn command(&mut self) -> Parsed<Command> {
        self.blanks();
        if self.peek() == Some(b'(') {
            let compound = match self.rest().starts_with("((") && self.is_arithmetic() {
                true => self.arithmetic()?,
                false => self.subshell()?,
            };
            return self.compound(compound);
        }
        let compound = match self.plain_word() {
            "if" => self.if_command()?,
            "while" | "until" => self.while_command()?,
            "for" | "select" => self.for_command()?,
            "case" => self.case_command()?,
            "{" => self.braces()?,
            "[[" => self.test()?,
            "function" => return self.function(),
            name if self.is_function(name) => return self.function(),
            _ => return self.simple(),
        };
        self.compound(compound)
    }

    fn compound(&mut self, compound: Compound) -> Parsed<Command> {
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(Command::Compound(compound, redirects)),
            }
        }
    }

    /// `name()`, with any name that bash takes.
    fn is_function(&self, name: &str) -> bool {
        let after = self.rest()[name.len()..].trim_start_matches([' ', '\t']);
        let Some(inside) = after.strip_prefix('(') else { return false };
        !name.is_empty() && !name.contains('=') && inside.trim_start_matches([' ', '\t']).starts_with(')')
    }

    fn function(&mut self) -> Parsed<Command> {
        if self.takes_word("function") {
            self.blanks();
        }
        let name = self.plain_word().to_owned();
        if name.is_empty() {
            return Err(self.unexpected("a name"));
        }
        self.at += name.len();
        self.blanks();
        if self.takes("(") {
            self.blanks();
            self.expect(")")?;
        }
        self.blank_lines()?;
        let body = self.deeper(Parser::command)?;
        Ok(Command::Function { name, body: Rc::new(body) })
    }

    fn simple(&mut self) -> Parsed<Command> {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')') => break,
                Some(b'&') if !self.rest().starts_with("&>") => break,
                Some(_) => {}
            }
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            let declares = simple.words.first().is_some_and(is_declaration);
            if (simple.words.is_empty() || declares)
                && let Some(assignment) = self.assignment(declares)?
            {
                simple.assignments.push(assignment);
                continue;
            }
            if self.peek() == Some(b'(') {
                return Err(self.unexpected("a word"));
            }
            simple.words.push(self.some_word()?);
        }
        match simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty() {
            true => Err(self.unexpected("a command")),
            false => Ok(Command::Simple(simple)),
        }
    }

    /// `name=value`, `name+=value`, `name[0]=value`, `name=(…)`. Of `export` and the like only arrays: their other
    /// words stay words.
    fn assignment(&mut self, only_arrays: bool) -> Parsed<Option<Assignment>> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..length];
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        let mut after = length;
        if rest[after..].starts_with('[') {
            let Some(close) = rest[after..].find(']') else { return Ok(None) };
            if rest[after..after + close].contains('\n') {
                return Ok(None);
            }
            after += close + 1;
        }
        let appends = rest[after..].starts_with("+=");
        after += usize::from(appends);
        if !rest[after..].starts_with('=') {
            return Ok(None);
        }
        let is_array = rest[after + 1..].starts_with('(');
        if only_arrays && !is_array {
            return Ok(None);
        }
        self.at += after + 1;
        let values = match is_array {
            true => self.array()?,
            false => vec![self.word()?],
        };
        Ok(Some(Assignment { name: name.to_owned(), appends, values }))
    }

    fn array(&mut self) -> Parsed<Vec<Word>> {
        self.expect("(")?;
        let mut values = Vec::new();
        loop {
            self.blank_lines()?;
            match self.peek() {
                Some(b')') => {
                    self.at += 1;
                    return Ok(values);
                }
                None => return Err(self.unexpected(")")),
                Some(_) => values.push(self.some_word()?),
            }
        }
    }

    /// A word that must be there.
    pub(super) fn some_word(&mut self) -> Parsed<Word> {
        let start = self.at;
        let word = self.word()?;
        match self.at == start {
            true => Err(self.unexpected("a word")),
            false => Ok(word),
        }
    }
}

fn is_declaration(word: &Word) -> bool {
    const DECLARATIONS: [&str; 5] = ["declare", "typeset", "local", "readonly", "export"];
    matches!(word.0.as_slice(), [Part::Plain(name)] if DECLARATIONS.contains(&name.as_str()))
}

/// The length of a text in parentheses, with both of them.
pub fn balanced(text: &str) -> Option<usize> {
    enclosed(text, b'(', b')')
}

/// The length of a text between two brackets, with both of them. Quotes hide brackets.
pub fn enclosed(text: &str, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0usize;
    let mut bytes = text.bytes().enumerate();
    let mut quote = None;
    while let Some((at, byte)) = bytes.next() {
        match (byte, quote) {
            (b'\\', Some(b'\'')) => {}
            (b'\\', _) => {
                bytes.next();
            }
            (b'\'' | b'"', None) => quote = Some(byte),
            (_, Some(mark)) if byte == mark => quote = None,
            (_, Some(_)) => {}
            (byte, None) if byte == open => depth += 1,
            (byte, None) if byte == close => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            (_, None) => {}
        }
    }
    None
}
