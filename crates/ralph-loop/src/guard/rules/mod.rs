//! The table of rules: a row says what is dangerous, why, and what to do instead.
//!
//! Every row has an example that it catches and one that it must let pass; both are tests. A row
//! applies if one of its patterns ([`super::matches`]) does and `when` holds.
//!
//! Some names in angle brackets stand for what is not a program:
//!
//! | name | arguments |
//! |---|---|
//! | `<write>` | a path that a redirection or a tool of the agent writes |
//! | `<read>` | a path that a redirection or a tool of the agent reads |
//! | `<assign>` | name and value of a variable that is set, also by `export` |
//! | `<fetch>` | a URL that a tool of the agent fetches |
//! | `<fork-bomb>` | a function that starts itself twice, a loop without end that starts things |
//! | `<endless-write>` | a loop without end that makes files longer, or more of them |
//! | `<computed-code>` | text that cannot be known and is run as code: the interpreter |
//! | `<remote-code>` | text from the network that is run as code: the interpreter, the source |
//! | `<reverse-shell>` | a shell whose input and output are a connection |
//! | `<unparsed>`, `<too-deep>`, `<too-long>`, `<unreadable>` | what cannot be judged, and why |

mod cloud;
mod clusters;
mod containers;
mod credentials;
mod databases;
mod denial;
mod disks;
mod environment;
mod exfiltration;
mod facts;
mod files;
mod git;
mod hosting;
mod obfuscation;
mod packages;
mod paths;
mod persistence;
mod privilege;
mod processes;
mod shells;
mod system;
#[cfg(test)]
mod tests;

use super::invocation::{Invocation, Site};
use super::policy::Policy;
use super::world::World;
use super::{Category, Finding, Verdict, matches};

/// A row.
pub struct Rule {
    /// Unique, with dashes: `force-push`.
    pub id: &'static str,
    pub category: Category,
    pub verdict: Verdict,
    /// One of these must apply.
    pub patterns: &'static [&'static str],
    /// And this must hold.
    pub when: fn(&Invocation, &World<'_>) -> bool,
    pub why: &'static str,
    pub instead: &'static str,
    /// A command that the rule catches.
    pub catches: &'static str,
    /// A similar one that no rule stops.
    pub passes: &'static str,
}

/// The rule for what is too large to be judged, or is no call at all.
pub const UNJUDGED: &str = "unjudged";

/// For rows whose patterns say everything.
pub fn always(_: &Invocation, _: &World<'_>) -> bool {
    true
}

/// Not inside a container, whose packages are made again with it.
pub fn on_a_machine(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.site != Site::Container
}

/// Categories that are about a machine and its users: a container has its own.
fn reaches(category: Category, site: Site) -> bool {
    match category {
        Category::Privilege | Category::System | Category::Processes => site != Site::Container,
        _ => true,
    }
}

/// All rules.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let tables: [&'static [Rule]; 20] = [
        files::RULES,
        disks::RULES,
        denial::RULES,
        exfiltration::RULES,
        shells::RULES,
        credentials::RULES,
        privilege::RULES,
        containers::RULES,
        packages::RULES,
        git::RULES,
        hosting::RULES,
        system::RULES,
        obfuscation::RULES,
        environment::RULES,
        processes::RULES,
        persistence::RULES,
        databases::RULES,
        cloud::RULES,
        clusters::RULES,
        paths::RULES,
    ];
    tables.into_iter().flatten()
}

/// What the rules, and then the user's own entries, say of an invocation.
pub fn find(invocation: &Invocation, world: &World<'_>, policy: &Policy) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    if let Some(entry) = policy.denies(invocation) {
        found.push(Finding {
            rule: "denied",
            category: Category::Paths,
            verdict: Verdict::Block,
            what: invocation.to_string(),
            why: format!("`guard.deny` has {entry:?}"),
            instead: "leave it to the user",
            allowed_by: None,
        });
        return found;
    }
    let allowed_by = policy.allows(invocation);
    for rule in all().filter(|rule| reaches(rule.category, invocation.site)) {
        let applies = rule.patterns.iter().any(|pattern| matches(pattern, invocation));
        if !applies || !(rule.when)(invocation, world) {
            continue;
        }
        let verdict = match allowed_by {
            Some(_) => Verdict::Allow,
            // The guard itself has failed: no level turns that off.
            None if rule.id == UNJUDGED => rule.verdict,
            None => policy.level(rule.category).limit(rule.verdict),
        };
        found.push(Finding {
            rule: rule.id,
            category: rule.category,
            verdict,
            what: invocation.to_string(),
            why: rule.why.to_owned(),
            instead: rule.instead,
            allowed_by: allowed_by.map(str::to_owned),
        });
    }
    found
}
