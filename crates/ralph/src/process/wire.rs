//! What engine and keeper say to each other.
//!
//! One message is one SEQPACKET packet: a tag byte, then fields. A field is a
//! little-endian 32-bit number or a byte string behind its length, so that arguments need
//! not be UTF-8. Both ends are the same program, so there is no version.
//!
//! Invariant: decoding is total. Bytes that are no message give `None`, never a panic.
//!
//! Deliberately absent: descriptors, which travel beside the bytes (`client`, `keeper`).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::{Command, Exit};
use ralph_loop::text::first_bytes;

/// The longest request. The kernel refuses a packet over the socket's send buffer, which
/// is 208 KiB unless the administrator lowered it.
pub(super) const LIMIT: usize = 190 * 1024;

/// The longest reply, with room for the message of an error.
pub(super) const REPLY_LIMIT: usize = 1024;

/// Keep the first descriptor that came along, the run's lock, open, and record the keeper's session in
/// the file of the second, if there is one.
pub(super) const HOLD: &[u8] = b"H";
/// SIGTERM to the group of the current process, or to all that its wrapper has started.
pub(super) const TERMINATE: &[u8] = b"T";
/// Kill everything now.
pub(super) const SWEEP: &[u8] = b"K";
const SPAWN: u8 = b'S';

/// From the engine to the keeper.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    Hold,
    Spawn(Command),
    Terminate,
    Sweep,
}

/// From the keeper to the engine.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Started { pid: u32 },
    NotStarted { errno: Option<i32>, text: String },
    Ended { exit: Exit, swept: u32 },
}

/// Replaces `body` by the request to start `command`.
pub(super) fn encode_spawn(command: &Command, body: &mut Vec<u8>) {
    body.clear();
    body.push(SPAWN);
    put_bytes(body, command.cwd.as_os_str());
    put_len(body, command.argv.len());
    for arg in &command.argv {
        put_bytes(body, arg);
    }
    put_len(body, command.env.len());
    for (name, value) in &command.env {
        put_bytes(body, name);
        put_bytes(body, value);
    }
    put_len(body, command.env_remove.len());
    for name in &command.env_remove {
        put_bytes(body, name);
    }
    put_len(body, usize::from(command.wrapper.is_some()));
    if let Some(wrapper) = &command.wrapper {
        put_bytes(body, wrapper.as_os_str());
    }
}

impl Request {
    pub(super) fn decode(body: &[u8]) -> Option<Request> {
        match body {
            HOLD => Some(Request::Hold),
            TERMINATE => Some(Request::Terminate),
            SWEEP => Some(Request::Sweep),
            [SPAWN, fields @ ..] => {
                let mut fields = Fields(fields);
                let command = Command {
                    cwd: PathBuf::from(fields.os_string()?),
                    argv: fields.list(Fields::os_string)?,
                    env: fields.list(|f| Some((f.os_string()?, f.os_string()?)))?,
                    env_remove: fields.list(Fields::os_string)?,
                    wrapper: fields.option(Fields::os_string)?.map(PathBuf::from),
                };
                fields.end(Request::Spawn(command))
            }
            _ => None,
        }
    }
}

impl Reply {
    pub(super) fn not_started(error: &io::Error) -> Reply {
        let errno = error.raw_os_error();
        // The engine spells a system error by its number.
        let text = if errno.is_some() { String::new() } else { error.to_string() };
        Reply::NotStarted { errno, text }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(16);
        match self {
            Reply::Started { pid } => {
                body.push(b's');
                put_u32(&mut body, *pid);
            }
            Reply::NotStarted { errno, text } => {
                body.push(b'n');
                put_u32(&mut body, errno.unwrap_or(0).cast_unsigned());
                put_bytes(&mut body, OsStr::new(first_bytes(text, REPLY_LIMIT - 9)));
            }
            Reply::Ended { exit, swept } => {
                let (tag, number) = match exit {
                    Exit::Code(code) => (b'c', code),
                    Exit::Signal(signal) => (b'k', signal),
                };
                body.push(tag);
                put_u32(&mut body, number.cast_unsigned());
                put_u32(&mut body, *swept);
            }
        }
        body
    }

