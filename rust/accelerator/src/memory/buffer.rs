//! Memory on a device, allocated for a stream.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use interlock_driver::{Address, DeviceIndex, Fill, Owners, activity, races};

use super::poison;
use crate::allocators::{AllocatedBlock, CachingAllocator, oom_hooks};
use crate::device::DeviceState;
use crate::mem_pool::RequestPool;
use crate::private_pools::UsedPool;
use crate::started::Started;
use crate::stream::{Stream, StreamKind};
use crate::wait::Wait;
use crate::{Device, Error, Result, current, registry};

const WHAT: &str = "a Buffer";
const ALLOCATING: &str = "an allocation";

/// Memory on a device, allocated for a stream: RMM's `device_buffer`.
///
/// Clones and slices share the memory, which is freed with the last of them. Work that was queued by then runs before
/// the memory is reused: work of its stream because reuse is queued there later, work of other streams because they are
/// [recorded](DeviceBuffer::record_stream).
///
/// ```
/// use interlock_accelerator::Stream;
/// use interlock_accelerator::memory::DeviceBuffer;
///
/// interlock_accelerator::use_named("host")?;
/// let stream = Stream::new(None, 0)?;
/// let buffer = DeviceBuffer::on(&stream, 1 << 20)?;
/// buffer.slice(0..512)?.fill(7, Some(&stream))?;
/// stream.synchronize()?;
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceBuffer {
    allocation: Arc<Allocation>,
    offset: usize,
    bytes: usize,
}

impl DeviceBuffer {
    /// Allocates `bytes` uninitialized bytes on a device for its current stream. `None` means the current device.
    ///
    /// # Errors
    /// Returns [`Error::OutOfMemory`], and an error if there is no such device.
    pub fn new(device: Option<Device>, bytes: usize) -> Result<Self> {
        let (accelerator, index) = current::resolve(device, "accelerator.memory.Buffer")?;
        let stream = accelerator.home(index).and_then(current::stream_on);
        let stream = stream.map_err(|error| error.during(ALLOCATING))?;
        Self::on(&stream, bytes)
    }

    /// Allocates `bytes` uninitialized bytes for a stream, on its device.
    ///
    /// # Errors
    /// Returns [`Error::OutOfMemory`].
    pub fn on(stream: &Stream, bytes: usize) -> Result<Self> {
        Ok(DeviceBuffer { allocation: Allocation::new(stream, bytes)?, offset: 0, bytes })
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the device of the bytes.
    pub fn device(&self) -> Device {
        self.started().device(self.device_index())
    }

    /// Returns the device address of the first byte; 0 if there are no bytes.
    pub fn address(&self) -> Address {
        let block = self.allocation.block.filter(|_| self.bytes != 0);
        block.map_or(Address(0), |block| Address(block.address.0 + self.offset as u64))
    }

    /// Returns an error in a forked child of the process that allocated the bytes.
    ///
    /// # Errors
    /// Returns [`Error::Forked`].
    pub fn check_process(&self) -> Result<()> {
        self.allocation.device.driver_for(WHAT).map(drop)
    }

    /// Returns a CPU pointer to the first byte, if the CPU can access memory of the device. While the caller uses it,
    /// no queued work may use the bytes. In a forked child the bytes are those of the parent:
    /// [`check_process`](Self::check_process) reports it.
    pub fn pointer(&self) -> Option<NonNull<u8>> {
        let address = self.started().runtime().is_host_accessible().then(|| self.address().0 as usize)?;
        NonNull::new(std::ptr::with_exposed_provenance_mut(address))
    }

    /// Returns whether the CPU can access memory of the device.
    pub fn is_host_accessible(&self) -> bool {
        self.started().runtime().is_host_accessible()
    }

    /// Returns a part of the bytes, which shares the memory.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] for a range that is not within the bytes.
    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        if range.start > range.end || range.end > self.bytes {
            return Err(Error::Argument {
                name: "Buffer.slice: start and stop".into(),
                given: format!("{} and {}", range.start, range.end),
                allowed: format!("a range of the {} bytes", self.bytes),
            });
        }
        let (offset, bytes) = (self.offset + range.start, range.end - range.start);
        Ok(DeviceBuffer { allocation: self.allocation.clone(), offset, bytes })
    }

    /// Adds a description of the memory to the recorded [history](super::HistoryRecorder), with the stack of the caller.
    /// Has no effect while none is recorded.
    pub fn annotate(&self, annotation: &str) -> Result<()> {
        let Allocation { device, block, .. } = *self.allocation;
        let allocator = device.allocator(WHAT)?;
        if let Some(block) = block {
            allocator.annotate(block.id, &annotation.into());
        }
        Ok(())
    }

