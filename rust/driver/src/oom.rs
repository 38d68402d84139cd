//! The out-of-memory error.

use std::fmt;

use interlock_core::device::Device;

use crate::PoolId;

/// A request that failed because memory ran out.
///
/// ```
/// use interlock_driver::{Device, Error, OutOfMemory};
///
/// let Error::OutOfMemory(oom) = OutOfMemory::error(Device::CPU, 2 << 20) else { panic!("another error") };
/// assert_eq!(oom.to_string(), "out of memory on cpu: 2.00 MiB could not be allocated (2097152 bytes)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The device of the request.
    pub device: Device,
    /// The bytes that were requested.
    pub requested: usize,
    /// The state of the device's allocator; `None` for memory that no allocator caches.
    pub cache: Option<AllocatorState>,
}

/// The state of an allocator when a request failed, in bytes.
///
/// ```
/// use interlock_driver::{AllocatorState, OutOfMemory};
///
/// /// Returns whether the program itself uses the memory, so that an empty cache would not help.
/// fn is_full(oom: &OutOfMemory) -> bool {
///     let is_used = |state: &AllocatorState| state.allocated == state.reserved;
///     oom.cache.as_ref().is_none_or(is_used)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatorState {
    /// The size of a block for the request.
    pub rounded: usize,
    /// The size of a segment for the request.
    pub segment: usize,
    /// Bytes of allocated blocks.
    pub allocated: u64,
    /// Bytes of all segments.
    pub reserved: u64,
    /// The size of the largest free block.
    pub largest_free: u64,
    /// The largest number of bytes that may be reserved, if there is a limit.
    pub limit: Option<u64>,
    /// The free memory that the driver reports, if it does.
    pub free: Option<u64>,
    /// The id of the stream of the request.
    pub stream: i64,
    /// The private pool of the request.
    pub pool: Option<PoolId>,
}

impl AllocatorState {
    /// Returns the cached bytes. They are in blocks that are too small: others would have been used or released.
    fn unused(&self) -> u64 {
        self.reserved.saturating_sub(self.allocated)
    }

    /// Returns whether only the limit prevents the allocation, because the driver has enough memory.
    fn is_limited(&self) -> bool {
        let segment = self.segment as u64;
        self.limit.is_some_and(|limit| self.reserved.saturating_add(segment) > limit)
            && self.free.is_none_or(|free| free >= segment)
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requested = self.requested as u64;
        write!(f, "out of memory on {}: {} could not be allocated", self.device, Size(requested))?;
        if requested >= Size::UNIT {
            write!(f, " ({requested} bytes)")?;
        }
        let Some(cache) = &self.cache else { return Ok(()) };
        write!(
            f,
            "; of {} taken from the device {} are in use",
            Size(cache.reserved),
            Size(cache.allocated)
        )?;
        write!(f, " and the largest free piece has {}", Size(cache.largest_free))?;
        if let Some(free) = cache.free {
            write!(f, "; the device has {} left", Size(free))?;
        }
        if let Some(limit) = cache.limit {
            write!(f, "; the limit of this process is {}", Size(limit))?;
        }
        if cache.is_limited() {
            f.write_str(". The limit alone stands against it: see accelerator.memory.set_limit")?;
        } else if cache.unused() >= cache.rounded as u64 {
            f.write_str(
                ". Enough is kept and not in use, but in pieces: \
                 expandable_segments (accelerator.memory.set_config) keep them together",
            )?;
        }
        Ok(())
    }
}

/// Displays a number of bytes in the largest unit that it reaches.
struct Size(u64);

impl Size {
    const UNIT: u64 = 1024;
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exponent = self.0.max(1).ilog(Self::UNIT);
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        match exponent.checked_sub(1).and_then(|place| units.get(place as usize)) {
            Some(unit) => write!(f, "{:.2} {unit}", self.0 as f64 / Self::UNIT.pow(exponent) as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(requested: usize, change: impl FnOnce(&mut AllocatorState)) -> String {
        let mut cache = AllocatorState {
            rounded: requested.next_multiple_of(512),
            segment: 20 << 20,
            allocated: 3 << 20,
            reserved: 4 << 20,
            largest_free: 512,
            limit: None,
            free: Some(1000),
            stream: 0,
            pool: None,
        };
        change(&mut cache);
        OutOfMemory { device: Device::CUDA, requested, cache: Some(cache) }.to_string()
    }

    #[test]
    fn oom_message_has_sizes_with_units_and_the_exact_request() {
        assert_eq!(
            text((5 << 29) + 1, |_| ()),
            "out of memory on cuda: 2.50 GiB could not be allocated (2684354561 bytes); of 4.00 MiB taken from the \
             device 3.00 MiB are in use and the largest free piece has 512 bytes; the device has 1000 bytes left"
        );
        let message = OutOfMemory { device: Device::CPU, requested: 1023, cache: None }.to_string();
        assert_eq!(message, "out of memory on cpu: 1023 bytes could not be allocated");
        assert_eq!(Size(u64::MAX).to_string(), "16.00 EiB");
    }

    #[test]
    fn oom_message_names_the_limit_or_fragmentation() {
        let limited = |limit| text(2 << 20, |cache| (cache.limit, cache.free) = (Some(limit), Some(1 << 30)));
        assert!(
            limited(23 << 20)
                .ends_with("23.00 MiB. The limit alone stands against it: see accelerator.memory.set_limit")
        );
        assert!(limited(24 << 20).ends_with("the limit of this process is 24.00 MiB"));
        assert!(text(1 << 20, |_| ()).contains("expandable_segments"));
        assert!(!text((1 << 20) + 1, |_| ()).contains("expandable_segments"));
    }
}
