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
use crate::Element;
use crate::fork_rwlock::{LockRequest, RawForkRwLock, with_locks};

/// The size of a new result, in bytes, from which on the thread is detached from the interpreter while it is computed,
/// or a chunk of it: few input elements may have many results.
const LONG_RESULT: usize = 32 << 10;

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

    /// Returns whether to detach from the interpreter while this target is written. A target without a lock is a new
    /// result.
    fn is_long_result(&self) -> bool {
        self.lock.is_none() && self.bytes >= LONG_RESULT
    }

    fn request(&self, is_written: bool) -> LockRequest<'a> {
        LockRequest::new(self.lock, is_written)
    }

    /// Returns the number of elements of type `T`, or 0 if the address is not aligned for them.
    fn count<T: Element>(&self) -> usize {
        if self.pointer.cast::<T>().is_aligned() { self.bytes / size_of::<T>() } else { 0 }
    }

    /// # Safety
    /// The caller holds the lock for reading for as long as the slice lives.
    unsafe fn slice<T: Element>(&self) -> &'a [T] {
        // SAFETY: the slice covers that many initialized bytes, aligned for `T`; every bit pattern is a valid
        // element; the lock excludes writers.
        unsafe { std::slice::from_raw_parts(self.pointer.cast(), self.count::<T>()) }
    }

    /// # Safety
    /// The caller holds the lock for writing for as long as the slice lives.
    unsafe fn slice_mut<T: Element>(&self) -> &'a mut [T] {
        // SAFETY: as in `slice`, and the lock excludes all other accesses.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.cast(), self.count::<T>()) }
    }

    /// Calls `read` with all elements while the lock is held for reading.
    pub fn read<T: Element, R>(&self, read: impl FnOnce(&[T]) -> R) -> R {
        with_locks(&mut [self.request(false)], false, || {
            let located = self.located();
            let _access = located.range(false).map(|range| memory::Access::new(&[range]));
            // SAFETY: the lock and the access are held longer than the slice exists.
            read(unsafe { located.slice() })
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

    /// Calls `write` with these elements and those of two sources while all locks are held. The sources may be the
    /// same, and the bytes are `zeroed` first. Returns `None`, without calling `write`, if a source shares bytes
    /// with this slice.
    pub fn write<'b, T: Element, A: Element, B: Element, R>(
        &self,
        zeroed: bool,
        [a, b]: [RawSlice<'b>; 2],
        write: impl FnOnce(&mut [T], &[A], &[B]) -> R,
    ) -> Option<R> {
        if !zeroed && (self.overlaps(&a) || self.overlaps(&b)) {
            return None;
        }
        let is_long = self.is_long_result();
        with_locks(&mut [self.request(true), a.request(false), b.request(false)], is_long, || {
            let (target, a, b) = (self.located(), a.located(), b.located());
            // Acquired together and after the locks: work that holds an access waits for nothing.
            let ranges = [target.range(true), a.range(false), b.range(false)];
            let _access = ranges.iter().any(Option::is_some).then(|| {
                let [target, a, b] =
                    ranges.map(|range| range.unwrap_or(ByteRange::read(std::ptr::null(), 0)));
                memory::Access::new(&[target, a, b])
            });
            if zeroed {
                // SAFETY: the bytes are writable, and the lock is held for writing.
                unsafe { target.pointer.write_bytes(0, target.bytes) };
            }
            // SAFETY: all slices are locked, the target shares no byte with a source (a zeroed one is not visible to
            // other threads), and the locks are held longer than the slices exist.
            Some(write(unsafe { target.slice_mut() }, unsafe { a.slice() }, unsafe { b.slice() }))
        })
    }

    /// Calls `access` with the memory of targets and sources while their locks are held, in this order. The thread is
    /// detached from the interpreter meanwhile if the access `is_long`. Returns false, without a call, if a target shares
    /// bytes with another slice.
    pub fn access(
        targets: &[RawSlice<'_>],
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
            let spans: Vec<_> =
                located().map(|(slice, _)| Span { pointer: slice.pointer, bytes: slice.bytes }).collect();
            access(&spans);
        });
        true
    }

    /// Like [`write`](RawSlice::write), with several targets and any number of sources. Returns `None` also if two
    /// targets share bytes.
    pub fn write_several<T: Element, R, const N: usize>(
        targets: [RawSlice<'_>; N],
        zeroed: bool,
        sources: &[RawSlice<'_>],
        write: impl FnOnce([&mut [T]; N], &[&[T]]) -> R,
    ) -> Option<R> {
        let others = |position: usize| targets.iter().skip(position + 1).chain(sources);
        let mut numbered = targets.iter().enumerate();
        if numbered.any(|(position, target)| others(position).any(|other| target.overlaps(other))) {
            return None;
        }
        let written = targets.iter().map(|target| target.request(true));
        let mut requests: Vec<_> =
            written.chain(sources.iter().map(|source| source.request(false))).collect();
        let is_long = targets.iter().any(RawSlice::is_long_result);
        with_locks(&mut requests, is_long, || {
            let targets = targets.map(RawSlice::located);
            let sources: Vec<_> = sources.iter().map(|source| source.located()).collect();
            let written = targets.iter().filter_map(|target| target.range(true));
            let accessed: Vec<_> =
                written.chain(sources.iter().filter_map(|source| source.range(false))).collect();
            // Acquired together and after the locks: work that holds an access waits for nothing.
            let _access = (!accessed.is_empty()).then(|| memory::Access::new(&accessed));
            if zeroed {
                for target in &targets {
                    // SAFETY: the bytes are writable, and the lock is held for writing.
                    unsafe { target.pointer.write_bytes(0, target.bytes) };
                }
            }
            // SAFETY: all slices are locked, no target shares a byte with another slice, and the locks are held longer
            // than the slices exist.
            let sources: Vec<&[T]> = sources.iter().map(|source| unsafe { source.slice() }).collect();
            // SAFETY: as for the sources.
            Some(write(targets.map(|target| unsafe { target.slice_mut() }), &sources))
        })
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