    /// Records that work on `stream` uses the bytes, like PyTorch's `record_stream`: when they are freed, they are
    /// reused only after the work that is queued there. Has no effect for the stream that they were allocated for.
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        let Allocation { device, stream: own, block, .. } = *self.allocation;
        let allocator = device.allocator(WHAT)?;
        stream.driver()?;
        // The memory is allocated and freed in the order of its own stream.
        let is_own = stream.id() == own && stream.device_index() == device.index();
        if let Some(block) = block.filter(|_| !is_own) {
            allocator.record_stream(block.id, stream);
        }
        Ok(())
    }

    /// Prepares the bytes for work that is queued on `stream` next, with the returned owners. A graph that records the
    /// work owns the memory, because a replay uses it again, unless the memory is from the pool of that graph.
    pub fn prepare_use(&self, stream: &Stream) -> Result<Owners> {
        self.record_stream(stream)?;
        self.allocation.owners_for(stream)
    }

    /// Returns the stream that the bytes were allocated for; `None` if it was destroyed. The bytes prevent that for a
    /// stream that another library created.
    pub fn stream(&self) -> Result<Option<Stream>> {
        self.allocation.device.driver_for(WHAT)?;
        self.allocation.device.home().stream_of_id(self.allocation.stream)
    }

    /// Returns the existing streams whose work may use the bytes: the stream that they were allocated for, the current
    /// stream of the device, and [recorded](DeviceBuffer::record_stream) streams.
    pub fn streams(&self) -> Result<Vec<Stream>> {
        let mut streams = self.stream_uses()?;
        for stream in self.stream()?.into_iter().chain([self.stream_or(None)?]) {
            if !streams.contains(&stream) {
                streams.push(stream);
            }
        }
        Ok(streams)
    }

    /// Begins a wait for all work that is queued now and may use the bytes.
    pub fn begin_wait(&self) -> Result<Vec<Wait>> {
        match self.stream()? {
            Some(_) => self.streams()?.iter().map(Stream::begin_wait).collect(),
            // After the stream was destroyed, only a wait for the whole device includes its work.
            None => {
                let others = self.stream_uses()?;
                let elsewhere = others.iter().filter(|other| other.device() != self.device());
                std::iter::once(current::begin_wait(Some(self.device())))
                    .chain(elsewhere.map(Stream::begin_wait))
                    .collect()
            }
        }
    }

    /// Queues a fill of every byte with `value` on `stream`, or on the current stream of the device without one.
    pub fn fill(&self, value: u8, stream: Option<&Stream>) -> Result<()> {
        self.allocation.device.driver_for("a Buffer")?;
        let stream = self.stream_or(stream)?;
        if stream.device() != self.device() {
            return Err(Error::NoSuchDevice {
                name: "accelerator.memory.fill_: stream".to_owned(),
                given: format!("a stream of {}", stream.device()),
                allowed: format!("on the device of the buffer, {}", self.device()),
            });
        }
        if self.bytes() == 0 {
            return Ok(());
        }
        let owners = self.prepare_use(&stream)?;
        // SAFETY: the bytes are on the device of the stream, and are freed in its order or owned by the graph.
        unsafe { stream.fill(Fill { address: self.address(), bytes: self.bytes, value, owners }) }
    }

    pub(super) fn started(&self) -> &'static Started {
        self.allocation.device.started()
    }

    pub(super) fn device_index(&self) -> DeviceIndex {
        self.allocation.device.index()
    }

    /// Returns the other streams whose work uses the memory.
    fn stream_uses(&self) -> Result<Vec<Stream>> {
        let allocator = self.allocation.device.allocator(WHAT)?;
        Ok(self.allocation.block.map_or(Vec::new(), |block| allocator.stream_uses(block.id)))
    }

    /// Returns the given stream, or the current stream of the device.
    pub(super) fn stream_or(&self, stream: Option<&Stream>) -> Result<Stream> {
        let current = || current::stream_on(self.allocation.device.home());
        stream.map_or_else(current, |stream| Ok(stream.clone()))
    }
}

