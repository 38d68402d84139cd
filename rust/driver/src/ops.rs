//! Work that is queued on streams.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use interlock_core::base::catch::call_catching_panic;

use interlock_core::device::DeviceIndex;

use super::handle::Address;

/// The owner of resources that queued work uses. The driver keeps it until the work has completed and no graph can
/// repeat the work.
pub type KeepAlive = Arc<dyn Any + Send + Sync>;

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
/// use interlock_driver::{Address, Copy, CopyEndpoint, DriverRuntime, Result, StreamHandle};
///
/// /// # Safety
/// /// Both ranges stay valid until the stream has copied them.
/// unsafe fn mirror(runtime: &dyn DriverRuntime, stream: StreamHandle, bytes: usize) -> Result<()> {
///     let [to, from] = [0x1000, 0x2000].map(|address| CopyEndpoint::Device(0, Address(address)));
///     unsafe { runtime.copy(stream, Copy { to, from, bytes, keep_alive: None }) }
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
    /// The owner of both endpoints; `None` if they remain valid without one.
    pub keep_alive: Option<KeepAlive>,
}

/// A fill: sets bytes to one value (`cuMemsetD8Async`).
///
/// ```
/// use interlock_driver::{Address, DriverRuntime, Fill, Result, StreamHandle};
///
/// /// # Safety
/// /// The bytes stay allocated until the stream has filled them.
/// unsafe fn zero(runtime: &dyn DriverRuntime, stream: StreamHandle, address: Address) -> Result<()> {
///     unsafe { runtime.fill(stream, Fill { address, bytes: 512, value: 0, keep_alive: None }) }
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
    /// The owner of the bytes; `None` if they remain valid without one.
    pub keep_alive: Option<KeepAlive>,
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
    /// The function, which returns a reason if it fails. It runs on a thread of the driver and must not wait for its
    /// stream.
    pub run: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl HostFn {
    /// Creates a host function with a name for error messages.
    pub fn new(name: &str, run: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        HostFn { name: Arc::from(name), run: Arc::new(run) }
    }

    /// Runs the function.
    ///
    /// # Errors
    /// Returns the reason if it fails or panics.
    pub fn call(&self) -> Result<(), String> {
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
