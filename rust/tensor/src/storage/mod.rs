//! Storages: the memory that tensors view, with its locks.

pub(crate) mod append_vec;
mod atomic_slice;
mod bytes;
pub(crate) mod drop_queue;
pub(crate) mod fallible_alloc;
pub(crate) mod fork_rwlock;
mod placement;
mod raw_slice;

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use interlock::accelerator::driver::Owners;
use interlock::accelerator::memory::{self, CopyOperand, DeviceBuffer, PinnedMemory, RawBuffer};
use interlock::accelerator::{Device, Stream};
use interlock::autograd::is_inference_mode_enabled;
use interlock_core::base::fork;
use once_cell::race::OnceBox;

pub use placement::{Placement, TensorOptions};

pub(crate) use atomic_slice::AtomicSlice;
pub(crate) use bytes::Bytes;
pub(crate) use placement::current_stream_of;
pub(crate) use raw_slice::{KernelArg, RawSlice, Span};

use crate::{Element, Error, ErrorKind, Result};
use append_vec::AppendVec;
use bytes::StorageLock;
use drop_queue::defer;
use fork_rwlock::{LockRequest, RawForkRwLock, with_locks};

/// Memory of one or more tensors, with the version counter that in-place operations increment. A tensor's views share
/// its storage.
pub struct Storage {
    /// The first buffer. Moved out only by `drop`.
    bytes: ManuallyDrop<Bytes>,
    /// The device of all buffers.
    device: Device,
    /// Set when the storage grows for the first time.
    grown: OnceBox<Grown>,
    resizable: AtomicBool,
    version: AtomicU32,
    inference: bool,
    pinned: bool,
    lock: StorageLock,
    /// The fork generation in which the storage was created.
    generation: u32,
}

/// The memory of a storage that has grown.
///
/// Earlier buffers remain until the storage is dropped, because references and exported memory may refer to them.
struct Grown {
    /// The buffers after the first one. The last one is used.
    buffers: AppendVec<Bytes>,
    /// The size of the storage, at most that of the last buffer. Stored after the buffer, and therefore read before it.
    nbytes: AtomicUsize,
    /// Held by the thread that makes the storage grow.
    lock: RawForkRwLock,
}

impl Grown {
    /// Returns the last buffer. Not inlined, because few storages grow.
    #[cold]
    #[inline(never)]
    fn bytes(&self) -> Option<&Bytes> {
        self.buffers.last()
    }
}

impl Storage {
    fn of(bytes: Bytes, pinned: bool) -> Arc<Self> {
        Arc::new(Storage {
            pinned,
            lock: StorageLock::for_bytes(&bytes),
            device: bytes.device(),
            bytes: ManuallyDrop::new(bytes),
            grown: OnceBox::new(),
            resizable: AtomicBool::new(true),
            version: AtomicU32::new(0),
            inference: is_inference_mode_enabled(),
            generation: fork::generation(),
        })
    }

    /// Allocates `nbytes` uninitialized bytes for `op`. The caller writes all of them before any read.
    pub(crate) fn new(op: &'static str, placement: Placement, nbytes: usize) -> Result<Arc<Self>> {
        Ok(Self::of(Bytes::new(op, placement, nbytes)?, placement == Placement::Pinned))
    }

    /// Allocates `nbytes` zeroed bytes on the CPU. The thread is detached from the interpreter meanwhile if this `is_long`.
    pub(crate) fn zeroed(nbytes: usize, is_long: bool) -> Result<Arc<Self>> {
        let buffer = with_locks(&mut [], is_long, || RawBuffer::zeroed(nbytes))?;
        Ok(Self::of(Bytes::Cpu(buffer), false))
    }

    /// Allocates `count` zeroed elements on the CPU, which `fill` then writes.
    pub(crate) fn build<T: Element>(count: usize, fill: impl FnOnce(&mut [T])) -> Result<Arc<Self>> {
        let mut fill = Some(fill);
        Self::build_bytes(count.saturating_mul(size_of::<T>()), &mut |span| {
            // SAFETY: the bytes are zeroed, and not visible to any other thread.
            fill.take().into_iter().for_each(|fill| fill(unsafe { span.slice_mut() }));
        })
    }

    /// Like [`build`](Storage::build), with a size in bytes. It is not generic, so it is compiled once.
    fn build_bytes(nbytes: usize, fill: &mut dyn FnMut(Span)) -> Result<Arc<Self>> {
        let storage = Self::new("tensor", Placement::Cpu, nbytes)?;
        if let Some(slice) = storage.raw_slice() {
            // SAFETY: the storage is not visible to any other thread yet.
            let slice = unsafe { slice.unlocked() };
            RawSlice::access(&[slice], true, &[], false, &mut |spans| {
                spans.iter().copied().for_each(&mut *fill);
            });
        }
        Ok(storage)
    }

