//! Modules that Python imports instead of its own.
//!
//! Only names that test frameworks and tests import count, and only at the top or at the top of `src`,
//! where Python looks first. Deliberately absent: names that a task may well ask for (`queue`,
//! `calendar`, `statistics`). A module that was there before is a part of the project: see
//! [`Gates::changes`](super::Gates::changes).

/// Modules of Python.
const MODULES: &[&str] = &[
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "builtins",
    "collections",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "difflib",
    "doctest",
    "enum",
    "functools",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "logging",
    "math",
    "operator",
    "os",
    "pathlib",
    "pdb",
    "pickle",
    "platform",
    "pprint",
    "re",
    "runpy",
    "shutil",
    "signal",
    "site",
    "subprocess",
    "sys",
    "sysconfig",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "token",
    "tokenize",
    "tomllib",
    "traceback",
    "types",
    "typing",
    "warnings",
    "weakref",
];

/// Whether a path is such a module.
pub(super) fn is_shadowing(path: &str) -> bool {
    let path = path.strip_prefix("src/").unwrap_or(path);
    let name = path.strip_suffix("/__init__.py").or_else(|| path.strip_suffix(".py"));
    name.is_some_and(|name| MODULES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_modules_at_the_top_take_the_place_of_others() {
        for (path, expected) in [
            ("json.py", true),
            ("src/re.py", true),
            ("json/__init__.py", true),
            ("app/types.py", false),
            ("queue.py", false),
            ("json.txt", false),
            ("json/decoder.py", false),
        ] {
            assert_eq!(is_shadowing(path), expected, "{path}");
        }
    }
}
