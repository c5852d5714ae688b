//! Scripts of this session: which files an interpreter would run, and what is in them.

use super::Walk;
use super::code::Language;
use super::output::Output;
use super::programs::{is_like, pattern_of};
use crate::guard::arg::Arg;
use crate::guard::invocation::Invocation;

/// Files that one pattern may stand for.
const MOST_FILES: usize = 64;

impl Walk<'_> {
    /// The files that a word names, also by a pattern, with their texts, as far as this session has written them.
    pub(super) fn scripts(&self, word: &Arg, invocation: &Invocation) -> Vec<(Arg, Output)> {
        let names = match word.has_glob() && !word.has_unknown() {
            true => self.matching(word),
            false => vec![word.clone()],
        };
        let read = |name: Arg| self.input_file(&name, invocation).map(|text| (name, text));
        names.into_iter().filter_map(read).take(MOST_FILES).collect()
    }

    /// `*.sh`, `scripts/[a-z]*.py`: the names that there are.
    fn matching(&self, word: &Arg) -> Vec<Arg> {
        let (dir, base) = match word.text().rsplit_once('/') {
            Some((dir, base)) => (Arg::new(format!("{dir}/")), base),
            None => (Arg::new("."), word.text()),
        };
        let Some(path) = self.file_key(&dir) else { return Vec::new() };
        let mut names = (self.world.names)(&path).unwrap_or_default();
        let written = self.scope.files.keys().filter(|file| file.parent() == Some(&path));
        names.extend(written.filter_map(|file| file.file_name()?.to_str().map(str::to_owned)));
        names.sort();
        names.dedup();
        let pattern = pattern_of(base);
        let prefix = if dir.text() == "." { "" } else { dir.text() };
        let named = names.into_iter().filter(|name| !name.starts_with('.') && is_like(&pattern, name));
        named.map(|name| Arg::new(format!("{prefix}{name}"))).collect()
    }

    /// The module that `python -m` runs, if it is a file of the project.
    pub(super) fn module(&self, name: &Arg) -> Option<(Arg, Output)> {
        let path = name.known()?.replace('.', "/");
        ["{}.py", "{}/__main__.py"].iter().find_map(|form| {
            let file = Arg::new(form.replace("{}", &path));
            self.file_text(&file).map(|text| (file, text))
        })
    }
}

/// The word that an interpreter takes for its script. What follows it is for the script.
pub(super) fn script_word(language: Language, invocation: &Invocation) -> Option<&Arg> {
    let mut args = invocation.args.iter();
    let mut may_be_command = matches!(invocation.name(), "deno" | "bun" | "tsx");
    while let Some(arg) = args.next() {
        match arg.text() {
            "--" => return args.next(),
            "-f" if language == Language::Php => return args.next(),
            text if language.valued_flags().contains(&text) => {
                args.next();
            }
            "run" | "watch" if may_be_command => may_be_command = false,
            "-" => return Some(arg),
            _ if arg.is_flag() => {}
            _ => return Some(arg),
        }
    }
    None
}