    /// Wraps memory that another library owns, such as the memory of a NumPy array, as `torch.from_blob` does.
    ///
    /// # Safety
    /// The buffer's memory is initialized and is on the CPU. While an operation of this crate uses it, no other code
    /// frees it or writes to it, or reads it if the operation writes: the lock of the storage is known to this crate
    /// only, and does not cover other storages over the same bytes.
    pub unsafe fn foreign(buffer: RawBuffer) -> Arc<Self> {
        // An array may be a view of a pinned tensor.
        let pinned = PinnedMemory::is_pinned(buffer.pointer().as_ptr());
        let storage = Self::of(Bytes::Cpu(buffer), pinned);
        storage.disable_resizing();
        storage
    }

    /// Returns the device on which the memory is.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the address of the first byte. On a device it is an address in the device's address space.
    pub fn pointer(&self) -> *mut u8 {
        self.bytes().pointer()
    }

    /// Returns the size of the storage in bytes, as `torch.UntypedStorage.nbytes` does.
    pub fn nbytes(&self) -> usize {
        match self.grown.get() {
            Some(grown) => grown.nbytes.load(Ordering::Acquire),
            None => self.bytes.nbytes(),
        }
    }

    /// Returns whether the storage can grow. Memory of other libraries cannot, nor memory that NumPy shares.
    pub fn is_resizable(&self) -> bool {
        self.resizable.load(Ordering::Acquire)
    }

    /// Prevents the storage from growing, because another library shares its memory.
    pub fn disable_resizing(&self) {
        self.resizable.store(false, Ordering::Release);
    }

    /// Makes the storage at least `nbytes` bytes large. The bytes that it has are copied if the buffer has no room: on
    /// a device, on the current stream. The others are zero on the CPU, and uninitialized on a device.
    ///
    /// Every tensor of the storage uses the new buffer. From the second time on its size at least doubles, so that the
    /// buffers of a storage that grows often are not many times its size together.
    pub(crate) fn grow(&self, op: &'static str, nbytes: usize) -> Result<()> {
        if nbytes <= self.nbytes() {
            return Ok(());
        }
        if !self.is_resizable() {
            let message = "the memory must not be shared with NumPy or another library, because the storage is too small \
                           and must grow; clone() the tensor";
            return Err(Error::new(ErrorKind::State, op, message));
        }
        let before = self.current_process_bytes()?;
        let grown = self.grown.get_or_init(|| {
            let (buffers, lock) = (AppendVec::default(), RawForkRwLock::default());
            Box::new(Grown { buffers, nbytes: AtomicUsize::new(self.bytes.nbytes()), lock })
        });
        // Allocated before the lock is acquired: callbacks of the allocator may resize tensors.
        let buffer = if nbytes > before.nbytes() {
            let doubled = if grown.buffers.last().is_some() { before.nbytes().saturating_mul(2) } else { 0 };
            Some(Bytes::new(op, before.placement(), nbytes.max(doubled))?)
        } else {
            None
        };
        with_locks(&mut [LockRequest::new(Some(&grown.lock), true)], false, || {
            if nbytes <= self.nbytes() {
                return Ok(());
            }
            if nbytes > self.bytes().nbytes()
                && let Some(buffer) = buffer
            {
                self.move_to(buffer, &grown.buffers)?;
            }
            grown.nbytes.store(nbytes, Ordering::Release);
            Ok(())
        })
    }

    /// Copies the bytes to a larger buffer, which becomes the last one.
    fn move_to(&self, buffer: Bytes, buffers: &AppendVec<Bytes>) -> Result<()> {
        let nbytes = self.nbytes();
        if let (Bytes::Device(old), Bytes::Device(new)) = (self.bytes(), &buffer) {
            if nbytes > 0 {
                let part = |memory: &DeviceBuffer| memory.slice(0..nbytes).map(CopyOperand::Device);
                memory::copy(&part(new)?, &part(old)?, None, false)?;
            }
            buffers.push(buffer);
            return Ok(());
        }
        let source = self.raw_slice().unwrap_or(RawSlice::EMPTY);
        let lock = RawForkRwLock::default();
        // SAFETY: the memory is on the CPU, and `buffers` owns it before another thread accesses it. `write` zeroes it.
        let target = unsafe { RawSlice::new(buffer.pointer(), buffer.nbytes(), &lock).unlocked() };
        let target = if self.pinned { target.streamed() } else { target };
        let mut buffer = Some(buffer);
        RawSlice::access(&[target], true, &[source], false, &mut |spans| {
            let ([new, old], Some(buffer)) = (spans, buffer.take()) else { return };
            // SAFETY: the memory of both is initialized, and the locks are held.
            let (new, old): (&mut [u8], &[u8]) = unsafe { (new.slice_mut(), old.slice()) };
            new.iter_mut().zip(old).for_each(|(new, old)| *new = *old);
            // While the lock of the storage is held: a write to the old buffer would be lost.
            buffers.push(buffer);
        });
        Ok(())
    }

