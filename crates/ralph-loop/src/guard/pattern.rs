//! A pattern over one [`Invocation`], as text, so that a rule is a row of data.
//!
//! ```text
//! git push -f|--force|--mirror        a flag, one of several
//! docker volume rm|prune              words at these places among the operands (not values of flags)
//! docker run --cap-add=ALL|--pid=host a flag with a value
//! npm publish !--dry-run              not with this flag or word
//! kubectl delete ~all|--all           this word or flag, anywhere
//! mkfs|mkfs.*                         `*` is any text
//! curl ~*@*                           a word anywhere with an @
//! ```
//!
//! The first part names programs. Every other part must hold.

use super::arg::Arg;
use super::invocation::Invocation;

/// Whether a pattern applies to an invocation.
pub fn matches(pattern: &str, invocation: &Invocation) -> bool {
    let mut parts = pattern.split_ascii_whitespace();
    let Some(programs) = parts.next() else { return false };
    if !is_one_of(programs, invocation.name()) {
        return false;
    }
    let mut words = invocation.operands().into_iter();
    parts.all(|part| match part.chars().next() {
        Some('!') => !anywhere(&part[1..], invocation),
        Some('~') => anywhere(&part[1..], invocation),
        Some('-') => part.split('|').any(|flag| has_flag(flag, invocation)),
        _ => words.next().is_some_and(|word| is_one_of(part, word.text())),
    })
}

/// Whether some flag or word is one of these.
fn anywhere(alternatives: &str, invocation: &Invocation) -> bool {
    alternatives.split('|').any(|wanted| match wanted.starts_with('-') {
        true => has_flag(wanted, invocation),
        false => invocation.args.iter().any(|arg| is_like(wanted, arg)),
    })
}

fn has_flag(wanted: &str, invocation: &Invocation) -> bool {
    match wanted.split_once('=') {
        Some((flag, value)) => invocation.flag_values(flag).iter().any(|given| is_like(value, given)),
        None if wanted.contains('*') => invocation.args.iter().any(|arg| is_like(wanted, arg)),
        None => invocation.has_flag(wanted),
    }
}

fn is_like(wanted: &str, arg: &Arg) -> bool {
    glob(wanted.as_bytes(), arg.text().as_bytes())
}

/// Whether a text is one of several, divided by `|`.
pub fn is_one_of(alternatives: &str, text: &str) -> bool {
    alternatives.split('|').any(|wanted| glob(wanted.as_bytes(), text.as_bytes()))
}

/// `*` is any text. Linear for one star, and never worse than the product of both lengths.
pub fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            retry = Some((p, t));
            p += 1;
        } else if p < pattern.len() && pattern[p] == text[t] {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, line: &str, expected: bool) {
        let mut words = line.split_whitespace().map(Arg::from);
        let program = words.next().unwrap_or_default();
        let invocation = Invocation { program, args: words.collect(), ..Invocation::default() };
        assert_eq!(matches(pattern, &invocation), expected, "{pattern} / {line}");
    }

    #[test]
    fn every_part_of_a_pattern_must_hold() {
        check("git push -f|--force", "git push origin main --force", true);
        check("git push -f|--force", "git push -uf origin main", true);
        check("git push -f|--force", "git push origin main", false);
        check("git push -f|--force", "git pull --force", false);
        check("git push -f", "git -C dir push -f", true);
        check("docker volume rm|prune", "docker volume prune", true);
        check("docker volume rm|prune", "docker volume ls", false);
        check("npm publish !--dry-run", "npm publish --dry-run", false);
        check("kubectl delete ~all|--all", "kubectl delete pods --all", true);
        check("mkfs|mkfs.*", "/sbin/mkfs.ext4 /dev/sda", true);
        check("journalctl --vacuum*", "journalctl --vacuum-time=1s", true);
        check("aws * delete-*", "aws --region r s3api delete-bucket", true);
    }

    #[test]
    fn a_flag_can_be_asked_for_with_its_value() {
        check("docker run --cap-add=SYS_*|--pid=host", "docker run --cap-add SYS_ADMIN x", true);
        check("docker run --cap-add=SYS_*|--pid=host", "docker run --pid=host x", true);
        check("docker run --cap-add=SYS_*|--pid=host", "docker run --cap-add=NET_BIND x", false);
    }

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("*a*b*", "xxaxxbxx", true),
            ("a", "ab", false),
        ] {
            assert_eq!(glob(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }
}
