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
/// assert_eq!(oom.to_string(), "out of memory: tried to allocate 2.00 MiB on cpu");
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
        write!(f, "out of memory: tried to allocate {} on {}", Size(self.requested as u64), self.device)?;
        let Some(cache) = &self.cache else { return Ok(()) };
        f.write_str(" (")?;
        if let Some(free) = cache.free {
            write!(f, "free {}, ", Size(free))?;
        }
        write!(f, "reserved {}, allocated {}", Size(cache.reserved), Size(cache.allocated))?;
        write!(f, ", largest free block {}", Size(cache.largest_free))?;
        if let Some(limit) = cache.limit {
            write!(f, ", limit {}", Size(limit))?;
        }
        f.write_str(if cache.is_limited() {
            "). The device has enough memory; only the limit set with accelerator.memory.set_limit is too low"
        } else if cache.unused() >= cache.rounded as u64 {
            "). The free blocks are large enough in total, but too small each: \
             accelerator.memory.set_config(\"expandable_segments:True\") avoids fragmentation"
        } else {
            "). Free memory of the device, or allocate less"
        })
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
    fn oom_message_has_sizes_with_units() {
        assert_eq!(
            text((5 << 29) + 1, |_| ()),
            "out of memory: tried to allocate 2.50 GiB on cuda (free 1000 bytes, reserved 4.00 MiB, allocated 3.00 MiB, \
             largest free block 512 bytes). Free memory of the device, or allocate less"
        );
        let message = OutOfMemory { device: Device::CPU, requested: 1023, cache: None }.to_string();
        assert_eq!(message, "out of memory: tried to allocate 1023 bytes on cpu");
        assert_eq!(Size(u64::MAX).to_string(), "16.00 EiB");
    }

    #[test]
    fn oom_message_names_the_limit_or_fragmentation() {
        let limited = |limit| text(2 << 20, |cache| (cache.limit, cache.free) = (Some(limit), Some(1 << 30)));
        let message = limited(23 << 20);
        assert!(
            message.contains(", limit 23.00 MiB). The device has enough memory; only the limit "),
            "{message}"
        );
        let message = limited(24 << 20);
        assert!(
            message.ends_with(", limit 24.00 MiB). Free memory of the device, or allocate less"),
            "{message}"
        );
        assert!(text(1 << 20, |_| ()).contains("expandable_segments"));
        assert!(!text((1 << 20) + 1, |_| ()).contains("expandable_segments"));
    }
}