    /// Returns whether the memory is pinned (page-locked) CPU memory.
    pub fn is_pinned(&self) -> bool {
        self.pinned
    }

    /// Returns a storage over this pinned memory whose kernels are queued on the streams of `device`.
    pub(crate) fn mapped(self: &Arc<Self>, device: Device) -> Arc<Self> {
        let mapped = Self::of(Bytes::Mapped(self.clone(), device), false);
        mapped.disable_resizing();
        mapped
    }

    /// Returns the memory of a device; `None` if the storage is on the CPU.
    ///
    /// # Errors
    /// Fails for memory that was allocated before this process was forked.
    pub fn device_memory(&self) -> Result<Option<&DeviceBuffer>> {
        match self.current_process_bytes()? {
            Bytes::Device(memory) => Ok(Some(memory)),
            Bytes::Cpu(_) | Bytes::Pinned(_) | Bytes::Mapped(..) => Ok(None),
        }
    }

    /// Records that work on `stream` uses the memory: see [`Tensor::record_stream`](crate::Tensor::record_stream).
    pub(crate) fn record_stream(&self, stream: &Stream) -> Result<()> {
        match self.current_process_bytes()? {
            Bytes::Device(memory) => Ok(memory.record_stream(stream)?),
            Bytes::Pinned(memory) => Ok(memory.record_stream(stream)?),
            Bytes::Mapped(pinned, _) => pinned.record_stream(stream),
            Bytes::Cpu(_) => {
                let message = "the tensor must be on a device or in pinned memory, got cpu";
                Err(Error::new(ErrorKind::State, "record_stream", message))
            }
        }
    }

    /// Returns the buffer in use. Its size may exceed that of the storage.
    pub(crate) fn bytes(&self) -> &Bytes {
        self.grown.get().and_then(Grown::bytes).unwrap_or(&self.bytes)
    }

    /// Returns whether the memory is on a device, where operations are queued on streams.
    pub(crate) fn is_on_device(&self) -> bool {
        matches!(&*self.bytes, Bytes::Device(_) | Bytes::Mapped(..))
    }

    /// Returns the bytes, or an error for device memory that was allocated before this process was forked.
    pub(crate) fn current_process_bytes(&self) -> Result<&Bytes> {
        if self.is_on_device() && self.generation != fork::generation() {
            return Err(interlock::accelerator::Error::Forked { what: "a Tensor on a device" }.into());
        }
        Ok(self.bytes())
    }

    /// Returns whether the storage was created in inference mode.
    pub(crate) fn is_inference(&self) -> bool {
        self.inference
    }

    pub(crate) fn version(&self) -> u32 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn set_version(&self, version: u32) {
        self.version.store(version, Ordering::Release);
    }

