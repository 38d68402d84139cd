//! Bytes and the lock of whoever reads or writes them: the only file here that makes slices from addresses.
//!
//! Every access goes through a lock of the storage, so that threads which share tensors cannot race.
//! An operation takes all locks that it needs at once, in the order of their addresses, and never
//! calls another operation while it holds them: that is why they cannot deadlock.

use std::ptr::NonNull;
use std::sync::Arc;

use interlock::accelerator::driver::KeepAlive;
use interlock::accelerator::memory::{self, ByteRange};

use super::Storage;
use crate::Element;
use crate::fork_rwlock::RawForkRwLock;

/// The bytes of a storage. Whoever makes one sees to it that they are there, initialised, and reached by the
/// processor, for as long as the lock is borrowed.
#[derive(Clone, Copy)]
pub(crate) struct RawSlice<'a> {
    pointer: *mut u8,
    bytes: usize,
    lock: Option<&'a RawForkRwLock>,
    /// Whether copies and fills of streams may use the bytes as well, which do not take the lock.
    streamed: bool,
}

impl<'a> RawSlice<'a> {
    /// No bytes.
    pub const EMPTY: RawSlice<'static> = RawSlice {
        pointer: NonNull::<u64>::dangling().as_ptr().cast(),
        bytes: 0,
        lock: None,
        streamed: false,
    };

    /// # Safety
    /// As the type says.
    pub unsafe fn new(pointer: *mut u8, bytes: usize, lock: &'a RawForkRwLock) -> Self {
        if bytes == 0 {
            RawSlice::EMPTY
        } else {
            RawSlice { pointer, bytes, lock: Some(lock), streamed: false }
        }
    }

    /// The same bytes, which copies and fills of streams may use as well.
    pub fn streamed(self) -> Self {
        RawSlice { streamed: true, ..self }
    }

    fn range(&self, written: bool) -> Option<ByteRange> {
        let range = if written { ByteRange::written } else { ByteRange::read };
        self.streamed.then(|| range(self.pointer, self.bytes))
    }

    /// The same bytes without their lock.
    ///
    /// # Safety
    /// Nobody else has them as long as this lives.
    pub unsafe fn unlocked(self) -> Self {
        RawSlice { lock: None, ..self }
    }

    /// Where the lock lies: locks are taken in this order.
    fn order(&self) -> *const RawForkRwLock {
        self.lock.map_or(std::ptr::null(), std::ptr::from_ref)
    }

    /// How many elements fit, none if the address does not suit them.
    fn count<T: Element>(&self) -> usize {
        if self.pointer.cast::<T>().is_aligned() { self.bytes / size_of::<T>() } else { 0 }
    }

    /// # Safety
    /// The caller holds the lock for reading for as long as the slice lives.
    unsafe fn slice<T: Element>(&self) -> &'a [T] {
        // SAFETY: there are that many initialised bytes, aligned for T; every bit pattern is a valid element;
        // writers are kept out by the lock.
        unsafe { std::slice::from_raw_parts(self.pointer.cast(), self.count::<T>()) }
    }

    /// # Safety
    /// The caller holds the lock for writing for as long as the slice lives.
    unsafe fn slice_mut<T: Element>(&self) -> &'a mut [T] {
        // SAFETY: as in `slice`, and the lock keeps everyone else out.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.cast(), self.count::<T>()) }
    }

    /// Reads all bytes.
    pub fn read<T: Element, R>(&self, read: impl FnOnce(&[T]) -> R) -> R {
        let _guard = self.lock.map(RawForkRwLock::read);
        let _access = self.range(false).map(|range| memory::Access::new(&[range]));
        // SAFETY: the guards outlive the slice.
        read(unsafe { self.slice() })
    }

    /// Whether some bytes belong to both. Two storages can overlap only in memory of others, such as
    /// two slices of one NumPy array.
    pub fn overlaps(&self, other: &RawSlice<'_>) -> bool {
        let range = |slice: &RawSlice<'_>| (slice.pointer.addr(), slice.pointer.addr() + slice.bytes);
        let ((start, end), (other_start, other_end)) = (range(self), range(other));
        start.max(other_start) < end.min(other_end)
    }

    /// Writes this one from two others, which may be the same; `fresh` bytes are 0 before. `None`, and nothing
    /// done, if a source shares memory with this one.
    pub fn write<'b, T: Element, A: Element, B: Element, R>(
        &self,
        fresh: bool,
        [a, b]: [RawSlice<'b>; 2],
        write: impl FnOnce(&mut [T], &[A], &[B]) -> R,
    ) -> Option<R> {
        if !fresh && (self.overlaps(&a) || self.overlaps(&b)) {
            return None;
        }
        // Both sources may have one lock, which is then taken once: a second time it could wait for a writer
        // that waits for the first.
        let second = if a.order() == b.order() { RawSlice::EMPTY } else { b };
        let (first, second) = if a.order() <= second.order() { (a, second) } else { (second, a) };
        let reads = |slice: RawSlice<'b>| slice.lock.map(RawForkRwLock::read);
        let (_target, _first, _second);
        if self.order() <= first.order() {
            _target = self.lock.map(RawForkRwLock::write);
            (_first, _second) = (reads(first), reads(second));
        } else if self.order() <= second.order() {
            _first = reads(first);
            _target = self.lock.map(RawForkRwLock::write);
            _second = reads(second);
        } else {
            (_first, _second) = (reads(first), reads(second));
            _target = self.lock.map(RawForkRwLock::write);
        }
        // All at once, and after the locks: work that holds an access waits for nothing.
        let ranges = [self.range(true), a.range(false), b.range(false)];
        let _access = ranges.iter().any(Option::is_some).then(|| {
            let [target, a, b] = ranges.map(|range| range.unwrap_or(ByteRange::read(std::ptr::null(), 0)));
            memory::Access::new(&[target, a, b])
        });
        if fresh {
            // SAFETY: the bytes are there, and the lock is held for writing.
            unsafe { self.pointer.write_bytes(0, self.bytes) };
        }
        // SAFETY: all are locked, the target has no byte in common with a source (a fresh one is nobody else's),
        // and the guards outlive the slices.
        Some(write(unsafe { self.slice_mut() }, unsafe { a.slice() }, unsafe { b.slice() }))
    }
}

