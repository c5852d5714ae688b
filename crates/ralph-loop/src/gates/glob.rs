//! Patterns for paths: `*`, `?` within a name, `**` for any number of directories, `{a,b}` for either.
//!
//! As in a `.gitignore`: a pattern without a slash fits a name at any depth, one that starts with a
//! slash or `./` is meant from the top, and one that fits a directory fits everything below it.
//! Invariant: matching takes at most pattern times path steps for each of at most [`MOST_PATTERNS`]
//! patterns that the braces stand for, whatever the pattern.
//!
//! Deliberately absent: `[a-z]` and negation.

/// Braces that would stand for more are taken for `*`, which fits more paths than any of them.
const MOST_PATTERNS: usize = 64;

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    /// One of these has to fit, each given by its names.
    patterns: Vec<Vec<String>>,
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
        for names in &mut glob.patterns {
            if !pattern.starts_with('/') && names.first().is_none_or(|name| name != "**") {
                names.insert(0, "**".to_string());
            }
        }
        glob
    }

    fn with(pattern: &str, case: Case) -> Glob {
        Glob { patterns: expanded(pattern).iter().map(|pattern| names_of(pattern, case)).collect(), case }
    }

    pub fn matches(&self, path: &str) -> bool {
        let path = Path::new(path);
        let names = path.names(self.case);
        self.patterns.iter().any(|pattern| match pattern.last() {
            None => false,
            Some(last) if last == "**" => fits(pattern, names),
            // A pattern that fits a directory fits everything below it.
            Some(_) => (1..=names.len()).rev().any(|length| fits(pattern, &names[..length])),
        })
    }

    /// Whether the pattern fits exactly this path, not a directory above it.
    pub(super) fn fits(&self, path: &Path) -> bool {
        let names = path.names(self.case);
        self.patterns.iter().any(|pattern| !pattern.is_empty() && fits(pattern, names))
    }
}

/// The names of a pattern without braces.
fn names_of(pattern: &str, case: Case) -> Vec<String> {
    let from_top = pattern.strip_prefix("./").or_else(|| pattern.strip_prefix('/'));
    let bare = from_top.unwrap_or(pattern).trim_end_matches('/');
    let names = bare.split('/').filter(|name| !name.is_empty() && *name != ".");
    let mut names: Vec<String> = names.map(|name| folded(name, case)).collect();
    if from_top.is_none() && names.len() == 1 {
        names.insert(0, "**".to_string());
    }
    names
}

/// The patterns that one with braces stands for, outer braces first. Braces without a comma, or that do
/// not match, mean themselves, as in a shell.
fn expanded(pattern: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut left = vec![(pattern.to_string(), 0)];
    while let Some((pattern, from)) = left.pop() {
        let Some(braces) = Braces::first_in(&pattern, from) else {
            done.push(pattern);
            continue;
        };
        let Braces { open, close, commas } = &braces;
        let (before, after) = (&pattern[..*open], &pattern[close + 1..]);
        if commas.is_empty() {
            left.push((pattern.clone(), open + 1));
        } else if done.len() + left.len() + commas.len() >= MOST_PATTERNS {
            left.push((format!("{before}*{after}"), *open));
        } else {
            let starts = std::iter::once(*open).chain(commas.iter().copied());
            let ends = commas.iter().copied().chain([*close]);
            let choices: Vec<&str> = starts.zip(ends).map(|(start, end)| &pattern[start + 1..end]).collect();
            // The last one in is the first one out.
            left.extend(choices.iter().rev().map(|choice| (format!("{before}{choice}{after}"), *open)));
        }
    }
    done
}

/// Where braces that match are, and the commas between them that are in no others.
struct Braces {
    open: usize,
    close: usize,
    commas: Vec<usize>,
}

impl Braces {
    fn first_in(pattern: &str, from: usize) -> Option<Braces> {
        let opening = pattern.match_indices('{').map(|(at, _)| at).filter(|at| *at >= from);
        opening.take(MOST_PATTERNS).find_map(|open| {
            let (mut depth, mut commas) = (0_usize, Vec::new());
            for (at, c) in pattern[open..].char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 1 => return Some(Braces { open, close: open + at, commas }),
                    '}' => depth -= 1,
                    ',' if depth == 1 => commas.push(open + at),
                    _ => {}
                }
            }
            None
        })
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
    fn braces_stand_for_either() {
        check("*.{snap,golden}", &["a.snap", "x/b.golden"], &["a.txt", "snap"]);
        check("/{ci,tools}/*.sh", &["ci/a.sh", "tools/b.sh"], &["x/ci/a.sh", "bin/a.sh"]);
        check("{a,b/c}/d", &["a/d", "b/c/d"], &["c/d", "b/d"]);
        check("{a,/b}", &["a", "x/a", "b"], &["x/b"]);
        check("x{,.dist}.xml", &["x.xml", "x.dist.xml"], &["x.y.xml"]);
        check("{a,b{c,d}}{1,2}", &["a1", "bc2", "bd1"], &["a", "b1", "bcd1"]);
        check("{a,b", &["{a,b"], &["a", "b"]);
        check("{a}", &["{a}"], &["a"]);
        check("{a}{b,c}", &["{a}b", "{a}c"], &["ab"]);
        check("a,b}", &["a,b}"], &["a"]);
        check("{,}", &[], &["a"]);
    }

    #[test]
    fn braces_that_stand_for_very_many_fit_more_and_take_no_longer() {
        let many = "{a,b}".repeat(40);
        let glob = Glob::new(&format!("{many}.txt"));
        assert!(glob.patterns.len() <= MOST_PATTERNS, "{}", glob.patterns.len());
        assert!(glob.matches(&format!("{}.txt", "ab".repeat(20))) && !glob.matches("a.md"));
        assert!(Glob::new(&"{".repeat(10_000)).matches(&"{".repeat(10_000)));
        assert!(Glob::new(&"{a,".repeat(2_000)).patterns.len() <= MOST_PATTERNS);
    }

    #[test]
    fn many_stars_take_no_longer() {
        let name = "a".repeat(4_000);
        assert!(!Glob::new(&format!("{}b", "*a".repeat(200))).matches(&name));
        assert!(!Glob::new(&format!("{}b", "**/a/".repeat(50))).matches(&"a/".repeat(500)));
    }
}
