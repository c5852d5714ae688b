//! Placeholders in the texts of a script.
//!
//! One pass over the template: what a value brings in is never looked at again, because
//! a prompt may well contain the characters `{{call}}`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placeholder {
    Call,
    Iteration,
    Prompt,
}

const MARKS: [(&str, Placeholder); 3] = [
    ("{{call}}", Placeholder::Call),
    ("{{iteration}}", Placeholder::Iteration),
    ("{{prompt}}", Placeholder::Prompt),
];

/// The template with every placeholder replaced. `value` is asked only for what occurs,
/// so a script without `{{prompt}}` never reads stdin. Other braces stay as they are.
pub(crate) fn fill<E>(
    template: &str,
    mut value: impl FnMut(Placeholder) -> Result<String, E>,
) -> Result<String, E> {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, at_brace)) = rest.find('{').map(|at| rest.split_at(at)) {
        filled.push_str(before);
        let found = MARKS.iter().find_map(|(mark, which)| Some((at_brace.strip_prefix(mark)?, *which)));
        rest = match found {
            Some((behind, which)) => {
                filled.push_str(&value(which)?);
                behind
            }
            None => {
                filled.push('{');
                &at_brace[1..]
            }
        };
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::{Placeholder, fill};
    use std::convert::Infallible;

    fn check(template: &str, expected: &str) {
        let filled = fill::<Infallible>(template, |which| {
            Ok(match which {
                Placeholder::Call => "3".to_owned(),
                Placeholder::Iteration => "-".to_owned(),
                Placeholder::Prompt => "say {{call}}".to_owned(),
            })
        });
        assert_eq!(filled.unwrap(), expected);
    }

    #[test]
    fn placeholders_are_replaced_once_and_other_braces_stay() {
        check("", "");
        check("call {{call}} of {{iteration}}.", "call 3 of -.");
        check("{{prompt}}", "say {{call}}");
        check("{{{call}}}", "{3}");
        check("{ {{ {{other}} ü {{call", "{ {{ {{other}} ü {{call");
    }
}
