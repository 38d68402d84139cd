//! Segments of memory, and the pieces that they are cut into.

use super::books::Pool;
use super::table::Id;
use crate::driver::{Address, EventHandle};
use crate::stream::Stream;

pub(crate) type PieceId = Id<Piece>;
pub(super) type SegmentId = Id<Segment>;
pub(super) type PoolIndex = Id<Pool>;

/// What the driver gave at once.
#[derive(Debug)]
pub(super) struct Segment {
    /// How many there were before it.
    pub(super) number: u64,
    pub(super) address: Address,
    pub(super) bytes: usize,
    pub(super) pool: PoolIndex,
    /// Whether it is for small pieces.
    pub(super) small: bool,
    /// The stream whose work is the first to use its pieces.
    pub(super) stream: i64,
    /// The first of its pieces, which follow each other without gaps.
    pub(super) first: PieceId,
    /// How many bytes it grows and shrinks by, if it does: then its addresses are reserved, and have memory where
    /// pieces are not unmapped.
    pub(super) page: Option<usize>,
    /// It counts as oversize.
    pub(super) oversize: bool,
    /// After all work of its stream, if that has gone while a graph uses the pool, whose replays use the memory.
    pub(super) ended: Option<EventHandle>,
    /// Its stream or its pool has gone: nobody gets its free pieces any more, and it goes back to the driver when
    /// all are free and these events have passed.
    pub(super) orphaned: Option<Vec<EventHandle>>,
}

/// A part of a segment.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(super) segment: SegmentId,
    pub(super) address: Address,
    pub(super) bytes: usize,
    /// How many of the bytes were asked for.
    pub(super) requested: usize,
    pub(super) state: PieceState,
    /// Those on both sides in the segment.
    pub(super) before: Option<PieceId>,
    pub(super) after: Option<PieceId>,
    /// Other streams whose work uses it.
    pub(super) used_on: Vec<Stream>,
    /// When it was last handed out, or became free, in requests for memory of the device.
    pub(super) since: u64,
    /// When it was last freed, in frees of memory of the device.
    pub(super) freed: u64,
    /// It counts as oversize, as long as it is in use.
    pub(super) oversize: bool,
}

/// Who has a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceState {
    /// Nobody.
    Free,
    /// Somebody.
    InUse,
    /// Work of so many streams.
    Awaited(usize),
    /// It goes back to the driver, or comes from there.
    Leaving,
    /// Addresses without memory.
    Unmapped,
}

impl Piece {
    /// Whether it shares its segment with others.
    pub(super) fn is_split(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }
}
