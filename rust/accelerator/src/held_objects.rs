//! Counts of the objects that a program holds on host devices, for tests of leaks.

use interlock_host::{FaultInjector, LiveObjects};

use crate::{DeviceType, Result, registry};

/// The number of objects of each kind that the program holds on the devices of a host driver. Unlike [`LiveObjects`],
/// it does not include what this crate owns: pooled streams, events of the allocators, cached memory, and worker
/// threads.
///
/// ```
/// use interlock_accelerator::host::{FaultInjector, HostDriver, HostOptions};
/// use interlock_accelerator::memory::DeviceBuffer;
/// use interlock_accelerator::{HeldObjects, Stream, held_objects};
///
/// let faults = FaultInjector::new();
/// let options = HostOptions { faults: faults.clone(), ..HostOptions::default() };
/// interlock_accelerator::use_driver(HostDriver::new(options)?)?;
/// let (pooled, buffer) = (Stream::new(None, 0)?, DeviceBuffer::new(None, 512)?);
/// let dedicated = Stream::dedicated(None, 0)?;
/// assert_eq!(held_objects(&faults)?, HeldObjects { streams: 1, bytes: 512, ..HeldObjects::default() });
/// drop((pooled, dedicated, buffer));
/// assert_eq!(held_objects(&faults)?, HeldObjects::default());
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldObjects {
    /// Dedicated streams, including destroyed streams with unfinished work.
    pub streams: usize,
    /// Recorded events.
    pub events: usize,
    /// Recorded graphs.
    pub graphs: usize,
    /// Executable graphs.
    pub executables: usize,
    /// Captures that have not ended.
    pub captures: usize,
    /// Queued commands that have not completed, on all streams.
    pub commands: u64,
    /// Bytes of buffers on all devices, as the allocator rounds them.
    pub bytes: u64,
    /// Bytes of pinned memory, as its cache rounds them.
    pub pinned_bytes: u64,
}

/// Returns the number of objects that the program holds on the devices of the host driver that `faults` is bound to.
///
/// # Errors
/// Returns [`Error::NoAccelerator`](crate::Error::NoAccelerator) if no driver was created with `faults` in this process.
pub fn held_objects(faults: &FaultInjector) -> Result<HeldObjects> {
    let LiveObjects {
        mut streams,
        mut events,
        graphs,
        executables,
        captures,
        commands,
        mut bytes,
        mut pinned_bytes,
        ..
    } = faults.live_objects()?;
    // The counts are taken one after the other, so other threads may create objects in between.
    if let Some(accelerator) =
        registry::try_accelerator().filter(|found| found.started().kind() == DeviceType::Host)
    {
        for device in accelerator.devices("the host driver")? {
            streams = streams.saturating_sub(device.home().streams().pooled().count());
            let (of_allocator, cached) = device.allocator("the host driver")?.cached();
            events = events.saturating_sub(of_allocator);
            bytes = bytes.saturating_sub(cached);
        }
        let (of_cache, cached) = accelerator.pinned().cached();
        events = events.saturating_sub(of_cache);
        pinned_bytes = pinned_bytes.saturating_sub(cached);
    }
    Ok(HeldObjects { streams, events, graphs, executables, captures, commands, bytes, pinned_bytes })
}
