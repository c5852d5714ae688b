//! Shell source text to a tree.
//!
//! As much of bash as people and agents write. Time is linear in the length for each level of nesting, and the depth is bounded:
//! what is deeper is refused, like what is not shell.
//!
//! Deliberately absent: arithmetic, and everything that only matters when it runs.

pub mod ast;
mod compound;
mod parameter;
mod parse;
mod quotes;
mod redirect;
mod words;

pub use parse::balanced;
pub use quotes::unescaped;

use ast::List;
use thiserror::Error;

/// How deep commands may be nested. People stay below ten.
pub const DEEPEST: usize = 60;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShellError {
    #[error("expected {expected} at byte {at}")]
    Unexpected { expected: &'static str, at: usize },
    #[error("nested deeper than {DEEPEST} levels")]
    TooDeep,
}

/// The commands of a text. `depth` is how deep the text itself is nested in others.
pub fn parse(text: &str, depth: usize) -> Result<List, ShellError> {
    let mut parser = parse::Parser::new(text, depth);
    let list = parser.list(&[])?;
    parser.end()?;
    Ok(list)
}

/// A text with `$`, backticks and backslashes, as in double quotes or a heredoc.
pub fn parse_text(text: &str, depth: usize) -> Result<ast::Word, ShellError> {
    let mut parser = parse::Parser::new(text, depth);
    Ok(ast::Word(vec![ast::Part::Double(parser.double(None)?)]))
}
