//! The memory of tensors: the only file here that makes slices from addresses.
//!
//! Every access goes through a lock of the storage, so that threads which share tensors cannot race.
//! An operation takes all locks that it needs at once, in the order of their addresses, and never
//! calls another operation while it holds them: that is why they cannot deadlock.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use interlock::accelerator::Device;
use interlock::accelerator::memory::{Allocator, Block, CpuAllocator};
use interlock::autograd::is_inference_mode_enabled;

use crate::access::Access;
use crate::waste::Waste;
use crate::{Element, Result};

/// Memory with a version that in-place operations raise. Views share it.
pub struct Storage {
    /// Taken by the drop only.
    block: ManuallyDrop<Block>,
    version: AtomicU32,
    inference: bool,
    access: Access,
}

impl Storage {
    fn new(block: Block) -> Self {
        Storage {
            block: ManuallyDrop::new(block),
            version: AtomicU32::new(0),
            inference: is_inference_mode_enabled(),
            access: Access::default(),
        }
    }

    /// `count` elements of zero bits from `allocator`, then filled by `fill`.
    pub(crate) fn build<T: Element>(count: usize, fill: impl FnOnce(&mut [T])) -> Result<Arc<Self>> {
        Self::build_in(CpuAllocator::handle(), count, fill)
    }

    fn build_in<T: Element>(
        allocator: Arc<dyn Allocator>,
        count: usize,
        fill: impl FnOnce(&mut [T]),
    ) -> Result<Arc<Self>> {
        let block = Block::new(allocator, count.saturating_mul(size_of::<T>()))?;
        // SAFETY: the block has at least this many bytes, which nothing else can reach yet.
        unsafe { block.pointer().as_ptr().write_bytes(0, block.bytes()) };
        let storage = Storage::new(block);
        storage.with_mut(fill);
        Ok(Arc::new(storage))
    }

    /// Memory that someone else made, such as a NumPy array's.
    ///
    /// # Safety
    /// The block's memory is initialised, lies on the CPU, and while an operation of this crate runs on
    /// it, no one else frees it, writes to it, or, if the operation writes, reads it: the storage's lock
    /// is known to this crate only, and covers this storage only, not others over the same bytes.
    pub unsafe fn foreign(block: Block) -> Arc<Self> {
        Arc::new(Storage::new(block))
    }

    /// Where the memory lies.
    pub fn device(&self) -> Device {
        self.block.device()
    }

