//! Output of concurrent work in a fixed order, with a bound on the output that is held in memory.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::sync::{Condvar, Mutex, MutexGuard};

use super::progress::Progress;

/// Bytes that a part holds before it waits for its turn.
const MOST_HELD: usize = 1 << 16;

/// Maximum number of parts started ahead of the oldest unfinished part.
const MOST_AHEAD: usize = 64;

/// Standard output, to which each part writes in its turn.
pub(super) struct Ordered<'p> {
    state: Mutex<State>,
    changed: Condvar,
    progress: &'p Progress,
}

struct State {
    out: BufWriter<anstream::Stdout>,
    /// The part that may write.
    turn: usize,
    /// Output of parts that ended before their turn.
    ended: BTreeMap<usize, Vec<u8>>,
    /// Bytes to leave out of what is written next.
    separator: usize,
    /// Why nothing more can be written.
    failed: Option<io::ErrorKind>,
}

impl State {
    /// Writes, unless that has failed before.
    fn attempt(&mut self, write: impl FnOnce(&mut BufWriter<anstream::Stdout>) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.out).err().map(|error| error.kind());
        }
    }
}

impl<'p> Ordered<'p> {
    /// Writes `head` before all parts. `separator` is the length of the separator that each part's output begins with;
    /// it is omitted for the first part that writes.
    pub(super) fn new(progress: &'p Progress, head: &str, separator: usize) -> Ordered<'p> {
        let out = BufWriter::new(anstream::stdout());
        let mut state = State { out, turn: 0, ended: BTreeMap::new(), separator, failed: None };
        state.attempt(|out| out.write_all(head.as_bytes()));
        Ordered { state: Mutex::new(state), changed: Condvar::new(), progress }
    }

    /// The output of a part, once it is not too far ahead of others. All before it are begun already.
    pub(super) fn part(&self, number: usize) -> Part<'_, 'p> {
        drop(self.wait(|state| number < state.turn + MOST_AHEAD));
        Part { ordered: self, number, held: Vec::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no part panics while it writes")
    }

    /// Waits until something holds, or nothing can be written any more.
    fn wait(&self, holds: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waits = |state: &mut State| state.failed.is_none() && !holds(state);
        self.changed.wait_while(self.lock(), waits).expect("no part panics while it writes")
    }

    fn write(&self, state: &mut State, bytes: &[u8]) -> io::Result<()> {
        if !bytes.is_empty() {
            let separator = std::mem::take(&mut state.separator);
            self.attempt(state, |out| out.write_all(&bytes[separator..]))?;
        }
        Ok(())
    }

    fn attempt(
        &self,
        state: &mut State,
        write: impl FnOnce(&mut BufWriter<anstream::Stdout>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.progress.suspend(|| state.attempt(write));
        let Some(kind) = state.failed else { return Ok(()) };
        self.changed.notify_all();
        Err(kind.into())
    }

    /// Writes what follows all parts.
    pub(super) fn finish(self) -> io::Result<impl Write> {
        let State { out, failed, .. } = self.state.into_inner().expect("no part panics while it writes");
        failed.map_or(Ok(out), |kind| Err(kind.into()))
    }
}

/// The output of one part.
pub(super) struct Part<'o, 'p> {
    ordered: &'o Ordered<'p>,
    number: usize,
    held: Vec<u8>,
}

impl Part<'_, '_> {
    /// Waits for the turn of this part, writes all that it holds, and does something before others write.
    pub(super) fn alone(&mut self, then: impl FnOnce()) -> io::Result<()> {
        let mut state = self.ordered.wait(|state| state.turn == self.number);
        self.ordered.write(&mut state, &self.held)?;
        self.held.clear();
        self.ordered.attempt(&mut state, |out| out.flush())?;
        then();
        Ok(())
    }

    /// The part has written all: the turn goes on, to behind the parts that have ended.
    pub(super) fn end(self) -> io::Result<()> {
        let Part { ordered, number, held } = self;
        let mut state = ordered.lock();
        state.ended.insert(number, held);
        loop {
            let turn = state.turn;
            let Some(held) = state.ended.remove(&turn) else { break };
            state.turn += 1;
            ordered.write(&mut state, &held)?;
        }
        ordered.changed.notify_all();
        Ok(())
    }
}

impl Write for Part<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= MOST_HELD {
            let mut state = self.ordered.wait(|state| state.turn == self.number);
            self.ordered.write(&mut state, &self.held)?;
            self.held.clear();
        }
        Ok(bytes.len())
    }

    /// Does nothing: held output is written when it is this part's turn.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
