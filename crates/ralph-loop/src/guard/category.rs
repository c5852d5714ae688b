//! What kinds of danger the guard knows, and how strict it is with each.

use super::Verdict;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Files,
    Disks,
    Denial,
    Exfiltration,
    Shells,
    Credentials,
    Privilege,
    Containers,
    Packages,
    Git,
    System,
    Obfuscation,
    Environment,
    Processes,
    Persistence,
    Databases,
    Cloud,
    Paths,
}

/// How strict the guard is with a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Off,
    Warn,
    Block,
}

impl Level {
    /// A rule's own verdict under this level: a level makes rules milder, never stricter.
    pub fn limit(self, verdict: Verdict) -> Verdict {
        match self {
            Level::Off => Verdict::Allow,
            Level::Warn => verdict.min(Verdict::Warn),
            Level::Block => verdict,
        }
    }
}

impl Category {
    pub const ALL: [Category; 18] = [
        Category::Files,
        Category::Disks,
        Category::Denial,
        Category::Exfiltration,
        Category::Shells,
        Category::Credentials,
        Category::Privilege,
        Category::Containers,
        Category::Packages,
        Category::Git,
        Category::System,
        Category::Obfuscation,
        Category::Environment,
        Category::Processes,
        Category::Persistence,
        Category::Databases,
        Category::Cloud,
        Category::Paths,
    ];

    /// The name in settings and the sentence of `ralph guard rules`.
    const fn row(self) -> (&'static str, &'static str) {
        match self {
            Category::Files => ("files", "files destroyed outside the workspace, or all of it"),
            Category::Disks => ("disks", "disks, partitions and filesystems changed"),
            Category::Denial => ("denial", "fork bombs, full disks, endless load"),
            Category::Exfiltration => ("exfiltration", "files or secrets sent to another machine"),
            Category::Shells => ("shells", "remote code, reverse shells, tunnels"),
            Category::Credentials => ("credentials", "keys, tokens and passwords read"),
            Category::Privilege => ("privilege", "more rights than the user's own"),
            Category::Containers => ("containers", "a container's walls, or the host mounted into one"),
            Category::Packages => ("packages", "packages published, or installed for the whole system"),
            Category::Git => {
                ("git", "published history rewritten, commits lost, remote branches and tags deleted")
            }
            Category::System => ("system", "configuration of the machine changed"),
            Category::Obfuscation => ("obfuscation", "commands that are hidden or computed"),
            Category::Environment => ("environment", "variables that change what programs run"),
            Category::Processes => ("processes", "ralph, its agents or everything killed"),
            Category::Persistence => ("persistence", "code that runs later, by itself"),
            Category::Databases => ("databases", "data dropped or deleted"),
            Category::Cloud => ("cloud", "cloud resources and clusters deleted or changed"),
            Category::Paths => ("paths", "protected files written"),
        }
    }

    pub const fn name(self) -> &'static str {
        self.row().0
    }

    pub const fn title(self) -> &'static str {
        self.row().1
    }

    pub fn by_name(name: &str) -> Option<Category> {
        Category::ALL.into_iter().find(|category| category.name() == name)
    }
}
