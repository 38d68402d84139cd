//! Memory pools of the program, and scopes whose allocations use them.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

use interlock_core::base::mutex::Mutex;
use interlock_core::binding::thread::{self as binding, DeviceObject, DeviceSlots, Slots};
use interlock_core::thread::{Scope, ScopeGuard};
use interlock_driver::{DeviceIndex, PoolId};

use crate::accelerator::Accelerator;
use crate::allocators::MemPoolOptions;
use crate::allocators::snapshot::SegmentState;
use crate::private_pools::{UsedPool, new_pool};
use crate::stream::Stream;
use crate::{Device, Error, Result, current, registry};

const NAME: &str = "accelerator.MemPool";
const WHAT: &str = "a MemPool";
const OPERATION: &str = "accelerator.use_mem_pool";

/// A private pool of the caching allocators, PyTorch's `torch.cuda.MemPool`: its segments serve only allocations that
/// are routed to it, by a [scope](MemPool::guard) or by a graph that captures with its [id](MemPool::id).
///
/// Clones are the same pool. The pool is released with the last clone, scope and graph that uses it: its segments then
/// return to the driver as soon as their blocks are freed and the queued work is done. Until then free blocks of the
/// pool remain cached, also when memory runs out elsewhere.
///
/// ```
/// use interlock_accelerator::memory::DeviceBuffer;
/// use interlock_accelerator::{MemPool, MemPoolOptions};
///
/// interlock_accelerator::use_named("host")?;
/// let pool = MemPool::new(None, MemPoolOptions::default())?;
/// let buffer = {
///     let _scope = pool.guard(None)?;
///     DeviceBuffer::new(None, 4096)?
/// };
/// assert_eq!(pool.snapshot()?.len(), 1);
/// # let _ = buffer;
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone)]
pub struct MemPool(Arc<PoolInner>);

/// A user of a pool: a [`MemPool`], a scope of it, or an allocation during a capture, whose last graph another thread may
/// destroy in the meantime.
#[derive(Debug)]
pub(crate) struct PoolLease {
    accelerator: &'static Accelerator,
    pool: UsedPool,
}

impl PoolLease {
    /// Begins a use of a pool.
    fn new(accelerator: &'static Accelerator, pool: PoolId) -> Self {
        PoolLease { accelerator, pool: accelerator.private_pools().add_user(pool) }
    }
}

impl Drop for PoolLease {
    fn drop(&mut self) {
        // A forked child can't use the pools of its parent and does not release them.
        if self.accelerator.started().is_current_process() {
            self.accelerator.release_pool(self.pool.id, &[]);
        }
    }
}

#[derive(Debug)]
pub(crate) struct PoolInner {
    lease: PoolLease,
    /// `None` for a pool of all devices.
    device: Option<DeviceIndex>,
}

impl MemPool {
    /// Creates a pool without memory for one device; `None` creates a pool that has memory on each device that uses it.
    ///
    /// # Errors
    /// Returns an error if there is no accelerator, or if it does not have the device.
    pub fn new(device: Option<Device>, options: MemPoolOptions) -> Result<Self> {
        let (accelerator, device) = match device {
            None => (registry::accelerator(NAME)?, None),
            Some(device) => {
                let (accelerator, index) = current::resolve(Some(device), NAME)?;
                (accelerator, Some(index))
            }
        };
        let lease = PoolLease::new(accelerator, new_pool());
        for allocator in accelerator.allocators(WHAT)? {
            if device.is_none_or(|index| index == allocator.device()) {
                allocator.add_pool(lease.pool.id, options);
            }
        }
        Ok(MemPool(Arc::new(PoolInner { lease, device })))
    }

