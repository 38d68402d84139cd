//! Memory of a device that somebody uses.

use std::sync::Arc;

use super::super::Device;
use super::super::captures::CapturedPool;
use super::super::driver::{Address, DeviceIndex, KeepAlive};
use super::super::in_use::Accelerator;
use super::super::stream::Stream;
use super::cache::Taken;
use super::reclaim;
use crate::{Error, Result};

const WHAT: &str = "a Buffer";
const ALLOCATING: &str = "an allocation";

/// Memory of a device, free again when it is dropped.
#[derive(Debug)]
pub(super) struct Allocation {
    home: &'static Accelerator,
    device: DeviceIndex,
    /// The stream whose work is the first to use it.
    stream: i64,
    /// The pool of the graph that was captured when it was made.
    pool: Option<CapturedPool>,
    /// `None` for no bytes, which are nowhere.
    taken: Option<Taken>,
}

impl Allocation {
    pub(super) fn new(stream: &Stream, bytes: usize) -> Result<Self> {
        let (home, device) = (stream.home(), stream.device_index());
        let cache = home.cache_for(device, "a Stream")?;
        let mut pool = home.pool_for(stream).map_err(|error| error.during(ALLOCATING))?;
        let taken = match bytes {
            0 => None,
            _ => match cache.allocate(stream, bytes, pool.map(|pool| pool.id)) {
                Err(Error::OutOfMemory(told)) if reclaim::ask_for_another_try(&told) => {
                    // Who was asked may have ended the capture.
                    pool = home.pool_for(stream).map_err(|error| error.during(ALLOCATING))?;
                    Some(cache.allocate(stream, bytes, pool.map(|pool| pool.id))?)
                }
                taken => Some(taken?),
            },
        };
        Ok(Allocation { home, device, stream: stream.id(), pool, taken })
    }

    pub(super) fn home(&self) -> &'static Accelerator {
        self.home
    }

    pub(super) fn device_index(&self) -> DeviceIndex {
        self.device
    }

    pub(super) fn device(&self) -> Device {
        self.home.device(self.device)
    }

    /// The address of the first byte.
    pub(super) fn address(&self) -> Address {
        self.taken.map_or(Address(0), |taken| taken.address)
    }

    /// The stream that it was allocated for, if it is alive.
    pub(super) fn stream(&self) -> Result<Option<Stream>> {
        self.home.driver_for(WHAT)?;
        self.home.stream_of_id(self.device, self.stream)
    }

    /// The other streams whose work uses it.
    pub(super) fn used_on(&self) -> Result<Vec<Stream>> {
        let cache = self.home.cache_for(self.device, WHAT)?;
        Ok(self.taken.map_or(Vec::new(), |taken| cache.used_on(taken.piece)))
    }

    /// Work on a stream uses it. That of its own stream, in whose order it is allocated and freed, is known to.
    pub(super) fn record_stream(&self, stream: &Stream) -> Result<()> {
        let cache = self.home.cache_for(self.device, WHAT)?;
        stream.driver()?;
        let is_own = stream.id() == self.stream && stream.device_index() == self.device;
        if let Some(taken) = self.taken.filter(|_| !is_own) {
            cache.record_stream(taken.piece, stream);
        }
        Ok(())
    }

    /// What work on a stream has to own that uses it: nothing, as it is given back to the driver only after all that
    /// was queued. A graph repeats what it has captured, and has to own what does not come from its own pool.
    pub(super) fn keep_alive_for(self: &Arc<Self>, stream: &Stream) -> Result<Option<KeepAlive>> {
        let captured = || -> Result<bool> {
            Ok(stream.is_capturing()? && (self.pool.is_none() || self.home.pool_for(stream)? != self.pool))
        };
        match captured() {
            Ok(true) => Ok(Some(self.clone())),
            // On a lost device the work itself fails, with an error that names it.
            Ok(false) | Err(Error::DeviceLost { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // A child can't reach the memory of its parent; it is left alone.
        if let Some(taken) = self.taken
            && let Ok(cache) = self.home.cache_for(self.device, WHAT)
        {
            cache.release(self.home, taken.piece);
        }
    }
}
