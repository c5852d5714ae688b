//! A program that stays, and answers one question after another.
//!
//! Starting a program takes longer than many of its answers. It ends when its input does: with the
//! dialog, or with ralph, whatever ends that.

use super::tool::{Drain, Feed, Tool, ToolError, Waiting, pipe, sleep};
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Dialog {
    // Closed before it is waited for.
    stdin: Option<File>,
    stdout: Option<File>,
    waiting: Waiting,
}

/// What a program has answered.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    Whole(Vec<u8>),
    /// There is more of it, and nothing else can be asked.
    Cut(Vec<u8>),
}

impl Dialog {
    pub fn start(tool: Tool<'_>) -> Result<Dialog, ToolError> {
        let mut waiting = tool.start()?;
        let ends = waiting.take_pipes();
        let opened =
            ends.and_then(|(stdin, stdout)| Some((pipe(Some(stdin)).ok()??, pipe(Some(stdout)).ok()??)));
        match opened {
            Some((stdin, stdout)) => Ok(Dialog { stdin: Some(stdin), stdout: Some(stdout), waiting }),
            None => Err(waiting.broken(io::ErrorKind::NotConnected.into())),
        }
    }

    /// Reads until the answer is whole, or longer than `most`. After an error nothing else can be
    /// asked.
    pub fn ask(
        &mut self,
        question: &[u8],
        most: usize,
        mut is_whole: impl FnMut(&[u8]) -> bool,
    ) -> Result<Reply, ToolError> {
        let (deadline, mut buffer) = (self.waiting.deadline(), vec![0; 64 * 1024]);
        let mut feed = Feed::of(self.stdin.take(), question);
        let mut drain = Drain::of(self.stdout.take(), most);
        loop {
            let (written, read) = (feed.write_open(), drain.read(&mut buffer));
            written.and(read).map_err(|cause| self.waiting.broken(cause))?;
            if drain.is_cut() {
                return Ok(Reply::Cut(drain.bytes));
            }
            if feed.left.is_empty() && is_whole(&drain.bytes) {
                (self.stdin, self.stdout) = (feed.pipe, drain.pipe);
                return Ok(Reply::Whole(drain.bytes));
            }
            if drain.pipe.is_none() || feed.pipe.is_none() {
                return Err(self.waiting.broken(io::ErrorKind::UnexpectedEof.into()));
            }
            if self.waiting.is_told() {
                return Err(self.waiting.stopped());
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(self.waiting.broken(io::ErrorKind::TimedOut.into()));
            }
            let unwritten = if feed.left.is_empty() { &None } else { &feed.pipe };
            sleep([&None, &drain.pipe, &None, self.waiting.told], unwritten, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> bool {
        bytes.ends_with(b"\n")
    }

    fn sh(script: &str, timeout: Duration) -> Dialog {
        Dialog::start(Tool::new("sh").args(["-c", script]).timeout(timeout)).unwrap()
    }

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn one_question_is_answered_after_the_other() {
        let mut dialog = sh("while read word; do echo \"<$word>\"; done", LONG);
        for word in ["a", "b", "c"] {
            let reply = dialog.ask(format!("{word}\n").as_bytes(), 100, whole).unwrap();
            assert_eq!(reply, Reply::Whole(format!("<{word}>\n").into_bytes()));
        }
    }

    /// Some programs end when they cannot complain.
    #[test]
    fn complaints_go_nowhere_and_do_no_harm() {
        let mut dialog =
            sh("trap '' PIPE; while read word; do echo complaint >&2 || exit; echo $word; done", LONG);
        for word in ["a\n", "b\n"] {
            assert_eq!(dialog.ask(word.as_bytes(), 100, whole).unwrap(), Reply::Whole(word.into()));
        }
    }

    #[test]
    fn more_than_a_pipe_holds_goes_through_in_both_directions() {
        let mut dialog = sh("cat", LONG);
        let mut question = vec![b'x'; 3 << 20];
        question.push(b'\n');
        assert_eq!(dialog.ask(&question, usize::MAX, whole).unwrap(), Reply::Whole(question));
    }

    #[test]
    fn what_is_too_long_is_cut_and_nothing_else_can_be_asked() {
        let mut dialog = sh("read word; yes", LONG);
        let Reply::Cut(cut) = dialog.ask(b"x\n", 1000, |_| false).unwrap() else { panic!("not cut") };
        assert_eq!(cut.len(), 1000);
        dialog.ask(b"x\n", 1000, whole).unwrap_err();
    }

    #[test]
    fn a_program_that_ends_or_says_nothing_is_an_error() {
        sh("exit 0", LONG).ask(b"x\n", 100, whole).unwrap_err();
        let error = sh("cat > /dev/null", Duration::from_millis(50)).ask(b"x\n", 100, whole).unwrap_err();
        assert!(error.to_string().contains("cannot communicate"), "{error}");
    }
}
