//! How much of a device's memory is used, and what is kept of it.

use super::super::driver::DeviceIndex;
use super::super::in_use::Accelerator;
use super::super::{Device, current, current_accelerator, device_count, registry};
use super::statistics::Statistics;
use crate::{Error, Result};

const NAMESPACE: &str = "accelerator.memory";

/// The accelerator and the index of a device, or `None` where no accelerator is in use and so nothing has been
/// allocated. A question starts no driver, and no device is the current one. Fails with [`Error::NoSuchDevice`] for
/// what is no device of the accelerator; where there is none, a device 0 counts as one without memory.
pub(super) fn in_use(device: Option<Device>) -> Result<Option<(&'static Accelerator, DeviceIndex)>> {
    if registry::used_already().is_some() {
        return current::resolve(device, NAMESPACE).map(Some);
    }
    let Some(device) = device else { return Ok(None) };
    let kind = current_accelerator().map(|device| device.kind());
    let count = device_count().max(1);
    let fits = kind.map_or(device.kind() != Device::CPU.kind(), |kind| kind == device.kind());
    if fits && device.index().is_none_or(|index| u32::from(index) < count) {
        return Ok(None);
    }
    let kind = kind.map_or("the accelerator, of which there is none".to_owned(), |kind| kind.to_string());
    Err(Error::NoSuchDevice {
        name: NAMESPACE.to_owned(),
        given: device.to_string(),
        allowed: format!("a device of {kind} with an index below {count}"),
    })
}

/// What is counted of the memory of a device; all zero before it is used first. No device is the current one.
pub fn statistics(device: Option<Device>) -> Result<Statistics> {
    match in_use(device)? {
        Some((home, index)) => Ok(home.cache_for(index, NAMESPACE)?.statistics()),
        None => Ok(Statistics::new()),
    }
}

/// Sets the peaks of a device's statistics to what there is now.
pub fn reset_peak_statistics(device: Option<Device>) -> Result<()> {
    if let Some((home, index)) = in_use(device)? {
        home.cache_for(index, NAMESPACE)?.reset_peak();
    }
    Ok(())
}

/// Counts anew what is allocated and freed on a device, and how often something happens.
pub fn reset_accumulated_statistics(device: Option<Device>) -> Result<()> {
    if let Some((home, index)) = in_use(device)? {
        home.cache_for(index, NAMESPACE)?.reset_accumulated();
    }
    Ok(())
}

/// The bytes of the largest piece of a device's memory that is kept and not in use.
pub fn largest_free_block(device: Option<Device>) -> Result<u64> {
    let Some((home, index)) = in_use(device)? else { return Ok(0) };
    Ok(home.cache_for(index, NAMESPACE)?.free().0)
}

/// In how small pieces the memory lies that is kept and not in use: 0 where it is one piece or none, and close to 1
/// where the largest piece is a small part of all.
pub fn fragmentation(device: Option<Device>) -> Result<f64> {
    let Some((home, index)) = in_use(device)? else { return Ok(0.0) };
    let (largest, all) = home.cache_for(index, NAMESPACE)?.free();
    Ok(if all == 0 { 0.0 } else { 1.0 - largest as f64 / all as f64 })
}

/// Gives back to the driver what is kept of all devices and not in use, once the work that is queued now has been
/// done; a function that runs on a stream does not wait for that. Does nothing while a graph is captured. Fails where a
/// device can't tell what has been done; the others are emptied all the same.
pub fn empty_cache() -> Result<()> {
    let Some((home, _)) = in_use(None)? else { return Ok(()) };
    // One device that is lost does not keep the others from it.
    let emptied: Vec<_> = home.caches_for(NAMESPACE)?.iter().map(|cache| cache.empty(home)).collect();
    emptied.into_iter().collect()
}