    /// The address of the first byte.
    pub fn pointer(&self) -> *mut u8 {
        self.block.pointer().as_ptr()
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.block.bytes()
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

    /// Whether some bytes belong to both. Two storages can overlap only in memory of others, such as
    /// two slices of one NumPy array.
    fn overlaps(&self, other: &Self) -> bool {
        let range = |storage: &Self| (storage.pointer().addr(), storage.pointer().addr() + storage.bytes());
        let ((start, end), (other_start, other_end)) = (range(self), range(other));
        std::ptr::eq(self, other) || start.max(other_start) < end.min(other_end)
    }

    /// How many elements fit, none if the address does not suit them.
    fn count<T: Element>(&self) -> usize {
        if self.pointer().cast::<T>().is_aligned() { self.bytes() / size_of::<T>() } else { 0 }
    }

    /// # Safety
    /// The caller holds the lock for reading for as long as the slice lives.
    unsafe fn slice<T: Element>(&self) -> &[T] {
        // SAFETY: the block holds that many initialised bytes, aligned for T; every bit pattern is a
        // valid element; writers are kept out by the lock.
        unsafe { std::slice::from_raw_parts(self.pointer().cast(), self.count::<T>()) }
    }

    /// # Safety
    /// The caller holds the lock for writing for as long as the slice lives.
    #[allow(clippy::mut_from_ref)] // the lock stands for the exclusive reference
    unsafe fn slice_mut<T: Element>(&self) -> &mut [T] {
        // SAFETY: as in `slice`, and the lock keeps everyone else out.
        unsafe { std::slice::from_raw_parts_mut(self.pointer().cast(), self.count::<T>()) }
    }

    /// Reads the whole memory.
    pub(crate) fn with<T: Element, R>(&self, read: impl FnOnce(&[T]) -> R) -> R {
        let _guard = self.access.read();
        // SAFETY: the guard outlives the slice.
        read(unsafe { self.slice() })
    }

    /// Writes the whole memory.
    pub(crate) fn with_mut<T: Element, R>(&self, write: impl FnOnce(&mut [T]) -> R) -> R {
        let _guard = self.access.write();
        // SAFETY: the guard outlives the slice.
        write(unsafe { self.slice_mut() })
    }

    /// Reads two storages, which may be the same.
    pub(crate) fn with_pair<A: Element, B: Element, R>(
        a: &Self,
        b: &Self,
        read: impl FnOnce(&[A], &[B]) -> R,
    ) -> R {
        // A second read lock of the same storage could wait for a writer that waits for the first.
        let (first, second) = if std::ptr::from_ref(a) <= b { (a, b) } else { (b, a) };
        let _first = first.access.read();
        let _second = (!std::ptr::eq(a, b)).then(|| second.access.read());
        // SAFETY: both storages are locked, through one guard where they are the same.
        read(unsafe { a.slice() }, unsafe { b.slice() })
    }

    /// Writes `target` from `source`; `None`, and nothing done, if they share memory.
    pub(crate) fn with_target<A: Element, B: Element, R>(
        target: &Self,
        source: &Self,
        write: impl FnOnce(&mut [A], &[B]) -> R,
    ) -> Option<R> {
        if target.overlaps(source) {
            return None;
        }
        let (_target, _source);
        if std::ptr::from_ref(target) < source {
            _target = target.access.write();
            _source = source.access.read();
        } else {
            _source = source.access.read();
            _target = target.access.write();
        }
        // SAFETY: both are locked and have no byte in common; the guards outlive the slices.
        Some(write(unsafe { target.slice_mut() }, unsafe { source.slice() }))
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // SAFETY: the block is taken once, here, and nobody reaches the storage any more.
        let block = unsafe { ManuallyDrop::take(&mut self.block) };
        Waste::Memory { _block: block }.discard();
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({} bytes on {}, version {})", self.bytes(), self.device(), self.version())
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;

    use super::*;

    #[test]
    fn threads_that_swap_roles_do_not_deadlock() {
        let a = Storage::build::<f32>(64, |out| out.fill(1.0)).unwrap();
        let b = Storage::build::<f32>(64, |out| out.fill(2.0)).unwrap();
        std::thread::scope(|scope| {
            for (target, source) in [(&a, &b), (&b, &a), (&a, &b), (&b, &a)] {
                scope.spawn(move || {
                    for _ in 0..500 {
                        Storage::with_target(target, source, |t: &mut [f32], s: &[f32]| t.copy_from_slice(s));
                        Storage::with_pair(target, source, |t: &[f32], s: &[f32]| {
                            assert_eq!(t.len(), s.len())
                        });
                    }
                });
            }
        });
        assert_eq!(a.with(|values: &[f32]| values.len()), 64);
    }

    #[test]
    fn storages_over_the_same_bytes_are_not_each_others_source() {
        let owner = Storage::build::<i64>(4, |out| out.fill(1)).unwrap();
        let part = |first: usize, count: usize| {
            let start = NonNull::new(owner.pointer().wrapping_add(8 * first)).unwrap();
            // SAFETY: the bytes are the owner's, which outlives every part, and only this thread uses them.
            unsafe { Storage::foreign(Block::foreign(start, 8 * count, Device::CPU, Box::new(()))) }
        };
        let copies = |target: &Storage, source: &Storage| {
            Storage::with_target(target, source, |_: &mut [i64], _: &[i64]| ()).is_none()
        };
        for (a, b, overlap) in [
            (part(0, 2), part(1, 2), true),
            (part(0, 4), part(1, 1), true),
            (part(0, 2), part(2, 2), false),
            (part(0, 4), part(2, 0), false),
            (part(0, 0), part(0, 0), false),
        ] {
            assert_eq!((copies(&a, &b), copies(&b, &a)), (overlap, overlap));
            assert!(copies(&a, &a));
        }
    }

    #[test]
    fn a_storage_is_not_its_own_source() {
        let a = Storage::build::<i64>(3, |out| out.fill(1)).unwrap();
        assert!(Storage::with_target(&a, &a, |_: &mut [i64], _: &[i64]| ()).is_none());
    }
}
