//! Words to the arguments that they become.

use super::Walk;
use super::output::Output;
use super::scope::Value;
use crate::guard::arg::{ANY_ONE, Arg, BRACKET, STAR, UNKNOWN};
use crate::guard::invocation::Stdin;
use crate::guard::shell::ast::{List, Part, Word};

/// Arguments that braces may make of one word.
const MOST_BRACED: usize = 128;

/// Pairs of braces in one word. More of them make it unknown.
const MOST_PAIRS: usize = 32;

/// The arguments of one word while they are put together.
#[derive(Default)]
struct Fields {
    done: Vec<Arg>,
    current: Option<String>,
}

impl Fields {
    fn push(&mut self, text: &str) {
        self.current.get_or_insert_default().push_str(text);
    }

    /// What is not quoted: the characters of `IFS` separate, and stars are globs.
    fn split(&mut self, text: &str, separators: &str) {
        for (at, piece) in text.split(|c| separators.contains(c)).enumerate() {
            if at > 0 {
                self.next();
            }
            if !piece.is_empty() {
                self.push(&globs(piece));
            }
        }
    }

    fn next(&mut self) {
        self.done.extend(self.current.take().map(Arg::new));
    }

    fn end(mut self) -> Vec<Arg> {
        self.next();
        self.done
    }
}

/// Characters that stand for names of files, marked as such.
fn globs(text: &str) -> String {
    let has_bracket = text.find('[').is_some_and(|open| text[open..].len() > 2 && text[open..].contains(']'));
    text.chars()
        .map(|c| match c {
            '*' => STAR,
            '?' => ANY_ONE,
            '[' if has_bracket => BRACKET,
            c => c,
        })
        .collect()
}

impl Walk<'_> {
    /// The arguments that a word becomes, for all values that its variables may have.
    pub(super) fn fields(&mut self, word: &Word) -> Vec<Arg> {
        let choices = self.choices(&word.0).max(1);
        let mut fields: Vec<Arg> = Vec::new();
        for braced in braces(&word.0) {
            for choice in 0..choices {
                let mut made = Fields::default();
                self.parts(&braced, choice, &mut made, true);
                for field in made.end() {
                    if choices == 1 || !fields.contains(&field) {
                        fields.push(field);
                    }
                }
            }
        }
        fields
    }

    /// How many values a variable of these parts may have.
    pub(super) fn choices(&self, parts: &[Part]) -> usize {
        let of = |part: &Part| match part {
            Part::Parameter(parameter) => match self.scope.get(&parameter.name) {
                Some(Value::OneOf(values)) => values.len(),
                Some(Value::Array(_)) | None => 1,
            },
            Part::Double(parts) => self.choices(parts),
            Part::Plain(_) | Part::Quoted(_) | Part::Output(_) | Part::Process(_) | Part::Number(_) => 1,
        };
        parts.iter().map(of).max().unwrap_or(1)
    }

    /// A word as one text, as in an assignment, with the values of one choice.
    pub(super) fn text_of(&mut self, word: &Word, choice: usize) -> Arg {
        let mut text = String::new();
        for (at, part) in word.0.iter().enumerate() {
            match part {
                Part::Plain(plain) if at == 0 => text.push_str(&self.with_tilde(plain)),
                Part::Plain(plain) => text.push_str(plain),
                part => text.push_str(&self.joined(part, choice)),
            }
        }
        Arg::new(text)
    }

    fn parts(&mut self, parts: &[Part], choice: usize, fields: &mut Fields, is_start: bool) {
        for (at, part) in parts.iter().enumerate() {
            match part {
                Part::Plain(text) => {
                    let text = if at == 0 && is_start { self.with_tilde(text) } else { text.clone() };
                    fields.push(&globs(&text));
                }
                Part::Quoted(text) => fields.push(text),
                Part::Double(inner) => self.double(inner, choice, fields),
                Part::Parameter(parameter) => {
                    let values = self.parameter(parameter, choice);
                    for (at, value) in values.iter().enumerate() {
                        if at > 0 {
                            fields.next();
                        }
                        fields.split(value.text(), &self.separators());
                    }
                }
                Part::Output(_) => {
                    let text = self.joined(part, choice);
                    fields.split(&text, &self.separators());
                }
                Part::Process(_) | Part::Number(_) => {
                    let text = self.joined(part, choice);
                    fields.push(&text);
                }
            }
        }
    }

    /// In double quotes nothing is split, but `"$@"` and `"${array[@]}"` are several arguments.
    fn double(&mut self, parts: &[Part], choice: usize, fields: &mut Fields) {
        fields.push("");
        for part in parts {
            match part {
                Part::Parameter(parameter) => {
                    for (at, value) in self.parameter(parameter, choice).iter().enumerate() {
                        if at > 0 {
                            fields.next();
                        }
                        fields.push(value.text());
                    }
                }
                part => {
                    let text = self.joined(part, choice);
                    fields.push(&text);
                }
            }
        }
    }

    /// A part as one text.
    fn joined(&mut self, part: &Part, choice: usize) -> String {
        match part {
            Part::Plain(text) | Part::Quoted(text) => text.clone(),
            Part::Double(parts) => parts.iter().map(|part| self.joined(part, choice)).collect(),
            Part::Parameter(parameter) => {
                let values = self.parameter(parameter, choice);
                values.iter().map(Arg::text).collect::<Vec<_>>().join(" ")
            }
            Part::Output(list) => self.captured(list).text.text().trim_end_matches('\n').to_owned(),
            Part::Process(list) => {
                let output = self.captured(list);
                // A name under which it can be found again.
                let path = format!("/dev/fd/{}", 63 + self.scope.files.len());
                self.scope.files.insert(path.clone().into(), output);
                path
            }
            Part::Number(parts) => {
                for part in parts {
                    self.joined(part, choice);
                }
                "1".to_owned()
            }
        }
    }

    /// `$IFS`
    fn separators(&self) -> String {
        match self.scope.get("IFS") {
            Some(Value::OneOf(values)) => values.iter().map(Arg::text).collect(),
            Some(Value::Array(_)) | None => " \t\n".to_owned(),
        }
    }

    /// What commands print that are in a process of their own, within another command.
    fn captured(&mut self, list: &List) -> Output {
        let outer = self.kept_scope();
        let start = self.invocations.len();
        self.depth += 1;
        let output = self.list(list, &Stdin::default());
        self.depth -= 1;
        self.end_captured(start);
        self.scope = outer.with_files_of(&mut self.scope);
        output
    }

    fn with_tilde(&self, text: &str) -> String {
        let home = self.world.home.to_string_lossy();
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
            // Another user's home.
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_alphabetic()) => format!("/home/{rest}"),
            _ => text.to_owned(),
        }
    }
}

