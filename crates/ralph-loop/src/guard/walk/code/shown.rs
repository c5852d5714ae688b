//! Variables of the environment that a code prints as they are.

/// What a code shows of its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    Everything,
    Variable(String),
}

const PRINTS: [&str; 9] =
    ["print(", "print ", "console.log(", "puts ", "puts(", "p ", "echo ", "say ", "pp "];

/// Ways to get at a variable: what is before its name.
const ONE: [&str; 11] = [
    "os.environ[",
    "os.environ.get(",
    "os.getenv(",
    "process.env.",
    "process.env[",
    "ENV[",
    "ENV.fetch(",
    "$ENV{",
    "getenv(",
    "Deno.env.get(",
    "Bun.env.",
];

const ALL: [&str; 7] =
    ["dict(os.environ)", "os.environ", "process.env", "ENV.to_h", "ENV.inspect", "%ENV", "Bun.env"];

/// What each print of a code shows; `code` itself is printed by `node -p`.
pub fn shown(code: &str, is_printed: bool) -> Vec<Shown> {
    let printed = PRINTS.iter().flat_map(|print| {
        let starts = code.match_indices(print).filter(|(at, _)| {
            !code[..*at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.')
        });
        starts.map(|(at, print)| &code[at + print.len()..]).take(64)
    });
    printed.chain(is_printed.then_some(code)).filter_map(|text| expression(text.trim_start())).collect()
}

/// A variable that is the whole of what is printed: `bool(os.getenv("X"))` shows nothing of it.
fn expression(text: &str) -> Option<Shown> {
    let is_end = |rest: &str| {
        let rest = rest.trim_start_matches(['\'', '"', ']', ')', '}', ' ']);
        rest.is_empty() || rest.starts_with(['\n', ';', ','])
    };
    let one = ONE.iter().find_map(|access| {
        let rest = text.strip_prefix(access)?.trim_start_matches(['\'', '"']);
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        (length > 0 && is_end(&rest[length..])).then(|| Shown::Variable(rest[..length].to_owned()))
    });
    let all =
        || ALL.iter().any(|all| text.strip_prefix(all).is_some_and(is_end)).then_some(Shown::Everything);
    one.or_else(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_shown_if_it_is_printed_as_it_is() {
        let one = |name: &str| vec![Shown::Variable(name.to_owned())];
        for (code, expected) in [
            ("import os; print(os.environ['API_KEY'])", one("API_KEY")),
            ("print(os.environ.get(\"API_KEY\"))", one("API_KEY")),
            ("console.log(process.env.API_KEY)", one("API_KEY")),
            ("puts ENV['API_KEY']", one("API_KEY")),
            ("print $ENV{API_KEY};", one("API_KEY")),
            ("print(os.environ)", vec![Shown::Everything]),
            ("console.log(process.env)", vec![Shown::Everything]),
            ("print(bool(os.environ.get('API_KEY')))", Vec::new()),
            ("print(os.environ.get('API_KEY') is not None)", Vec::new()),
            ("console.log(!!process.env.API_KEY)", Vec::new()),
            ("console.log(process.env.API_KEY.length)", Vec::new()),
            ("blueprint(os.environ)", Vec::new()),
        ] {
            assert_eq!(shown(code, false), expected, "{code}");
        }
        assert_eq!(shown("process.env.API_KEY", true), one("API_KEY"));
        assert_eq!(shown("process.env", true), [Shown::Everything]);
    }
}
