//! What memory of devices there is, and what of it a call may reach.

use std::sync::Arc;

use interlock_driver::{Address, DeviceIndex, DriverRuntime, KeepAlive};

use crate::call::{Answer, Handle};
use crate::errors::{INVALID_VALUE, OUT_OF_MEMORY};
use crate::faults;
use crate::state::State;

/// Bytes to which memory is aligned, and of which every piece takes a multiple.
pub(crate) const ALIGNMENT: u64 = 512;

/// Memory that a program has.
pub(crate) struct Region {
    pub(crate) device: DeviceIndex,
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    pub(crate) block: Arc<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of `cuMemAlloc`.
    Plain,
    /// Physical memory at reserved addresses, which devices may use or not yet.
    Mapped { physical: Handle, usable: bool },
}

/// Memory of the host driver. Queued work owns what it reaches, so that a program that frees too early finds other
/// content and not the end of the process.
pub(crate) struct Block {
    driver: Arc<dyn DriverRuntime>,
    /// The host driver's device.
    keeper: DeviceIndex,
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
        // SAFETY: the host driver gave this memory for the same bytes, and nothing owns it any more, which queued work
        // would. What graphs name is looked up when they are replayed.
        let _ = unsafe {
            match self.kind {
                BlockKind::Memory => self.driver.free(self.keeper, address, self.bytes),
                BlockKind::Pinned => self.driver.free_pinned(address, self.bytes),
                BlockKind::Mapping => self.driver.unmap(self.keeper, address, self.bytes),
            }
        };
    }
}

impl State {
    /// Memory from the host driver. Mapped memory comes at `address`.
    pub(crate) fn block(&self, kind: BlockKind, bytes: u64, address: u64) -> Answer<Arc<Block>> {
        let (driver, keeper) = (self.driver.clone(), self.keeper_of_memory());
        let bytes = usize::try_from(bytes).map_err(|_| OUT_OF_MEMORY)?;
        let found = match kind {
            BlockKind::Memory => driver.allocate(keeper, bytes),
            BlockKind::Pinned => driver.allocate_pinned(0, bytes),
            BlockKind::Mapping => driver.map(keeper, Address(address), bytes).map(|()| Address(address)),
        };
        let Address(address) = found.map_err(|_| OUT_OF_MEMORY)?;
        Ok(Arc::new(Block { driver, keeper, address, bytes, kind }))
    }

    /// Counts bytes of a device as used, rounded up; fails where there are not so many left, or that was asked for.
    pub(crate) fn take_bytes(&mut self, device: DeviceIndex, bytes: u64) -> Answer<u64> {
        let total = self.settings.memory;
        let bytes = bytes.checked_next_multiple_of(ALIGNMENT).ok_or(OUT_OF_MEMORY)?;
        let context = self.context_mut(device)?;
        let used = context.used.checked_add(bytes).filter(|used| *used <= total).ok_or(OUT_OF_MEMORY)?;
        context.used = used;
        Ok(bytes)
    }

    /// Counts them as free again.
    pub(crate) fn give_bytes(&mut self, device: DeviceIndex, bytes: u64) {
        if let Ok(context) = self.context_mut(device) {
            context.used = context.used.saturating_sub(bytes);
        }
    }

    /// Memory of a device, on the books as used.
    pub(crate) fn new_block(&mut self, device: DeviceIndex, bytes: u64) -> Answer<Arc<Block>> {
        let bytes = self.take_bytes(device, bytes)?;
        let block = self.block(BlockKind::Memory, bytes, 0);
        if block.is_err() {
            self.give_bytes(device, bytes);
        }
        block
    }

    /// The region that an address lies in.
    pub(crate) fn region_at(&self, address: u64) -> Option<(u64, &Region)> {
        let (start, region) = self.regions.range(..=address).next_back()?;
        (address - start < region.bytes).then_some((*start, region))
    }

    /// What owns a range of a device's memory, and the device: one region, or neighbours that are mapped and usable.
    pub(crate) fn reach(&self, address: u64, bytes: u64) -> Answer<(DeviceIndex, Vec<KeepAlive>)> {
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

/// Fails if this is the allocation that was asked to.
pub(crate) fn count_allocation() -> Answer {
    if faults::allocation_fails() { Err(OUT_OF_MEMORY) } else { Ok(()) }
}
