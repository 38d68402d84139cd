//! Memory that is allocated and freed in the order of streams.
//!
//! What is freed stays with its pool, and counts as used, until the pool is trimmed or holds more than its threshold when
//! somebody waits. The pool gives it out again on the stream that freed it, or on any once that got so far.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use cudarc::driver::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPool_attribute as Attribute, CUmemPoolProps,
};
use interlock::accelerator::driver::{DeviceIndex, EventHandle, EventOptions, Work};

use crate::call::{Answer, Handle, In, Out, exported};
use crate::errors::{INVALID_DEVICE, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY};
use crate::regions::{Block, Kind, Region, count_allocation};
use crate::state::State;

pub(crate) struct Pool {
    device: DeviceIndex,
    /// Bytes that it may keep when somebody waits.
    threshold: u64,
    /// Bytes that it has, given out or kept.
    reserved: u64,
    /// Which devices besides its own may use what is its.
    access: BTreeMap<DeviceIndex, CUmemAccess_flags>,
    kept: Vec<Kept>,
}

/// Memory that was freed.
struct Kept {
    block: Arc<Block>,
    /// The stream that freed it, and the place where it did.
    stream: Handle,
    freed: EventHandle,
}

impl State {
    /// Fails where devices have no pools.
    fn check_pools(&self) -> Answer {
        if self.settings.pools { Ok(()) } else { Err(NOT_SUPPORTED) }
    }

    fn pool(&mut self, handle: Handle) -> Answer<&mut Pool> {
        self.check_pools()?;
        let device = self.pools.get(&handle).ok_or(INVALID_HANDLE)?.device;
        self.check(device)?;
        self.pools.get_mut(&handle).ok_or(INVALID_HANDLE)
    }

    /// The device of a location.
    pub(crate) fn located(&self, location: CUmemLocation) -> Answer<DeviceIndex> {
        if location.type_ != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE {
            return Err(INVALID_VALUE);
        }
        self.device(location.id)
    }

    fn is_freed(&self, kept: &Kept) -> bool {
        self.driver.is_over(kept.freed).unwrap_or(false)
    }

    /// Takes kept memory out of a pool which is reached and fits, without changing what the pool counts.
    fn take_kept(&mut self, pool: Handle, fits: impl Fn(&Self, &Kept) -> bool) -> Option<Arc<Block>> {
        let kept = &self.pools.get(&pool)?.kept;
        let place = kept.iter().position(|kept| fits(self, kept))?;
        let Kept { block, freed, .. } = self.pools.get_mut(&pool)?.kept.remove(place);
        self.driver.release_event(freed);
        Some(block)
    }

    /// Gives back what a pool keeps and streams have freed, as long as the pool has so many bytes afterwards.
    fn trim(&mut self, pool: Handle, least: u64) {
        while let Some(found) = self.pools.get(&pool) {
            let (reserved, device) = (found.reserved, found.device);
            let fits = |state: &Self, kept: &Kept| {
                reserved.saturating_sub(kept.block.bytes as u64) >= least && state.is_freed(kept)
            };
            let Some(block) = self.take_kept(pool, fits) else { return };
            self.give_bytes(device, block.bytes as u64);
            if let Some(pool) = self.pools.get_mut(&pool) {
                pool.reserved -= block.bytes as u64;
            }
        }
    }

    /// What pools of a device do when somebody waits for it.
    pub(crate) fn give_back_beyond_thresholds(&mut self, device: DeviceIndex) {
        let there: Vec<_> =
            self.pools.iter().filter(|(_, pool)| pool.device == device).map(|(name, _)| *name).collect();
        for name in there {
            if let Some(threshold) = self.pools.get(&name).map(|pool| pool.threshold) {
                self.trim(name, threshold);
            }
        }
    }

    /// Memory for a pool to give out on a stream.
    fn pooled(&mut self, pool: Handle, stream: Handle, bytes: u64) -> Answer<Arc<Block>> {
        let wanted = bytes.next_multiple_of(crate::regions::ALIGNMENT);
        let fits = |state: &Self, kept: &Kept| {
            kept.block.bytes as u64 == wanted && (kept.stream == stream || state.is_freed(kept))
        };
        if let Some(block) = self.take_kept(pool, fits) {
            return Ok(block);
        }
        let device = self.pool(pool)?.device;
        let mut made = self.new_block(device, bytes);
        if made.as_ref().err() == Some(&OUT_OF_MEMORY) {
            self.trim(pool, 0);
            made = self.new_block(device, bytes);
        }
        let block = made?;
        self.pool(pool)?.reserved += block.bytes as u64;
        Ok(block)
    }
}

