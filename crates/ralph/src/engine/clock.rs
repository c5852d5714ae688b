//! The run's own time: monotonic, and standing still while nothing of the run is alive.

use std::future::pending;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    /// The run's time when this process took it up.
    before_ms: u64,
}

impl Clock {
    pub fn from(before_ms: u64) -> Clock {
        Clock { started: Instant::now(), before_ms }
    }

    pub fn up_ms(&self) -> u64 {
        self.before_ms + u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// When the run's time will be `up_ms`.
    pub fn instant(&self, up_ms: u64) -> Instant {
        let ahead = Duration::from_millis(up_ms.saturating_sub(self.before_ms));
        // A limit of centuries is no limit.
        self.started.checked_add(ahead).unwrap_or_else(|| self.started + Duration::from_secs(1 << 32))
    }
}

/// Returns at that moment, or never.
pub(super) async fn at(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when.into()).await,
        None => pending().await,
    }
}

/// Milliseconds since 1970. A clock before that reads as 1970.
pub fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