/// The words that braces make of one: `{a,b}` and `{1..3}`.
fn braces(parts: &[Part]) -> Vec<Vec<Part>> {
    let pairs = |part: &Part| match part {
        Part::Plain(text) => text.bytes().filter(|byte| *byte == b'{').count(),
        Part::Quoted(_)
        | Part::Double(_)
        | Part::Parameter(_)
        | Part::Output(_)
        | Part::Process(_)
        | Part::Number(_) => 0,
    };
    if parts.iter().map(pairs).sum::<usize>() > MOST_PAIRS {
        return vec![vec![Part::Quoted(UNKNOWN.to_string())]];
    }
    braced(parts)
}

fn braced(parts: &[Part]) -> Vec<Vec<Part>> {
    let Some((at, Part::Plain(text))) = parts.iter().enumerate().find(|(_, part)| is_braced(part)) else {
        return match spread(parts) {
            Some(words) => words,
            None => vec![parts.to_vec()],
        };
    };
    let Some((open, close)) = group(text) else { return vec![parts.to_vec()] };
    let mut words = Vec::new();
    for inner in alternatives(&text[open + 1..close]) {
        let mut word = parts[..at].to_vec();
        word.push(Part::Plain(format!("{}{inner}{}", &text[..open], &text[close + 1..])));
        word.extend_from_slice(&parts[at + 1..]);
        words.extend(braced(&word));
        // Not only beyond it: of each group inside there are never more, and each would be tried to its end.
        if words.len() >= MOST_BRACED {
            break;
        }
    }
    words.truncate(MOST_BRACED);
    words
}

fn is_braced(part: &Part) -> bool {
    matches!(part, Part::Plain(text) if group(text).is_some())
}

/// `{"/a","/b"}`: braces around quotes. Only the simple form, in which the word is nothing but the group.
fn spread(parts: &[Part]) -> Option<Vec<Vec<Part>>> {
    let Some(Part::Plain(first)) = parts.first() else { return None };
    let Some(Part::Plain(last)) = parts.last() else { return None };
    let open = first.rfind('{')?;
    let close = last.find('}')?;
    let has_comma = parts.iter().any(|part| matches!(part, Part::Plain(text) if text.contains(',')));
    if !has_comma || parts.len() < 2 {
        return None;
    }
    let prefix = &first[..open];
    let mut words: Vec<Vec<Part>> = vec![vec![Part::Plain(prefix.to_owned())]];
    for (at, part) in parts.iter().enumerate() {
        let text = match part {
            Part::Plain(text) if at == 0 => &text[open + 1..],
            Part::Plain(_) if at + 1 == parts.len() => &last[..close],
            Part::Plain(text) => text.as_str(),
            other => {
                words.last_mut()?.push(other.clone());
                continue;
            }
        };
        for (nth, piece) in text.split(',').enumerate() {
            if nth > 0 {
                words.push(vec![Part::Plain(prefix.to_owned())]);
            }
            words.last_mut()?.push(Part::Plain(piece.to_owned()));
        }
    }
    let rest = last[close + 1..].to_owned();
    words.iter_mut().for_each(|word| word.push(Part::Plain(rest.clone())));
    Some(words)
}

/// The first pair of braces that is a group: with a comma or two dots at its own level.
fn group(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(open) = text[from..].find('{').map(|at| from + at) {
        let mut depth = 0usize;
        let mut is_group = false;
        for (at, byte) in text.bytes().enumerate().skip(open) {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 1 => {
                    if is_group {
                        return Some((open, at));
                    }
                    break;
                }
                b'}' => depth -= 1,
                b',' if depth == 1 => is_group = true,
                b'.' if depth == 1 && text[at..].starts_with("..") => is_group = true,
                _ => {}
            }
        }
        from = open + 1;
    }
    None
}

fn alternatives(inner: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut depth = 0usize;
    for c in inner.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                pieces.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = pieces.last_mut() {
            last.push(c);
        }
    }
    if pieces.len() > 1 {
        return pieces;
    }
    range(inner).unwrap_or(pieces)
}

/// `1..5`, `a..e`
fn range(inner: &str) -> Option<Vec<String>> {
    let (from, rest) = inner.split_once("..")?;
    let to = rest.split("..").next()?;
    if let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let (low, high) = (from.min(to), from.max(to));
        let high = high.min(low.saturating_add(MOST_BRACED as i64));
        return Some((low..=high).map(|number| number.to_string()).collect());
    }
    let (from, to) = (from.chars().next()?, to.chars().next()?);
    Some((from.min(to)..=from.max(to)).take(MOST_BRACED).map(String::from).collect())
}