exported! {
    /// A pool of a device's memory.
    fn cuMemPoolCreate(pool: Out<Handle>, properties: In<CUmemPoolProps>) |fake| {
        let mut state = fake.state();
        state.check_pools()?;
        state.refuse_while_captured()?;
        pool.check()?;
        let properties = properties.get()?;
        if properties.allocType != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED {
            return Err(INVALID_VALUE);
        }
        let device = state.located(properties.location)?;
        let handle = state.number();
        let made = Pool { device, threshold: 0, reserved: 0, access: BTreeMap::new(), kept: Vec::new() };
        state.pools.insert(handle, made);
        pool.put(handle)
    }

    /// Lets a pool go. What it gave out stays until it is freed.
    fn cuMemPoolDestroy(pool: Handle) |fake| {
        let mut state = fake.state();
        state.refuse_while_captured()?;
        state.pool(pool)?;
        let Pool { device, kept, .. } = state.pools.remove(&pool).ok_or(INVALID_HANDLE)?;
        for Kept { block, stream, freed } in kept {
            state.give_bytes(device, block.bytes as u64);
            state.driver.release_event(freed);
            state.drop_after(stream, block);
        }
        Ok(())
    }

    /// Gives back what a pool keeps, as far as streams have got to where it was freed.
    fn cuMemPoolTrimTo(pool: Handle, least: usize) |fake| {
        let mut state = fake.state();
        state.refuse_while_captured()?;
        state.pool(pool)?;
        state.trim(pool, least as u64);
        Ok(())
    }

    /// Changes how a pool behaves: only what it keeps when somebody waits makes a difference here.
    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_uint, value: In<u64>) |fake| {
        const THRESHOLD: c_uint = Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as c_uint;
        const HIGHS: [c_uint; 2] =
            [Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH as c_uint, Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH as c_uint];
        let mut state = fake.state();
        let pool = state.pool(pool)?;
        match attribute {
            THRESHOLD => pool.threshold = value.get()?,
            // Whether it reuses what another stream freed; the values are whole numbers of C.
            1..=3 => drop(value.cast::<c_int>().get()?),
            // The largest that was seen, which nobody here can ask for, can only be forgotten.
            high if HIGHS.contains(&high) && value.get()? == 0 => {}
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    }

    /// Lets other devices use what is a pool's.
    fn cuMemPoolSetAccess(pool: Handle, descriptions: In<CUmemAccessDesc>, count: usize) |fake| {
        let mut state = fake.state();
        let own = state.pool(pool)?.device;
        let mut access = Vec::new();
        for description in descriptions.get_all(count)? {
            let device = state.located(description.location)?;
            if device == own && description.flags != CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE {
                return Err(INVALID_DEVICE);
            }
            access.push((device, description.flags));
        }
        state.pool(pool)?.access.extend(access);
        Ok(())
    }

    /// Memory of a pool, for what is queued on the stream from now on.
    fn cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: Handle, stream: Handle) |fake| {
        let mut state = fake.state();
        state.check_pools()?;
        let name = state.stream_named(stream)?;
        let device = state.pool(pool)?.device;
        address.check()?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        // NVIDIA's driver would record it.
        state.refuse_on_capturing(name)?;
        count_allocation()?;
        let block = state.pooled(pool, name, bytes as u64)?;
        address.put(block.address)?;
        state.regions.insert(block.address, Region { device, bytes: bytes as u64, kind: Kind::Pooled(pool), block });
        Ok(())
    }

    /// Gives memory back to its pool once the stream gets here.
    fn cuMemFreeAsync(address: u64, stream: Handle) |fake| {
        let mut state = fake.state();
        state.check_pools()?;
        let name = state.stream_named(stream)?;
        let region = state.regions.get(&address).ok_or(INVALID_VALUE)?;
        let Kind::Pooled(pool) = region.kind else { return Err(INVALID_VALUE) };
        state.check(region.device)?;
        state.refuse_on_capturing(name)?;
        let host = state.stream(name)?.host;
        let failed = |_| state.code(host.device);
        let freed = state.driver.create_event(host.device, EventOptions::default()).map_err(failed)?;
        state.driver.record_event(freed, host).map_err(failed)?;
        let Region { device, block, .. } = state.regions.remove(&address).ok_or(INVALID_VALUE)?;
        match state.pools.get_mut(&pool) {
            Some(pool) => pool.kept.push(Kept { block, stream: name, freed }),
            None => {
                state.driver.release_event(freed);
                state.give_bytes(device, block.bytes as u64);
                state.drop_after(name, block);
            }
        }
        Ok(())
    }
}

impl State {
    /// Owns memory of a pool that is gone until a stream has got to here.
    fn drop_after(&self, stream: Handle, block: Arc<Block>) {
        if let Ok(stream) = self.stream(stream) {
            // On a broken device nothing runs any more.
            let _ = self.driver.launch(
                stream.host,
                Work::new("freeing", move || {
                    let _ = &block;
                    Ok(())
                }),
            );
        }
    }
}
