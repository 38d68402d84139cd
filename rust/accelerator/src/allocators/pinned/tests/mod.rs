//! Tests of the cache of pinned memory, each on its own host driver.

mod failures;
mod reuse;
mod sizes;

use std::ptr::NonNull;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use interlock_driver::HostFn;
use interlock_host::{FaultInjector, HostDriver, HostOptions};

use super::*;
use crate::accelerator::Accelerator;
use crate::memory::PinnedMemory;

/// An accelerator that is used by one test only.
struct Rig {
    accelerator: &'static Accelerator,
    faults: FaultInjector,
}

/// Blocks a stream until it is dropped.
struct Latch(#[expect(dead_code, reason = "only dropped")] mpsc::Sender<()>);

impl Rig {
    fn new() -> Self {
        Self::with(PinnedOptions::default())
    }

    fn with(options: PinnedOptions) -> Self {
        let faults = FaultInjector::new();
        let driver_options = HostOptions { devices: 2, faults: faults.clone(), ..HostOptions::default() };
        let driver = HostDriver::new(driver_options).unwrap();
        let accelerator: &Accelerator = Box::leak(Box::new(Accelerator::start(driver).unwrap()));
        let mut pinned = accelerator.pinned().lock();
        // No configuration of the process has a greater number.
        pinned.config_number = u64::MAX;
        pinned.pool.options = options;
        drop(pinned);
        Rig { accelerator, faults }
    }

    fn memory(&self, bytes: usize) -> PinnedMemory {
        PinnedMemory::of(self.accelerator, bytes).unwrap()
    }

    fn stream(&self, device: u8) -> Stream {
        self.accelerator.home(device).unwrap().dedicated_stream(0).unwrap()
    }

    /// Blocks later work of a stream until the returned latch is dropped.
    fn block(&self, stream: &Stream) -> Latch {
        let (latch, gate) = mpsc::channel();
        let gate = Mutex::new(gate);
        let wait = move || {
            let waited = gate.lock().unwrap().recv_timeout(Duration::from_secs(60));
            assert_eq!(waited, Err(mpsc::RecvTimeoutError::Disconnected), "the latch was not dropped");
            Ok(())
        };
        stream.launch(HostFn::new("wait", wait)).unwrap();
        Latch(latch)
    }

    fn empty(&self) {
        self.accelerator.pinned().release_cached_blocks(self.accelerator.driver_for("a test").unwrap());
    }

    fn counted(&self) -> PinnedStats {
        self.accelerator.pinned().lock().pool.stats
    }

    /// Returns the bytes that the driver has allocated.
    fn reserved(&self) -> u64 {
        self.faults.live_objects().unwrap().pinned_bytes
    }

    fn is_allocated(&self, pointer: NonNull<u8>) -> bool {
        self.accelerator.pinned().lock().pool.is_allocated(pointer.as_ptr() as u64)
    }
}
