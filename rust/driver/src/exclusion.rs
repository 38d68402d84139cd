//! Excludes accesses of this process's threads to the same bytes.
//!
//! Streams that a program does not order may use the same bytes at the same time. Where the processor does that work,
//! two threads that access a byte and do not exclude each other are a data race, which the language leaves undefined.
//! So copies, fills and kernels that run on the processor hold an [`Access`] meanwhile. Which of them comes first is
//! still for the program to decide.

use interlock_core::base::backoff::pause_after;
use interlock_core::base::fork;
use interlock_core::base::fork::rank;
use interlock_core::base::sync::ForkLock;

/// Bytes that a thread is about to read or write.
///
/// ```
/// use interlock_driver::{Access, ByteRange};
///
/// let (source, mut target) = ([1_u8; 16], [0_u8; 16]);
/// let ranges = [ByteRange::read(source.as_ptr(), 16), ByteRange::written(target.as_ptr(), 16)];
/// let access = Access::new(&ranges);
/// target.copy_from_slice(&source);
/// drop(access);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByteRange {
    start: usize,
    end: usize,
    written: bool,
}

impl ByteRange {
    /// `bytes` bytes from `start` on, to be read.
    pub fn read(start: *const u8, bytes: usize) -> Self {
        let start = start.addr();
        ByteRange { start, end: start.saturating_add(bytes), written: false }
    }

    /// `bytes` bytes from `start` on, to be written.
    pub fn written(start: *const u8, bytes: usize) -> Self {
        ByteRange { written: true, ..Self::read(start, bytes) }
    }

    fn excludes(&self, other: &ByteRange) -> bool {
        (self.written || other.written) && self.start.max(other.start) < self.end.min(other.end)
    }
}

struct Held {
    range: ByteRange,
    access: u64,
    /// A child lacks the threads that accessed bytes when it was forked.
    generation: u32,
}

pub(crate) struct Accesses {
    held: Vec<Held>,
    last: u64,
}

/// The accesses in progress: a few for each thread that runs work.
static ACCESSES: ForkLock<Accesses> =
    ForkLock::new(rank::MEMORY_ACCESSES, Accesses { held: Vec::new(), last: 0 });

/// Keeps other threads from writing the bytes, and from reading those that are written, until it is dropped.
///
/// ```
/// use interlock_driver::{Access, ByteRange};
///
/// let mut bytes = [0_u8; 64];
/// let _access = Access::new(&[ByteRange::written(bytes.as_ptr(), 64)]);
/// // No work of a stream that runs on the CPU accesses the bytes now.
/// bytes.fill(1);
/// ```
#[derive(Debug)]
#[must_use]
pub struct Access(u64);

impl Access {
    /// Waits until no other access excludes one of the ranges. All of them are taken at once; a thread that holds an access
    /// must not wait for another one.
    pub fn new(ranges: &[ByteRange]) -> Self {
        let generation = fork::generation();
        let mut attempts = 0;
        loop {
            if let Some(access) = Self::attempt(ranges, generation) {
                return access;
            }
            pause_after(attempts);
            attempts = attempts.saturating_add(1);
        }
    }

    fn attempt(ranges: &[ByteRange], generation: u32) -> Option<Self> {
        let mut accesses = ACCESSES.lock();
        accesses.held.retain(|held| held.generation == generation);
        if accesses.held.iter().any(|held| ranges.iter().any(|range| range.excludes(&held.range))) {
            return None;
        }
        accesses.last += 1;
        let access = accesses.last;
        accesses.held.extend(ranges.iter().map(|&range| Held { range, access, generation }));
        Some(Access(access))
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        ACCESSES.lock().held.retain(|held| held.access != self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_accesses_of_the_same_bytes_of_which_one_writes_exclude_each_other() {
        let bytes = [0_u8; 8];
        let at = |start: usize| bytes.as_ptr().wrapping_add(start);
        let (read, written) = (ByteRange::read(at(0), 4), ByteRange::written(at(0), 4));
        for (range, by_reader, by_writer) in [
            (ByteRange::read(at(2), 4), false, true),
            (ByteRange::written(at(3), 1), true, true),
            (ByteRange::written(at(4), 4), false, false),
            (ByteRange::written(at(1), 0), false, false),
        ] {
            assert_eq!((range.excludes(&read), read.excludes(&range)), (by_reader, by_reader));
            assert_eq!((range.excludes(&written), written.excludes(&range)), (by_writer, by_writer));
        }
    }

    #[test]
    fn threads_that_write_the_same_bytes_take_turns() {
        let mut bytes = [0_u8; 64];
        let address = bytes.as_mut_ptr().expose_provenance();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    let start: *mut u8 = std::ptr::with_exposed_provenance_mut(address);
                    for _ in 0..2000 {
                        let _access = Access::new(&[ByteRange::written(start, 64)]);
                        // SAFETY: the bytes outlive the threads, and the access excludes the others.
                        unsafe { start.write(start.read().wrapping_add(1)) };
                    }
                });
            }
        });
        assert_eq!(bytes[0], (4 * 2000 % 256) as u8);
    }

    #[test]
    fn an_access_of_another_generation_excludes_nothing() {
        let byte = 0_u8;
        let range = ByteRange::written(&raw const byte, 1);
        let other = fork::generation().wrapping_sub(1);
        ACCESSES.lock().held.push(Held { range, access: u64::MAX, generation: other });
        drop(Access::new(&[range]));
        assert!(ACCESSES.lock().held.iter().all(|held| held.access != u64::MAX));
    }
}
