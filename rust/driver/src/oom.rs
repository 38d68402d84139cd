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
    /// The name of the flag below `backends` that sets the size of the request, if one does.
    pub flag: Option<&'static str>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocatorState {
    /// The size of a block for the request.
    pub rounded: usize,
    /// The size of a segment for the request.
    pub segment: usize,
    /// Whether that is a segment for small blocks.
    pub is_small: bool,
    /// Bytes of allocated blocks.
    pub allocated: u64,
    /// Bytes of all segments.
    pub reserved: u64,
    /// The size of the largest free block that the request could have used, if it were large enough.
    pub largest_free: u64,
    /// Bytes of all free blocks that the request could have used, if they were large enough.
    pub free_too_small: u64,
    /// Bytes of free blocks of its stream in small segments if the request needs a large one, and the reverse.
    pub free_other_sizes: u64,
    /// Bytes of free blocks of other streams in its pool.
    pub free_other_streams: u64,
    /// Bytes of free blocks in other private pools, of graphs or of the program.
    pub free_private_pools: u64,
    /// Bytes of free blocks outside of private pools, if the request was for a private pool.
    pub free_default_pool: u64,
    /// Whether a graph was captured, so that no cached memory was released.
    pub is_capturing: bool,
    /// Whether new segments are expandable.
    pub expandable: bool,
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
    /// Returns the bytes of free blocks that the request could not use, with their names.
    fn unusable(&self) -> [(u64, &'static str); 4] {
        let sizes = match self.is_small {
            true => "free in segments for large blocks",
            false => "free in segments for small blocks",
        };
        [
            (self.free_private_pools, "free in other memory pools"),
            (self.free_other_streams, "free for other streams"),
            (self.free_default_pool, "free outside the memory pool"),
            (self.free_other_sizes, sizes),
        ]
    }

    /// Returns what the program can do, beginning with the owner of most free memory if that is enough.
    fn hint(&self) -> &'static str {
        let streams = match self.expandable {
            false => {
                "The free blocks of other streams are in segments that are partly used: allocate for fewer streams, or \
                 release unused parts of segments with accelerator::memory::set_config(\"expandable_segments:True\".parse()?)"
            }
            true => {
                "The free blocks of other streams are in segments that are partly used: allocate for fewer streams"
            }
        };
        let fragmented = match self.expandable {
            false => {
                "The free blocks are large enough in total, but too small each: \
                 accelerator::memory::set_config(\"expandable_segments:True\".parse()?) avoids fragmentation"
            }
            true => {
                "The free blocks are large enough in total, but too small each: free the blocks between them"
            }
        };
        let pools = "A memory pool releases its free blocks with its last user: delete MemPool objects that are no longer \
                     used, reset graphs that are no longer replayed (Graph::reset), or capture graphs with one pool \
                     (Graph::capture_begin)";
        let outside = match self.is_capturing {
            true => {
                "Cached memory is not released while a graph is captured: call accelerator::memory::empty_cache() before \
                 the capture"
            }
            false => {
                "The free blocks outside the memory pool are in segments that are partly used: allocate outside of \
                 MemPool::guard"
            }
        };
        let owners = [
            (self.free_too_small, fragmented),
            (self.free_private_pools, pools),
            (self.free_other_streams, streams),
            (self.free_default_pool, outside),
        ];
        let total: u64 = owners.iter().map(|(bytes, _)| bytes).sum();
        let most = owners.into_iter().max_by_key(|(bytes, _)| *bytes);
        most.filter(|_| total >= self.rounded as u64)
            .map_or("Free memory of the device, or allocate less", |(_, hint)| hint)
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
        if let Some(flag) = self.flag {
            write!(f, " for backends.{flag}")?;
        }
        let Some(cache) = &self.cache else { return Ok(()) };
        f.write_str(" (")?;
        if let Some(free) = cache.free {
            write!(f, "free {}, ", Size(free))?;
        }
        write!(f, "reserved {}, allocated {}", Size(cache.reserved), Size(cache.allocated))?;
        write!(f, ", largest free block {}", Size(cache.largest_free))?;
        for (bytes, name) in cache.unusable().into_iter().filter(|(bytes, _)| *bytes > 0) {
            write!(f, ", {} {name}", Size(bytes))?;
        }
        if let Some(limit) = cache.limit {
            write!(f, ", limit {}", Size(limit))?;
        }
        let hint = match cache.is_limited() {
            true => {
                "The device has enough memory; only the limit of this process is too low, which \
                 accelerator::memory::set_limit or the configuration has set"
            }
            false => cache.hint(),
        };
        write!(f, "). {hint}")
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
        match exponent.checked_sub(1).and_then(|index| units.get(index as usize)) {
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
            is_small: requested <= 1 << 20,
            allocated: 3 << 20,
            reserved: 4 << 20,
            largest_free: 512,
            free_too_small: 1 << 20,
            free: Some(1000),
            ..AllocatorState::default()
        };
        change(&mut cache);
        OutOfMemory { device: Device::CUDA, requested, flag: None, cache: Some(cache) }.to_string()
    }

    #[test]
    fn oom_message_has_sizes_with_units() {
        assert_eq!(
            text((5 << 29) + 1, |_| ()),
            "out of memory: tried to allocate 2.50 GiB on cuda (free 1000 bytes, reserved 4.00 MiB, allocated 3.00 MiB, \
             largest free block 512 bytes). Free memory of the device, or allocate less"
        );
        let request = OutOfMemory { device: Device::CPU, requested: 1023, flag: None, cache: None };
        let message = request.to_string();
        assert_eq!(message, "out of memory: tried to allocate 1023 bytes on cpu");
        assert_eq!(Size(u64::MAX).to_string(), "16.00 EiB");
    }

    #[test]
    fn oom_message_names_the_owner_of_most_free_memory() {
        type Owner = fn(&mut AllocatorState) -> &mut u64;
        let owners: [(Owner, &str, &str); 3] = [
            (|cache| &mut cache.free_private_pools, "free in other memory pools", "Graph::reset"),
            (|cache| &mut cache.free_other_streams, "free for other streams", "allocate for fewer streams"),
            (|cache| &mut cache.free_default_pool, "free outside the memory pool", "MemPool::guard"),
        ];
        for (owner, name, hint) in owners {
            let message = text(4 << 20, |cache| *owner(cache) = 3 << 20);
            assert!(message.contains(&format!(", 3.00 MiB {name}")) && message.contains(hint), "{message}");
            assert!(!message.contains("too small each"), "{message}");
            // Together with the blocks that are too small, it is not enough.
            let message = text(5 << 20, |cache| *owner(cache) = 3 << 20);
            assert!(message.contains(name) && message.ends_with("or allocate less"), "{message}");
        }
        let message = text(4 << 20, |cache| (cache.free_default_pool, cache.is_capturing) = (3 << 20, true));
        assert!(message.ends_with("before the capture"), "{message}");
        for (requested, sizes) in [(1 << 20, "large"), (2 << 20, "small")] {
            let message = text(requested, |cache| cache.free_other_sizes = 3 << 20);
            assert!(message.contains(&format!("3.00 MiB free in segments for {sizes} blocks")), "{message}");
        }
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
        assert!(!text(1 << 20, |cache| cache.expandable = true).contains("expandable_segments"));
        assert!(!text((1 << 20) + 1, |_| ()).contains("expandable_segments"));
    }
}
