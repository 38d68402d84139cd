//! Bytes of an access.

use std::ops::Range;

/// Bytes that a thread is about to read or write.
///
/// ```
/// use interlock_driver::{Access, ByteRange};
///
/// let (source, mut target) = ([1_u8; 16], [0_u8; 16]);
/// let ranges = [ByteRange::read(source.as_ptr(), 16), ByteRange::written(target.as_ptr(), 16)];
/// let access = Access::new(&ranges);
/// target.copy_from_slice(&source);
/// drop(access);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByteRange {
    start: usize,
    end: usize,
    written: bool,
}

impl ByteRange {
    /// Describes `bytes` bytes that begin at `start` and are read.
    pub fn read(start: *const u8, bytes: usize) -> Self {
        let start = start.addr();
        ByteRange { start, end: start.saturating_add(bytes), written: false }
    }

    /// Describes `bytes` bytes that begin at `start` and are written.
    pub fn written(start: *const u8, bytes: usize) -> Self {
        ByteRange { written: true, ..Self::read(start, bytes) }
    }

    /// Returns the addresses.
    pub fn bytes(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns whether the bytes are written.
    pub fn is_written(&self) -> bool {
        self.written
    }

    /// Returns whether accesses of both must not overlap in time.
    pub(crate) fn excludes(&self, other: &ByteRange) -> bool {
        (self.written || other.written) && self.start.max(other.start) < self.end.min(other.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_range_excludes_overlapping_ranges_if_one_is_written() {
        let bytes = [0_u8; 8];
        let at = |start: usize| bytes.as_ptr().wrapping_add(start);
        let (read, written) = (ByteRange::read(at(0), 4), ByteRange::written(at(0), 4));
        for (range, by_reader, by_writer) in [
            (ByteRange::read(at(2), 4), false, true),
            (ByteRange::written(at(3), 1), true, true),
            (ByteRange::written(at(4), 4), false, false),
            (ByteRange::written(at(1), 0), false, false),
        ] {
            assert_eq!((range.excludes(&read), read.excludes(&range)), (by_reader, by_reader));
            assert_eq!((range.excludes(&written), written.excludes(&range)), (by_writer, by_writer));
        }
    }
}