    pub(super) fn decode(body: &[u8]) -> Option<Reply> {
        let (tag, fields) = body.split_first()?;
        let mut fields = Fields(fields);
        let reply = match tag {
            b's' => Reply::Started { pid: fields.u32()? },
            b'n' => {
                let errno = Some(fields.i32()?).filter(|errno| *errno != 0);
                Reply::NotStarted { errno, text: String::from_utf8_lossy(fields.bytes()?).into_owned() }
            }
            b'c' => Reply::Ended { exit: Exit::Code(fields.i32()?), swept: fields.u32()? },
            b'k' => Reply::Ended { exit: Exit::Signal(fields.i32()?), swept: fields.u32()? },
            _ => return None,
        };
        fields.end(reply)
    }
}

fn put_u32(body: &mut Vec<u8>, number: u32) {
    body.extend_from_slice(&number.to_le_bytes());
}

/// A length that does not fit makes the body longer than `LIMIT`, which is never sent.
fn put_len(body: &mut Vec<u8>, len: usize) {
    put_u32(body, u32::try_from(len).unwrap_or(u32::MAX));
}

fn put_bytes(body: &mut Vec<u8>, bytes: &OsStr) {
    put_len(body, bytes.len());
    body.extend_from_slice(bytes.as_bytes());
}

/// What of a message has not been read yet.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn i32(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.u32()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn os_string(&mut self) -> Option<OsString> {
        self.bytes().map(|bytes| OsString::from_vec(bytes.to_vec()))
    }

    fn list<T>(&mut self, field: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.u32()?).map(|_| field(self)).collect()
    }

    /// `None` for a number other than 0 and 1.
    fn option<T>(&mut self, field: impl Fn(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.u32()? {
            0 => Some(None),
            1 => field(self).map(Some),
            _ => None,
        }
    }

    fn end<T>(self, message: T) -> Option<T> {
        self.0.is_empty().then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        let os = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Command {
            argv: vec![os(b"agent"), os(b""), os(b"\xff\xfe not UTF-8"), os(b"two\nlines")],
            cwd: PathBuf::from(os(b"/tmp/\x80")),
            env: vec![(os(b"A"), os(b"")), (os(b"B"), os(b"\xc3"))],
            env_remove: vec![os(b"C")],
            wrapper: Some(PathBuf::from(os(b"/\xff/bwrap"))),
        }
    }

    fn check_reply(reply: Reply) {
        let body = reply.encode();
        assert!(body.len() <= REPLY_LIMIT);
        for cut in 0..body.len() {
            assert_eq!(Reply::decode(&body[..cut]), None, "{reply:?} cut to {cut} bytes");
        }
        assert_eq!(Reply::decode(&body), Some(reply));
    }

    #[test]
    fn a_command_survives_as_it_is() {
        let mut body = vec![1, 2, 3];
        encode_spawn(&command(), &mut body);
        assert_eq!(Request::decode(&body), Some(Request::Spawn(command())));
        let command = Command { wrapper: None, ..command() };
        encode_spawn(&command, &mut body);
        assert_eq!(Request::decode(&body), Some(Request::Spawn(command)));
        assert_eq!(Request::decode(HOLD), Some(Request::Hold));
        assert_eq!(Request::decode(TERMINATE), Some(Request::Terminate));
        assert_eq!(Request::decode(SWEEP), Some(Request::Sweep));
    }

    #[test]
    fn a_request_cut_anywhere_is_no_request() {
        let mut body = Vec::new();
        encode_spawn(&command(), &mut body);
        for cut in 0..body.len() {
            assert_eq!(Request::decode(&body[..cut]), None, "cut to {cut} bytes");
        }
        body.push(0);
        assert_eq!(Request::decode(&body), None, "one byte too many");
    }

    #[test]
    fn a_count_that_lies_is_no_request() {
        assert_eq!(Request::decode(b"S\xff\xff\xff\xff"), None);
        assert_eq!(Request::decode(b"S\0\0\0\0\xff\xff\xff\xff"), None);
    }

    #[test]
    fn replies_survive_and_cut_ones_are_refused() {
        check_reply(Reply::Started { pid: 4_194_304 });
        check_reply(Reply::Ended { exit: Exit::Code(255), swept: 0 });
        check_reply(Reply::Ended { exit: Exit::Signal(9), swept: 3 });
        check_reply(Reply::NotStarted { errno: Some(2), text: String::new() });
        check_reply(Reply::NotStarted { errno: None, text: "nul byte".to_owned() });
    }

    #[test]
    fn a_long_error_is_cut_between_characters() {
        let body = Reply::NotStarted { errno: None, text: "é".repeat(REPLY_LIMIT) }.encode();
        assert!(body.len() <= REPLY_LIMIT);
        assert!(
            matches!(Reply::decode(&body), Some(Reply::NotStarted { text, .. }) if !text.contains('\u{fffd}'))
        );
    }
}
