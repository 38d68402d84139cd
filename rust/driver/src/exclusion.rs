//! Mutual exclusion of accesses to the same bytes by threads of this process.
//!
//! Streams that the program does not synchronize may use the same bytes at the same time. If the CPU runs their work,
//! that is a data race, which is undefined behavior. Copies, fills and kernels that run on the CPU therefore own an
//! [`Access`] while they run. Their order is still up to the program.

use interlock_core::base::backoff::pause_after;
use interlock_core::base::blocking;
use interlock_core::base::fork;
use interlock_core::base::fork::rank;
use interlock_core::base::sync::ForkLock;

use crate::{ByteRange, races};

struct ActiveRange {
    range: ByteRange,
    access: u64,
    /// The fork generation. Ranges of another one belong to threads that do not exist in this process.
    generation: u32,
}

pub(crate) struct Accesses {
    active: Vec<ActiveRange>,
    last: u64,
}

/// The active accesses, a few for each thread that runs work.
static ACCESSES: ForkLock<Accesses> =
    ForkLock::new(rank::MEMORY_ACCESSES, Accesses { active: Vec::new(), last: 0 });

/// Prevents other threads from accessing bytes that it writes, and from writing bytes that it reads, until it is
/// dropped.
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
    /// Waits until no other access excludes any of the ranges, then acquires all of them at once. A thread that owns an
    /// access must not acquire another one.
    pub fn new(ranges: &[ByteRange]) -> Self {
        races::access(ranges);
        let generation = fork::generation();
        Self::attempt(ranges, generation).unwrap_or_else(|| {
            // SAFETY: the function only waits for other accesses.
            unsafe { blocking::detached(|| Self::wait(ranges, generation)) }
        })
    }

    fn wait(ranges: &[ByteRange], generation: u32) -> Self {
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
        accesses.active.retain(|other| other.generation == generation);
        if accesses.active.iter().any(|other| ranges.iter().any(|range| range.excludes(&other.range))) {
            return None;
        }
        accesses.last += 1;
        let access = accesses.last;
        accesses.active.extend(ranges.iter().map(|&range| ActiveRange { range, access, generation }));
        Some(Access(access))
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        ACCESSES.lock().active.retain(|other| other.access != self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_excludes_writes_of_other_threads() {
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
    fn access_ignores_ranges_of_another_fork_generation() {
        let byte = 0_u8;
        let range = ByteRange::written(&raw const byte, 1);
        let other = fork::generation().wrapping_sub(1);
        ACCESSES.lock().active.push(ActiveRange { range, access: u64::MAX, generation: other });
        drop(Access::new(&[range]));
        assert!(ACCESSES.lock().active.iter().all(|other| other.access != u64::MAX));
    }
}
