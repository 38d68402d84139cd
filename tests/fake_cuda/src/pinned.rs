//! Pinned host memory (`cuMemHostAlloc`).

use std::ffi::c_uint;
use std::sync::Arc;

use interlock_driver::WaitTarget;

use crate::call::{Out, exported};
use crate::errors::INVALID_VALUE;
use crate::regions::{Block, BlockKind, count_allocation};
use crate::state::State;
use crate::waiting;

/// All flags of `cuMemHostAlloc`.
const FLAGS: c_uint = 7;

/// An allocation of pinned memory.
pub(crate) struct Pinned {
    pub(crate) bytes: u64,
    block: Arc<Block>,
}

impl State {
    /// Returns the owner of a range, if all of it is pinned.
    pub(crate) fn pinned_at(&self, address: u64, bytes: u64) -> Option<Arc<Block>> {
        let (start, pinned) = self.pinned.range(..=address).next_back()?;
        let end = (address - start).checked_add(bytes)?;
        (address - start < pinned.bytes && end <= pinned.bytes).then(|| pinned.block.clone())
    }
}

exported! {
    /// Allocates pinned memory.
    fn cuMemHostAlloc(pointer: Out<usize>, bytes: usize, flags: c_uint) |fake| {
        let mut state = fake.state();
        state.current()?;
        state.refuse_while_captured()?;
        pointer.check()?;
        if bytes == 0 || flags & !FLAGS != 0 {
            return Err(INVALID_VALUE);
        }
        count_allocation()?;
        let block = state.block(BlockKind::Pinned, bytes as u64, 0)?;
        pointer.put(block.address as usize)?;
        state.pinned.insert(block.address, Pinned { bytes: bytes as u64, block });
        Ok(())
    }

    /// Frees pinned memory, after all work that is queued on the current context's device has completed, as NVIDIA's
    /// driver does (seen with driver 580 on an H200).
    fn cuMemFreeHost(pointer: usize) |fake| {
        let (device, freed) = {
            let mut state = fake.state();
            let device = state.current()?;
            state.refuse_while_captured()?;
            (device, state.pinned.remove(&(pointer as u64)).ok_or(INVALID_VALUE)?)
        };
        let waited = waiting::wait(fake, WaitTarget::Device(device));
        drop(freed);
        waited
    }
}
