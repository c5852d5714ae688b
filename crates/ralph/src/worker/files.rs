//! Where a worker's files and its spoken lines come from while it lives, where a terminal shows
//! what was asked of its run elsewhere, and where people are notified of a run that they do not watch.

use super::output;
use super::record::Record;
use crate::notify::Notifier;
use crate::report::{Reporter, asked};
use ralph_loop::text::printable;
use ralph_loop::view::{Moment, Update};
use std::time::Duration;

/// Stands before another reporter: what the lines of a worker do not say, that one does.
pub struct WorkerFiles<'r> {
    record: Option<Record>,
    notifier: Option<Notifier>,
    inner: &'r mut dyn Reporter,
    warned: bool,
    /// How much of the worker's output is kept; 0 is all.
    most_output: u64,
    /// Whether it can be.
    trims: bool,
}

impl<'r> WorkerFiles<'r> {
    /// `record` has followed whatever was recorded before.
    pub fn new(
        record: Option<Record>,
        notifier: Option<Notifier>,
        inner: &'r mut dyn Reporter,
    ) -> WorkerFiles<'r> {
        WorkerFiles { record, notifier, inner, warned: false, most_output: 0, trims: true }
    }
}

impl WorkerFiles<'_> {
    fn trim_output(&mut self) {
        let Some(record) = self.record.as_ref().filter(|_| self.trims) else { return };
        if let Err(cause) = output::trim(&record.dir().output(), self.most_output) {
            self.trims = false;
            self.inner.warn(&format!("cannot start a new output file for the worker: {cause}"));
        }
    }
}

impl Reporter for WorkerFiles<'_> {
    fn behind(&mut self) -> Option<&mut dyn Reporter> {
        Some(&mut *self.inner)
    }

    fn update(&mut self, update: &Update<'_>) {
        self.most_output = update.run.keep_streams;
        self.trim_output();
        self.inner.update(update);
        if let Some(notifier) = &mut self.notifier {
            notifier.update(update);
        }
        let Some(record) = &mut self.record else {
            for moment in &update.moments {
                if let Moment::Asked(ask) = moment
                    && let Some(line) = asked(update.run, update.state, ask)
                {
                    self.inner.aside(&format!("ralph: {}", printable(&line)));
                }
            }
            return;
        };
        for line in record.follow(update) {
            self.inner.aside(&format!("[ralph] {}: {}", record.name(), printable(&line)));
        }
        if let Err(cause) = record.write()
            && !std::mem::replace(&mut self.warned, true)
        {
            self.inner.warn(&format!("cannot write the worker's state: {cause}"));
        }
    }

    fn rest(&mut self) {
        self.inner.rest();
        self.trim_output();
    }

    /// A worker shows no clock, and an idle one should sleep.
    fn tick_every(&mut self) -> Option<Duration> {
        if self.record.is_some() { None } else { self.inner.tick_every() }
    }
}
