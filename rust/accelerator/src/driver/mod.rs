//! The one seam between this crate and devices: what a driver does, and nothing of what is built on it.
//!
//! Everything above a driver is there once for all of them: who is current, pools of streams, lifetimes,
//! messages, statistics. A driver counts devices, moves bytes, keeps queues in order and says what failed.

mod types;

use std::sync::Arc;

pub use types::{
    Address, Awaited, CaptureMode, Copy, DeviceIndex, DeviceProperties, EventHandle, EventOptions,
    ExecutableHandle, Fill, Goal, GraphHandle, GraphShape, Keeper, MemoryInfo, Place, PriorityRange,
    StreamHandle, WaitPolicy, Work,
};

use interlock_core::base::backoff::Backoff;

use super::{Device, DeviceType};
use crate::{Error, Result};

/// Devices of one type.
///
/// Whoever calls passes indices below [`device_count`](Driver::device_count), and handles that this driver
/// gave out and that have not been released, in the process that got them. A method that is not `unsafe` refuses
/// every other index and handle with an error: memory safety must not depend on them. Every method may be called from
/// every thread. Only [`wait`](Driver::wait), [`start`](Driver::start) and what gives or takes back memory may take
/// their time; all other work is queued.
///
/// [`create_event`](Driver::create_event), [`record_event`](Driver::record_event), [`is_over`](Driver::is_over) and
/// [`capture_of`](Driver::capture_of) are called with locks held: they drop nothing that was handed in, and call
/// nobody.
///
/// Errors of queued work are told late: by the next [`is_done`](Driver::is_done) or [`wait`](Driver::wait)
/// that covers the work, as [`Error::Device`] with the operation that failed.
///
/// # Safety
/// What [`allocate`](Driver::allocate), [`allocate_pinned`](Driver::allocate_pinned) and [`map`](Driver::map)
/// return must stay valid for as many bytes as were asked for until it is released or the driver is dropped, and
/// queued work must keep its [`Keeper`](Keeper) until it has been done. Where [`shares_memory`](Driver::shares_memory) is true, addresses of
/// devices are those of this program.
pub unsafe trait Driver: Send + Sync {
    /// The type of its devices. One driver for each type.
    fn device_type(&self) -> DeviceType;

    /// Why it can't be used, in one sentence; `None` where it can. Does not start it.
    fn unavailable(&self) -> Option<String>;

    /// How many devices it has; 0 where it can't be used. Does not start it, and stays the same once it is
    /// started.
    fn device_count(&self) -> u32;

    /// Returns the number of devices if that is known without blocking: 0 where the driver can't be used, `None` where
    /// [`unavailable`](Driver::unavailable) and [`device_count`](Driver::device_count) have to be called. They are not
    /// called in a process that uses the driver: it has the devices that it had when it was started.
    fn count_at_once(&self) -> Option<u32> {
        None
    }

    /// What the environment asks of it that comes too late, in one sentence: once it is started, it does not follow.
    /// It does not block.
    fn changed_too_late(&self) -> Option<String> {
        None
    }

    /// Called in a process before anything of the following; called again it does nothing.
    fn start(&self) -> Result<()> {
        Ok(())
    }

    /// The driver for a process forked from one in which this was started; `None` where there can be none.
    /// Called in the child, so it may not wait for another thread.
    fn in_forked_child(&self) -> Option<Arc<dyn Driver>> {
        None
    }

    /// What a device is.
    fn properties(&self, device: DeviceIndex) -> Result<DeviceProperties>;

    /// How much of its memory is free, and how much it has. What this crate has taken never exceeds `total`: a request
    /// beyond it fails with [`Error::OutOfMemory`] and the driver is not asked. A total of 0, or an error, means that
    /// the total is not known.
    fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo>;

    /// Memory of a device, aligned to 512 bytes; its content is undefined. `bytes` is not 0.
    ///
    /// A driver without room returns [`Error::OutOfMemory`], which
    /// [`OutOfMemory::error`](crate::memory::OutOfMemory::error) makes. Then everything cached that is
    /// unused is released and the driver is asked once more; if it refuses again, the callbacks of
    /// [`on_oom`](crate::memory::on_oom) run, and the program gets the error. Every other error is passed
    /// on at once, without a retry. The same holds for [`map`](Driver::map) and, with the cache of pinned memory, for
    /// [`allocate_pinned`](Driver::allocate_pinned).
    fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address>;