/// A block of device memory, freed when it is dropped.
#[derive(Debug)]
struct Allocation {
    device: &'static DeviceState,
    /// The id of the stream that uses it first.
    stream: i64,
    /// The stream if another library created it: its owner could destroy it while it uses the block.
    _external: Option<Stream>,
    /// The pool of the graph whose capture allocated it.
    pool: Option<UsedPool>,
    /// `None` for no bytes.
    block: Option<AllocatedBlock>,
    bytes: usize,
    /// Whether it was allocated in a capture, as far as that matters to the detection of races.
    is_captured: bool,
}

impl Allocation {
    fn new(stream: &Stream, bytes: usize) -> Result<Arc<Self>> {
        let device = DeviceState::of(stream)?;
        let allocator = device.allocator("a Stream")?;
        // The cache may serve the request without a call of the driver.
        device.check_not_lost(ALLOCATING)?;
        let mut pool = if device.routes_requests() { pool_of(stream)? } else { None };
        let block = match bytes {
            0 => None,
            _ => match allocator.allocate(stream, bytes, pool.as_ref().map(RequestPool::id)) {
                Ok(block) => Some(block),
                Err(error) => Some(Self::allocate_again(device, stream, bytes, error, &mut pool)?),
            },
        };
        let is_captured = races::is_on() && stream.is_capturing()?;
        if let Some(block) = block {
            // Graphs use their memory on the streams that replay them.
            let user = if is_captured { None } else { Some(stream.handle()?) };
            races::allocate(block.address, bytes, user);
            if poison::is_on() {
                poison::poison(stream, block.address, bytes);
            }
        }
        activity::memory(device.index(), || allocated_bytes(allocator));
        let external = (stream.kind() == StreamKind::External).then(|| stream.clone());
        Ok(Arc::new(Allocation {
            device,
            stream: stream.id(),
            _external: external,
            pool: pool.and_then(|pool| pool.of_capture()),
            block,
            bytes,
            is_captured,
        }))
    }

    /// Repeats a request that ran out of memory if an observer requests a retry; otherwise returns the error.
    #[cold]
    fn allocate_again(
        device: &'static DeviceState,
        stream: &Stream,
        bytes: usize,
        error: Error,
        pool: &mut Option<RequestPool>,
    ) -> Result<AllocatedBlock> {
        match error {
            Error::OutOfMemory(oom) if oom_hooks::should_retry(&oom) => {
                // An observer may have ended the capture.
                *pool = pool_of(stream)?;
                device.allocator("a Stream")?.allocate(stream, bytes, pool.as_ref().map(RequestPool::id))
            }
            error => Err(error),
        }
    }

    /// Returns the owners of the memory for work on a stream. Only graphs own it, because memory is released to the
    /// driver after all queued work. A graph that allocates from the pool of the memory need not own it.
    fn owners_for(self: &Arc<Self>, stream: &Stream) -> Result<Owners> {
        if self.block.is_none() {
            return Ok(Owners::default());
        }
        let except = match (self.pool, registry::accelerator_of(self.device.started())) {
            (Some(pool), Some(accelerator)) => accelerator.capture_from_pool(stream, pool)?,
            _ => None,
        };
        Ok(Owners::in_graphs(self.clone(), except))
    }
}

impl Allocation {
    /// Poisons freed memory in the order of its stream, unless other streams still use it.
    #[cold]
    fn poison(&self, is_unused_elsewhere: bool, address: Address) {
        if is_unused_elsewhere && let Ok(Some(stream)) = self.device.home().stream_of_id(self.stream) {
            poison::poison(&stream, address, self.bytes);
        }
    }
}

/// Returns the bytes that are allocated on the device of an allocator.
fn allocated_bytes(allocator: &CachingAllocator) -> u64 {
    allocator.with_stats(|stats| stats.allocated_bytes.all.current)
}

/// Returns the private pool of a request of a stream on this thread.
#[cold]
fn pool_of(stream: &Stream) -> Result<Option<RequestPool>> {
    let Some(accelerator) = registry::accelerator_of(stream.started()) else { return Ok(None) };
    RequestPool::of(accelerator, stream).map_err(|error| error.during(ALLOCATING))
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // A forked child can't use the memory of its parent and does not free it.
        if let Some(block) = self.block
            && let Ok(allocator) = self.device.allocator(WHAT)
        {
            if poison::is_on() {
                self.poison(allocator.stream_uses(block.id).is_empty(), block.address);
            }
            // Graphs use their memory after the program has freed it.
            if !self.is_captured {
                races::release(block.address, self.bytes);
            }
            allocator.free(self.device, block.id);
            activity::memory(self.device.index(), || allocated_bytes(allocator));
        }
    }
}
