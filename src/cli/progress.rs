//! A progress bar that appears on a terminal once the work has taken a while.

use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Work that takes longer than this shows its progress.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Progress {
    wanted: bool,
    /// The plural of what is counted.
    unit: &'static str,
    start: Instant,
    bar: Mutex<Option<ProgressBar>>,
}

impl Progress {
    /// Counts steps of the unit, whose name is a plural.
    pub(super) fn new(unit: &'static str, quiet: bool) -> Progress {
        let wanted = !quiet && io::stderr().is_terminal();
        Progress { wanted, unit, start: Instant::now(), bar: Mutex::new(None) }
    }

    /// Shows that `done` of `all` steps are done.
    pub(super) fn show(&self, done: u64, all: u64) {
        if !self.wanted || self.start.elapsed() < PATIENCE {
            return;
        }
        let mut bar = self.bar.lock().expect("no step panics");
        let bar = bar.get_or_insert_with(|| {
            let style = format!("{{wide_bar}} {{pos}}/{{len}} {}", self.unit);
            ProgressBar::new(all).with_style(ProgressStyle::with_template(&style).expect("a template"))
        });
        bar.set_position(done.max(bar.position()));
    }

    /// Does something with the bar, if it is there, out of the way: writing to the terminal.
    pub(super) fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        match &*self.bar.lock().expect("no step panics") {
            Some(bar) => bar.suspend(work),
            None => work(),
        }
    }

    /// Clears the bar.
    pub(super) fn finish(&self) {
        if let Some(bar) = self.bar.lock().expect("no step panics").take() {
            bar.finish_and_clear();
        }
    }
}
