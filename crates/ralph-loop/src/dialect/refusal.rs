//! Refusals, by the words that known agents and their services have for them.
//!
//! Judged are the fields of a stream in which an agent reports its own failures, and what its
//! program prints to standard error before it has said anything: never the agent's prose.
//! [`Refusal`] is what will not change by itself; whatever is in no table here is an ordinary
//! failure, which is tried again.

use super::json::ERROR_CHARS;
use super::stream_summary::{Answer, StreamSummary};
use super::{Dialect, Exit};
use crate::event::StopReason;
use crate::text::clip;
use serde::{Deserialize, Serialize};

/// What a refusal that will not change by itself is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// No key or login, or one that the service does not accept.
    #[default]
    Login,
    /// There is no such model, or not for this account.
    Model,
    /// The account has no credit or quota left.
    Quota,
    /// The program does not skip permissions for root.
    Root,
    /// The program does not know one of its flags.
    Flag,
    /// No request can be sent to the address that the program is configured with.
    Address,
}

impl Refusal {
    pub fn stop_reason(self) -> StopReason {
        match self {
            Refusal::Login | Refusal::Model | Refusal::Quota => StopReason::Authentication,
            Refusal::Root | Refusal::Flag | Refusal::Address => StopReason::Error,
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(super) fn is_login(&self) -> bool {
        *self == Refusal::Login
    }
}

/// What keeps an agent that is running from going on, as its stream shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocker {
    /// It tries a key again that the service has refused.
    Login,
    /// It waits for the network to come back.
    Network,
    /// It waits for a person, in its terminal.
    Person,
}

/// What a program says about itself on standard error when it refuses to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub about: Refusal,
    /// The line as it was printed, at most 500 characters.
    pub text: String,
}

/// What a line of a program's standard error refuses, if it does.
pub fn complaint(program: Dialect, line: &str) -> Option<Complaint> {
    let line = line.trim();
    let (_, about) = program.spec().complaints.iter().find(|(start, _)| line.starts_with(start))?;
    Some(Complaint { about: *about, text: clip(line, ERROR_CHARS).into_owned() })
}

/// What an error of the stream is, by status and kind.
pub(super) fn of_stream(error: &str, seen: &StreamSummary) -> Answer {
    let why = error.to_owned();
    let refused = |about| Answer::Refused { why: error.to_owned(), about };
    match (seen.api_status, seen.error_kind.as_deref().unwrap_or_default()) {
        (_, "billing_error" | "insufficient_quota") | (Some(402), _) => refused(Refusal::Quota),
        (_, "not_found_error" | "model_not_found") | (Some(404), _) => refused(Refusal::Model),
        (_, "authentication_failed" | "authentication_error" | "permission_error")
        | (_, "oauth_org_not_allowed" | "account_on_hold" | "verification_required")
        | (_, "cloud_credential_error")
        | (Some(401 | 403), _) => refused(Refusal::Login),
        (Some(429), _) | (_, "rate_limit" | "rate_limit_error" | "usage_limit") => {
            Answer::Limited { why, until: seen.blocked_until }
        }
        (Some(500..), _)
        | (_, "server_error" | "overloaded" | "overloaded_error" | "api_error" | "connection_failed") => {
            Answer::Unavailable { why }
        }
        // Codex says so before it has sent anything, and would for ever.
        (None, "") if error.starts_with("stream disconnected") && error.ends_with(": builder error") => {
            refused(Refusal::Address)
        }
        (None, "") if error.starts_with("stream disconnected") => Answer::Unavailable { why },
        _ if seen.blocked_until.is_some() => Answer::Limited { why, until: seen.blocked_until },
        _ => Answer::Failed { why },
    }
}

/// What a program's complaint amounts to. One that has said anything in its stream did start.
pub(super) fn of_program(exit: Exit, seen: &StreamSummary, complaint: Option<&Complaint>) -> Option<Answer> {
    let Complaint { about, text } = complaint?;
    let started = seen.session.is_some() || seen.text || seen.steps > 0 || seen.result;
    (!started && !exit.is_success()).then(|| Answer::Refused { why: text.clone(), about: *about })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_refuses_is_known_by_its_own_line() {
        const ROOT: &str =
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons";
        for (program, line, about) in [
            (Dialect::Claude, ROOT, Some(Refusal::Root)),
            (Dialect::Claude, "error: unknown option '--no-such-flag'", Some(Refusal::Flag)),
            (Dialect::Codex, "error: unexpected argument '--no-such-flag' found", Some(Refusal::Flag)),
            (Dialect::Codex, "Error: Model provider `nope` not found", Some(Refusal::Model)),
            (Dialect::Plain, "error: unknown option '--no-such-flag'", None),
            (Dialect::Claude, "Error: cannot open the socket", None),
            (Dialect::Codex, "the log says: error: unexpected argument", None),
        ] {
            assert_eq!(complaint(program, line).map(|complaint| complaint.about), about, "{line}");
        }
    }

    #[test]
    fn only_a_program_that_has_said_nothing_has_refused_to_start() {
        let complaint = complaint(Dialect::Claude, "error: unknown option '-x'");
        let answer = |exit, seen: &StreamSummary| of_program(exit, seen, complaint.as_ref());
        let refused = Answer::Refused { why: "error: unknown option '-x'".into(), about: Refusal::Flag };
        assert_eq!(answer(Exit::Code(1), &StreamSummary::default()), Some(refused));
        assert_eq!(answer(Exit::Code(0), &StreamSummary::default()), None);
        let spoke = StreamSummary { session: Some("s".into()), ..StreamSummary::default() };
        assert_eq!(answer(Exit::Code(1), &spoke), None);
    }
}
