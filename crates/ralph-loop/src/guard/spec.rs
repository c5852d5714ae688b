//! The guard of a run as it was requested: what the settings said when the run began.

use super::category::{Category, Level};
use super::policy::{Policy, PolicyError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The user's decisions as they are recorded. [`Policy`] is what the rules ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardSpec {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// The user decides where there is one to ask; elsewhere these block.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<Category>,
    /// Categories that do not block.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<Category, Level>,
    /// Further directories that may be changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<PathBuf>,
    /// Agents of the run that cannot be watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unwatched: Vec<Unwatched>,
}

/// An agent that does not ask the guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwatched {
    pub agent: String,
    pub why: String,
}

/// What the guard is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    #[default]
    Everything,
    /// What a sandbox cannot know: it lets a push through, and whether that is a force push only the command says.
    BeyondSandbox,
}

/// The damage of these is done elsewhere, by means that a sandbox allows.
const BEYOND_SANDBOX: [Category; 4] =
    [Category::Git, Category::Packages, Category::Databases, Category::Cloud];

impl Scope {
    pub fn has(self, category: Category) -> bool {
        match self {
            Scope::Everything => true,
            Scope::BeyondSandbox => BEYOND_SANDBOX.contains(&category),
        }
    }
}

impl GuardSpec {
    pub fn policy(&self, scope: Scope) -> Result<Policy, PolicyError> {
        let mut policy = Policy::default();
        for (category, level) in &self.levels {
            policy.set_level(category.name(), *level)?;
        }
        for category in Category::ALL.into_iter().filter(|category| !scope.has(*category)) {
            policy.set_level(category.name(), Level::Off)?;
        }
        self.allow.iter().try_for_each(|entry| policy.allow(entry))?;
        self.deny.iter().try_for_each(|entry| policy.deny(entry))?;
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_sandbox_only_what_it_cannot_know_counts() {
        let spec =
            GuardSpec { levels: BTreeMap::from([(Category::Git, Level::Warn)]), ..GuardSpec::default() };
        let levels = |scope| {
            let policy = spec.policy(scope).unwrap();
            [Category::Git, Category::Cloud, Category::Files].map(|category| policy.level(category))
        };
        assert_eq!(levels(Scope::Everything), [Level::Warn, Level::Block, Level::Block]);
        assert_eq!(levels(Scope::BeyondSandbox), [Level::Warn, Level::Block, Level::Off]);
    }

    #[test]
    fn a_spec_of_nothing_is_recorded_as_nothing() {
        assert_eq!(serde_json::to_string(&GuardSpec::default()).unwrap(), "{}");
        let spec = GuardSpec {
            ask: vec![Category::Git],
            levels: BTreeMap::from([(Category::Cloud, Level::Off)]),
            ..GuardSpec::default()
        };
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(text, r#"{"ask":["git"],"levels":{"cloud":"off"}}"#);
        assert_eq!(serde_json::from_str::<GuardSpec>(&text).unwrap(), spec);
    }

    #[test]
    fn an_entry_that_is_none_is_refused() {
        let spec = GuardSpec { allow: vec!["*".into()], ..GuardSpec::default() };
        assert_eq!(spec.policy(Scope::Everything).unwrap_err(), PolicyError::Everything("*".into()));
    }
}
