//! The recorded history of pinned memory.

use std::collections::HashMap;

use interlock_driver::{Address, Stack};

use crate::allocators::trace::{TraceAction, TraceEntry, current_stack};
use crate::allocators::trace_log::TraceLog;

/// The history, and the allocation stacks of the blocks that are not free.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) log: TraceLog,
    stacks: HashMap<Address, Stack>,
}

impl Recorder {
    /// Records an event of a block or of memory of the driver.
    #[inline]
    pub(super) fn trace(&mut self, action: TraceAction, address: Address, bytes: usize) {
        if self.log.is_recording() || !self.stacks.is_empty() {
            self.record(action, address, bytes);
        }
    }

    #[cold]
    fn record(&mut self, action: TraceAction, address: Address, bytes: usize) {
        let stack = match action {
            TraceAction::Alloc => {
                let stack = current_stack().filter(|_| self.log.is_recording());
                stack.inspect(|stack| drop(self.stacks.insert(address, stack.clone())))
            }
            TraceAction::FreeCompleted => self.stacks.remove(&address),
            TraceAction::FreeRequested => self.stack_of(address),
            _ => current_stack(),
        };
        self.log.add(TraceEntry { stack, ..TraceEntry::now(action, address.0, bytes as u64) });
    }

    pub(super) fn stack_of(&self, address: Address) -> Option<Stack> {
        self.stacks.get(&address).cloned()
    }
}