    fn accelerator(&self) -> &'static Accelerator {
        self.0.lease.accelerator
    }

    /// Returns the id, with which graphs capture into the pool, and which snapshots of memory contain.
    pub fn id(&self) -> PoolId {
        self.0.lease.pool.id
    }

    /// Returns the device of the pool; `None` for a pool of all devices.
    pub fn device(&self) -> Option<Device> {
        self.0.device.map(|index| self.accelerator().started().device(index))
    }

    /// Returns the number of users: 1 for the pool, and 1 for each open scope, for each graph whose capture allocated
    /// from it, and for each allocation of such a capture that is underway.
    ///
    /// # Errors
    /// Returns [`Error::Forked`] in a forked child.
    pub fn use_count(&self) -> Result<usize> {
        self.accelerator().driver_for(WHAT)?;
        Ok(self.accelerator().private_pools().users(self.id()))
    }

    /// Returns the segments of the pool, in the order of devices and addresses.
    ///
    /// # Errors
    /// Returns [`Error::Forked`] in a forked child.
    pub fn snapshot(&self) -> Result<Vec<SegmentState>> {
        let allocators = self.accelerator().allocators(WHAT)?;
        Ok(allocators.flat_map(|allocator| allocator.segments_of(self.id())).collect())
    }

    /// Routes the allocations of this thread on a device to the pool until the guard is dropped, on any stream, and of
    /// graphs whose capture has begun before. `None` means the device of the pool, or else the current device.
    ///
    /// # Errors
    /// Returns an error for a device that the accelerator does not have, or that is not the device of the pool.
    pub fn guard(&self, device: Option<Device>) -> Result<MemPoolGuard> {
        let (slots, lease) = self.open(self.checked(device)?)?;
        Ok(MemPoolGuard { _layer: binding::guard_of_devices(slots), _lease: lease, _pool: self.clone() })
    }

    /// Returns the index of a device that was passed for a scope, or the device of the pool.
    fn checked(&self, device: Option<Device>) -> Result<Option<DeviceIndex>> {
        let Some(given) = device else { return Ok(self.0.device) };
        let (_, index) = current::resolve(device, OPERATION)?;
        match self.device().filter(|device| device.index() != Some(index)) {
            None => Ok(Some(index)),
            Some(device) => Err(Error::NoSuchDevice {
                name: format!("{OPERATION}: device"),
                given: given.to_string(),
                allowed: format!("{device}, the device of the pool, or None"),
            }),
        }
    }

    /// Returns the slots of a new scope that routes allocations on a device, the current one without an index, and the
    /// use of the pool by that scope.
    fn open(&self, device: Option<DeviceIndex>) -> Result<(DeviceSlots, PoolLease)> {
        let accelerator = self.accelerator();
        accelerator.driver_for(WHAT)?;
        let device = match device {
            Some(index) => index,
            None => current::resolve(None, OPERATION)?.1,
        };
        let begun = accelerator.private_pools().next_begun();
        let open = OpenPool::new(Arc::downgrade(&self.0), self.id(), accelerator, device, begun);
        Ok((DeviceSlots::from_mem_pool(Arc::new(open)), PoolLease::new(accelerator, self.id())))
    }
}

impl fmt::Debug for MemPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemPool").field("id", &self.id()).field("device", &self.device()).finish()
    }
}

/// Routes allocations of its thread to a pool until it is dropped; see [`MemPool::guard`].
///
/// ```
/// use interlock_accelerator::{MemPool, MemPoolGuard, MemPoolOptions};
///
/// interlock_accelerator::use_named("host")?;
/// let pool = MemPool::new(None, MemPoolOptions::default())?;
/// let guard: MemPoolGuard = pool.guard(None)?;
/// assert_eq!(pool.use_count()?, 2);
/// drop(guard);
/// assert_eq!(pool.use_count()?, 1);
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct MemPoolGuard {
    _layer: ScopeGuard,
    _lease: PoolLease,
    _pool: MemPool,
}

/// A scope whose allocations use a pool, as [`MemPool::guard`] does. It may be entered again while it is open, by
/// several threads, and exited in any order.
///
/// ```
/// use interlock_accelerator::{MemPool, MemPoolOptions, MemPoolScope};
///
/// interlock_accelerator::use_named("host")?;
/// let pool = MemPool::new(None, MemPoolOptions::default())?;
/// let scope = MemPoolScope::new(&pool, None)?;
/// scope.try_enter()?;
/// assert_eq!(pool.use_count()?, 2);
/// scope.exit();
/// assert_eq!(pool.use_count()?, 1);
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct MemPoolScope {
    scope: Scope,
    pool: MemPool,
    /// `None` for the device that is current at each enter.
    device: Option<DeviceIndex>,
    /// One for each enter without an exit.
    leases: Mutex<Vec<PoolLease>>,
}

impl MemPoolScope {
    /// Returns the pool.
    pub fn pool(&self) -> &MemPool {
        &self.pool
    }

    /// Creates a scope that is not open. `None` means the device of the pool, or else the one that is current when the
    /// scope is entered.
    ///
    /// # Errors
    /// Returns an error for a device that the accelerator does not have, or that is not the device of the pool.
    pub fn new(pool: &MemPool, device: Option<Device>) -> Result<Self> {
        let device = pool.checked(device)?;
        Ok(MemPoolScope { scope: Scope::default(), pool: pool.clone(), device, leases: Mutex::default() })
    }