    /// Gives memory back.
    ///
    /// # Safety
    /// [`allocate`](Driver::allocate) gave it for this device and size, and neither queued work nor a graph
    /// uses it.
    unsafe fn release(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()>;

    /// Memory of the processor that all devices reach without a detour, aligned to 512 bytes. `bytes` is not 0; a
    /// driver that has to use a device for it uses `near`.
    fn allocate_pinned(&self, near: DeviceIndex, bytes: usize) -> Result<Address>;

    /// Gives such memory back.
    ///
    /// # Safety
    /// As for [`release`](Driver::release).
    unsafe fn release_pinned(&self, address: Address, bytes: usize) -> Result<()>;

    /// Whether the processor reads and writes memory of the devices where it lies.
    fn shares_memory(&self) -> bool {
        false
    }

    /// How many bytes of addresses [`map`](Driver::map) gives memory to at least, 0 where the devices have no
    /// virtual memory: then none of the four functions below is called. It divides all that they are given.
    fn mapping_granularity(&self, device: DeviceIndex) -> Result<usize> {
        let _ = device;
        Ok(0)
    }

    /// Addresses without memory, aligned to the granularity.
    fn reserve_addresses(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        let _ = bytes;
        Err(self.no_virtual_memory(device))
    }

    /// Gives addresses back that have no memory.
    ///
    /// # Safety
    /// [`reserve_addresses`](Driver::reserve_addresses) gave them for this device and size, and none of them has
    /// memory.
    unsafe fn release_addresses(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let _ = (address, bytes);
        Err(self.no_virtual_memory(device))
    }

    /// Gives memory to reserved addresses that have none; its content is undefined. It counts as
    /// [allocated](Driver::allocate).
    fn map(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let _ = (address, bytes);
        Err(self.no_virtual_memory(device))
    }

    /// Takes the memory of addresses back, which stay reserved.
    ///
    /// # Safety
    /// One [`map`](Driver::map) gave it for this device and size, and neither queued work nor a graph uses it.
    unsafe fn unmap(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let _ = (address, bytes);
        Err(self.no_virtual_memory(device))
    }

    /// The error of a driver without virtual memory.
    fn no_virtual_memory(&self, device: DeviceIndex) -> Error {
        let device = Device::with_index(self.device_type(), device);
        Error::Unsupported { operation: "virtual memory", device }
    }

    /// The priorities of its streams.
    fn priority_range(&self, device: DeviceIndex) -> Result<PriorityRange>;

    /// The stream that a device has from the start. It is never released, and does not capture.
    fn default_stream(&self, device: DeviceIndex) -> Result<StreamHandle>;

    /// A new stream; `priority` is within the range.
    fn create_stream(&self, device: DeviceIndex, priority: i32) -> Result<StreamHandle>;

    /// Lets a stream go; what is queued on it still runs.
    fn release_stream(&self, stream: StreamHandle);

    /// A stream that another library made, by what that library calls it.
    ///
    /// # Safety
    /// `native` is a stream of the library that this driver works with, of this device, or one of its special
    /// handles, and stays valid until no work is queued on it any more. A driver refuses what it can recognize as
    /// something else, but it may pass the number to its library as a pointer.
    unsafe fn adopt_stream(&self, device: DeviceIndex, native: u64) -> Result<StreamHandle>;

    /// A new event, recorded nowhere.
    fn create_event(&self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle>;

    /// Lets an event go; who waits for its last record still does.
    fn release_event(&self, event: EventHandle);

    /// Marks the place after everything that is queued on the stream, in place of what the event marked before.
    fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()>;

    /// What is queued on the stream from now on waits for what the event marks now.
    fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()>;

    /// Milliseconds from one event to another, both made with timing and reached.
    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f64>;

    /// What another process opens the event with.
    fn export_event(&self, event: EventHandle) -> Result<Vec<u8>> {
        let _ = event;
        Err(Error::Unsupported { operation: "Event.ipc_handle", device: Device::of(self.device_type()) })
    }

    /// An event of another process.
    fn import_event(&self, device: DeviceIndex, exported: &[u8]) -> Result<EventHandle> {
        let _ = (device, exported);
        Err(Error::Unsupported { operation: "Event.from_ipc_handle", device: Device::of(self.device_type()) })
    }

    /// Whether it has ended. Never waits.
    fn is_done(&self, awaited: Awaited) -> Result<bool>;

    /// Whether everything before the mark of an event has ended, well or not; true for one that was never
    /// recorded. Never waits, and what failed is still to be told to whoever asks [`is_done`](Driver::is_done).
    fn is_over(&self, event: EventHandle) -> Result<bool>;

    /// What a wait that begins now is for.
    fn goal(&self, awaited: Awaited) -> Result<Goal> {
        Ok(Goal { awaited, places: Vec::new() })
    }

    /// Waits until a goal is reached; false where the timeout came first. A driver whose goals have no places
    /// waits for what is queued in the meantime, too.
    fn wait(&self, goal: &Goal, policy: WaitPolicy) -> Result<bool> {
        let mut backoff = Backoff::new(policy.timeout, policy.blocking);
        loop {
            if self.is_done(goal.awaited)? {
                return Ok(true);
            }
            if !backoff.pause() {
                return Ok(false);
            }
        }
    }

    /// Queues a copy.
    ///
    /// # Safety
    /// Both ends are valid for the copy's bytes as long as its keeper lives.
    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()>;

    /// Queues a fill.
    ///
    /// # Safety
    /// The bytes are memory of the stream's device as long as the keeper lives.
    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()>;

    /// Queues a function.
    fn launch(&self, stream: StreamHandle, work: Work) -> Result<()>;

    /// What is queued on the stream from now on is recorded instead of run, and so is what other streams
    /// queue once they wait for an event recorded there.
    fn begin_capture(&self, stream: StreamHandle, mode: CaptureMode) -> Result<()>;

    /// The capture into which work queued on the stream is recorded, if it is. No two captures of a process have
    /// the same number.
    fn capture_of(&self, stream: StreamHandle) -> Result<Option<u64>>;

    /// Ends the capture that began on the stream. Fails, and the capture is over all the same, where something
    /// was done that can't be repeated, or another stream's part was not joined back. A driver may refuse to end one on
    /// another thread than it began on, unless its mode is relaxed; then it goes on.
    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle>;

    /// Makes a graph ready to be replayed.
    fn instantiate(&self, graph: GraphHandle) -> Result<ExecutableHandle>;

    /// Queues the work of a graph. Replays of one executable follow each other, on whichever streams.
    fn replay(&self, executable: ExecutableHandle, stream: StreamHandle) -> Result<()>;

    /// What a graph consists of.
    fn shape(&self, graph: GraphHandle) -> Result<GraphShape>;

    /// Whether a graph has no nodes.
    fn is_graph_empty(&self, graph: GraphHandle) -> Result<bool> {
        Ok(self.shape(graph)?.nodes.is_empty())
    }

    /// Lets a graph go.
    fn release_graph(&self, graph: GraphHandle);

    /// Lets an executable go; replays that are queued still run.
    fn release_executable(&self, executable: ExecutableHandle);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeDevices;

    #[test]
    fn a_driver_has_no_virtual_memory_unless_it_says_so() {
        let stream = FakeDevices::new(|| {}).stream(1);
        let (driver, address) = (stream.driver().unwrap(), Address(0));
        assert_eq!(driver.mapping_granularity(1), Ok(0));
        // SAFETY: there are no such addresses.
        let taken = unsafe { [driver.unmap(1, address, 1), driver.release_addresses(1, address, 1)] };
        let given = [driver.reserve_addresses(1, 1).map(drop), driver.map(1, address, 1)];
        for result in taken.into_iter().chain(given) {
            assert_eq!(result, Err(driver.no_virtual_memory(1)));
        }
    }
}
