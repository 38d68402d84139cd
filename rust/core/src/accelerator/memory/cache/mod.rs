//! Memory of a device that is kept for the next request, after the design of PyTorch's caching allocator.
//!
//! The driver gives segments, which are cut into pieces. A piece that is freed goes into a list of its stream at
//! once, although work that is queued on the stream may still use it: what is queued there later comes later. Work of
//! other streams is awaited with events. The best fit is the smallest free piece of the stream that is large enough;
//! free neighbours are joined. What is wholly free goes back to the driver when memory is short, and when somebody
//! asks for it.
//!
//! One lock for each device, never held while a driver gives or takes memory, or while somebody waits.

mod books;
mod collection;
mod cuts;
mod exhaustion;
mod expandable;
mod free_list;
mod history;
mod last;
mod piece;
mod scopes;
mod segments;
mod sizes;
mod snapshot;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod waits;

use std::fmt;
use std::sync::{Mutex, PoisonError};

pub(in crate::accelerator) use piece::PieceId;
pub use scopes::ScopeStatistics;
use state::State;

use super::config::TakenOver;
use super::history::{Cause, HistoryOptions, TraceEntry};
use super::snapshot::SegmentState;
use super::statistics::Statistics;
use crate::Result;
use crate::accelerator::PoolId;
use crate::accelerator::driver::{Address, DeviceIndex, DriverRuntime, StreamHandle};
use crate::accelerator::in_use::Accelerator;
use crate::accelerator::stream::Stream;

/// What is kept of the memory of one device. Who calls has seen that the accelerator is of this process.
pub(in crate::accelerator) struct Cache {
    device: DeviceIndex,
    configured: TakenOver,
    state: Mutex<State>,
}

/// A piece of memory that somebody uses now.
#[derive(Clone, Copy, Debug)]
pub(in crate::accelerator) struct Taken {
    pub(in crate::accelerator) piece: PieceId,
    pub(in crate::accelerator) address: Address,
}

/// Whose memory it is, and whether anybody captures a graph.
#[derive(Clone, Copy)]
struct Context {
    home: &'static Accelerator,
    driver: &'static dyn DriverRuntime,
    device: DeviceIndex,
    /// Events may become a part of a graph, and a driver may not be asked for much.
    capturing: bool,
}

impl Cache {
    pub(in crate::accelerator) fn new(device: DeviceIndex) -> Self {
        Cache { device, configured: TakenOver::default(), state: Mutex::new(State::default()) }
    }

    fn context(&self, home: &'static Accelerator) -> Context {
        Context { home, driver: &**home.runtime(), device: self.device, capturing: home.captures().any() }
    }

