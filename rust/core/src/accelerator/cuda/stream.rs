//! Streams: their order, and what failed on them.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUresult, CUstream};

use super::api;
use super::device::CudaDevice;
use super::errors::{Code, check};
use super::line::Line;
use super::pooled_event::PooledEvent;
use crate::accelerator::driver::{KeepAlive, StreamHandle};
use crate::base::catch::drop_catching_panic;
use crate::{Error, Result};

/// So many marks are let pile up before somebody looks which have been reached.
const MANY_MARKS: usize = 32;

pub(super) struct Stream {
    /// That no other stream of the process has: what the driver calls a stream it calls another one later.
    pub(super) number: u64,
    pub(super) handle: StreamHandle,
    /// Another library made it.
    pub(super) is_adopted: bool,
    order: Mutex<()>,
    line: Mutex<Line>,
    failure: Mutex<Option<Failure>>,
}

/// Held while nobody else may queue anything on a stream.
pub(super) type Alone<'a> = MutexGuard<'a, ()>;

/// What a function on a stream failed with, until somebody is told.
pub(super) struct Failure {
    /// A smaller number failed earlier.
    pub(super) order: u64,
    place: u64,
    error: Error,
}

impl Failure {
    pub(super) fn new(place: u64, error: Error) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Failure { order: MADE.fetch_add(1, Ordering::Relaxed), place, error }
    }
}

/// What the driver calls a stream.
pub(super) fn pointer(handle: StreamHandle) -> CUstream {
    ptr::with_exposed_provenance_mut(handle.raw as usize)
}

impl Stream {
    pub(super) fn new(number: u64, handle: StreamHandle, is_adopted: bool) -> Self {
        let (order, line, failure) = Default::default();
        Stream { number, handle, is_adopted, order, line, failure }
    }

    pub(super) fn pointer(&self) -> CUstream {
        pointer(self.handle)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for what is queued next.
    pub(super) fn next(&self) -> u64 {
        self.line().next()
    }

    /// Nobody else queues anything until this is dropped: a function and the wait for it belong together.
    pub(super) fn alone(&self) -> Alone<'_> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of what was queued last.
    pub(super) fn queued(&self) -> u64 {
        self.line().queued()
    }

    /// Marks the place behind all that is queued.
    pub(super) fn mark(&self, device: &CudaDevice, operation: &'static str) -> Result<u64> {
        let _bound = device.bind(operation)?;
        let mut line = self.line();
        let event = PooledEvent::recorded(device, operation, self.pointer())?;
        Ok(line.mark(event))
    }

    /// Keeps something until all that is queued has been done.
    pub(super) fn keep(&self, device: &CudaDevice, operation: &'static str, keeper: KeepAlive) -> Result<()> {
        let marked = device.bind(operation).and_then(|_bound| {
            let mut line = self.line();
            let event = PooledEvent::recorded(device, operation, self.pointer())?;
            let place = line.mark(event);
            line.keep(place, keeper.clone());
            Ok(line.marks())
        });
        match marked {
            Ok(marks) if marks < MANY_MARKS => Ok(()),
            Ok(_) => self.advance(device, operation),
            Err(error) => {
                // Nobody will know when the work is over that is queued already.
                std::mem::forget(keeper);
                Err(error)
            }
        }
    }

    /// Whether a place has been reached; what is over by now is let go.
    pub(super) fn is_reached(
        &self,
        device: &CudaDevice,
        operation: &'static str,
        place: u64,
    ) -> Result<bool> {
        self.advance(device, operation)?;
        Ok(self.line().is_reached(place))
    }

    /// Finds out which places have been reached, and lets go what was kept until then.
    pub(super) fn advance(&self, device: &CudaDevice, operation: &'static str) -> Result<()> {
        let _bound = device.bind(operation)?;
        let (result, over) = {
            let mut line = self.line();
            let mut result = Ok(());
            while let Some(event) = line.first_mark() {
                result = check(event.query());
                if result.is_err() {
                    break;
                }
                line.reach_first();
            }
            (result, line.take_over())
        };
        // Without the lock: what is dropped may call the driver.
        over.into_iter().for_each(drop_catching_panic);
        match result {
            Ok(()) | Err(Code::NOT_READY) => Ok(()),
            Err(code) => Err(device.error(operation, code)),
        }
    }

    /// Whether all that is queued has been done.
    pub(super) fn is_idle(&self, device: &CudaDevice, operation: &'static str) -> Result<bool> {
        // SAFETY: the stream is alive.
        let query = || unsafe { api::cuStreamQuery(self.pointer()) };
        let is_idle = device.is_ready(operation, query)?;
        self.advance(device, operation)?;
        Ok(is_idle)
    }

    /// The place that was marked last.
    pub(super) fn marked(&self) -> u64 {
        self.line().marked()
    }

    /// Whether all that was marked has been reached.
    pub(super) fn is_drained(&self) -> bool {
        self.line().marks() == 0
    }

    /// Whether nothing is awaited, kept or to be told.
    pub(super) fn is_settled(&self) -> bool {
        self.is_drained() && self.failure().is_none()
    }

    fn failure(&self) -> MutexGuard<'_, Option<Failure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what failed, unless there is something to tell already: what fails next is often a consequence.
    pub(super) fn fail(&self, failure: Failure) {
        self.failure().get_or_insert(failure);
    }

    /// The order of what failed and was not told yet.
    pub(super) fn failed(&self) -> Option<u64> {
        self.failure().as_ref().map(|failure| failure.order)
    }

    /// Fails with it. Nobody is told again.
    pub(super) fn tell(&self, up_to: u64) -> Result<()> {
        let mut failure = self.failure();
        if failure.as_ref().is_none_or(|failure| failure.place > up_to) {
            return Ok(());
        }
        failure.take().map_or(Ok(()), |failure| Err(failure.error))
    }

    /// Calls a function of the driver with this stream and its context.
    pub(super) fn call(
        &self,
        device: &CudaDevice,
        operation: &'static str,
        function: impl FnOnce(CUstream) -> CUresult,
    ) -> Result<()> {
        let _alone = self.alone();
        device.call(operation, || function(self.pointer()))
    }
}
