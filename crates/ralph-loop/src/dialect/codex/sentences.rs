//! Failures that Codex reports as a sentence.

/// What Codex says instead of the service's status, in lower case: how the sentence begins, what
/// is in it, and the service's word for that. The apostrophes vary.
const SENTENCES: &[(&str, &str, &str)] = &[
    ("", "usage limit", "usage_limit"),
    ("", "currently experiencing high demand", "server_error"),
    ("selected model is at capacity", "", "overloaded"),
    ("quota exceeded", "", "insufficient_quota"),
    ("the model `", "` does not exist", "model_not_found"),
    ("the '", "' model is not supported", "model_not_found"),
    ("missing environment variable:", "", "authentication_failed"),
];

/// The service's word for a failure that Codex reports as a sentence.
pub(super) fn kind_of(sentence: &str) -> Option<&'static str> {
    let sentence = sentence.to_lowercase();
    let says =
        |(start, part, _): &&(&str, &str, &str)| sentence.starts_with(start) && sentence.contains(part);
    SENTENCES.iter().find(says).map(|(_, _, kind)| *kind)
}
