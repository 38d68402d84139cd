//! Work that is queued on streams.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use interlock_core::base::catch::call_catching_panic;

use interlock_core::device::DeviceIndex;

use super::byte_range::ByteRange;
use super::capture::CaptureId;
use super::failure::Failure;
use super::handle::Address;

/// An owner of resources that queued work uses.
pub type KeepAlive = Arc<dyn Any + Send + Sync>;

/// The owners of the resources that queued work uses.
///
/// The caller names every owner. The driver decides which of them the work owns, under the lock under which a capture
/// of the stream begins: a capture that another thread begins meanwhile contains either the work and its owners, or
/// nothing.
///
/// ```
/// use std::sync::Arc;
///
/// use interlock_driver::{KeepAlive, Owners};
///
/// let (copied, freed_in_order): (KeepAlive, KeepAlive) = (Arc::new([0_u8; 64]), Arc::new("a block"));
/// let owners = Owners::until_completed(copied).and(Owners::in_graphs(freed_in_order, None));
/// // The work runs once: the block outlives work that is queued by now.
/// let (owned, dropped) = owners.clone().split(None);
/// assert_eq!((owned.len(), dropped.len()), (1, 1));
/// // A graph records the work.
/// let (owned, dropped) = owners.split(Some(7));
/// assert_eq!((owned.len(), dropped.len()), (2, 0));
/// ```
#[derive(Clone, Default)]
pub struct Owners {
    until_completed: Vec<KeepAlive>,
    in_graphs: Vec<(KeepAlive, Option<CaptureId>)>,
}

impl Owners {
    /// Creates an owner of resources that must live until the work has completed and no graph can repeat it.
    pub fn until_completed(owner: KeepAlive) -> Self {
        Owners { until_completed: vec![owner], in_graphs: Vec::new() }
    }

    /// Creates an owner of memory that is freed in the order of streams: it outlives all work that is queued by the
    /// time of its release, so only graphs must own it. The graph of the capture `except` need not own it either,
    /// because it owns the pool of the memory.
    pub fn in_graphs(owner: KeepAlive, except: Option<CaptureId>) -> Self {
        Owners { until_completed: Vec::new(), in_graphs: vec![(owner, except)] }
    }

    /// Adds other owners.
    pub fn extend(&mut self, other: Owners) {
        self.until_completed.extend(other.until_completed);
        self.in_graphs.extend(other.in_graphs);
    }

    /// Returns these owners and others.
    #[must_use]
    pub fn and(mut self, other: Owners) -> Self {
        self.extend(other);
        self
    }

    /// Splits the owners by the capture that records the work, if any: into those that the driver keeps until the work
    /// has completed and no graph can repeat it, and those that it drops once the work is queued, without a lock.
    pub fn split(self, capture: Option<CaptureId>) -> (Vec<KeepAlive>, Vec<KeepAlive>) {
        let (mut owned, mut dropped) = (self.until_completed, Vec::new());
        for (owner, except) in self.in_graphs {
            let owns = capture.is_some() && capture != except;
            if owns { &mut owned } else { &mut dropped }.push(owner);
        }
        (owned, dropped)
    }

    /// Removes and returns the owners that the work does not own, so that those that it owns remain. See
    /// [`split`](Owners::split).
    pub fn take_unneeded(&mut self, capture: Option<CaptureId>) -> Vec<KeepAlive> {
        let (owned, dropped) = std::mem::take(self).split(capture);
        self.until_completed = owned;
        dropped
    }
}

impl fmt::Debug for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owners({}, {} in graphs)", self.until_completed.len(), self.in_graphs.len())
    }
}

/// The source or the destination of a copy.
///
/// ```
/// use interlock_driver::{Address, CopyEndpoint};
///
/// let bytes = [0_u8; 16];
/// let host = CopyEndpoint::Host(Address(bytes.as_ptr() as u64));
/// let device = CopyEndpoint::Device(0, Address(0x1000));
/// assert_eq!((host.device(), device.device()), (None, Some(0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyEndpoint {
    /// Memory of a device.
    Device(DeviceIndex, Address),
    /// Memory of this program.
    Host(Address),
}

impl CopyEndpoint {
    /// Returns the address.
    pub fn address(self) -> Address {
        match self {
            CopyEndpoint::Device(_, address) | CopyEndpoint::Host(address) => address,
        }
    }

    /// Returns the device whose memory it is; `None` for memory of this program.
    pub fn device(self) -> Option<DeviceIndex> {
        match self {
            CopyEndpoint::Device(device, _) => Some(device),
            CopyEndpoint::Host(_) => None,
        }
    }
}

