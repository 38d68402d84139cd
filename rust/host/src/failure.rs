//! What failed and was not told yet.

use interlock_driver::DeviceIndex;
use interlock_driver::Error;

use super::device;
use super::state::State;
use super::stream::Mark;

/// What went wrong with work that was queued, until somebody is told.
#[derive(Debug)]
pub(super) struct Failure {
    /// A smaller number failed earlier.
    order: u64,
    /// The place that tells it: what covers this place covers the failure.
    told_by: Mark,
    error: Error,
}

impl Failure {
    /// The place that tells it.
    pub(super) fn told_by(&self) -> Mark {
        self.told_by
    }

    fn is_covered_by(&self, mark: &Mark) -> bool {
        self.told_by.stream == mark.stream && self.told_by.position <= mark.position
    }
}

/// As many failures are kept of a device's streams that are gone: a program that never asks collects no more.
const MOST_ORPHANS: usize = 64;

/// The error for work that failed when it ran, or instead of running.
pub(super) fn late(device: DeviceIndex, operation: String, reason: String) -> Error {
    Error::Device { device: device::named(device), operation, reason, code: None }
}

impl State {
    /// Keeps what failed for the stream that tells it, unless that has something to tell already: what fails
    /// next is often only a consequence.
    pub(super) fn fail(&mut self, told_by: Mark, error: Error) {
        let order = self.number();
        if let Some(stream) = self.streams.get_mut(&told_by.stream) {
            stream.failure.get_or_insert(Failure { order, told_by, error });
        }
    }

    /// What a stream that goes did not tell is told by its device, and by goals that its places are among.
    pub(super) fn keep_orphan(&mut self, device: DeviceIndex, failure: Failure) {
        if let Some(device) = self.devices.get_mut(usize::from(device))
            && device.orphans.len() < MOST_ORPHANS
        {
            device.orphans.insert(failure.order, failure);
        }
    }

    /// Takes the earliest failure that one of the marks covers, of streams of `device` that are gone as well.
    pub(super) fn take_failure(&mut self, marks: &[Mark], device: DeviceIndex) -> Option<Error> {
        let in_streams = marks.iter().filter_map(|mark| {
            let failure = self.streams.get(&mark.stream)?.failure.as_ref()?;
            failure.is_covered_by(mark).then_some((failure.order, mark.stream))
        });
        let in_stream = in_streams.min();
        let orphans = self.devices.get_mut(usize::from(device)).map(|device| &mut device.orphans)?;
        let mut earlier = orphans.range(..in_stream.map_or(u64::MAX, |(order, _)| order));
        let is_covered = |failure: &Failure| marks.iter().any(|mark| failure.is_covered_by(mark));
        if let Some((order, _)) = earlier.find(|(_, failure)| is_covered(failure)) {
            let order = *order;
            return orphans.remove(&order).map(|failure| failure.error);
        }
        let (_, stream) = in_stream?;
        self.streams.get_mut(&stream)?.failure.take().map(|failure| failure.error)
    }
}
