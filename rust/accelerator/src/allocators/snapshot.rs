//! The segments and blocks of a snapshot.

use interlock_core::named_enum;
use interlock_driver::DeviceIndex;

use crate::PoolId;
use interlock_driver::Stack;

/// A segment: contiguous memory that the driver allocated.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, snapshot};
///
/// interlock_accelerator::use_named("host")?;
/// let _buffer = DeviceBuffer::new(None, 4096)?;
/// for segment in snapshot(None)?.segments {
///     println!("{:#x}: {} of {} bytes", segment.address, segment.allocated_size, segment.total_size);
/// }
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentState {
    /// The index of its device.
    pub device: DeviceIndex,
    /// The address of its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub total_size: u64,
    /// Bytes of its allocated blocks.
    pub allocated_size: u64,
    /// Bytes of its allocated blocks and of freed blocks that queued work still uses.
    pub active_size: u64,
    /// Requested bytes of its active blocks.
    pub requested_size: u64,
    /// The id of the stream that it was allocated for.
    pub stream: i64,
    /// Whether it is for small blocks.
    pub small: bool,
    /// The private pool that it belongs to.
    pub pool: Option<PoolId>,
    /// Whether it can grow and shrink.
    pub expandable: bool,
    /// The stack of the allocation that needed it, if it was recorded.
    pub stack: Option<Stack>,
    /// Its blocks, in the order of their addresses.
    pub blocks: Vec<BlockState>,
}

/// A block of a segment.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, snapshot};
///
/// interlock_accelerator::use_named("host")?;
/// let _buffer = DeviceBuffer::new(None, 4000)?;
/// for block in snapshot(None)?.segments.iter().flat_map(|segment| &segment.blocks) {
///     println!("{} bytes, {} of them requested: {}", block.size, block.requested_size, block.usage);
/// }
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockState {
    /// The address of its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The requested bytes; 0 for a free block.
    pub requested_size: u64,
    /// Its use.
    pub usage: BlockUsage,
    /// The stack of its allocation, if it was recorded.
    pub stack: Option<Stack>,
}

named_enum! {
    /// The use of a block.
    ///
    /// ```
    /// use interlock_accelerator::memory::{BlockUsage, DeviceBuffer, snapshot};
    ///
    /// interlock_accelerator::use_named("host")?;
    /// drop(DeviceBuffer::new(None, 4096)?);
    /// let segments = snapshot(None)?.segments;
    /// assert_eq!(segments[0].blocks[0].usage, BlockUsage::Inactive);
    /// # Ok::<(), interlock_accelerator::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum BlockUsage {
        /// The program uses it.
        Allocated => "active_allocated",
        /// The program has freed it, and queued work of streams uses it.
        AwaitingFree => "active_awaiting_free",
        /// Nothing uses it.
        Inactive => "inactive",
    }
}
