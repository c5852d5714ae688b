//! What people are told of a finding.

use ralph_loop::guard::Finding;

/// The name that an entry of `guard.deny` has among the rules.
const DENIED: &str = "denied";

/// Whether the user has denied it by name.
pub fn is_users_own(finding: &Finding) -> bool {
    finding.rule == DENIED
}

/// `git/force-push`
pub fn rule_name(finding: &Finding) -> String {
    match is_users_own(finding) {
        true => "guard.deny".to_owned(),
        false => format!("{}/{}", finding.category.name(), finding.rule),
    }
}
