//! Allocations whose size depends on data. They return an error if memory runs out, where the collections of std
//! abort the process.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hash;

use interlock::accelerator::Device;
use interlock::accelerator::memory::OutOfMemory;

use crate::{Error, Result};

/// Returns the error for a collection that cannot hold `count` values.
pub(crate) fn oom_error<T>(count: usize) -> Error {
    OutOfMemory::error(Device::CPU, count.saturating_mul(size_of::<T>())).into()
}

/// Returns an empty vector with capacity for `count` values.
pub(crate) fn try_with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| oom_error::<T>(count))?;
    Ok(values)
}

/// Returns a vector of `count` clones of a value.
pub(crate) fn try_from_elem<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut values = try_with_capacity(count)?;
    values.resize(count, value);
    Ok(values)
}

/// Collects the first `count` values of an iterator into a vector.
pub(crate) fn try_collect<T>(count: usize, values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut collected = try_with_capacity(count)?;
    collected.extend(values.into_iter().take(count));
    Ok(collected)
}

/// Appends a value to a vector.
pub(crate) fn try_push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    values.try_reserve(1).map_err(|_| oom_error::<T>(values.len().saturating_add(1)))?;
    values.push(value);
    Ok(())
}

/// Reserves capacity of a map for one more entry.
pub(crate) fn try_reserve_one<K: Eq + Hash, V>(map: &mut HashMap<K, V>) -> Result<()> {
    let needed = map.len().saturating_add(1);
    map.try_reserve(1).map_err(|_| oom_error::<(K, V)>(needed))
}

/// Appends text to a string.
pub(crate) fn try_push_str(text: &mut String, more: &str) -> Result<()> {
    text.try_reserve(more.len()).map_err(|_| oom_error::<u8>(text.len().saturating_add(more.len())))?;
    text.push_str(more);
    Ok(())
}

/// Returns an error unless `bytes` bytes can be allocated now. Called before allocations that abort the process if
/// they fail: those of other crates, and those of `Arc` and `Box`.
pub(crate) fn check_available(bytes: usize) -> Result<()> {
    let probe = try_with_capacity::<u8>(bytes)?;
    // The compiler may remove an allocation whose address is not used.
    std::hint::black_box(probe.as_ptr());
    Ok(())
}

/// Returns an error unless there is memory for the small allocations of one operation: its tensor, layouts and node.
///
/// `Arc` and `Box` abort the process if they cannot allocate. Once in 64 operations of a thread this checks that
/// there is enough memory for the next 64.
#[inline]
pub fn check_memory() -> Result<()> {
    thread_local! {
        static CHECKS_LEFT: Cell<u32> = const { Cell::new(0) };
    }
    /// Operations per check. Each makes at most 16 KiB of small allocations.
    const OPERATIONS_PER_CHECK: u32 = 64;
    const BYTES: usize = 1 << 20;
    // A thread that is exiting has no counter and checks each time.
    let left = CHECKS_LEFT.try_with(Cell::get).unwrap_or(0);
    if left > 0 {
        let _ = CHECKS_LEFT.try_with(|checked| checked.set(left - 1));
        return Ok(());
    }
    check_available(BYTES)?;
    let _ = CHECKS_LEFT.try_with(|checked| checked.set(OPERATIONS_PER_CHECK - 1));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCause;

    #[test]
    fn try_with_capacity_returns_out_of_memory() {
        let is_oom = |error: Error| {
            matches!(error.cause(), ErrorCause::Accelerator(interlock::accelerator::Error::OutOfMemory(_)))
        };
        assert!(is_oom(try_with_capacity::<u64>(usize::MAX).unwrap_err()));
        assert!(is_oom(try_from_elem(0u64, usize::MAX / 8).unwrap_err()));
        assert!(is_oom(try_collect(usize::MAX, std::iter::repeat(1u8)).unwrap_err()));
        assert!(is_oom(check_available(usize::MAX / 4).unwrap_err()));
    }

    #[test]
    fn try_collect_takes_at_most_count_values() {
        assert_eq!(try_collect(2, [1, 2, 3]), Ok(vec![1, 2]));
        assert_eq!(try_from_elem(7, 3), Ok(vec![7, 7, 7]));
    }
}
