//! What of the file system is the same inside a sandbox, what is hidden there, and what can be changed.
//!
//! Invariant: a link that a process inside can change is never followed outside. It would have ralph
//! show what it leads to by then.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// So many links are followed on the way to one file, as by the system.
const MOST_LINKS: usize = 40;

#[derive(Clone, Debug)]
pub struct View {
    /// The home as it is called.
    named: PathBuf,
    /// The same without links.
    home: PathBuf,
    /// Directories that are empty inside, without links.
    hidden: Vec<PathBuf>,
    /// Directories that processes inside can write to, without links.
    writable: Vec<PathBuf>,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leads {
    /// There, without links.
    To(PathBuf),
    /// Into a directory that can be changed inside: what is there is seen there as well.
    IntoWritable(PathBuf),
}

impl View {
    /// `hidden` is what is empty beside the home. Nothing for a home that is not there, or that is
    /// all there is.
    pub fn new(named: PathBuf, hidden: &[PathBuf], writable: &[PathBuf]) -> Option<View> {
        let home = named.canonicalize().ok().filter(|home| home.parent().is_some())?;
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let hidden = hidden.iter().map(real).chain([home.clone()]).collect();
        Some(View { named, home, hidden, writable: writable.iter().map(real).collect() })
    }

    /// Without links.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The home as it is called, if that is a link to it.
    pub fn other_name(&self) -> Option<&Path> {
        Some(self.named.as_path()).filter(|named| *named != self.home)
    }

    /// A path as it is inside, where the home has no other name.
    pub fn inside(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.named) {
            Ok(below) => self.home.components().chain(below.components()).collect(),
            Err(_) => path.to_path_buf(),
        }
    }

    pub fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    pub fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|writable| path.starts_with(writable))
    }

    /// Whether showing a path would show all of the home, or all of what else is hidden.
    pub fn is_too_much(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| hidden.starts_with(path))
    }

    /// Where a path leads; nothing if there is nothing.
    pub fn follow(&self, path: &Path) -> Option<Leads> {
        let mut left: Vec<PathBuf> = vec![path.to_path_buf()];
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(next) = left.pop() {
            let mut parts = next.components();
            let Some(part) = parts.next() else { continue };
            let rest = parts.as_path();
            if !rest.as_os_str().is_empty() {
                left.push(rest.to_path_buf());
            }
            match part {
                Component::RootDir | Component::Prefix(_) => at = PathBuf::from("/"),
                Component::CurDir => {}
                Component::ParentDir => {
                    at.pop();
                }
                Component::Normal(name) => {
                    at.push(name);
                    let meta = fs::symlink_metadata(&at).ok()?;
                    if self.is_writable(&at) {
                        return Some(Leads::IntoWritable(
                            left.iter().rev().fold(at, |at, rest| at.join(rest)),
                        ));
                    }
                    if meta.is_symlink() {
                        links += 1;
                        if links > MOST_LINKS {
                            return None;
                        }
                        left.push(fs::read_link(&at).ok()?);
                        at.pop();
                    }
                }
            }
        }
        Some(Leads::To(at))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write what they need")]
    use super::*;
    use std::os::unix::fs::symlink;

    /// `home` is a link to `data/me`, which has the project `work` in it.
    fn home() -> (tempfile::TempDir, PathBuf, View) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["data/me/dot/cargo/bin", "data/me/work/bin", "opt/tool"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        symlink("data/me", root.join("home")).unwrap();
        let home = root.join("data/me");
        symlink("dot/cargo", home.join(".cargo")).unwrap();
        symlink(root.join("opt/tool"), home.join("tool")).unwrap();
        symlink("work/bin", home.join("bin")).unwrap();
        symlink("loop", home.join("loop")).unwrap();
        let view = View::new(root.join("home"), &[], &[home.join("work")]).unwrap();
        (dir, root, view)
    }

    #[test]
    fn links_are_followed_as_the_system_does() {
        let (_dir, root, view) = home();
        let to = |path: &str| Some(Leads::To(root.join(path)));
        assert_eq!(view.follow(&root.join("home/.cargo/bin")), to("data/me/dot/cargo/bin"));
        // As one that was shortened first: `.cargo` is elsewhere.
        assert_eq!(view.follow(&root.join("home/.cargo/../../../opt/tool")), None);
        assert_eq!(view.follow(&root.join("home/.cargo/../cargo")), to("data/me/dot/cargo"));
        assert_eq!(view.follow(&root.join("home/tool")), to("opt/tool"));
        assert_eq!(view.follow(&root.join("home/loop")), None);
        assert_eq!(view.follow(&root.join("home/missing")), None);
    }

    #[test]
    fn a_link_in_the_workspace_is_not_followed() {
        let (_dir, root, view) = home();
        let work = root.join("data/me/work");
        fs::remove_dir(work.join("bin")).unwrap();
        symlink("/etc", work.join("bin")).unwrap();
        assert_eq!(view.follow(&root.join("home/bin")), Some(Leads::IntoWritable(work.join("bin"))));
        assert_eq!(view.follow(&root.join("home/bin/x")), Some(Leads::IntoWritable(work.join("bin/x"))));
    }

    #[test]
    fn the_home_has_one_name_inside() {
        let (_dir, root, view) = home();
        assert_eq!(view.inside(&root.join("home/.cargo")), root.join("data/me/.cargo"));
        assert_eq!(view.inside(&root.join("home")), root.join("data/me"));
        assert_eq!(view.inside(Path::new("/opt")), Path::new("/opt"));
        assert!(view.is_too_much(&root) && view.is_too_much(&root.join("data/me")));
        assert!(!view.is_too_much(&root.join("data/me/.cargo")));
        assert!(View::new(PathBuf::from("/"), &[], &[]).is_none());
    }
}
