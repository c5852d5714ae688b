//! Hosts that belong together: what a package manager, a forge or a distribution needs. A row per group.
//!
//! A group is on if its name is in `sandbox.hosts`, or if the project has one of its files. An empty directory
//! has none, and one that an agent turns into a project gets its group with the next iteration.

#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// As in `sandbox.hosts`.
    pub name: &'static str,
    pub hosts: &'static [&'static str],
    /// Names in the project, or in a directory of it, that show that it is needed. A star stands for what comes
    /// before the ending.
    pub files: &'static [&'static str],
}

pub const GROUPS: &[Group] = &[
    Group {
        name: "npm",
        hosts: &[
            "registry.npmjs.org",
            "registry.yarnpkg.com",
            "nodejs.org",
            "npm.jsr.io",
            "repo.yarnpkg.com",
        ],
        files: &["package.json", "deno.json", "deno.jsonc"],
    },
    Group {
        name: "crates",
        hosts: &["index.crates.io", "static.crates.io", "crates.io", "static.rust-lang.org"],
        files: &["Cargo.toml"],
    },
    Group {
        name: "pypi",
        hosts: &["pypi.org", "files.pythonhosted.org"],
        files: &[
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "Pipfile",
            "requirements.txt",
            "requirements-*.txt",
            "tox.ini",
            "uv.lock",
        ],
    },
    Group {
        name: "go",
        hosts: &["proxy.golang.org", "sum.golang.org", "storage.googleapis.com", "go.dev", "dl.google.com"],
        files: &["go.mod", "go.work"],
    },
    Group {
        name: "maven",
        hosts: &[
            "repo.maven.apache.org",
            "repo1.maven.org",
            "plugins.gradle.org",
            "plugins-artifacts.gradle.org",
            "services.gradle.org",
            "downloads.gradle.org",
            "dl.google.com",
            "maven.google.com",
        ],
        files: &[
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "build.sbt",
        ],
    },
    Group {
        name: "github",
        hosts: &[
            "github.com",
            "api.github.com",
            "codeload.github.com",
            "objects.githubusercontent.com",
            "raw.githubusercontent.com",
            "release-assets.githubusercontent.com",
        ],
        files: &[],
    },
    Group {
        name: "debian",
        hosts: &["deb.debian.org", "security.debian.org", "snapshot.debian.org", "ftp.debian.org"],
        files: &[],
    },
];

/// The group of this name.
pub fn group(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.name == name)
}

/// The first group that has a host.
pub fn group_of_host(host: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.hosts.contains(&host))
}

/// The groups that the names of files show to be needed.
pub fn groups_of_files<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'static Group> {
    let mut shown = vec![false; GROUPS.len()];
    for name in names {
        for (shown, group) in shown.iter_mut().zip(GROUPS) {
            *shown |= group.files.iter().any(|pattern| is_named(pattern, name));
        }
    }
    GROUPS.iter().zip(shown).filter_map(|(group, shown)| shown.then_some(group)).collect()
}

fn is_named(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::{Host, HostPattern};
    use super::*;

    #[test]
    fn each_group_has_a_name_of_its_own_and_hosts_that_can_be_allowed() {
        for group in GROUPS {
            assert_eq!(GROUPS.iter().filter(|other| other.name == group.name).count(), 1, "{}", group.name);
            for host in group.hosts {
                assert!(matches!(Host::parse(host), Ok(Host::Name(_))), "{host}");
                assert!(HostPattern::parse(host).is_ok());
            }
            // A name without a dot is no host on the internet, so nothing is lost.
            assert!(!group.name.contains('.'));
        }
        let names: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
        assert_eq!(names, ["npm", "crates", "pypi", "go", "maven", "github", "debian"]);
    }

    #[test]
    fn files_show_the_groups_that_are_needed() {
        let of = |files: &[&str]| -> Vec<&str> {
            groups_of_files(files.iter().copied()).iter().map(|group| group.name).collect()
        };
        assert_eq!(of(&[]), Vec::<&str>::new());
        assert_eq!(of(&["README.md", "main.rs"]), Vec::<&str>::new());
        assert_eq!(of(&["package.json", "Cargo.toml"]), ["npm", "crates"]);
        assert_eq!(of(&["requirements-dev.txt"]), ["pypi"]);
        assert_eq!(of(&["requirements.txt.bak", "xCargo.toml"]), Vec::<&str>::new());
        assert_eq!(of(&["go.mod", "pom.xml", "build.gradle.kts"]), ["go", "maven"]);
    }

    #[test]
    fn a_host_names_its_group() {
        assert_eq!(group_of_host("pypi.org").map(|group| group.name), Some("pypi"));
        assert_eq!(group_of_host("example.org"), None);
        assert_eq!(group("crates").map(|group| group.hosts.len()), Some(4));
    }
}
