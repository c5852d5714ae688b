//! Where the cgroups of a run are made, and which limits can be set there.
//!
//! Invariant: the limits that hold for this process hold in the run's cgroups, too. They are made below its
//! own; where cgroup v2 rules that out because that one has processes, they are made beside it or further up,
//! unless that would leave limits behind.
#![expect(clippy::disallowed_methods, reason = "cgroups are files of the kernel, not state")]

use super::hierarchies::{Hierarchy, Version};
use super::{CgroupLimits, PROCESSES, Unlimited};
use rustix::fs::{Access, access};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    Pids,
    Memory,
}

/// The directory in which a run's cgroup is to be made, and what it is to limit.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    pub version: Version,
    pub parent: PathBuf,
    pub limits: Vec<(Controller, u64)>,
}

/// A file of a cgroup, and the number that it gets.
type Setting = (&'static str, u64);

/// A controller is in one hierarchy only; those of version 2 share one, and so one cgroup.
pub fn plans(limits: CgroupLimits, hierarchies: &[Hierarchy]) -> (Vec<Plan>, Vec<Unlimited>) {
    let CgroupLimits { processes, memory } = limits;
    let mut plans = Vec::new();
    let mut left = Vec::new();
    for (controller, most) in [(Controller::Pids, processes), (Controller::Memory, memory)] {
        let Some(most) = most else { continue };
        match hierarchies.iter().find(|hierarchy| controller.is_of(hierarchy)) {
            Some(Hierarchy { own, .. }) => {
                let limits = vec![(controller, most)];
                plans.push(Plan { version: Version::V1, parent: own.clone(), limits });
            }
            None => left.push((controller, most)),
        }
    }
    let unified = hierarchies.iter().find(|hierarchy| hierarchy.version == Version::V2);
    if let Some(plan) = unified.and_then(|unified| plan_unified(unified, &left)) {
        left.retain(|(controller, _)| !plan.limits.iter().any(|(planned, _)| planned == controller));
        plans.push(plan);
    }
    let unlimited = left.into_iter().map(|(controller, _)| controller.what());
    (plans, unlimited.map(|what| Unlimited::NoController { what }).collect())
}

/// Whether a run may have a cgroup there.
pub fn is_used(hierarchy: &Hierarchy) -> bool {
    match hierarchy.version {
        Version::V1 => CONTROLLERS.iter().any(|controller| controller.is_of(hierarchy)),
        Version::V2 => true,
    }
}

const CONTROLLERS: [Controller; 2] = [Controller::Pids, Controller::Memory];

/// The nearest cgroup from which most of the limits can be set in a new one.
fn plan_unified(unified: &Hierarchy, wanted: &[(Controller, u64)]) -> Option<Plan> {
    let mut best: Option<Plan> = None;
    let mut wanted = wanted.to_vec();
    for parent in unified.own.ancestors().take_while(|dir| dir.starts_with(&unified.mount)) {
        let passed_on = passed_on(parent, parent == unified.own);
        let limits: Vec<_> = wanted
            .iter()
            .filter(|(controller, _)| passed_on.iter().any(|name| name == controller.name()))
            .copied()
            .collect();
        // Who moves a process needs the right to write there.
        let is_ours = access(parent.join(PROCESSES), Access::WRITE_OK).is_ok();
        if is_ours && limits.len() > best.as_ref().map_or(0, |plan| plan.limits.len()) {
            best = Some(Plan { version: Version::V2, parent: parent.to_path_buf(), limits });
        }
        // The next one is further up: what is limited here would no longer be.
        if is_limited(parent) {
            break;
        }
        if let Some(most) = first_word(&parent.join("pids.max")).and_then(|most| most.parse::<u64>().ok()) {
            for (controller, limit) in &mut wanted {
                if *controller == Controller::Pids {
                    *limit = most.min(*limit);
                }
            }
        }
    }
    best
}

/// The controllers that the cgroups in a directory have.
fn passed_on(dir: &Path, is_own: bool) -> Vec<String> {
    let file = dir.join("cgroup.subtree_control");
    let names = || -> Vec<String> {
        let text = fs::read_to_string(&file).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    };
    // One with processes cannot pass on anything, but for the root of all.
    if is_own {
        let known = names();
        for name in CONTROLLERS.map(Controller::name) {
            if !known.iter().any(|known| known == name) {
                let _ = fs::write(&file, format!("+{name}"));
            }
        }
    }
    names()
}

/// Other than by a number of processes, which systemd sets everywhere.
fn is_limited(dir: &Path) -> bool {
    let is_not = |file: &str, free: &str| first_word(&dir.join(file)).is_some_and(|word| word != free);
    is_not("memory.max", "max")
        || is_not("memory.high", "max")
        || is_not("memory.swap.max", "max")
        || is_not("cpu.max", "max")
        || is_not("cpuset.cpus", "")
}

fn first_word(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.split_whitespace().next().unwrap_or_default().to_owned())
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Controller::Pids => "pids",
            Controller::Memory => "memory",
        }
    }

    /// As one of version 1; a hierarchy of version 2 says in its files what it has.
    fn is_of(self, hierarchy: &Hierarchy) -> bool {
        hierarchy.controllers.iter().any(|name| name == self.name())
    }

    fn what(self) -> &'static str {
        match self {
            Controller::Pids => "the number of processes",
            Controller::Memory => "memory",
        }
    }

    /// The file for a limit, and one that is set too where it exists.
    pub fn files(self, version: Version, most: u64) -> (Setting, Option<Setting>) {
        match (self, version) {
            (Controller::Pids, Version::V1 | Version::V2) => (("pids.max", most), None),
            // Otherwise the rest would go to swap.
            (Controller::Memory, Version::V1) => {
                (("memory.limit_in_bytes", most), Some(("memory.memsw.limit_in_bytes", most)))
            }
            (Controller::Memory, Version::V2) => (("memory.max", most), Some(("memory.swap.max", 0))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const BOTH: CgroupLimits = CgroupLimits { processes: Some(100), memory: Some(1 << 30) };

    /// A tree of files as cgroup v2 shows it; each line is a file and its text.
    struct Unified {
        root: TempDir,
        hierarchies: Vec<Hierarchy>,
    }

    impl Unified {
        fn new(own: &str, files: &[(&str, &str)]) -> Unified {
            let root = TempDir::new().unwrap();
            let mount = root.path().to_path_buf();
            for dir in Path::new(own).ancestors() {
                fs::create_dir_all(mount.join(dir)).unwrap();
                fs::write(mount.join(dir).join(PROCESSES), "").unwrap();
            }
            for (file, text) in files {
                fs::write(mount.join(file), text).unwrap();
            }
            let own = mount.join(own);
            let hierarchies = vec![Hierarchy { version: Version::V2, controllers: Vec::new(), mount, own }];
            Unified { root, hierarchies }
        }

        /// The parent of the planned cgroup, its limits, and how many limits are left.
        #[track_caller]
        fn check(&self, parent: &str, limits: &[(Controller, u64)], unlimited: usize) {
            let (plans, left) = plans(BOTH, &self.hierarchies);
            let found: Vec<_> =
                plans.iter().map(|plan| (plan.parent.clone(), plan.limits.as_slice())).collect();
            let expected = [(self.root.path().join(parent), limits)];
            assert_eq!(found, expected[usize::from(limits.is_empty())..]);
            assert_eq!(left.len(), unlimited);
        }
    }

    const SCOPE: &str = "user.slice/app.slice/terminal.scope";

    const APP: &str = "user.slice/app.slice";
    const BOTH_SET: [(Controller, u64); 2] = [(Controller::Pids, 100), (Controller::Memory, 1 << 30)];

    #[test]
    fn a_cgroup_with_processes_gets_a_neighbour_where_both_limits_can_be_set() {
        let files = [("user.slice/app.slice/cgroup.subtree_control", "cpu memory pids")];
        let unified = Unified::new(SCOPE, &files);
        unified.check(APP, &BOTH_SET, 0);
        let mut made = BOTH.make_in(&unified.hierarchies, "a-run").unwrap();
        let [dir] = made.dirs() else { panic!("{made:?}") };
        assert_eq!(*dir, unified.root.path().join(APP).join("ralph-a-run"));
        assert_eq!(fs::read_to_string(dir.join("memory.max")).unwrap(), (1u64 << 30).to_string());
        // It is no cgroup, whose files go with it.
        made.dirs.clear();
    }

    #[test]
    fn one_limit_is_better_than_none_and_two_further_up_are_better_than_one() {
        let one = [("user.slice/app.slice/cgroup.subtree_control", "pids")];
        Unified::new(SCOPE, &one).check(APP, &BOTH_SET[..1], 1);
        let two = [one[0], ("user.slice/cgroup.subtree_control", "memory pids")];
        Unified::new(SCOPE, &two).check("user.slice", &BOTH_SET, 0);
    }

    #[test]
    fn limits_of_a_cgroup_are_not_left_behind() {
        let passed_on = ("user.slice/app.slice/cgroup.subtree_control", "memory pids");
        for limited in [("memory.max", "2000000"), ("cpu.max", "50000 100000"), ("cpuset.cpus", "0")] {
            let file = format!("{SCOPE}/{}", limited.0);
            Unified::new(SCOPE, &[passed_on, (&file, limited.1)]).check(APP, &[], 2);
        }
        let not =
            [("memory.max", "max"), ("cpu.max", "max 100000"), ("cpuset.cpus", "\n"), ("pids.max", "77")];
        let not = not.map(|(file, text)| (format!("{SCOPE}/{file}"), text));
        let files: Vec<(&str, &str)> = not.iter().map(|(file, text)| (file.as_str(), *text)).collect();
        let unified = Unified::new(SCOPE, &[&files[..], &[passed_on]].concat());
        unified.check(APP, &[(Controller::Pids, 77), BOTH_SET[1]], 0);
    }

    #[test]
    fn without_controllers_the_limits_are_named() {
        let why = BOTH.make_in(&Unified::new(SCOPE, &[]).hierarchies, "a-run").unwrap_err();
        assert_eq!(why.to_string(), "there is no cgroup for memory that ralph may use");
        assert!(CgroupLimits::default().make_in(&[], "a-run").unwrap().dirs().is_empty());
    }
}
