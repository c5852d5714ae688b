//! Patterns for paths: `*`, `?` within a name, `**` for any number of directories.
//!
//! As in a `.gitignore`: a pattern without a slash fits a name at any depth, one that starts with a
//! slash or `./` is meant from the top, and one that fits a directory fits everything below it.
//! Invariant: matching takes at most pattern times path steps, whatever the pattern.
//!
//! Deliberately absent: `[a-z]`, `{a,b}` and negation.

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    names: Vec<String>,
    /// Whether capital letters differ from small ones.
    case: Case,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Exact,
    /// Some file systems ignore case: there `Conftest.py` is `conftest.py`.
    Ignored,
}

impl Glob {
    /// A pattern of a user. Case is ignored: a pin has to hold on every file system.
    pub fn new(pattern: &str) -> Glob {
        Glob::with(pattern, Case::Ignored)
    }

    /// A row of the table: a pattern with a capital letter means exactly that (`*Test.java` is not
    /// `Latest.java`). With a slash in it, it still fits at any depth: packages can be nested.
    pub(super) fn of_row(pattern: &str) -> Glob {
        let exact = pattern.bytes().any(|byte| byte.is_ascii_uppercase());
        let mut glob = Glob::with(pattern, if exact { Case::Exact } else { Case::Ignored });
        if !pattern.starts_with('/') && glob.names.first().is_none_or(|name| name != "**") {
            glob.names.insert(0, "**".to_string());
        }
        glob
    }

    fn with(pattern: &str, case: Case) -> Glob {
        let from_top = pattern.strip_prefix("./").or_else(|| pattern.strip_prefix('/'));
        let bare = from_top.unwrap_or(pattern).trim_end_matches('/');
        let mut names: Vec<String> = bare
            .split('/')
            .filter(|name| !name.is_empty() && *name != ".")
            .map(|name| folded(name, case))
            .collect();
        if from_top.is_none() && names.len() == 1 {
            names.insert(0, "**".to_string());
        }
        Glob { names, case }
    }

    pub fn matches(&self, path: &str) -> bool {
        let path = Path::new(path);
        let names = path.names(self.case);
        if self.names.last().is_none_or(|name| name == "**") {
            return self.fits(&path);
        }
        // A pattern that fits a directory fits everything below it.
        (1..=names.len()).rev().any(|length| fits(&self.names, &names[..length]))
    }

    /// Whether the pattern fits exactly this path, not a directory above it.
    pub(super) fn fits(&self, path: &Path) -> bool {
        !self.names.is_empty() && fits(&self.names, path.names(self.case))
    }
}

/// The names of a path, split once for many patterns.
pub(super) struct Path {
    given: Vec<String>,
    folded: Vec<String>,
}

impl Path {
    pub(super) fn new(path: &str) -> Path {
        let names = |path: &str| path.split('/').map(str::to_string).collect();
        Path { given: names(path), folded: names(&path.to_lowercase()) }
    }

    fn names(&self, case: Case) -> &[String] {
        match case {
            Case::Exact => &self.given,
            Case::Ignored => &self.folded,
        }
    }
}

fn folded(text: &str, case: Case) -> String {
    match case {
        Case::Exact => text.to_string(),
        Case::Ignored => text.to_lowercase(),
    }
}

/// Names against names. Only the last `**` has to be tried again: what is before it has the
/// shortest fit already.
fn fits(pattern: &[String], path: &[String]) -> bool {
    // Most patterns end with a name, and most paths with another one.
    if let (Some(wanted), Some(last)) = (pattern.last(), path.last())
        && wanted != "**"
        && !name_fits(wanted, last)
    {
        return false;
    }
    let (mut at, mut name) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while name < path.len() {
        match pattern.get(at) {
            Some(stars) if stars == "**" => {
                retry = Some((at + 1, name));
                at += 1;
            }
            Some(wanted) if name_fits(wanted, &path[name]) => {
                at += 1;
                name += 1;
            }
            _ => {
                let Some((after, from)) = retry else { return false };
                retry = Some((after, from + 1));
                (at, name) = (after, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|rest| rest == "**")
}

/// The same for one name, byte by byte; `?` takes a whole character.
fn name_fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let width = |at: usize| 1 + name[at + 1..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
    let (mut at, mut c) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while c < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at + 1, c));
                at += 1;
            }
            Some(b'?') => {
                at += 1;
                c += width(c);
            }
            Some(wanted) if *wanted == name[c] => {
                at += 1;
                c += 1;
            }
            _ => {
                let Some((after, from)) = retry else { return false };
                let next = from + width(from);
                retry = Some((after, next));
                (at, c) = (after, next);
            }
        }
    }
    pattern[at..].iter().all(|rest| *rest == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, fitting: &[&str], other: &[&str]) {
        let glob = Glob::new(pattern);
        for path in fitting {
            assert!(glob.matches(path), "{pattern} has to fit {path}");
        }
        for path in other {
            assert!(!glob.matches(path), "{pattern} must not fit {path}");
        }
    }

    #[test]
    fn a_pattern_fits_what_gitignore_says() {
        check("test.sh", &["test.sh", "a/test.sh", "TEST.sh", "test.sh/below"], &["test_sh", "test.sh2"]);
        check("/test.sh", &["test.sh"], &["a/test.sh"]);
        check("./a/*.sh", &["a/x.sh", "a/.sh"], &["b/a/x.sh", "a/b/x.sh"]);
        check("golden/**", &["golden/a", "golden/a/b", "golden"], &["goldens/a", "a/golden2"]);
        check("**/golden/*.txt", &["golden/a.txt", "x/y/golden/a.txt"], &["golden/a/b.txt", "a.txt"]);
        check("a/**/z", &["a/z", "a/b/z", "a/b/c/z", "a/z/z/q"], &["b/a/y", "az"]);
        check("ci/", &["ci/x", "a/ci/x/y"], &["cix"]);
        check("t?st*.py", &["test_a.py", "tést.py"], &["tst.py"]);
        check("**", &["a", "a/b"], &[]);
        check("", &[], &["a", ""]);
        check("*", &["a", "a/b"], &[]);
    }

    #[test]
    fn many_stars_take_no_longer() {
        let name = "a".repeat(4_000);
        assert!(!Glob::new(&format!("{}b", "*a".repeat(200))).matches(&name));
        assert!(!Glob::new(&format!("{}b", "**/a/".repeat(50))).matches(&"a/".repeat(500)));
    }
}
