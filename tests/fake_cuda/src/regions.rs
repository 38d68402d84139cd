//! Regions of device memory and their owners.

use std::sync::Arc;

use interlock_driver::{Address, DeviceIndex, DriverRuntime, KeepAlive};

use crate::call::{Answer, Handle};
use crate::errors::{INVALID_VALUE, OUT_OF_MEMORY};
use crate::faults;
use crate::state::State;

/// The alignment of addresses and sizes in bytes.
pub(crate) const ALIGNMENT: u64 = 512;

/// An allocation or a mapping of device memory.
pub(crate) struct Region {
    pub(crate) device: DeviceIndex,
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    pub(crate) block: Arc<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Allocated by `cuMemAlloc`.
    Plain,
    /// Physical memory that is mapped to reserved addresses; `usable` after `cuMemSetAccess`.
    Mapped { physical: Handle, usable: bool },
}

/// Memory of the host driver. Queued work shares its ownership, so a program that frees memory too early reads other
/// content instead of crashing.
pub(crate) struct Block {
    driver: Arc<dyn DriverRuntime>,
    /// The device of the host driver that has the memory.
    memory_device: DeviceIndex,
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    kind: BlockKind,
}

#[derive(Clone, Copy)]
pub(crate) enum BlockKind {
    Memory,
    Pinned,
    Mapping,
}

impl Drop for Block {
    fn drop(&mut self) {
        let address = Address(self.address);
        // SAFETY: the host driver returned the memory for this size, and no owner is left. Queued work is an owner;
        // graphs resolve their addresses when they are replayed.
        let _ = unsafe {
            match self.kind {
                BlockKind::Memory => self.driver.free(self.memory_device, address, self.bytes),
                BlockKind::Pinned => self.driver.free_pinned(address, self.bytes),
                BlockKind::Mapping => self.driver.unmap(self.memory_device, address, self.bytes),
            }
        };
    }
}

impl State {
    /// Allocates memory from the host driver, or maps it to `address`.
    pub(crate) fn block(&self, kind: BlockKind, bytes: u64, address: u64) -> Answer<Arc<Block>> {
        let (driver, memory_device) = (self.driver.clone(), self.memory_device());
        let bytes = usize::try_from(bytes).map_err(|_| OUT_OF_MEMORY)?;
        let found = match kind {
            BlockKind::Memory => driver.allocate(memory_device, bytes),
            BlockKind::Pinned => driver.allocate_pinned(0, bytes),
            BlockKind::Mapping => {
                driver.map(memory_device, Address(address), bytes).map(|()| Address(address))
            }
        };
        let Address(address) = found.map_err(|_| OUT_OF_MEMORY)?;
        Ok(Arc::new(Block { driver, memory_device, address, bytes, kind }))
    }

    /// Counts bytes of a device, rounded up, as used. Fails if fewer are free.
    pub(crate) fn reserve_bytes(&mut self, device: DeviceIndex, bytes: u64) -> Answer<u64> {
        let total = self.settings.memory;
        let bytes = bytes.checked_next_multiple_of(ALIGNMENT).ok_or(OUT_OF_MEMORY)?;
        let context = self.context_mut(device)?;
        let used = context.used.checked_add(bytes).filter(|used| *used <= total).ok_or(OUT_OF_MEMORY)?;
        context.used = used;
        Ok(bytes)
    }

    /// Counts bytes of a device as free.
    pub(crate) fn unreserve_bytes(&mut self, device: DeviceIndex, bytes: u64) {
        if let Ok(context) = self.context_mut(device) {
            context.used = context.used.saturating_sub(bytes);
        }
    }

    /// Allocates memory of a device and counts it as used.
    pub(crate) fn new_block(&mut self, device: DeviceIndex, bytes: u64) -> Answer<Arc<Block>> {
        let bytes = self.reserve_bytes(device, bytes)?;
        let block = self.block(BlockKind::Memory, bytes, 0);
        if block.is_err() {
            self.unreserve_bytes(device, bytes);
        }
        block
    }

    /// Returns the region that contains an address.
    pub(crate) fn region_at(&self, address: u64) -> Option<(u64, &Region)> {
        let (start, region) = self.regions.range(..=address).next_back()?;
        (address - start < region.bytes).then_some((*start, region))
    }

    /// Returns the device and the owners of a range of device memory: one region, or adjacent usable mappings.
    pub(crate) fn owners(&self, address: u64, bytes: u64) -> Answer<(DeviceIndex, Vec<KeepAlive>)> {
        let end = address.checked_add(bytes).ok_or(INVALID_VALUE)?;
        let (_, first) = self.region_at(address).ok_or(INVALID_VALUE)?;
        let mut owners: Vec<KeepAlive> = Vec::new();
        let mut from = address;
        while from < end || owners.is_empty() {
            let (start, region) = self.region_at(from).ok_or(INVALID_VALUE)?;
            let may_be_used = match region.kind {
                Kind::Mapped { usable, .. } => {
                    usable && (owners.is_empty() || matches!(first.kind, Kind::Mapped { .. }))
                }
                Kind::Plain => owners.is_empty(),
            };
            if !may_be_used {
                return Err(INVALID_VALUE);
            }
            owners.push(region.block.clone());
            from = start + region.bytes;
        }
        Ok((first.device, owners))
    }
}

/// Counts an allocation and fails if a fault is injected for it.
pub(crate) fn count_allocation() -> Answer {
    if faults::allocation_fails() { Err(OUT_OF_MEMORY) } else { Ok(()) }
}
