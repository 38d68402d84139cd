//! Locked access to the bytes of storages. Inner loops ([`crate::loops`]) get the addresses, and others slices, which only
//! this file makes.
//!
//! Every access acquires the lock of the storage, so that threads that share tensors cannot race. An operation
//! acquires all the locks that it needs together, in the order of their addresses, and never calls another operation
//! while it holds them. This order prevents deadlocks.

use std::ptr::NonNull;
use std::sync::Arc;

use interlock::accelerator::memory::{self, ByteRange};

use super::Storage;
use super::fork_rwlock::{LockRequest, RawForkRwLock, with_locks};
use crate::Element;

/// The bytes of a storage and their lock. The constructor requires that the bytes are initialized and can be accessed
/// by the CPU for as long as the lock is borrowed.
#[derive(Clone, Copy)]
pub(crate) struct RawSlice<'a> {
    pointer: *mut u8,
    bytes: usize,
    lock: Option<&'a RawForkRwLock>,
    /// The storage of the bytes, which may move them before the lock is acquired.
    storage: Option<&'a Storage>,
    /// Whether copies and fills of streams, which do not acquire the lock, may use the bytes as well.
    streamed: bool,
}

/// Memory whose lock is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub pointer: *mut u8,
    pub bytes: usize,
}

impl Span {
    /// No memory.
    pub const EMPTY: Span = Span { pointer: NonNull::<u64>::dangling().as_ptr().cast(), bytes: 0 };

    /// Returns the number of elements of type `T`, or 0 if the address is not aligned for them.
    fn count<T: Element>(&self) -> usize {
        if self.pointer.cast::<T>().is_aligned() { self.bytes / size_of::<T>() } else { 0 }
    }

    /// Returns the elements.
    ///
    /// # Safety
    /// The bytes are initialized, and the lock is held for as long as the slice lives.
    pub unsafe fn slice<'a, T: Element>(self) -> &'a [T] {
        // SAFETY: the memory has that many elements, aligned for `T`, of which every bit pattern is valid; the lock excludes
        // writers.
        unsafe { std::slice::from_raw_parts(self.pointer.cast(), self.count::<T>()) }
    }

    /// Returns the elements, to write them.
    ///
    /// # Safety
    /// The bytes are initialized, the lock is held for writing for as long as the slice lives, and no other slice of them
    /// lives.
    pub unsafe fn slice_mut<'a, T: Element>(self) -> &'a mut [T] {
        // SAFETY: as in `slice`, and the lock excludes all other accesses.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.cast(), self.count::<T>()) }
    }
}

