//! The cache of pinned memory: blocks that nothing uses any more are kept for later.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::super::super::current;
use super::super::super::driver::{Address, DriverRuntime, EventHandle, EventOptions};
use super::super::super::stream::Stream;
use super::super::config::{AllocatorConfig, TakenOver};
use super::books::{Books, Segment, Surplus};
use super::marks::{Front, Marks, Unmarked};
use super::options::PinnedOptions;
use crate::{Error, Result};

/// The pinned memory of an accelerator.
///
/// The lock is never held over a call of the driver, which may drop what owns pinned memory. It is not taken in a
/// forked child: whoever asks has asked for the driver first.
#[derive(Debug, Default)]
pub(in crate::accelerator) struct PinnedCache {
    configured: TakenOver,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) books: Books,
    marks: Marks,
    /// The number of the configuration.
    pub(super) configured: u64,
}

impl PinnedCache {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address of a block for so many bytes, which are not 0.
    pub(super) fn allocate(&self, driver: &dyn DriverRuntime, bytes: usize) -> Result<Address> {
        self.configured.renew(|number, config| self.lock().configure(number, config))?;
        self.process_marks(driver);
        let rounded = self.lock().books.options.rounded(bytes);
        match self.take_or_make(driver, rounded) {
            Err(Error::OutOfMemory(_)) => {}
            done => return done,
        }
        // What has come free in the meantime may be enough, or what others do not use.
        self.empty(driver);
        match self.take_or_make(driver, rounded) {
            Err(Error::OutOfMemory(mut told)) => {
                told.requested = bytes;
                told.cache = Some(self.lock().books.told(rounded));
                Err(Error::OutOfMemory(told))
            }
            done => done,
        }
    }

    fn take_or_make(&self, driver: &dyn DriverRuntime, rounded: usize) -> Result<Address> {
        let missing = {
            let mut state = self.lock();
            if let Some(address) = state.books.take(rounded) {
                return Ok(address);
            }
            state.books.missing_segment()
        };
        if let Some(bytes) = missing {
            self.take_segment(driver, bytes);
        }
        if let Some(address) = self.lock().books.carve(rounded) {
            return Ok(address);
        }
        let address = self.timed_allocation(driver, rounded)?;
        self.lock().books.add(address, rounded, false);
        Ok(address)
    }

    /// Where the driver has no room for it, each block is taken by itself.
    fn take_segment(&self, driver: &dyn DriverRuntime, bytes: usize) {
        let taken = self.timed_allocation(driver, bytes);
        let segment = taken.map_or_else(|_| Segment::default(), |address| Segment::new(address, bytes));
        let surplus = self.lock().books.set_segment(segment);
        self.give_back(driver, surplus.filter(|surplus| surplus.bytes > 0));
    }

    fn timed_allocation(&self, driver: &dyn DriverRuntime, bytes: usize) -> Result<Address> {
        let start = Instant::now();
        let address = driver.allocate_pinned(current::index_below(driver.device_count() as usize), bytes)?;
        let took = start.elapsed();
        self.lock().books.statistics.host_alloc_time.add(took);
        Ok(address)
    }

    /// Takes a block back that nobody has any more, and that work uses which is queued on some streams.
    pub(super) fn free(&self, driver: &dyn DriverRuntime, address: Address, streams: Vec<Stream>) {
        let events: Vec<_> = streams.iter().map(|stream| self.mark(driver, stream)).collect();
        let surplus = {
            let mut state = self.lock();
            let surplus = state.books.let_go(address, streams.len());
            for (stream, event) in streams.iter().zip(events) {
                state.marks.add(stream, event, address);
            }
            surplus
        };
        self.give_back(driver, surplus);
        // Only now may streams go, as that calls the driver.
        drop(streams);
    }

    /// An event behind what is queued on a stream. `None` where the stream captures, because nothing of that runs
    /// now, and where its device is lost.
    fn mark(&self, driver: &dyn DriverRuntime, stream: &Stream) -> Option<EventHandle> {
        let stream = stream.handle().ok()?;
        let captures = || !matches!(driver.capture_id(stream), Ok(None));
        if captures() {
            return None;
        }
        let kept = self.lock().marks.event(stream.device);
        let event =
            kept.map_or_else(|| driver.create_event(stream.device, EventOptions::default()), Ok).ok()?;
        // A capture that began in the meantime may have got the event.
        if driver.record_event(event, stream).is_ok() && !captures() {
            return Some(event);
        }
        self.lock().marks.reuse(event);
        None
    }

    /// Frees blocks whose marks are passed.
    fn process_marks(&self, driver: &dyn DriverRuntime) {
        self.mark_again(driver);
        let mut fronts = self.lock().marks.fronts();
        while !fronts.is_empty() {
            // Another thread may have passed a mark in the meantime and set the next one with its event. What is
            // answered is about that one then, and of no use: the numbers of the marks differ.
            fronts.retain(|front| driver.has_completed(front.event) == Ok(true));
            let surplus;
            (surplus, fronts) = self.lock().pass(fronts);
            self.give_back(driver, surplus);
        }
    }

    /// Marks streams that could not be marked before.
    fn mark_again(&self, driver: &dyn DriverRuntime) {
        let unmarked = std::mem::take(&mut self.lock().marks.unmarked);
        for Unmarked { stream, address } in unmarked {
            let event = self.mark(driver, &stream);
            self.lock().marks.add(&stream, event, address);
        }
    }

    /// Gives back to the driver what nothing uses.
    pub(super) fn empty(&self, driver: &dyn DriverRuntime) {
        self.process_marks(driver);
        let surplus = self.lock().books.empty();
        self.give_back(driver, surplus);
    }

    fn give_back(&self, driver: &dyn DriverRuntime, surplus: impl IntoIterator<Item = Surplus>) {
        for Surplus { address, bytes } in surplus {
            let start = Instant::now();
            // SAFETY: the driver gave it for this size, nobody has it and it is no longer on the books. A driver that
            // refuses has nothing to be given back.
            let _ = unsafe { driver.free_pinned(address, bytes) };
            let took = start.elapsed();
            self.lock().books.statistics.host_free_time.add(took);
        }
    }
}

impl State {
    /// Takes over a configuration, unless a later one has been.
    fn configure(&mut self, number: u64, config: &AllocatorConfig) {
        if number > self.configured {
            self.configured = number;
            self.books.options = PinnedOptions::of(config);
        }
    }

    /// Marks are passed. The blocks that are not kept, and the next marks of the same streams.
    fn pass(&mut self, fronts: Vec<Front>) -> (Vec<Surplus>, Vec<Front>) {
        let (mut surplus, mut next) = (Vec::new(), Vec::new());
        for front in fronts {
            let (address, following) = self.marks.pass(front);
            surplus.extend(address.and_then(|address| self.books.pass(address)));
            next.extend(following);
        }
        (surplus, next)
    }
}
