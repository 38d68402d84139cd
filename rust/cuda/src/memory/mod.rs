//! Device memory, pinned memory and virtual memory.

pub(crate) mod alloc;
pub(crate) mod pinned;
pub(crate) mod virtual_memory;
