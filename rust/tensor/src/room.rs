//! Memory whose size depends on data: an error where there is no room, instead of the end of the process.

use interlock::accelerator::Device;
use interlock::accelerator::memory::OutOfMemory;

use crate::{Error, Result};

fn out_of_memory<T>(count: usize) -> Error {
    Error::Core(OutOfMemory::error(Device::CPU, count.saturating_mul(size_of::<T>())))
}

/// Returns an empty vector with room for `count` values.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| out_of_memory::<T>(count))?;
    Ok(values)
}

/// Returns `count` copies of a value.
pub(crate) fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut values = room(count)?;
    values.resize(count, value);
    Ok(values)
}

/// Collects the first `count` values of an iterator.
pub(crate) fn collected<T>(count: usize, values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut collected = room(count)?;
    collected.extend(values.into_iter().take(count));
    Ok(collected)
}

/// Appends a value.
pub(crate) fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    values.try_reserve(1).map_err(|_| out_of_memory::<T>(values.len().saturating_add(1)))?;
    values.push(value);
    Ok(())
}

/// Appends text.
pub(crate) fn write(text: &mut String, more: &str) -> Result<()> {
    text.try_reserve(more.len()).map_err(|_| out_of_memory::<u8>(text.len().saturating_add(more.len())))?;
    text.push_str(more);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_without_room_is_an_error() {
        let refused = |error: Error| matches!(error, Error::Core(interlock::Error::OutOfMemory(_)));
        assert!(refused(room::<u64>(usize::MAX).unwrap_err()));
        assert!(refused(filled(0u64, usize::MAX / 8).unwrap_err()));
        assert!(refused(collected(usize::MAX, std::iter::repeat(1u8)).unwrap_err()));
    }

    #[test]
    fn vector_holds_no_more_than_was_asked_for() {
        assert_eq!(collected(2, [1, 2, 3]), Ok(vec![1, 2]));
        assert_eq!(filled(7, 3), Ok(vec![7, 7, 7]));
    }
}
