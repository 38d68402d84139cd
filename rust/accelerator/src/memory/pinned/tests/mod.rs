//! The cache of pinned memory on host drivers of their own.

mod failures;
mod reuse;
mod sizes;

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use interlock_driver::HostFn;
use interlock_host::{Faults, HostDriver, HostOptions};

use super::*;

/// An accelerator that is not the one in use, so that a test has it for itself.
struct Rig {
    accelerator: &'static Accelerator,
    faults: Faults,
}

/// Work waits for it until it is dropped.
struct Latch(#[expect(dead_code, reason = "it is there to be dropped")] mpsc::Sender<()>);

impl Rig {
    fn new() -> Self {
        Self::with(PinnedOptions::default())
    }

    fn with(options: PinnedOptions) -> Self {
        let faults = Faults::new();
        let options_of_driver = HostOptions { devices: 2, faults: faults.clone(), ..HostOptions::default() };
        let driver = HostDriver::new(options_of_driver).unwrap();
        let accelerator: &Accelerator = Box::leak(Box::new(Accelerator::start(driver).unwrap()));
        let mut pinned = accelerator.pinned().lock();
        // No configuration of the process comes later.
        pinned.config_number = u64::MAX;
        pinned.pool.options = options;
        drop(pinned);
        Rig { accelerator, faults }
    }

    fn memory(&self, bytes: usize) -> PinnedMemory {
        PinnedMemory::of(self.accelerator, bytes).unwrap()
    }

    fn stream(&self, device: u8) -> Stream {
        self.accelerator.dedicated_stream(device, 0).unwrap()
    }

    /// What is queued on the stream next is not done before the latch is dropped.
    fn block(&self, stream: &Stream) -> Latch {
        let (latch, gate) = mpsc::channel();
        let gate = Mutex::new(gate);
        let wait = move || {
            let waited = gate.lock().unwrap().recv_timeout(Duration::from_secs(60));
            assert_eq!(waited, Err(mpsc::RecvTimeoutError::Disconnected), "nobody dropped the latch");
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

    /// Bytes that the driver has given.
    fn taken(&self) -> u64 {
        self.faults.live_objects().unwrap().pinned_bytes
    }

    fn is_held(&self, pointer: NonNull<u8>) -> bool {
        self.accelerator.pinned().lock().pool.is_allocated(pointer.as_ptr() as u64)
    }
}
