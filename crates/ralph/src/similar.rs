//! Names that the user may have meant.

/// Longer ones are no typing errors, and comparing them would take long.
const LONGEST: usize = 64;

/// How many slips of a finger lie between two names; none if they are too different.
pub fn slips(typed: &str, known: &str) -> Option<usize> {
    if typed.len() > LONGEST {
        return None;
    }
    let slips = strsim::osa_distance(&typed.to_lowercase(), &known.to_lowercase());
    (slips * 3 <= known.len().max(typed.len())).then_some(slips)
}

/// The known name that is nearest to what was typed, the first of several.
pub fn nearest<N: AsRef<str>>(typed: &str, known: impl IntoIterator<Item = N>) -> Option<N> {
    let near = |name: N| slips(typed, name.as_ref()).map(|slips| (slips, name));
    known.into_iter().filter_map(near).min_by_key(|(slips, _)| *slips).map(|(_, name)| name)
}

/// A hint for an unknown name: the one that may have been meant, and where all of them are.
pub fn hint(meant: Option<&str>, all: &str) -> String {
    meant.map_or_else(|| all.to_string(), |meant| format!("did you mean {meant}? {all}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_forgiven_and_another_name_is_not() {
        let known = ["list", "show", "add", "check"];
        for (typed, meant) in [
            ("lsit", Some("list")),
            ("chek", Some("check")),
            ("ADD", Some("add")),
            ("shwo", Some("show")),
            ("remove", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
        assert_eq!(nearest(&"x".repeat(65), ["x".repeat(66)]), None);
    }
}
