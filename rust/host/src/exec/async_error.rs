//! Asynchronous errors that were not reported yet.

use interlock_driver::{DeviceIndex, Error};

use crate::exec::inner::Inner;
use crate::object::stream::TimelinePoint;

/// The error of queued work, until a thread that waits reports it.
#[derive(Debug)]
pub(crate) struct AsyncError {
    /// A smaller number failed earlier.
    order: u64,
    /// The point that reports it: a wait that covers this point covers the error.
    reported_at: TimelinePoint,
    error: Error,
}

impl AsyncError {
    /// Returns the point that reports it.
    pub(crate) fn reported_at(&self) -> TimelinePoint {
        self.reported_at
    }

    fn is_covered_by(&self, mark: &TimelinePoint) -> bool {
        self.reported_at.stream == mark.stream && self.reported_at.position <= mark.position
    }
}

/// The number of errors that a device stores of destroyed streams: a program that never waits collects no more.
const MAX_UNREPORTED: usize = 64;

impl Inner {
    /// Keeps what failed for the stream that tells it, unless that has something to tell already: what fails
    /// next is often only a consequence.
    pub(crate) fn fail(&mut self, reported_at: TimelinePoint, error: Error) {
        let order = self.number();
        if let Some(stream) = self.streams.get_mut(&reported_at.stream) {
            stream.failure.get_or_insert(AsyncError { order, reported_at, error });
        }
    }

    /// What a stream that goes did not tell is told by its device, and by goals that its places are among.
    pub(crate) fn keep_unreported(&mut self, device: DeviceIndex, failure: AsyncError) {
        if let Some(device) = self.devices.get_mut(usize::from(device))
            && device.unreported_errors.len() < MAX_UNREPORTED
        {
            device.unreported_errors.insert(failure.order, failure);
        }
    }

    /// Takes the earliest failure that one of the marks covers, of streams of `device` that are gone as well.
    pub(crate) fn take_error(&mut self, marks: &[TimelinePoint], device: DeviceIndex) -> Option<Error> {
        let in_streams = marks.iter().filter_map(|mark| {
            let failure = self.streams.get(&mark.stream)?.failure.as_ref()?;
            failure.is_covered_by(mark).then_some((failure.order, mark.stream))
        });
        let in_stream = in_streams.min();
        let unreported_errors =
            self.devices.get_mut(usize::from(device)).map(|device| &mut device.unreported_errors)?;
        let mut earlier = unreported_errors.range(..in_stream.map_or(u64::MAX, |(order, _)| order));
        let is_covered = |failure: &AsyncError| marks.iter().any(|mark| failure.is_covered_by(mark));
        if let Some((order, _)) = earlier.find(|(_, failure)| is_covered(failure)) {
            let order = *order;
            return unreported_errors.remove(&order).map(|failure| failure.error);
        }
        let (_, stream) = in_stream?;
        self.streams.get_mut(&stream)?.failure.take().map(|failure| failure.error)
    }
}