    pub(crate) fn bump_version(&self) {
        // Inference tensors have no version counter, because no node can save them.
        if !self.inference {
            self.version.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Returns the bytes with their lock, if they are CPU memory.
    pub(crate) fn raw_slice(&self) -> Option<RawSlice<'_>> {
        let (pointer, nbytes) = self.pointer_and_nbytes();
        // SAFETY: the memory is borrowed for as long as the lock. It is initialized, because the creator of a storage
        // writes all of it first, and `grow` zeroes what it adds.
        let slice = (!self.is_on_device()).then(|| unsafe { RawSlice::new(pointer, nbytes, &self.lock) })?;
        Some(if self.pinned { slice.streamed() } else { slice }.of_storage(self))
    }

    /// Returns the address of the buffer in use and the size of the storage, which fits it also if another thread makes
    /// the storage grow.
    fn pointer_and_nbytes(&self) -> (*mut u8, usize) {
        let nbytes = self.nbytes();
        (self.pointer(), nbytes)
    }

    fn lock(&self) -> &RawForkRwLock {
        &self.lock
    }

    /// Prepares device memory for work that is queued on `stream` next, with the returned owners. Returns the address
    /// that the work may use as well.
    pub(crate) fn prepare_use(&self, stream: &Stream) -> Result<(*mut u8, Owners)> {
        let bytes = self.current_process_bytes()?;
        Ok(match bytes {
            Bytes::Device(memory) => (bytes.pointer(), memory.prepare_use(stream)?),
            Bytes::Mapped(pinned, _) => pinned.prepare_use(stream)?,
            Bytes::Pinned(memory) => (bytes.pointer(), memory.prepare_use(stream)?),
            Bytes::Cpu(_) => (bytes.pointer(), Owners::default()),
        })
    }

    /// Returns the argument for a kernel that is queued on `stream` next, or `None` if the CPU cannot access the
    /// memory. Adds the owners with which the kernel must be queued.
    pub(crate) fn kernel_arg(
        self: &Arc<Self>,
        stream: &Stream,
        owners: &mut Owners,
    ) -> Result<Option<KernelArg>> {
        let nbytes = self.nbytes();
        let (pointer, owned_by, lock) = match (self.current_process_bytes()?, &self.lock) {
            (Bytes::Mapped(pinned, _), _) => return pinned.kernel_arg(stream, owners),
            (Bytes::Pinned(memory), StorageLock::Shared(lock)) => {
                (Some(memory.pointer()), memory.prepare_use(stream)?, lock)
            }
            (Bytes::Device(memory), StorageLock::Shared(lock)) => {
                (memory.pointer(), memory.prepare_use(stream)?, lock)
            }
            _ => return Ok(Some(KernelArg::on_cpu(self.clone()))),
        };
        owners.extend(owned_by);
        // Zero bytes need no host pointer.
        let pointer = match pointer {
            Some(pointer) => pointer.as_ptr(),
            None if nbytes == 0 => std::ptr::null_mut(),
            None => return Ok(None),
        };
        // SAFETY: `pointer` is the host address of at least as many bytes, which `owners` own for the kernel.
        Ok(Some(unsafe { KernelArg::on_device(pointer, nbytes, lock.clone()) }))
    }

    /// Returns whether the two storages share bytes.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let same = std::ptr::eq(self, other);
        same || self.raw_slice().zip(other.raw_slice()).is_some_and(|(own, other)| own.overlaps(&other))
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // SAFETY: the bytes are moved out once, here, and the storage is not used again.
        let bytes = unsafe { ManuallyDrop::take(&mut self.bytes) };
        defer(bytes);
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({} bytes on {}, version {})", self.nbytes(), self.device(), self.version())
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;

    use super::*;

    fn filled(value: i64) -> Arc<Storage> {
        Storage::build(4, |out: &mut [i64]| out.fill(value)).unwrap()
    }

    /// Copies one storage to another. Returns false, without copying, if they share bytes.
    fn copies(target: &Storage, source: &Storage) -> bool {
        let (target, source) = (target.raw_slice().unwrap(), source.raw_slice().unwrap());
        RawSlice::access(&[target], false, &[source, source], false, &mut |spans| {
            let [out, a, _] = spans else { panic!("{spans:?}") };
            // SAFETY: the memory is initialized, and the locks are held.
            let (out, a): (&mut [i64], &[i64]) = unsafe { (out.slice_mut(), a.slice()) };
            out.iter_mut().zip(a).for_each(|(out, value)| *out = *value);
        })
    }

    #[test]
    fn access_with_swapped_source_and_target_does_not_deadlock() {
        let (a, b) = (filled(1), filled(2));
        std::thread::scope(|scope| {
            for (target, source) in [(&a, &b), (&b, &a), (&a, &b), (&b, &a)] {
                scope.spawn(move || (0..500).for_each(|_| assert!(copies(target, source))));
            }
        });
        let values = a.raw_slice().unwrap().read(|values: &[i64]| values.to_vec());
        assert!(values == [1; 4] || values == [2; 4], "{values:?}");
    }

    #[test]
    fn access_to_a_storage_over_the_same_bytes_is_refused() {
        let owner = filled(1);
        let part = |first: usize, count: usize| {
            let start = NonNull::new(owner.pointer().wrapping_add(8 * first)).unwrap();
            // SAFETY: the bytes are the owner's, which outlives every slice, and only this thread uses them.
            unsafe { Storage::foreign(RawBuffer::foreign(start, 8 * count, Device::CPU, Box::new(()))) }
        };
        for (a, b, overlap) in [
            (part(0, 2), part(1, 2), true),
            (part(0, 4), part(1, 1), true),
            (part(0, 2), part(2, 2), false),
            (part(0, 4), part(2, 0), false),
            (part(0, 0), part(0, 0), false),
        ] {
            assert_eq!((a.overlaps(&b), b.overlaps(&a)), (overlap, overlap));
            assert_eq!((copies(&a, &b), copies(&b, &a)), (!overlap, !overlap));
            assert!(a.overlaps(&a));
        }
    }

    #[test]
    fn access_to_the_same_storage_is_refused() {
        let a = filled(1);
        assert!(!copies(&a, &a));
    }

    #[test]
    fn access_zeroes_fresh_memory_first() {
        let storage = Storage::new("tensor", Placement::Cpu, 32).unwrap();
        let mut seen = Vec::new();
        RawSlice::access(&[storage.raw_slice().unwrap()], true, &[], false, &mut |spans| {
            // SAFETY: the memory is zeroed, and the lock is held.
            seen = unsafe { spans[0].slice::<i64>() }.to_vec();
        });
        assert_eq!(seen, [0; 4]);
    }
}
