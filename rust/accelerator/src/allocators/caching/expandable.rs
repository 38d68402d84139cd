//! Expandable segments: addresses are reserved once, and memory is mapped unit by unit.
//!
//! Blocks of any size can be merged and reused for requests of another size, and units between allocated blocks can be
//! released. This file contains the calls of the driver, which may block, so no lock is held;
//! [`Heap`](super::heap::Heap) modifies the blocks.

use interlock_driver::Address;

use super::AllocCtx;
use super::heap::{Addresses, PlannedMap, Request};
use super::inner::Growth;
use crate::{Error, Result};

/// The prepared growth of a segment for a request.
pub(super) struct Expansion {
    /// The number of bytes by which the segment grows.
    pub(super) map_unit: usize,
    /// Addresses reserved for a new segment, if no existing one can grow enough.
    pub(super) addresses: Option<Addresses>,
}

impl Expansion {
    /// Prepares the growth of a segment for a request; reserves addresses unless one can grow. Returns `None` if the
    /// device has no virtual memory management.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(super) fn prepare(ctx: &AllocCtx, request: &Request, growth: &Growth) -> Result<Option<Self>> {
        let granularity = ctx.driver().mapping_granularity(ctx.device)?;
        if granularity == 0 {
            return Ok(None);
        }
        let map_unit = growth.unit.checked_next_multiple_of(granularity).unwrap_or(growth.unit);
        let addresses = if growth.can_grow { None } else { Self::reserve(ctx, request, map_unit)? };
        Ok(Some(Expansion { map_unit, addresses }))
    }

    /// Reserves the addresses of a segment for a request: an eighth more than the memory of the device, so that it can
    /// grow past allocated blocks. Returns `None` if the device has less memory than the request.
    fn reserve(ctx: &AllocCtx, request: &Request, map_unit: usize) -> Result<Option<Addresses>> {
        let total = ctx.driver().memory_info(ctx.device)?.total;
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        if request.bytes > total {
            return Ok(None);
        }
        let bytes = (total / 8 * 9).max(request.bytes).checked_next_multiple_of(map_unit);
        let Some(bytes) = bytes else { return Ok(None) };
        let start = ctx.driver().reserve_addresses(ctx.device, bytes)?;
        Ok(Some(Addresses { start, bytes }))
    }
}

/// Maps all units or none; returns false if the driver has too little memory.
///
/// # Errors
/// Returns every other error of the driver.
pub(super) fn map(ctx: &AllocCtx, map: &PlannedMap) -> Result<bool> {
    let (start, unit) = (map.address.0, map.map_unit);
    let units = (start..start + map.bytes as u64).step_by(unit);
    for address in units.clone() {
        let Err(error) = ctx.driver().map(ctx.device, Address(address), unit) else { continue };
        for address in units.take_while(|mapped| *mapped < address) {
            // SAFETY: it was mapped above, and no allocated block contains it.
            let _ = unsafe { ctx.driver().unmap(ctx.device, Address(address), unit) };
        }
        return if matches!(error, Error::OutOfMemory(_)) { Ok(false) } else { Err(error) };
    }
    Ok(true)
}

/// Releases reserved addresses that no segment contains.
pub(super) fn free_addresses(ctx: &AllocCtx, addresses: Option<Addresses>) {
    if let Some(Addresses { start, bytes }) = addresses {
        // SAFETY: the driver reserved them for this device and size, and none has memory.
        let _ = unsafe { ctx.driver().free_addresses(ctx.device, start, bytes) };
    }
}
