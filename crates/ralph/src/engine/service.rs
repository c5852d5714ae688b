//! When a service that refuses will answer again, as far as it has said.

use super::clock::wall_ms;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use ralph_loop::dialect::Answer;

/// Milliseconds from now; none where nothing was said, or a time that has passed long ago.
pub(super) fn retry_in_ms(answer: &Answer) -> Option<u64> {
    let Answer::Limited { why, until } = answer else { return None };
    let at_ms = until.map(|seconds| seconds.saturating_mul(1000)).or_else(|| told_in_words(why))?;
    // One that is only just over is a service that is late.
    const LATE_MS: i64 = 60_000;
    let ahead = at_ms.saturating_sub(wall_ms());
    (ahead > -LATE_MS).then(|| u64::try_from(ahead).unwrap_or(0))
}

/// Codex says it in words, in the user's own time: `try again at Mar 17th, 2030 5:46 PM.`
fn told_in_words(text: &str) -> Option<i64> {
    let (_, time) = text.split_once("try again at ")?;
    let time = time.split_once('.').map_or(time, |(time, _)| time);
    let mut plain = time.to_string();
    for suffix in ["st,", "nd,", "rd,", "th,"] {
        plain = plain.replace(suffix, ",");
    }
    let time = DateTime::strptime("%b %d, %Y %I:%M %p", plain.trim()).ok()?;
    Some(time.to_zoned(TimeZone::system()).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_words_is_read_in_the_users_time_zone() {
        let text = "You\u{2019}ve hit your usage limit. Visit x or try again at Mar 17th, 2030 5:46 PM.";
        let expected = "2030-03-17T17:46".parse::<DateTime>().unwrap().to_zoned(TimeZone::system()).unwrap();
        assert_eq!(told_in_words(text), Some(expected.timestamp().as_millisecond()));
        assert_eq!(told_in_words("try again at noon."), None);
        assert_eq!(told_in_words("try again later"), None);
    }

    #[test]
    fn a_time_ahead_is_told_in_milliseconds_and_one_long_past_is_none() {
        let limited = |until| Answer::Limited { why: String::new(), until };
        let soon = wall_ms() / 1000 + 100;
        let told = retry_in_ms(&limited(Some(soon))).unwrap();
        assert!((98_000..=100_000).contains(&told), "{told}");
        assert_eq!(retry_in_ms(&limited(Some(soon - 110))), Some(0));
        assert_eq!(retry_in_ms(&limited(Some(0))), None);
        assert_eq!(retry_in_ms(&limited(None)), None);
        assert_eq!(retry_in_ms(&Answer::Said), None);
    }
}
