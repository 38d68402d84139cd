//! The memory of tensors.

mod bytes;
mod placement;
mod raw_slice;

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use interlock::accelerator::memory::{PinnedMemory, RawBuffer};
use interlock::accelerator::{Device, Stream};
use interlock::autograd::is_inference_mode_enabled;
use interlock::base::fork;

pub use placement::{Placement, TensorOptions};

pub(crate) use bytes::Bytes;
pub(crate) use placement::current_stream_of;
pub(crate) use raw_slice::{KernelArg, RawSlice};

use crate::drop_queue::Deferred;
use crate::element::Bool8;
use crate::fork_rwlock::RawForkRwLock;
use crate::{Element, Result};
use bytes::StorageLock;

/// Bytes with a version that in-place operations raise. Views share it.
pub struct Storage {
    /// Taken by the drop only.
    bytes: ManuallyDrop<Bytes>,
    version: AtomicU32,
    inference: bool,
    lock: StorageLock,
    /// The fork generation in which it was made.
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

    /// `bytes` bytes, not initialised: whoever asks has all of them written before anything else.
    pub(crate) fn new(placement: Placement, nbytes: usize) -> Result<Arc<Self>> {
        Bytes::new(placement, nbytes).map(Self::of)
    }

    /// `count` elements of zero bits on the processor, then filled by `fill`.
    pub(crate) fn build<T: Element>(count: usize, fill: impl FnOnce(&mut [T])) -> Result<Arc<Self>> {
        let storage = Self::new(Placement::Cpu, count.saturating_mul(size_of::<T>()))?;
        if let Some(slice) = storage.raw_slice() {
            // SAFETY: nobody else has seen the storage.
            let slice = unsafe { slice.unlocked() };
            slice.write(true, [RawSlice::EMPTY; 2], |out, _: &[Bool8], _: &[Bool8]| fill(out));
        }
        Ok(storage)
    }

    /// Bytes that someone else made, such as a NumPy array's.
    ///
    /// # Safety
    /// The block's memory is initialised, lies on the CPU, and while an operation of this crate runs on
    /// it, no one else frees it, writes to it, or, if the operation writes, reads it: the storage's lock
    /// is known to this crate only, and covers this storage only, not others over the same bytes.
    pub unsafe fn foreign(buffer: RawBuffer) -> Arc<Self> {
        Self::of(Bytes::Cpu(buffer))
    }

    /// Where the memory lies.
    pub fn device(&self) -> Device {
        self.bytes.device()
    }

    /// The address of the first byte; of a device's memory in the device's own counting.
    pub fn pointer(&self) -> *mut u8 {
        self.bytes.pointer()
    }

    /// How many bytes there are.
    pub fn nbytes(&self) -> usize {
        self.bytes.nbytes()
    }

    /// Whether devices reach the memory, which is of the processor, without a detour.
    pub fn is_pinned(&self) -> bool {
        match &*self.bytes {
            Bytes::Pinned(_) => true,
            Bytes::Cpu(buffer) => PinnedMemory::is_pinned(buffer.pointer().as_ptr()),
            Bytes::Device(_) => false,
        }
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Whether operations on it are queued.
    pub(crate) fn is_on_device(&self) -> bool {
        matches!(&*self.bytes, Bytes::Device(_))
    }

    /// Fails for memory of a device in a process that was forked from the one that made it.
    pub(crate) fn current_process_bytes(&self) -> Result<&Bytes> {
        if self.is_on_device() && self.generation != fork::generation() {
            return Err(interlock::accelerator::Error::Forked { what: "a Tensor on a device" }.into());
        }
        Ok(&self.bytes)
    }

    /// Whether it was made in inference mode.
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
        // Inference tensors have no version; nothing can have saved them.
        if !self.inference {
            self.version.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The bytes, if they are of the processor.
    pub(crate) fn raw_slice(&self) -> Option<RawSlice<'_>> {
        // SAFETY: the memory is borrowed for as long as the lock. It is initialised, because whoever makes a
        // storage writes all of it first.
        let slice = (!self.is_on_device())
            .then(|| unsafe { RawSlice::new(self.pointer(), self.nbytes(), &self.lock) })?;
        let is_pinned = matches!(&*self.bytes, Bytes::Pinned(_));
        Some(if is_pinned { slice.streamed() } else { slice })
    }

    fn lock(&self) -> &RawForkRwLock {
        &self.lock
    }

    /// What work has of this that is queued on `stream` next; `None` where the processor does not reach the memory.
    pub(crate) fn kernel_arg(self: &Arc<Self>, stream: &Stream) -> Result<Option<KernelArg>> {
        let (Bytes::Device(memory), StorageLock::Shared(lock)) = (self.current_process_bytes()?, &self.lock)
        else {
            return Ok(Some(KernelArg::on_cpu(self.clone())));
        };
        let keep_alive = memory.prepare_use(stream)?;
        // Where there are no bytes there is nothing to reach.
        let pointer = match memory.pointer() {
            Some(pointer) => pointer.as_ptr(),
            None if memory.bytes() == 0 => std::ptr::null_mut(),
            None => return Ok(None),
        };
        // SAFETY: `pointer` is the processor's address of the bytes, and `keep_alive` is that of the stream.
        Ok(Some(unsafe { KernelArg::on_device(pointer, memory.bytes(), lock.clone(), keep_alive) }))
    }

    /// Whether some bytes belong to both.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let same = std::ptr::eq(self, other);
        same || self.raw_slice().zip(other.raw_slice()).is_some_and(|(own, other)| own.overlaps(&other))
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // SAFETY: the memory is taken once, here, and nobody reaches the storage any more.
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

    /// Copies one storage to another, if they have no byte in common.
    fn copies(target: &Storage, source: &Storage) -> bool {
        let (target, source) = (target.raw_slice().unwrap(), source.raw_slice().unwrap());
        let copy = |out: &mut [i64], a: &[i64], b: &[i64]| {
            assert_eq!(a.len(), b.len());
            out.iter_mut().zip(a).for_each(|(out, value)| *out = *value);
        };
        target.write(false, [source, source], copy).is_some()
    }

    #[test]
    fn threads_that_swap_roles_do_not_deadlock() {
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
    fn storages_over_the_same_bytes_are_not_each_others_source() {
        let owner = filled(1);
        let part = |first: usize, count: usize| {
            let start = NonNull::new(owner.pointer().wrapping_add(8 * first)).unwrap();
            // SAFETY: the bytes are the owner's, which outlives every part, and only this thread uses them.
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
    fn a_storage_is_not_its_own_source() {
        let a = filled(1);
        assert!(!copies(&a, &a));
    }

    #[test]
    fn fresh_memory_is_zero_before_it_is_written() {
        let storage = Storage::new(Placement::Cpu, 32).unwrap();
        let seen = |out: &mut [i64], _: &[i64], _: &[i64]| out.to_vec();
        assert_eq!(storage.raw_slice().unwrap().write(true, [RawSlice::EMPTY; 2], seen), Some(vec![0; 4]));
    }
}
