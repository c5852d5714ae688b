//! The prompt on stdin, read only when a script needs it.
//!
//! An agent that reads stdin without need would hang wherever stdin is left open.

use crate::failure::Failure;
use std::io::{self, IsTerminal, Read};

#[derive(Default)]
pub(crate) struct Prompt {
    read: Option<Vec<u8>>,
}

impl Prompt {
    /// All of stdin. A terminal gives nothing: no user is there to type a prompt.
    pub(crate) fn bytes(&mut self) -> Result<&[u8], Failure> {
        if self.read.is_none() {
            self.read = Some(read_stdin().map_err(Failure::system("read the prompt"))?);
        }
        Ok(self.read.as_deref().unwrap_or_default())
    }
}

fn read_stdin() -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    let mut bytes = Vec::new();
    if !stdin.is_terminal() {
        stdin.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
