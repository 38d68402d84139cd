//! Storages: the memory that tensors view.

mod atomic_slice;
mod bytes;
mod placement;
mod raw_slice;

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use interlock::accelerator::driver::KeepAlive;
use interlock::accelerator::memory::{DeviceBuffer, PinnedMemory, RawBuffer};
use interlock::accelerator::{Device, Stream};
use interlock::autograd::is_inference_mode_enabled;
use interlock::base::fork;

pub use placement::{Placement, TensorOptions};

pub(crate) use atomic_slice::AtomicSlice;
pub(crate) use bytes::Bytes;
pub(crate) use placement::current_stream_of;
pub(crate) use raw_slice::{KernelArg, RawSlice};

use crate::drop_queue::Deferred;
use crate::element::Bool8;
use crate::fork_rwlock::RawForkRwLock;
use crate::{Element, Error, Result};
use bytes::StorageLock;

/// Memory of one or more tensors, with the version counter that in-place operations increment. A tensor's views share
/// its storage.
pub struct Storage {
    /// Moved out only by `drop`.
    bytes: ManuallyDrop<Bytes>,
    version: AtomicU32,
    inference: bool,
    lock: StorageLock,
    /// The fork generation in which the storage was created.
    generation: u32,
}

impl Storage {
    fn of(bytes: Bytes) -> Arc<Self> {
        Arc::new(Storage {
            lock: StorageLock::for_bytes(&bytes),
            bytes: ManuallyDrop::new(bytes),
            version: AtomicU32::new(0),
            inference: is_inference_mode_enabled(),
            generation: fork::generation(),
        })
    }

    /// Allocates `nbytes` uninitialized bytes for `op`. The caller writes all of them before any read.
    pub(crate) fn new(op: &'static str, placement: Placement, nbytes: usize) -> Result<Arc<Self>> {
        Bytes::new(op, placement, nbytes).map(Self::of)
    }

