//! Memory of devices, pinned memory of this program, and virtual memory.

pub(crate) mod alloc;
pub(crate) mod pinned;
pub(crate) mod virtual_memory;