impl<'a> RawSlice<'a> {
    /// A slice of zero bytes.
    pub const EMPTY: RawSlice<'static> = RawSlice {
        pointer: NonNull::<u64>::dangling().as_ptr().cast(),
        bytes: 0,
        lock: None,
        storage: None,
        streamed: false,
    };

    /// # Safety
    /// The bytes are initialized and can be accessed by the CPU for as long as the lock is borrowed.
    pub unsafe fn new(pointer: *mut u8, bytes: usize, lock: &'a RawForkRwLock) -> Self {
        if bytes == 0 {
            RawSlice::EMPTY
        } else {
            RawSlice { pointer, bytes, lock: Some(lock), storage: None, streamed: false }
        }
    }

    /// Marks the bytes as memory that copies and fills of streams may use as well.
    pub fn streamed(self) -> Self {
        RawSlice { streamed: true, ..self }
    }

    /// Marks the bytes as those of a storage.
    pub fn of_storage(self, storage: &'a Storage) -> Self {
        RawSlice { storage: self.lock.map(|_| storage), ..self }
    }

    /// Returns the slice with the current address and size of the storage. The caller holds the lock: a writer excludes
    /// that the storage moves its bytes, and for readers those that were moved remain.
    fn located(self) -> Self {
        match self.storage.map(Storage::pointer_and_nbytes) {
            Some((pointer, bytes)) => RawSlice { pointer, bytes, ..self },
            None => self,
        }
    }

    fn range(&self, written: bool) -> Option<ByteRange> {
        let range = if written { ByteRange::written } else { ByteRange::read };
        self.streamed.then(|| range(self.pointer, self.bytes))
    }

    /// Returns the bytes without their lock.
    ///
    /// # Safety
    /// No other thread uses them while the returned slice is used.
    pub unsafe fn unlocked(self) -> Self {
        RawSlice { lock: None, storage: None, ..self }
    }

    fn span(&self) -> Span {
        Span { pointer: self.pointer, bytes: self.bytes }
    }

    fn request(&self, is_written: bool) -> LockRequest<'a> {
        LockRequest::new(self.lock, is_written)
    }

    /// Calls `read` with all elements while the lock is held for reading.
    pub fn read<T: Element, R>(&self, read: impl FnOnce(&[T]) -> R) -> R {
        with_locks(&mut [self.request(false)], false, || {
            let located = self.located();
            let _access = located.range(false).map(|range| memory::Access::new(&[range]));
            // SAFETY: the lock and the access are held longer than the slice exists.
            read(unsafe { located.span().slice() })
        })
    }

    /// Calls `access` while the locks of all slices are held for reading.
    pub fn read_all<R>(slices: &[RawSlice<'_>], access: impl FnOnce() -> R) -> R {
        let mut requests: Vec<_> = slices.iter().map(|slice| slice.request(false)).collect();
        with_locks(&mut requests, false, || {
            let ranges: Vec<_> = slices.iter().filter_map(|slice| slice.located().range(false)).collect();
            let _access = (!ranges.is_empty()).then(|| memory::Access::new(&ranges));
            access()
        })
    }

    /// Returns whether the two slices share bytes. Slices of two storages overlap only in foreign memory, such as two
    /// slices of one NumPy array. Slices of one storage overlap even if it has moved its bytes in between.
    pub fn overlaps(&self, other: &RawSlice<'_>) -> bool {
        if self.lock.zip(other.lock).is_some_and(|(own, other)| std::ptr::eq(own, other)) {
            return true;
        }
        let range = |slice: &RawSlice<'_>| (slice.pointer.addr(), slice.pointer.addr() + slice.bytes);
        let ((start, end), (other_start, other_end)) = (range(self), range(other));
        start.max(other_start) < end.min(other_end)
    }

    /// Calls `access` with the memory of targets and sources, in this order, while their locks are held. The bytes of the
    /// targets are zeroed first if `is_zeroed`. The thread is detached from the interpreter meanwhile if the access `is_long`. Returns
    /// false, without a call, if a target shares bytes with another slice.
    pub fn access(
        targets: &[RawSlice<'_>],
        is_zeroed: bool,
        sources: &[RawSlice<'_>],
        is_long: bool,
        access: &mut dyn FnMut(&[Span]),
    ) -> bool {
        let others = |position: usize| targets.iter().skip(position + 1).chain(sources);
        let mut numbered = targets.iter().enumerate();
        if numbered.any(|(position, target)| others(position).any(|other| target.overlaps(other))) {
            return false;
        }
        let all = || {
            targets.iter().map(|target| (target, true)).chain(sources.iter().map(|source| (source, false)))
        };
        let mut requests: Vec<_> = all().map(|(slice, is_written)| slice.request(is_written)).collect();
        with_locks(&mut requests, is_long, || {
            let located = || all().map(|(slice, is_written)| (slice.located(), is_written));
            let streamed: Vec<_> =
                located().filter_map(|(slice, is_written)| slice.range(is_written)).collect();
            // Acquired together and after the locks: work that holds an access waits for nothing.
            let _access = (!streamed.is_empty()).then(|| memory::Access::new(&streamed));
            let spans: Vec<_> = located().map(|(slice, _)| slice.span()).collect();
            if is_zeroed {
                for span in spans.iter().take(targets.len()) {
                    // SAFETY: the bytes are writable, and the lock is held for writing.
                    unsafe { span.pointer.write_bytes(0, span.bytes) };
                }
            }
            access(&spans);
        });
        true
    }
}

/// A storage as the argument of a queued kernel. It does not own the storage, whose memory can be reused by later
/// work of the stream as soon as the program has dropped it.
pub(crate) struct KernelArg {
    pointer: *mut u8,
    bytes: usize,
    lock: KernelArgLock,
}

enum KernelArgLock {
    OnDevice(Arc<RawForkRwLock>),
    /// A CPU scalar that no other tensor shares, or pinned memory of another library.
    OnCpu(Arc<Storage>),
}

// SAFETY: the pointer is only dereferenced while the lock is held, and the other fields are `Send`.
unsafe impl Send for KernelArg {}
// SAFETY: as for `Send`.
unsafe impl Sync for KernelArg {}

impl KernelArg {
    /// # Safety
    /// The CPU can access the bytes, and they stay valid for the queued kernel, which has their owners.
    pub unsafe fn on_device(pointer: *mut u8, bytes: usize, lock: Arc<RawForkRwLock>) -> Self {
        KernelArg { pointer, bytes, lock: KernelArgLock::OnDevice(lock) }
    }

    pub fn on_cpu(storage: Arc<Storage>) -> Self {
        let (pointer, bytes) = storage.pointer_and_nbytes();
        KernelArg { pointer, bytes, lock: KernelArgLock::OnCpu(storage) }
    }

    pub fn raw_slice(&self) -> RawSlice<'_> {
        let lock = match &self.lock {
            KernelArgLock::OnDevice(lock) => lock,
            KernelArgLock::OnCpu(storage) => storage.lock(),
        };
        // SAFETY: the caller of the constructor guaranteed the bytes, or the storage owns them. Bytes that a driver
        // allocated and that were not written yet have an unspecified but valid value.
        let slice = unsafe { RawSlice::new(self.pointer, self.bytes, lock) };
        slice.streamed()
    }
}