    /// Allocates `count` zeroed elements on the CPU, which `fill` then writes.
    pub(crate) fn build<T: Element>(count: usize, fill: impl FnOnce(&mut [T])) -> Result<Arc<Self>> {
        let storage = Self::new("tensor", Placement::Cpu, count.saturating_mul(size_of::<T>()))?;
        if let Some(slice) = storage.raw_slice() {
            // SAFETY: the storage is not visible to any other thread yet.
            let slice = unsafe { slice.unlocked() };
            slice.write(true, [RawSlice::EMPTY; 2], |out, _: &[Bool8], _: &[Bool8]| fill(out));
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
        Self::of(Bytes::Cpu(buffer))
    }

    /// Returns the device on which the memory is.
    pub fn device(&self) -> Device {
        self.bytes.device()
    }

    /// Returns the address of the first byte. On a device it is an address in the device's address space.
    pub fn pointer(&self) -> *mut u8 {
        self.bytes.pointer()
    }

    /// Returns the size of the storage in bytes, as `torch.UntypedStorage.nbytes` does.
    pub fn nbytes(&self) -> usize {
        self.bytes.nbytes()
    }

    /// Returns whether the memory is pinned (page-locked) CPU memory.
    pub fn is_pinned(&self) -> bool {
        match &*self.bytes {
            Bytes::Pinned(_) => true,
            Bytes::Cpu(buffer) => PinnedMemory::is_pinned(buffer.pointer().as_ptr()),
            Bytes::Device(_) => false,
        }
    }

    /// Returns the memory of a device; `None` if the storage is on the CPU.
    ///
    /// # Errors
    /// Fails for memory that was allocated before this process was forked.
    pub fn device_memory(&self) -> Result<Option<&DeviceBuffer>> {
        match self.current_process_bytes()? {
            Bytes::Device(memory) => Ok(Some(memory)),
            Bytes::Cpu(_) | Bytes::Pinned(_) => Ok(None),
        }
    }

    /// Records that work on `stream` uses the memory: see [`Tensor::record_stream`](crate::Tensor::record_stream).
    pub(crate) fn record_stream(&self, stream: &Stream) -> Result<()> {
        match self.current_process_bytes()? {
            Bytes::Device(memory) => Ok(memory.record_stream(stream)?),
            Bytes::Pinned(memory) => Ok(memory.record_stream(stream)?),
            Bytes::Cpu(_) => Err(Error::NoStream { op: "record_stream" }),
        }
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns whether the memory is on a device, where operations are queued on streams.
    pub(crate) fn is_on_device(&self) -> bool {
        matches!(&*self.bytes, Bytes::Device(_))
    }

    /// Returns the bytes, or an error for device memory that was allocated before this process was forked.
    pub(crate) fn current_process_bytes(&self) -> Result<&Bytes> {
        if self.is_on_device() && self.generation != fork::generation() {
            return Err(interlock::accelerator::Error::Forked { what: "a Tensor on a device" }.into());
        }
        Ok(&self.bytes)
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
        // SAFETY: the memory is borrowed for as long as the lock. It is initialized, because the creator of a storage
        // writes all of it first.
        let slice = (!self.is_on_device())
            .then(|| unsafe { RawSlice::new(self.pointer(), self.nbytes(), &self.lock) })?;
        let is_pinned = matches!(&*self.bytes, Bytes::Pinned(_));
        Some(if is_pinned { slice.streamed() } else { slice })
    }

    fn lock(&self) -> &RawForkRwLock {
        &self.lock
    }

    /// Prepares device memory for work that is queued on `stream` next, which must own the returned object.
    pub(crate) fn prepare_use(&self, stream: &Stream) -> Result<Option<KeepAlive>> {
        match self.current_process_bytes()? {
            Bytes::Device(memory) => Ok(memory.prepare_use(stream)?),
            Bytes::Cpu(_) | Bytes::Pinned(_) => Ok(None),
        }
    }

    /// Returns the argument for a kernel that is queued on `stream` next, or `None` if the CPU cannot access the
    /// memory.
    pub(crate) fn kernel_arg(self: &Arc<Self>, stream: &Stream) -> Result<Option<KernelArg>> {
        let (Bytes::Device(memory), StorageLock::Shared(lock)) = (self.current_process_bytes()?, &self.lock)
        else {
            return Ok(Some(KernelArg::on_cpu(self.clone())));
        };
        let keep_alive = memory.prepare_use(stream)?;
        // Zero bytes need no host pointer.
        let pointer = match memory.pointer() {
            Some(pointer) => pointer.as_ptr(),
            None if memory.bytes() == 0 => std::ptr::null_mut(),
            None => return Ok(None),
        };
        // SAFETY: `pointer` is the host address of the bytes, and `keep_alive` was prepared for this stream.
        Ok(Some(unsafe { KernelArg::on_device(pointer, memory.bytes(), lock.clone(), keep_alive) }))
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
        Deferred::Bytes { _bytes: bytes }.push();
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
        let copy = |out: &mut [i64], a: &[i64], b: &[i64]| {
            assert_eq!(a.len(), b.len());
            out.iter_mut().zip(a).for_each(|(out, value)| *out = *value);
        };
        target.write(false, [source, source], copy).is_some()
    }

    #[test]
    fn write_with_swapped_source_and_target_does_not_deadlock() {
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
    fn write_from_a_storage_over_the_same_bytes_is_refused() {
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
    fn write_from_the_same_storage_is_refused() {
        let a = filled(1);
        assert!(!copies(&a, &a));
    }

    #[test]
    fn write_zeroes_fresh_memory_first() {
        let storage = Storage::new("tensor", Placement::Cpu, 32).unwrap();
        let seen = |out: &mut [i64], _: &[i64], _: &[i64]| out.to_vec();
        assert_eq!(storage.raw_slice().unwrap().write(true, [RawSlice::EMPTY; 2], seen), Some(vec![0; 4]));
    }
}
