//! Where cgroups are mounted, and which of them this process is in.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

/// One tree of cgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    pub version: Version,
    /// Of version 1; a tree of version 2 says in its files what it has.
    pub controllers: Vec<String>,
    pub mount: PathBuf,
    /// The directory of this process's own cgroup, at or below the mount.
    pub own: PathBuf,
}

/// Those in which this process's own cgroup can be seen.
pub fn mounted() -> Vec<Hierarchy> {
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    let mut found = parse(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"));
    found.retain(|hierarchy| hierarchy.own.join("cgroup.procs").exists());
    found
}

fn parse(mountinfo: &str, cgroup: &str) -> Vec<Hierarchy> {
    mountinfo.lines().filter_map(|line| hierarchy(line, cgroup)).collect()
}

/// A line of mountinfo has the root of the mount in its file system and the mount point as fourth and fifth
/// field, and the kind, the source and the options behind a dash.
fn hierarchy(line: &str, cgroup: &str) -> Option<Hierarchy> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, mount) = (unescaped(place.next()?), PathBuf::from(unescaped(place.next()?)));
    let mut kind = kind.split(' ');
    let (version, options) = match kind.next()? {
        "cgroup" => (Version::V1, kind.nth(1)?),
        "cgroup2" => (Version::V2, ""),
        _ => return None,
    };
    let options: Vec<&str> = options.split(',').collect();
    // A line of /proc/self/cgroup: the number of the tree, its controllers, the path of the cgroup in it.
    let (controllers, own) = cgroup.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let controllers: Vec<&str> = controllers.split(',').filter(|name| !name.is_empty()).collect();
        let is_it = match version {
            Version::V1 => !controllers.is_empty() && controllers.iter().all(|name| options.contains(name)),
            Version::V2 => controllers.is_empty(),
        };
        is_it.then_some((controllers, path))
    })?;
    let own = Path::new(own).strip_prefix(&root).ok()?;
    // Outside of the cgroup namespace: it cannot be seen.
    if own.starts_with("..") {
        return None;
    }
    let controllers = controllers.into_iter().map(str::to_owned).collect();
    Some(Hierarchy { version, controllers, own: mount.join(own).components().collect(), mount })
}

/// Spaces and the like are octal numbers behind a backslash.
fn unescaped(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                text.push(char::from(byte));
                text.push_str(&part[3..]);
            }
            None => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mountinfo: &str, cgroup: &str, expected: &[(Version, &str, &str, &str)]) {
        let found = parse(mountinfo, cgroup);
        let found: Vec<_> = found
            .iter()
            .map(|found| {
                let (mount, own) = (found.mount.to_str().unwrap(), found.own.to_str().unwrap());
                (found.version, found.controllers.join(","), mount, own)
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(version, controllers, mount, own)| (*version, (*controllers).to_owned(), *mount, *own))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_own_cgroup_is_found_below_its_mount() {
        check(
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n\
             31 23 0:27 / /proc rw - proc proc rw",
            "0::/user.slice/a.scope",
            &[(Version::V2, "", "/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/a.scope")],
        );
    }

    #[test]
    fn trees_of_both_versions_are_told_apart() {
        check(
            "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
             40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n\
             41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 none rw",
            "9:name=systemd:/\n4:memory:/a:b\n2:cpu,cpuacct:/\n0::/",
            &[
                (Version::V1, "memory", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/a:b"),
                (Version::V1, "cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct"),
                (Version::V1, "name=systemd", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/systemd"),
                (Version::V2, "", "/sys/fs/cgroup/uni fied", "/sys/fs/cgroup/uni fied"),
            ],
        );
    }

    #[test]
    fn a_container_sees_its_own_part_of_the_tree_or_nothing() {
        let mount = |root: &str| format!("30 23 0:26 {root} /sys/fs/cgroup ro - cgroup2 cgroup rw");
        let own = [(Version::V2, "", "/sys/fs/cgroup", "/sys/fs/cgroup/sub")];
        check(&mount("/docker/abc"), "0::/docker/abc/sub", &own);
        check(&mount("/docker/abc"), "0::/docker/other", &[]);
        check(&mount("/"), "0::/../../other", &[]);
    }
}
