//! Device memory, pinned memory and virtual memory.

pub(crate) mod heap;
pub(crate) mod virtual_memory;