/// A copy. The two ranges are disjoint or identical.
///
/// ```
/// use interlock_driver::{Address, Copy, CopyEndpoint, DriverRuntime, Owners, Result, StreamHandle};
///
/// /// # Safety
/// /// Both ranges stay valid until the stream has copied them.
/// unsafe fn mirror(runtime: &dyn DriverRuntime, stream: StreamHandle, bytes: usize) -> Result<()> {
///     let [to, from] = [0x1000, 0x2000].map(|address| CopyEndpoint::Device(0, Address(address)));
///     unsafe { runtime.copy(stream, Copy { to, from, bytes, owners: Owners::default() }) }
/// }
/// ```
#[derive(Clone)]
pub struct Copy {
    /// The destination.
    pub to: CopyEndpoint,
    /// The source.
    pub from: CopyEndpoint,
    /// The number of bytes.
    pub bytes: usize,
    /// The owners of both endpoints; none if they remain valid without one.
    pub owners: Owners,
}

/// A fill: sets bytes to one value (`cuMemsetD8Async`).
///
/// ```
/// use interlock_driver::{Address, DriverRuntime, Fill, Owners, Result, StreamHandle};
///
/// /// # Safety
/// /// The bytes stay allocated until the stream has filled them.
/// unsafe fn zero(runtime: &dyn DriverRuntime, stream: StreamHandle, address: Address) -> Result<()> {
///     unsafe { runtime.fill(stream, Fill { address, bytes: 512, value: 0, owners: Owners::default() }) }
/// }
/// ```
#[derive(Clone)]
pub struct Fill {
    /// The first byte, on the device of the stream.
    pub address: Address,
    /// The number of bytes.
    pub bytes: usize,
    /// The value of each byte.
    pub value: u8,
    /// The owners of the bytes; none if they remain valid without one.
    pub owners: Owners,
}

/// A host function, which runs in the order of a stream (`cuLaunchHostFunc`): once, or with each replay of a graph that
/// recorded it.
///
/// ```
/// use interlock_driver::HostFn;
///
/// let function = HostFn::new("load", || Err("no such file".into()));
/// assert_eq!(function.call(), Err("no such file".into()));
/// ```
#[derive(Clone)]
pub struct HostFn {
    /// The name of the function in error messages.
    pub name: Arc<str>,
    /// The function, which returns why it failed. It runs on a thread of the driver and must not wait for its
    /// stream.
    pub run: Arc<dyn Fn() -> Result<(), Failure> + Send + Sync>,
    /// The owners of memory that the function uses and does not own itself.
    pub owners: Owners,
    /// Bytes that the function reads or writes, for the detection of [races](crate::races). Kernels of this program that
    /// own an [`Access`](crate::Access) while they run need not declare them.
    pub uses: Vec<ByteRange>,
}

impl HostFn {
    /// Creates a host function with a name for error messages.
    pub fn new(name: &str, run: impl Fn() -> Result<(), Failure> + Send + Sync + 'static) -> Self {
        HostFn { name: Arc::from(name), run: Arc::new(run), owners: Owners::default(), uses: Vec::new() }
    }

    /// Declares bytes that the function reads or writes.
    #[must_use]
    pub fn with_uses(mut self, uses: Vec<ByteRange>) -> Self {
        self.uses = uses;
        self
    }

    /// Sets the owners of memory that the function uses and does not own itself.
    #[must_use]
    pub fn with_owners(mut self, owners: Owners) -> Self {
        self.owners = owners;
        self
    }

    /// Runs the function.
    ///
    /// # Errors
    /// Returns why it failed, or the message of its panic.
    pub fn call(&self) -> Result<(), Failure> {
        call_catching_panic(|| (self.run)())
    }
}

impl fmt::Debug for HostFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostFn({})", self.name)
    }
}

/// The nodes and edges of a captured graph.
///
/// ```
/// use interlock_driver::GraphDump;
///
/// let nodes = vec!["fill".to_owned(), "copy".to_owned()];
/// let dump = GraphDump { nodes, edges: vec![(0, 1)] };
/// for (before, after) in &dump.edges {
///     println!("{} -> {}", dump.nodes[*before], dump.nodes[*after]);
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphDump {
    /// A readable description of each node.
    pub nodes: Vec<String>,
    /// Pairs of indices in `nodes`: the second node runs after the first.
    pub edges: Vec<(usize, usize)>,
}
