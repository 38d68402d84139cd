//! Device memory (`cuMemAlloc`).

use interlock_driver::WaitTarget;

use crate::call::{Out, exported};
use crate::errors::INVALID_VALUE;
use crate::regions::{Kind, Region, count_allocation};
use crate::waiting;

exported! {
    /// Returns the free and the total bytes of the current context's device.
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) |fake| {
        let state = fake.state();
        let device = state.current()?;
        let all = state.settings.memory;
        free.put_if_wanted((all - state.context(device)?.used) as usize);
        total.put_if_wanted(all as usize);
        Ok(())
    }

    /// Allocates memory of the current context's device.
    fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) |fake| {
        address.check()?;
        let mut state = fake.state();
        let device = state.current()?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        state.refuse_while_captured()?;
        count_allocation()?;
        let block = state.new_block(device, bytes as u64)?;
        address.put(block.address)?;
        let region = Region { device, bytes: bytes as u64, kind: Kind::Plain, block };
        state.regions.insert(region.block.address, region);
        Ok(())
    }

    /// Frees memory, after all work that is queued on its device has completed.
    fn cuMemFree_v2(address: u64) |fake| {
        fake.state().current()?;
        if address == 0 {
            return Ok(());
        }
        let region = {
            let mut state = fake.state();
            state.refuse_while_captured()?;
            let region = state.regions.get(&address).filter(|region| region.kind == Kind::Plain);
            let device = region.ok_or(INVALID_VALUE)?.device;
            state.check(device)?;
            state.regions.remove(&address).ok_or(INVALID_VALUE)?
        };
        let waited = waiting::wait(fake, WaitTarget::Device(region.device));
        fake.state().unreserve_bytes(region.device, region.block.bytes as u64);
        waited
    }
}
