//! Queries of the allocated and cached memory of devices.

use interlock_driver::DeviceIndex;

use crate::accelerator::Accelerator;
use crate::allocators::CachingAllocator;
use crate::allocators::stats::{Quantity, Statistics};
use crate::device::DeviceState;
use crate::mem_pool::RequestPool;
use crate::registry::{current_accelerator, device_count, unavailable_reason};
use crate::started::available_devices;
use crate::{Device, Error, Result, current, registry};

const NAMESPACE: &str = "accelerator.memory";

/// Returns the accelerator and the index of a device, or `None` if no driver is started and so nothing is allocated.
/// Starts no driver. No device means the current device.
///
/// # Errors
/// Returns [`Error::DeviceUnavailable`] for a device that the accelerator does not have. Without an accelerator, device 0
/// counts as a device without memory.
pub(super) fn resolve_if_initialized(
    device: Option<Device>,
) -> Result<Option<(&'static Accelerator, DeviceIndex)>> {
    if registry::try_accelerator().is_some() {
        return current::resolve(device, NAMESPACE).map(Some);
    }
    let Some(device) = device else { return Ok(None) };
    let kind = current_accelerator().map(|device| device.kind());
    let count = device_count().max(1);
    let fits = kind.map_or(device.kind() != Device::CPU.kind(), |kind| kind == device.kind());
    if fits && device.index().is_none_or(|index| u32::from(index) < count) {
        return Ok(None);
    }
    let reason = unavailable_reason()
        .or_else(|| kind.map(|kind| available_devices(kind, count as usize)))
        .unwrap_or_default();
    Err(Error::DeviceUnavailable { operation: NAMESPACE.to_owned(), device, reason })
}

/// Calls `function` with the allocator of a device; the default if no driver is started. See
/// [`resolve_if_initialized`].
pub(super) fn with_allocator<T: Default>(
    device: Option<Device>,
    function: impl FnOnce(&CachingAllocator, &'static DeviceState) -> T,
) -> Result<T> {
    let Some((accelerator, index)) = resolve_if_initialized(device)? else { return Ok(T::default()) };
    let device = accelerator.device(index)?;
    Ok(function(device.allocator(NAMESPACE)?, device))
}

/// Returns the memory statistics of a device, all zero before its first use. `None` means the current device.
pub fn statistics(device: Option<Device>) -> Result<Statistics> {
    let stats = with_allocator(device, |allocator, _| Some(allocator.with_stats(|stats| stats.clone())));
    Ok(stats?.unwrap_or_else(Statistics::new))
}

/// Sets the peaks of a device's statistics to the current amounts.
pub fn reset_peak_statistics(device: Option<Device>) -> Result<()> {
    with_allocator(device, |allocator, _| allocator.with_stats(Quantity::reset_peak))
}

/// Sets the sums and counts of a device's statistics to 0.
pub fn reset_accumulated_statistics(device: Option<Device>) -> Result<()> {
    with_allocator(device, |allocator, _| allocator.with_stats(Quantity::reset_accumulated))
}

/// Returns the size in bytes of the largest free block that an allocation for the current stream of a device may use.
/// Blocks of other streams and of other memory pools do not count: while the stream is captured, only those of the pool of
/// its graph count, and within a scope of a [`MemPool`](crate::MemPool) those of that pool.
pub fn largest_free_block(device: Option<Device>) -> Result<u64> {
    Ok(usable_free_bytes(device)?.0)
}

/// Returns the fragmentation of the free blocks that [`largest_free_block`] counts: 0 for one block or none, and close
/// to 1 if the largest block is a small part of all of them.
pub fn fragmentation(device: Option<Device>) -> Result<f64> {
    let (largest, all) = usable_free_bytes(device)?;
    Ok(if all == 0 { 0.0 } else { 1.0 - largest as f64 / all as f64 })
}

/// Returns the largest size and the total size of the free blocks that the current stream of a device may use.
fn usable_free_bytes(device: Option<Device>) -> Result<(u64, u64)> {
    let Some((accelerator, index)) = resolve_if_initialized(device)? else { return Ok((0, 0)) };
    let allocator = accelerator.allocator(index, NAMESPACE)?;
    let stream = current::stream_on(accelerator.home(index)?)?;
    let pool = RequestPool::of(accelerator, &stream)?;
    Ok(allocator.free_bytes_for(&stream, pool.as_ref().map(RequestPool::id)))
}

/// Releases the cached memory of all devices to the driver, after waiting for the work that is queued now. Called from
/// a host function of a stream, it does not wait. Has no effect while a graph is captured. Memory pools of graphs and
/// [`MemPool`](crate::MemPool)s that are in use remain cached.
///
/// # Errors
/// Returns the error of a device whose streams can't be queried, after the caches of the other devices were emptied.
pub fn empty_cache() -> Result<()> {
    let Some((accelerator, _)) = resolve_if_initialized(None)? else { return Ok(()) };
    // All are emptied before the first error is returned, so that a lost device affects only itself.
    let devices = accelerator.devices(NAMESPACE)?.iter();
    let emptied = devices.map(|device| device.allocator(NAMESPACE)?.release_cached_blocks(device));
    let emptied: Vec<_> = emptied.collect();
    emptied.into_iter().collect()
}
