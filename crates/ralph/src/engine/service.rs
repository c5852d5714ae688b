//! When a service that refuses will answer again, as far as it has said.

use jiff::civil::{DateTime, Time};
use jiff::{SignedDuration, ToSpan, Zoned};
use ralph_loop::dialect::Answer;

/// A time that is only just over is a service that is late.
const LATE: SignedDuration = SignedDuration::from_secs(60);
/// As long as a time of day counts as one of today: it comes without its seconds, and late.
const JUST_NOW: SignedDuration = SignedDuration::from_mins(5);

/// Milliseconds from now; none where nothing was said, or a time that has passed long ago.
pub(super) fn retry_in_ms(answer: &Answer, now: &Zoned) -> Option<u64> {
    let Answer::Limited { why, until } = answer else { return None };
    let at_ms = match until {
        Some(seconds) => seconds.saturating_mul(1000),
        None => time_in_words(why, now)?.timestamp().as_millisecond(),
    };
    let ahead = at_ms.saturating_sub(now.timestamp().as_millisecond());
    let late = if until.is_some() { LATE } else { JUST_NOW };
    (i128::from(ahead) > -late.as_millis()).then(|| u64::try_from(ahead).unwrap_or(0))
}

/// Codex says it in words, in the user's own time: `try again at Mar 17th, 2030 5:46 PM.`, and
/// `try again at 5:03 AM.` if that is the next time the clock shows it.
fn time_in_words(text: &str, now: &Zoned) -> Option<Zoned> {
    let (_, time) = text.split_once("ry again at ")?;
    let time = time.split_once('.').map_or(time, |(time, _)| time);
    let mut plain = time.trim().to_string();
    for suffix in ["st,", "nd,", "rd,", "th,"] {
        plain = plain.replace(suffix, ",");
    }
    let zone = now.time_zone();
    if let Ok(time) = Time::strptime("%I:%M %p", &plain) {
        let earliest = now.checked_sub(JUST_NOW).ok()?;
        let days = [-1, 0, 1].into_iter().filter_map(|day| now.date().checked_add(day.days()).ok());
        let times = days.filter_map(|day| day.to_datetime(time).to_zoned(zone.clone()).ok());
        return times.into_iter().find(|time| *time >= earliest);
    }
    DateTime::strptime("%b %d, %Y %I:%M %p", &plain).ok()?.to_zoned(zone.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: &str = "You\u{2019}ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), \
                         visit https://chatgpt.com/settings/usage to purchase more credits or try again at ";

    #[track_caller]
    fn check(now: &str, words: &str, expected: Option<&str>) {
        let now: Zoned = now.parse().unwrap();
        let read = time_in_words(&format!("{LIMIT}{words}."), &now);
        assert_eq!(read, expected.map(|time| time.parse().unwrap()), "{words}");
    }

    #[test]
    fn a_time_in_words_is_read_in_the_users_time_zone() {
        let night = "2026-11-16T23:40:30+09:00[+09:00]";
        check(night, "Mar 17th, 2030 5:46 PM", Some("2030-03-17T17:46+09:00[+09:00]"));
        check(night, "5:03 AM", Some("2026-11-17T05:03+09:00[+09:00]"));
        check(night, "11:59 PM", Some("2026-11-16T23:59+09:00[+09:00]"));
        check(night, "noon", None);
        let morning = "2026-11-16T00:01:30+00:00[UTC]";
        check(morning, "12:30 AM", Some("2026-11-16T00:30+00:00[UTC]"));
        check(morning, "12:30 PM", Some("2026-11-16T12:30+00:00[UTC]"));
        // The seconds are cut off, and an agent takes its time to say it.
        check(morning, "12:01 AM", Some("2026-11-16T00:01+00:00[UTC]"));
        check(morning, "11:59 PM", Some("2026-11-15T23:59+00:00[UTC]"));
        assert_eq!(time_in_words("try again later", &morning.parse().unwrap()), None);
    }

    #[test]
    fn a_time_ahead_is_told_in_milliseconds_and_one_long_past_is_none() {
        let now: Zoned = "2026-11-16T12:00:30+00:00[UTC]".parse().unwrap();
        let limited = |why: &str, until| Answer::Limited { why: why.to_string(), until };
        let soon = now.timestamp().as_second() + 100;
        assert_eq!(retry_in_ms(&limited("", Some(soon)), &now), Some(100_000));
        assert_eq!(retry_in_ms(&limited("", Some(soon - 110)), &now), Some(0));
        assert_eq!(retry_in_ms(&limited("", Some(0)), &now), None);
        assert_eq!(retry_in_ms(&limited("", None), &now), None);
        assert_eq!(retry_in_ms(&limited("try again at 12:02 PM.", None), &now), Some(90_000));
        assert_eq!(retry_in_ms(&limited("try again at 11:58 AM.", None), &now), Some(0));
        assert_eq!(retry_in_ms(&limited("try again at Mar 17th, 2024 5:46 PM.", None), &now), None);
        assert_eq!(retry_in_ms(&Answer::Said, &now), None);
    }
}
