//! What failed and was not told yet.

use super::device;
use super::state::State;
use super::stream::Mark;
use crate::Error;
use crate::accelerator::driver::DeviceIndex;

/// What went wrong with work that was queued, until somebody is told.
#[derive(Debug)]
pub(super) struct Failure {
    /// A smaller number failed earlier.
    order: u64,
    /// Where in the stream that tells it: what covers this place covers the failure.
    position: u64,
    error: Error,
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
            stream.failure.get_or_insert(Failure { order, position: told_by.position, error });
        }
    }

    /// What a stream that goes did not tell is told by its device.
    pub(super) fn keep_orphan(&mut self, device: DeviceIndex, failure: Failure) {
        if let Some(device) = self.devices.get_mut(usize::from(device))
            && device.orphans.len() < MOST_ORPHANS
        {
            device.orphans.insert(failure.order, failure);
        }
    }

    /// Takes the earliest failure before one of the marks, or among those that streams left to `device`.
    pub(super) fn take_failure(&mut self, marks: &[Mark], device: Option<DeviceIndex>) -> Option<Error> {
        let covered = marks.iter().filter_map(|mark| {
            let failure = self.streams.get(&mark.stream)?.failure.as_ref()?;
            (failure.position <= mark.position).then_some((failure.order, mark.stream))
        });
        let in_stream = covered.min();
        if let Some(device) = device
            && let Some(orphans) = self.devices.get_mut(usize::from(device)).map(|device| &mut device.orphans)
            && let Some(first) = orphans.first_entry()
            && in_stream.is_none_or(|(order, _)| *first.key() < order)
        {
            return Some(first.remove().error);
        }
        let (_, stream) = in_stream?;
        self.streams.get_mut(&stream)?.failure.take().map(|failure| failure.error)
    }
}