    /// Does something with the state.
    fn locked<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        self.locked_as_is(|state| {
            state.books.join_last();
            act(state)
        })
    }

    /// As [`locked`](Cache::locked), for what knows of the piece that was freed last.
    fn locked_as_is<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut state);
        let gone = state.take_gone();
        drop(state);
        // Without the lock, which the last handle to a stream takes.
        drop(gone);
        result
    }

    /// A piece of at least `requested` bytes for a stream, from the pool of a graph if it is one. `requested` is
    /// not 0.
    pub(in crate::accelerator) fn allocate(
        &self,
        stream: &Stream,
        requested: usize,
        pool: Option<PoolId>,
    ) -> Result<Taken> {
        let context = self.context(stream.home());
        self.configure(&context)?;
        let found = self.locked_as_is(|state| {
            state.settle(&context);
            let request = state.request(stream.id(), requested, pool)?;
            let taken = state.take(&request);
            if taken.is_none() {
                state.books.pools[request.pool].asked += 1;
            }
            Some((request, taken))
        });
        match found {
            Some((_, Some(taken))) => Ok(taken),
            Some((request, None)) => {
                let taken = self.allocate_anew(&context, stream, &request, pool);
                self.change(&context, |state| state.end_request(&context, request.pool));
                taken
            }
            None => Err(self.exhausted(&context, stream, (requested, requested), pool)),
        }
    }

    /// Takes over a configuration that was set since.
    fn configure(&self, context: &Context) -> Result<()> {
        self.configured.renew(|number, config| {
            // A device that can't be asked has no memory to be limited.
            let total = context.driver.memory_info(self.device).map_or(0, |info| info.total);
            self.locked(|state| state.configure(number, config, total));
        })
    }

    /// Nobody uses the piece any more, apart from work that is queued.
    pub(in crate::accelerator) fn release(&self, home: &'static Accelerator, piece: PieceId) {
        let context = self.context(home);
        let ready = self.locked_as_is(|state| {
            state.release(&context, piece);
            state.ready(&context)
        });
        self.give_back(&context, ready);
    }

    /// Work of another stream uses the piece.
    pub(in crate::accelerator) fn record_stream(&self, piece: PieceId, stream: &Stream) {
        self.locked(|state| state.record_stream(piece, stream));
    }

    /// The other streams whose work uses the piece.
    pub(in crate::accelerator) fn used_on(&self, piece: PieceId) -> Vec<Stream> {
        self.locked(|state| state.books.pieces[piece].used_on.clone())
    }

    /// Gives back to the driver what nobody uses, once what is queued now has been done. While a graph is captured
    /// nothing is given back.
    pub(in crate::accelerator) fn empty(&self, home: &'static Accelerator) -> Result<()> {
        let context = self.context(home);
        if context.capturing { Ok(()) } else { self.give_back_all(&context, Cause::EmptyCache) }
    }

    /// A stream goes, and nothing is allocated for it any more.
    pub(in crate::accelerator) fn stream_goes(
        &self,
        home: &'static Accelerator,
        id: i64,
        stream: StreamHandle,
    ) {
        let context = self.context(home);
        self.change(&context, |state| state.stream_goes(&context, id, stream));
    }

    /// No graph uses a pool any more; the streams may still run one that did.
    pub(in crate::accelerator) fn pool_goes(
        &self,
        home: &'static Accelerator,
        pool: PoolId,
        streams: &[Stream],
    ) {
        let context = self.context(home);
        self.change(&context, |state| state.pool_goes(&context, pool, streams));
    }

    /// Does something after which memory may go back to the driver.
    fn change(&self, context: &Context, act: impl FnOnce(&mut State)) {
        let ready = self.locked(|state| {
            act(state);
            state.ready(context)
        });
        self.give_back(context, ready);
    }

    pub(in crate::accelerator) fn statistics(&self) -> Statistics {
        self.locked(|state| state.books.statistics.clone())
    }

    pub(in crate::accelerator) fn reset_peak(&self) {
        self.locked(|state| state.books.statistics.reset_peak());
    }

    pub(in crate::accelerator) fn reset_accumulated(&self) {
        self.locked(|state| state.books.statistics.reset_accumulated());
    }

    /// The largest free piece and all free bytes that are kept.
    pub(in crate::accelerator) fn free(&self) -> (u64, u64) {
        self.locked(|state| (state.books.largest_free(), state.books.kept))
    }

    /// How many bytes may be taken from the driver; returns how many might before. What was configured by now comes
    /// before that.
    pub(in crate::accelerator) fn set_limit(
        &self,
        home: &'static Accelerator,
        limit: Option<u64>,
    ) -> Result<Option<u64>> {
        self.configure(&self.context(home))?;
        Ok(self.locked(|state| std::mem::replace(&mut state.limit, limit)))
    }

    pub(in crate::accelerator) fn limit(&self, home: &'static Accelerator) -> Result<Option<u64>> {
        self.configure(&self.context(home))?;
        Ok(self.locked(|state| state.limit))
    }

    /// How many bytes may be kept that nobody uses; returns how many might before. What is too much goes back.
    pub(in crate::accelerator) fn set_cache_limit(
        &self,
        home: &'static Accelerator,
        limit: Option<u64>,
    ) -> Option<u64> {
        let context = self.context(home);
        let mut before = None;
        self.change(&context, |state| {
            before = std::mem::replace(&mut state.cache_limit, limit);
            state.trim(&context);
        });
        before
    }

    pub(in crate::accelerator) fn cache_limit(&self) -> Option<u64> {
        self.locked(|state| state.cache_limit)
    }

    pub(in crate::accelerator) fn device(&self) -> DeviceIndex {
        self.device
    }

    /// Records what happens from now on, or no more, unless a later change has been obeyed already. Where that `begins`
    /// a history, here or on other devices, what was recorded is forgotten.
    pub(in crate::accelerator) fn set_history(
        &self,
        changes: u64,
        begins: bool,
        options: Option<HistoryOptions>,
    ) {
        // What is forgotten is dropped without the lock: it may be much.
        drop(self.locked(|state| state.books.history.set(changes, begins, options)));
    }

    /// The segments, and what is recorded.
    pub(in crate::accelerator) fn snapshot(&self) -> (Vec<SegmentState>, Vec<TraceEntry>) {
        self.locked(|state| state.books.snapshot(self.device))
    }

    /// For replays: nobody uses the piece any more, and work that is queued counts as using it until
    /// [`complete`](Cache::complete).
    pub(in crate::accelerator) fn hold(&self, piece: PieceId) {
        self.locked(|state| state.hold(piece));
    }

    /// For replays: the work that used a held piece has been done; `later` it is only then, when everything unused
    /// is given back next.
    pub(in crate::accelerator) fn complete(&self, home: &'static Accelerator, piece: PieceId, later: bool) {
        let context = self.context(home);
        self.change(&context, |state| state.complete(&context, piece, later));
    }

    /// For replays: what would be free later is so now.
    pub(in crate::accelerator) fn complete_all(&self, home: &'static Accelerator) {
        let context = self.context(home);
        self.change(&context, |state| state.complete_all(&context));
    }

    /// Counts from now on what is allocated, for a block of a program.
    pub(in crate::accelerator) fn open_scope(&self) -> u64 {
        self.locked(|state| state.books.open_scope())
    }

    /// What a block has counted that is open.
    pub(in crate::accelerator) fn scope(&self, id: u64) -> Option<ScopeStatistics> {
        self.locked(|state| state.books.scopes.counted(id))
    }

    /// What a block has counted, which is over.
    pub(in crate::accelerator) fn close_scope(&self, id: u64) -> Option<ScopeStatistics> {
        self.locked(|state| state.books.scopes.close(id))
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({})", self.device)
    }
}
