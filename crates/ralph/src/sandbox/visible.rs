//! What is visible inside of what is hidden otherwise, collected from all tables and put in order.
//!
//! Invariant: what is visible is found under the path that it has outside, also where links lead to it,
//! and a link stays a link: what is relative in it still leads to the same.

use super::view::{Leads, View};
use crate::proof::mounts::{Access, Mounts};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// So many entries of a directory of programs are looked at.
const MOST_ENTRIES: usize = 5_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// By the path inside.
    binds: BTreeMap<PathBuf, Bind>,
    /// Where they are, and what is in them.
    links: BTreeMap<PathBuf, PathBuf>,
    /// What is not visible although a row names it, and why.
    pub skipped: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bind {
    from: PathBuf,
    access: Access,
}

impl Visible {
    /// A file or directory outside at its own path, read-only.
    pub fn show(&mut self, view: &View, path: &Path) {
        let path = view.inside(path);
        match view.follow(&path) {
            None => {}
            _ if view.is_too_much(&path) => self.skip(&path),
            Some(Leads::To(real)) if view.is_too_much(&real) => self.skip(&path),
            Some(Leads::To(real)) => {
                if real != path {
                    self.link(view, &path, real.clone());
                }
                if view.is_hidden(&real) {
                    self.bind(real.clone(), real, Access::Read);
                }
            }
            // The workspace is mounted on its own.
            Some(Leads::IntoWritable(there)) if there != path => self.link(view, &path, there),
            Some(Leads::IntoWritable(_)) => {}
        }
    }

    /// What is at another path outside, by its path inside.
    pub fn moved(&self) -> Vec<(PathBuf, PathBuf)> {
        let moved = self.binds.iter().filter(|(path, bind)| **path != bind.from);
        moved.map(|(path, bind)| (path.clone(), bind.from.clone())).collect()
    }

    fn link(&mut self, view: &View, path: &Path, target: PathBuf) {
        if view.is_hidden(path) {
            self.links.insert(path.to_path_buf(), target);
        }
    }

    /// The same, and what links directly in it lead to.
    pub fn show_with_links(&mut self, view: &View, path: &Path) {
        self.show(view, path);
        if let Some(Leads::To(real)) = view.follow(&view.inside(path)) {
            self.show_links_in(view, &real);
        }
    }

    /// The other name of the home, where that is a link which is hidden itself.
    pub fn show_home(&mut self, view: &View) {
        if let Some(named) = view.other_name() {
            self.link(view, named, view.home().to_path_buf());
        }
    }

    /// What links directly in a directory lead to.
    pub fn show_links_in(&mut self, view: &View, dir: &Path) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten().take(MOST_ENTRIES) {
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.show_target(view, &entry.path());
            }
        }
    }

    /// What a link leads to, which is visible itself.
    fn show_target(&mut self, view: &View, link: &Path) {
        if let Some(Leads::To(real)) = view.follow(link)
            && view.is_hidden(&real)
            && !view.is_too_much(&real)
        {
            self.bind(real.clone(), real.clone(), Access::Read);
            // It may lead there by way of another one: `current -> releases/9`.
            let target = fs::read_link(link).unwrap_or_default();
            let next: PathBuf = link.parent().unwrap_or(link).join(target);
            if next.is_absolute() && clean(&next) != real {
                self.show(view, &clean(&next));
            }
        }
    }

    /// All entries of a directory whose names begin like the last part of the path.
    pub fn show_beginning(&mut self, view: &View, path: &Path) {
        let (Some(dir), Some(beginning)) = (path.parent(), path.file_name()) else { return };
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(beginning.as_encoded_bytes()) {
                self.show(view, &entry.path());
            }
        }
    }

    /// Something of ralph's own at a path inside.
    pub fn bind(&mut self, from: PathBuf, to: PathBuf, access: Access) {
        let before = self.binds.get(&to);
        if !before.is_some_and(|before| before.access == Access::Write) {
            self.binds.insert(to, Bind { from, access });
        }
    }

    fn skip(&mut self, path: &Path) {
        self.skipped.push(format!("{} would show all of your home", path.display()));
    }

    /// Also what others make visible.
    pub fn extend(&mut self, others: &Visible) {
        for (to, Bind { from, access }) in &others.binds {
            self.bind(from.clone(), to.clone(), *access);
        }
        self.links.extend(others.links.clone());
        self.skipped.extend(others.skipped.iter().cloned());
    }

    /// Whether a path that exists outside is visible inside.
    pub fn shows(&self, view: &View, path: &Path) -> bool {
        let shown = |path: &Path| {
            let bound = path.ancestors().any(|above| self.binds.contains_key(above));
            !view.is_hidden(path) || view.is_writable(path) || bound
        };
        match view.follow(path) {
            Some(Leads::To(real)) => {
                let path = view.inside(path);
                let linked = path.ancestors().any(|above| self.links.contains_key(above));
                shown(&real) && (linked || shown(&path))
            }
            Some(Leads::IntoWritable(_)) => true,
            None => false,
        }
    }

    /// What is shown at a path and below it.
    #[cfg(test)]
    pub fn sources_below(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let below = self.binds.iter().filter(move |(to, _)| to.starts_with(path));
        below.map(|(_, bind)| bind.from.clone())
    }

    /// Mounts everything, directories before what is in them.
    pub fn mount(&self, mounts: &mut Mounts) {
        let mut done: Vec<(&Path, &Bind)> = Vec::new();
        let mut binds: Vec<(PathBuf, &Bind)> =
            self.binds.iter().map(|(to, bind)| (self.behind_links(to), bind)).collect();
        binds.sort_by_key(|(to, _)| to.components().count());
        for (to, bind) in &binds {
            let around =
                done.iter().rev().find_map(|(above, bind)| Some((to.strip_prefix(above).ok()?, *bind)));
            match around {
                // It is there already.
                Some((below, above))
                    if above.access == bind.access && above.from.join(below) == bind.from => {}
                // Nothing can be made there to mount it on.
                Some((below, above)) if above.access == Access::Read && !above.from.join(below).exists() => {}
                Some(_) | None => {
                    mounts.bind(bind.from.clone(), to.clone(), bind.access);
                    done.push((to, bind));
                }
            }
        }
        for (at, target) in &self.links {
            if !at.ancestors().any(|above| done.iter().any(|(to, _)| *to == above)) && self.is_outermost(at) {
                mounts.link(target.clone(), at.clone());
            }
        }
    }

    /// Whether no link is above it.
    fn is_outermost(&self, at: &Path) -> bool {
        !at.ancestors().skip(1).any(|above| self.links.contains_key(above))
    }

    /// Nothing can be mounted on a path that goes through a link.
    fn behind_links(&self, to: &Path) -> PathBuf {
        let mut to = to.to_path_buf();
        for (at, target) in &self.links {
            if let Ok(below) = to.strip_prefix(at)
                && !below.as_os_str().is_empty()
            {
                to = target.join(below);
            }
        }
        to
    }
}

/// Without `..`, as the path is written.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                clean.pop();
            }
            std::path::Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}
