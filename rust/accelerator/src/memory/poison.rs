//! Poisoned memory: a value in freed and new memory that makes wrong uses visible.

use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_driver::{Address, Fill, Owners};

use crate::Stream;

/// The value of each poisoned byte: as float32 a negative number of 1e7, as float64 one of 1e57, as an address none that
/// exists.
pub const POISON: u8 = 0xCB;

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Poisons memory until it is dropped: new memory, and freed memory that only its own stream uses. The fills are queued
/// on the stream that the memory is allocated for, and none is queued while the stream is captured.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, Poisoning};
/// use interlock_accelerator::synchronize;
///
/// interlock_accelerator::use_named("host")?;
/// let _poisoning = Poisoning::start();
/// let buffer = DeviceBuffer::new(None, 16)?;
/// synchronize(None)?;
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct Poisoning(());

impl Poisoning {
    /// Starts to poison memory in the whole process.
    pub fn start() -> Self {
        OPEN.fetch_add(1, Ordering::Relaxed);
        Poisoning(())
    }
}

impl Drop for Poisoning {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns whether memory is poisoned.
#[inline]
pub(super) fn is_on() -> bool {
    OPEN.load(Ordering::Relaxed) != 0
}

/// Poisons a block of a stream. Errors, such as of a lost device, are those of the next operation, too.
#[cold]
pub(super) fn poison(stream: &Stream, address: Address, bytes: usize) {
    if stream.is_capturing().is_ok_and(|is_capturing| !is_capturing) {
        let fill = Fill { address, bytes, value: POISON, owners: Owners::default() };
        // SAFETY: the block is of this stream, which uses it again only after the fill; it is released to the driver after
        // the queued work of the stream.
        let _ = unsafe { stream.fill(fill) };
    }
}