/// What queued work has of a storage: not the storage itself, whose memory is free for later work of the stream
/// as soon as the program has dropped it.
pub(crate) struct KernelArg {
    pointer: *mut u8,
    bytes: usize,
    lock: KernelArgLock,
    _keep_alive: Option<KeepAlive>,
}

enum KernelArgLock {
    OnDevice(Arc<RawForkRwLock>),
    /// A number in memory of the processor, which nobody else has.
    OnCpu(Arc<Storage>),
}

// SAFETY: an address, and what may be sent itself; the bytes are reached through the lock only.
unsafe impl Send for KernelArg {}
// SAFETY: as above.
unsafe impl Sync for KernelArg {}

impl KernelArg {
    /// # Safety
    /// The bytes are reached by the processor, and what is queued on one stream finds them there as long as the
    /// owner lives.
    pub unsafe fn on_device(
        pointer: *mut u8,
        bytes: usize,
        lock: Arc<RawForkRwLock>,
        keep_alive: Option<KeepAlive>,
    ) -> Self {
        KernelArg { pointer, bytes, lock: KernelArgLock::OnDevice(lock), _keep_alive: keep_alive }
    }

    pub fn on_cpu(storage: Arc<Storage>) -> Self {
        let (pointer, bytes) = (storage.pointer(), storage.nbytes());
        KernelArg { pointer, bytes, lock: KernelArgLock::OnCpu(storage), _keep_alive: None }
    }

    pub fn raw_slice(&self) -> RawSlice<'_> {
        let lock = match &self.lock {
            KernelArgLock::OnDevice(lock) => lock,
            KernelArgLock::OnCpu(storage) => storage.lock(),
        };
        // SAFETY: whoever made this vouched for the bytes, or the storage owns them. Bytes that a driver gave and
        // nobody has written yet have some value, though nobody knows which.
        let slice = unsafe { RawSlice::new(self.pointer, self.bytes, lock) };
        slice.streamed()
    }
}
