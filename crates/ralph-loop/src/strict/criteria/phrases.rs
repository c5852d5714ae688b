//! Phrases that fit every story, and so say nothing about one.

use super::super::Level;
use super::super::words::{Word, find};

/// Criteria that name no limit.
pub(super) const OPEN_ENDS: &[&str] = &["etc", "and so on", "and so forth", "and more", "and the like"];

/// What an agent can only say of itself.
pub(super) const INTENTIONS: &[&str] = &[
    "consider",
    "decide how",
    "decide on",
    "decide whether",
    "ensure it works",
    "ensure quality",
    "figure out",
    "get familiar with",
    "investigate",
    "look into",
    "make sure everything works",
    "make sure it works",
    "think about",
    "try to",
    "understand how",
    "understand the",
    "understand why",
];

/// Normalized criteria that only repeat what checks verify.
pub(super) const CHECKS: &[&str] = &[
    "all checks pass",
    "all existing tests pass",
    "all tests are green",
    "all tests pass",
    "build passes",
    "build succeeds",
    "ci is green",
    "ci passes",
    "existing tests pass",
    "existing tests still pass",
    "lint passes",
    "linter passes",
    "linting passes",
    "no lint errors",
    "no type errors",
    "no typescript errors",
    "tests are green",
    "tests pass",
    "tests pass locally",
    "the build passes",
    "the build succeeds",
    "the tests pass",
    "type check passes",
    "type checking passes",
    "typecheck and lint pass",
    "typecheck passes",
    "typescript compiles",
    "unit tests pass",
    "verify in browser",
    "verify in browser using dev-browser skill",
];

const WORK: &[&str] = &[
    "act",
    "acts",
    "behave",
    "behaves",
    "function",
    "functions",
    "implemented",
    "operate",
    "operates",
    "perform",
    "performs",
    "run",
    "runs",
    "work",
    "working",
    "works",
];

/// After one of the words above.
const SOMEHOW: &[&str] = &[
    "as expected",
    "as intended",
    "as it should",
    "as planned",
    "as they should",
    "correctly",
    "fine",
    "flawlessly",
    "nicely",
    "perfectly",
    "properly",
    "reliably",
    "seamlessly",
    "smoothly",
    "well",
    "without bugs",
    "without issues",
    "without problems",
];

/// After any word, at the end of a criterion.
const ADVERBS: &[&str] =
    &["appropriately", "as expected", "correctly", "gracefully", "nicely", "properly", "sensibly"];

const HANDLE: &[&str] = &["handle", "handled", "handles", "handling"];
const HANDLED_SOMEHOW: &[&str] =
    &["appropriately", "correctly", "gracefully", "properly", "sensibly", "well"];

const IS: &[&str] =
    &["are", "be", "become", "becomes", "feel", "feels", "is", "remain", "remains", "stay", "stays"];
const VERY: &[&str] =
    &["extremely", "fully", "quite", "really", "reasonably", "so", "sufficiently", "super", "very"];

/// After a form of "to be".
const JUDGEMENTS: &[&str] = &[
    "beautiful",
    "bug-free",
    "easy to understand",
    "easy to use",
    "efficient",
    "elegant",
    "extensible",
    "fast",
    "fast enough",
    "flawless",
    "flexible",
    "fully functional",
    "good enough",
    "high quality",
    "high-quality",
    "implemented",
    "intuitive",
    "maintainable",
    "of high quality",
    "performant",
    "polished",
    "production ready",
    "production-ready",
    "quick",
    "reliable",
    "robust",
    "scalable",
    "seamless",
    "simple to use",
    "smooth",
    "snappy",
    "user friendly",
    "user-friendly",
    "well designed",
    "well documented",
    "well structured",
    "well tested",
    "well-designed",
    "well-documented",
    "well-structured",
    "well-tested",
];

/// The same, but some of these have a precise meaning.
const OPINIONS: &[&str] = &[
    "acceptable",
    "accessible",
    "adequate",
    "appropriate",
    "as fast as possible",
    "consistent",
    "modern",
    "optimized",
    "professional",
    "reasonable",
    "responsive",
    "secure",
    "sensible",
    "simple",
    "stable",
    "sufficient",
    "usable",
];

const LOOK: &[&str] = &["feel", "feels", "look", "looks"];
const LOOKS: &[&str] = &[
    "beautiful",
    "clean",
    "fine",
    "good",
    "great",
    "modern",
    "nice",
    "ok",
    "okay",
    "polished",
    "professional",
    "right",
];

/// Only of these is "clean" an opinion: a working tree can be clean, too.
const CODE: &[&str] =
    &["api", "architecture", "code", "codebase", "design", "implementation", "interface", "ui"];
const CODE_IS: &[&str] = &["clean", "elegant", "good", "nice", "readable", "simple", "tidy"];

