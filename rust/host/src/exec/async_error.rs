//! Errors of queued work, which a later query or wait reports (CUDA's asynchronous errors).

use interlock_driver::activity;
use interlock_driver::{DeviceIndex, Error, TimelinePoint};

use crate::exec::inner::Inner;

/// An error of queued work that no query or wait has reported yet.
#[derive(Debug)]
pub(crate) struct AsyncError {
    /// Increases with the time of the error.
    order: u64,
    /// A wait that covers this point reports the error.
    reported_at: TimelinePoint,
    error: Error,
}

impl AsyncError {
    pub(crate) fn reported_at(&self) -> TimelinePoint {
        self.reported_at
    }

    fn is_covered_by(&self, point: &TimelinePoint) -> bool {
        self.reported_at.stream == point.stream && self.reported_at.position <= point.position
    }
}

/// The maximum number of errors of destroyed streams that a device stores, for programs that never wait.
const MAX_UNREPORTED: usize = 64;

impl Inner {
    /// Stores an error in the stream that reports it.
    pub(crate) fn store_async_error(&mut self, reported_at: TimelinePoint, error: Error) {
        let order = self.next_id();
        if self.streams.contains_key(&reported_at.stream) {
            activity::error(self.handle_of(reported_at.stream), || error.to_string());
        }
        if let Some(stream) = self.streams.get_mut(&reported_at.stream) {
            stream.store_error(AsyncError { order, reported_at, error });
        }
    }

    /// Stores the unreported error of a destroyed stream in its device. Waits for the device report it, and waits
    /// that cover its point.
    pub(crate) fn store_unreported(&mut self, device: DeviceIndex, error: AsyncError) {
        if let Some(device) = self.devices.get_mut(usize::from(device))
            && device.unreported_errors.len() < MAX_UNREPORTED
        {
            device.unreported_errors.insert(error.order, error);
        }
    }

    /// Takes the earliest error that one of the points covers, including errors of destroyed streams of `device`.
    pub(crate) fn take_error(&mut self, points: &[TimelinePoint], device: DeviceIndex) -> Option<Error> {
        let in_streams = points.iter().filter_map(|point| {
            let error = self.streams.get(&point.stream)?.async_error()?;
            error.is_covered_by(point).then_some((error.order, point.stream))
        });
        let in_stream = in_streams.min();
        let unreported_errors =
            self.devices.get_mut(usize::from(device)).map(|device| &mut device.unreported_errors)?;
        let mut earlier = unreported_errors.range(..in_stream.map_or(u64::MAX, |(order, _)| order));
        let is_covered = |error: &AsyncError| points.iter().any(|point| error.is_covered_by(point));
        if let Some((order, _)) = earlier.find(|(_, error)| is_covered(error)) {
            let order = *order;
            return unreported_errors.remove(&order).map(|stored| stored.error);
        }
        let (_, stream) = in_stream?;
        self.streams.get_mut(&stream)?.take_error().map(|stored| stored.error)
    }
}
