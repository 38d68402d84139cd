//! What is passed to drivers and comes from them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use interlock_core::base::catch::call_catching_panic;

/// The place of a device among those of its driver.
pub type DeviceIndex = u8;

/// A stream as its driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamHandle {
    /// The device whose work it orders.
    pub device: DeviceIndex,
    /// What other libraries for these devices call it: on NVIDIA's a `cudaStream_t`.
    pub native: u64,
}

/// An event as its driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventHandle {
    /// The device on whose streams it is recorded.
    pub device: DeviceIndex,
    /// What other libraries for these devices call it: on NVIDIA's a `cudaEvent_t`.
    pub native: u64,
}

/// A recorded graph as its driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphHandle(pub u64);

/// A graph made ready to be replayed, as its driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExecutableHandle(pub u64);

/// An address in a device's memory, or in the processor's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({:#x})", self.0)
    }
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// As its maker calls it.
    pub name: String,
    /// Bytes of memory that it has.
    pub total_memory: u64,
    /// How many units run work at the same time.
    pub multi_processor_count: u32,
    /// What it tells besides: names and values for people.
    pub more: Vec<(&'static str, String)>,
}

/// Memory of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Not allocated by anybody.
    pub free: u64,
    /// Free or not.
    pub total: u64,
}

/// The priorities that streams of a device may have: a smaller number goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityRange {
    /// The largest number.
    pub least: i32,
    /// The smallest number.
    pub greatest: i32,
}

/// What an event is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// It notes when it is reached.
    pub timing: bool,
    /// Who waits for it sleeps until it is woken, instead of asking again and again.
    pub blocking: bool,
    /// Other processes may open it.
    pub interprocess: bool,
}

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Memory of a device.
    Device(DeviceIndex, Address),
    /// Memory of this program.
    Host(Address),
}

/// Keeps alive what queued work reaches, until the work is done and no graph can repeat it.
pub type Keeper = Arc<dyn Any + Send + Sync>;

/// Bytes to be copied. The two ranges do not overlap, or are the same.
#[derive(Clone)]
pub struct Copy {
    /// Where they go.
    pub to: Place,
    /// Where they come from.
    pub from: Place,
    /// How many.
    pub bytes: usize,
    /// What owns both ends.
    pub keep: Keeper,
}

/// Bytes to be set to one value.
#[derive(Clone)]
pub struct Fill {
    /// The first of them, on the device of the stream.
    pub address: Address,
    /// How many.
    pub bytes: usize,
    /// What each becomes.
    pub value: u8,
    /// What owns them.
    pub keep: Keeper,
}

/// A function to be run in the order of a stream, once or as often as a graph that recorded it is replayed.
#[derive(Clone)]
pub struct Work {
    /// What messages call it.
    pub name: Arc<str>,
    /// Returns why it failed, if it did. It runs on a thread of the driver and may not wait for this stream.
    pub run: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl Work {
    /// A function with a name for messages.
    pub fn new(name: &str, run: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Work { name: Arc::from(name), run: Arc::new(run) }
    }

    /// Runs it; why it failed, if it did. A panic is a failure.
    pub fn call(&self) -> Result<(), String> {
        call_catching_panic(|| (self.run)())
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Work({})", self.name)
    }
}

/// Something that ends: all work of a stream or device that was queued before, or what an event marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Everything queued on the stream.
    Stream(StreamHandle),
    /// What was queued on the stream before the event was last recorded there; nothing if it never was.
    Event(EventHandle),
    /// Everything queued on any stream of the device.
    Device(DeviceIndex),
}

/// What a wait is for: what [`Driver::goal`] found queued. What is queued later is not waited for; that of a device may
/// cover what is queued right afterwards, where a driver waits for other libraries' work as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// What was asked for.
    pub awaited: Awaited,
    /// Places to be reached, in the driver's own numbers.
    pub places: Vec<(u64, u64)>,
}

/// How a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitPolicy {
    /// The longest time to wait.
    pub timeout: Duration,
    /// Sleeps until it is woken, where the driver can do that, instead of polling.
    pub blocking: bool,
}

/// Where waiting for a device is refused while a stream captures, because a replay could not repeat it. Memory is
/// given and taken back all the same: what is above a driver sees to it that a graph keeps what it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// On every thread.
    Global,
    /// On the thread that captures.
    ThreadLocal,
    /// Nowhere. What concerns the capturing stream itself is refused all the same.
    Relaxed,
}

impl CaptureMode {
    /// Whether it refuses what can't be repeated to the thread that captures, or to another one.
    pub(crate) fn refuses(self, is_capturing: bool) -> bool {
        match self {
            CaptureMode::Global => true,
            CaptureMode::ThreadLocal => is_capturing,
            CaptureMode::Relaxed => false,
        }
    }
}

/// What a recorded graph consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphShape {
    /// What each node does, for people.
    pub nodes: Vec<String>,
    /// Pairs of nodes, by their places in `nodes`: the second runs after the first.
    pub edges: Vec<(usize, usize)>,
}