    /// Returns the scope that enters and exits.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Enters the scope on this thread.
    ///
    /// # Errors
    /// Returns [`Error::Forked`] in a forked child, and fails if the state of the current context cannot be
    /// stored.
    pub fn try_enter(&self) -> Result<()> {
        let (slots, lease) = self.pool.open(self.device)?;
        binding::enter_slots(&self.scope, &Slots::from_devices(slots))?;
        self.leases.lock().push(lease);
        Ok(())
    }

    /// Exits the scope; see [`Scope::exit`].
    pub fn exit(&self) {
        self.scope.exit();
        self.end_use();
    }

    /// Ends the use of the pool by an enter that was exited with [`scope`](MemPoolScope::scope).
    pub fn end_use(&self) {
        // Another thread of the parent of a forked child may have held the lock.
        if self.pool.accelerator().started().is_current_process() {
            let ended = self.leases.lock().pop();
            drop(ended);
        }
    }
}

/// The pool of a scope, in the states that contain the scope. They do not use the pool, because copies of a state, and
/// states with a scope that was exited elsewhere, may exist for long. Once the pool is released, they route requests to
/// the default pool.
struct OpenPool {
    pool: Weak<PoolInner>,
    id: PoolId,
    accelerator: &'static Accelerator,
    device: DeviceIndex,
    /// Its position in the order in which captures and scopes of pools began.
    begun: u64,
}

impl OpenPool {
    fn new(
        pool: Weak<PoolInner>,
        id: PoolId,
        accelerator: &'static Accelerator,
        device: DeviceIndex,
        begun: u64,
    ) -> Self {
        accelerator.started().begin_pool_scope();
        OpenPool { pool, id, accelerator, device, begun }
    }
}

impl Drop for OpenPool {
    fn drop(&mut self) {
        self.accelerator.started().end_pool_scope();
    }
}

impl DeviceObject for OpenPool {
    fn device_index(&self) -> DeviceIndex {
        self.device
    }
}

impl fmt::Debug for OpenPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemPool {:?} on {}", self.id, self.accelerator.started().device(self.device))
    }
}

/// The private pool of a request, which has this user meanwhile.
pub(crate) enum RequestPool {
    /// The stream of the request is captured.
    Capture(PoolLease),
    Scope(Arc<PoolInner>),
}

impl RequestPool {
    /// Returns the private pool of a request of a stream on this thread: the pool of the capture of the stream or of
    /// the innermost scope on this thread, whichever began last. `None` means the default pool.
    pub(crate) fn of(accelerator: &'static Accelerator, stream: &Stream) -> Result<Option<Self>> {
        let scope = binding::mem_pool(stream.device_index()).and_then(|pool| open_pool(accelerator, pool));
        let Some(capture) = stream.capture()? else {
            return Ok(scope.map(|(pool, _)| RequestPool::Scope(pool)));
        };
        let scoped = scope.as_ref().map(|(pool, begun)| (pool.lease.pool.id, *begun));
        let of_capture = accelerator.private_pools().add_user_in(capture, scoped);
        let of_capture = of_capture.map(|pool| RequestPool::Capture(PoolLease { accelerator, pool }));
        Ok(of_capture.or(scope.map(|(pool, _)| RequestPool::Scope(pool))))
    }

    pub(crate) fn id(&self) -> PoolId {
        match self {
            RequestPool::Capture(lease) => lease.pool.id,
            RequestPool::Scope(pool) => pool.lease.pool.id,
        }
    }

    /// Returns the pool if a captured stream made the request.
    pub(crate) fn of_capture(&self) -> Option<UsedPool> {
        match self {
            RequestPool::Capture(lease) => Some(lease.pool),
            RequestPool::Scope(_) => None,
        }
    }
}

/// Returns the pool of a slot and its position in the order of scopes, unless the pool was released or, in a forked
/// child, belongs to the accelerator of the parent.
#[cold]
fn open_pool(
    accelerator: &'static Accelerator,
    slot: Arc<dyn DeviceObject>,
) -> Option<(Arc<PoolInner>, u64)> {
    let slot: Arc<dyn Any + Send + Sync> = slot;
    let open: Arc<OpenPool> = slot.downcast().ok()?;
    let pool = open.pool.upgrade().filter(|_| std::ptr::eq(open.accelerator, accelerator))?;
    Some((pool, open.begun))
}
