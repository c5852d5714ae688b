//! Spans of time, written for people.

/// `120s`, `1.5s`, `0s`.
pub fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{:.1}s", ms as f64 / 1000.0) }
}

/// `850ms`, `15.2s`, `6m7s`, `3h20m`.
pub fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{:.1}s", ms as f64 / 1000.0),
        60_000..3_600_000 => format!("{}m{}s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{}h{}m", ms / 3_600_000, ms / 60_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_naturally() {
        assert_eq!(
            [0, 850, 15_234, 367_000, 12_000_000].map(span),
            ["0ms", "850ms", "15.2s", "6m7s", "3h20m"]
        );
        assert_eq!([120_000, 1_500].map(seconds), ["120s", "1.5s"]);
    }
}
