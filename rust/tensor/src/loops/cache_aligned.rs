//! Memory of the stack that vector registers are stored to.

/// A value that begins with a cache line. A register of 64 bytes that is stored across two lines takes twice as long.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct CacheAligned<T>(pub T);
