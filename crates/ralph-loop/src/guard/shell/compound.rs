//! Compound commands: `if`, loops, `case`, groups, tests.

use super::ast::{Arm, Compound, List, Word};
use super::parse::{Parsed, Parser, balanced};
use super::parse_text;

impl Parser<'_> {
    pub(super) fn subshell(&mut self) -> Parsed<Compound> {
        self.expect("(")?;
        let list = self.list(&[])?;
        self.expect(")")?;
        Ok(Compound::Subshell(list))
    }

    pub(super) fn braces(&mut self) -> Parsed<Compound> {
        self.expect("{")?;
        let list = self.list(&["}"])?;
        self.expect("}")?;
        Ok(Compound::Braces(list))
    }

    /// Whether the two parentheses here are closed by two.
    pub(super) fn is_arithmetic(&self) -> bool {
        balanced(&self.rest()[1..]).is_some_and(|inner| self.rest()[1 + inner..].starts_with(")"))
    }

    pub(super) fn arithmetic(&mut self) -> Parsed<Compound> {
        self.expect("((")?;
        let inner = balanced(&self.text[self.at - 1..]).ok_or_else(|| self.unexpected("))"))? - 2;
        let text = &self.text[self.at..self.at + inner];
        self.at += inner + 2;
        Ok(Compound::Test(vec![parse_text(text, self.depth + 1)?]))
    }

    pub(super) fn if_command(&mut self) -> Parsed<Compound> {
        self.expect("if")?;
        let mut arms = Vec::new();
        loop {
            let condition = self.list(&["then"])?;
            self.expect_word("then")?;
            let body = self.list(&["elif", "else", "fi"])?;
            arms.push(Arm { condition, body });
            if !self.takes_word("elif") {
                break;
            }
        }
        let otherwise = match self.takes_word("else") {
            true => Some(self.list(&["fi"])?),
            false => None,
        };
        self.expect_word("fi")?;
        Ok(Compound::If { arms, otherwise })
    }

    pub(super) fn while_command(&mut self) -> Parsed<Compound> {
        self.at += "while".len();
        let condition = self.list(&["do"])?;
        let body = self.do_body()?;
        Ok(Compound::While { condition, body })
    }

    fn do_body(&mut self) -> Parsed<List> {
        self.blank_lines()?;
        if self.peek() == Some(b';') {
            self.at += 1;
            self.blank_lines()?;
        }
        if self.plain_word() == "{" {
            let Compound::Braces(list) = self.braces()? else { return Err(self.unexpected("do")) };
            return Ok(list);
        }
        self.expect_word("do")?;
        let body = self.list(&["done"])?;
        self.expect_word("done")?;
        Ok(body)
    }

    pub(super) fn for_command(&mut self) -> Parsed<Compound> {
        self.at += self.plain_word().len();
        self.blanks();
        if self.rest().starts_with("((") {
            let Compound::Test(mut words) = self.arithmetic()? else { return Err(self.unexpected("((")) };
            let header = words.pop().unwrap_or_default();
            let body = self.do_body()?;
            return Ok(Compound::Counted { header, body });
        }
        let variable = self.plain_word().to_owned();
        if variable.is_empty() {
            return Err(self.unexpected("a name"));
        }
        self.at += variable.len();
        self.blank_lines()?;
        let words = match self.takes_word("in") {
            true => Some(self.words_of_line()?),
            false => None,
        };
        let body = self.do_body()?;
        Ok(Compound::For { variable, words, body })
    }

    fn words_of_line(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => return Ok(words),
                Some(_) => words.push(self.some_word()?),
            }
        }
    }

    pub(super) fn case_command(&mut self) -> Parsed<Compound> {
        self.expect("case")?;
        self.blank_lines()?;
        let word = self.some_word()?;
        self.expect_word("in")?;
        let mut arms = Vec::new();
        loop {
            self.blank_lines()?;
            if self.takes_word("esac") {
                return Ok(Compound::Case { word, arms });
            }
            self.takes("(");
            loop {
                self.blanks();
                self.some_word()?;
                self.blanks();
                if !self.takes("|") {
                    break;
                }
            }
            self.expect(")")?;
            arms.push(self.list(&["esac"])?);
            if !(self.takes(";;&") || self.takes(";;") || self.takes(";&")) {
                self.expect_word("esac")?;
                return Ok(Compound::Case { word, arms });
            }
        }
    }

    pub(super) fn test(&mut self) -> Parsed<Compound> {
        self.expect("[[")?;
        let mut words = Vec::new();
        loop {
            self.blank_lines()?;
            if self.takes_word("]]") {
                return Ok(Compound::Test(words));
            }
            match self.peek() {
                None => return Err(self.unexpected("]]")),
                Some(b'(' | b')' | b'<' | b'>' | b'|' | b'&' | b';') => self.at += 1,
                Some(_) => words.push(self.some_word()?),
            }
        }
    }
}