const PHRASES: &[&str] = &[
    "acceptable performance",
    "adequate test coverage",
    "adequate tests",
    "all requirements are met",
    "all works",
    "appropriate error handling",
    "bug free",
    "clean code",
    "edge cases are covered",
    "edge cases are handled",
    "errors are handled",
    "everything is fine",
    "everything works",
    "follows best practices",
    "follow best practices",
    "following best practices",
    "fully functional",
    "good code quality",
    "good error handling",
    "good performance",
    "good test coverage",
    "good tests",
    "good user experience",
    "good ux",
    "great performance",
    "great user experience",
    "great ux",
    "handles all edge cases",
    "handles all errors",
    "handles edge cases",
    "handles errors",
    "high code quality",
    "high test coverage",
    "high-quality code",
    "meets all requirements",
    "meets the requirements",
    "no bugs",
    "performance is acceptable",
    "performance is good",
    "performance is improved",
    "performance is ok",
    "proper error handling",
    "robust error handling",
    "sufficient test coverage",
    "sufficient tests",
    "users are happy",
    "users are satisfied",
    "users like it",
    "works everywhere",
    "works on all devices",
];

/// A sentence of so many words that ends with "works" says no more than that.
const SHORT: usize = 4;
/// So many words after a phrase may say what it means.
const FEW: usize = 3;

/// Whether a criterion says nothing. A phrase with more beside it, or with a precise meaning for some, is
/// a warning.
pub(super) fn vague(words: &[Word]) -> Option<Level> {
    let last = words.last()?;
    if words.len() <= SHORT && matches!(last.text.as_str(), "works" | "work" | "working") {
        return Some(Level::Fault);
    }
    let phrases = PHRASES.iter().filter_map(|phrase| Some(find(words, phrase)? + length(phrase)));
    let judgements = (0..words.len()).filter_map(|at| judged(words, at));
    let ends: Vec<usize> = phrases.chain(judgements).collect();
    if !ends.is_empty() {
        let surely = ends.into_iter().any(|end| says_no_more(words, end));
        return Some(if surely { Level::Fault } else { Level::Warning });
    }
    let maybe = (0..words.len()).any(|at| {
        let opinion =
            IS.contains(&words[at].text.as_str()).then(|| starts(&words[at + 1..], OPINIONS, VERY)).flatten();
        let to_the_end = opinion.is_some_and(|length| at + 1 + length == words.len());
        to_the_end || starts(&words[at..], ADVERBS, &[]).is_some_and(|length| at + length == words.len())
    });
    maybe.then_some(Level::Warning)
}

/// Where a judgement ends that begins at a word.
fn judged(words: &[Word], at: usize) -> Option<usize> {
    let word = words[at].text.as_str();
    let after = |from: usize, phrases: &[&str], skip: &[&str]| {
        starts(words.get(from..)?, phrases, skip).map(|length| from + length)
    };
    let work = || WORK.contains(&word).then(|| after(at + 1, SOMEHOW, VERY)).flatten();
    let is = || IS.contains(&word).then(|| after(at + 1, JUDGEMENTS, VERY)).flatten();
    let looks = || LOOK.contains(&word).then(|| after(at + 1, LOOKS, VERY)).flatten();
    let code = || {
        let about_code = IS.contains(&word) && at > 0 && CODE.contains(&words[at - 1].text.as_str());
        about_code.then(|| after(at + 1, CODE_IS, VERY)).flatten()
    };
    let handled = || {
        let handled = HANDLE.contains(&word);
        handled.then(|| (at + 1..at + 5).find_map(|from| after(from, HANDLED_SOMEHOW, &[]))).flatten()
    };
    work().or_else(is).or_else(looks).or_else(code).or_else(handled)
}

/// How many words one of these phrases takes at the beginning, after words that only strengthen it.
fn starts(words: &[Word], phrases: &[&str], strengthen: &[&str]) -> Option<usize> {
    let skipped = words.iter().take_while(|word| strengthen.contains(&word.text.as_str())).count();
    let rest = &words[skipped..];
    let begins = |phrase: &&&str| {
        phrase.split(' ').count() <= rest.len()
            && phrase.split(' ').zip(rest).all(|(wanted, word)| word.text == wanted)
    };
    phrases.iter().filter(begins).map(|phrase| skipped + length(phrase)).max()
}

fn length(phrase: &str) -> usize {
    phrase.split(' ').count()
}

/// Whether nothing follows but another word of the kind: "fast and reliable".
fn says_no_more(words: &[Word], end: usize) -> bool {
    let rest = &words[end..];
    let joined = rest.first().is_none_or(|word| matches!(word.text.as_str(), "and" | "or" | "enough"));
    joined && rest.len() <= FEW
}
