//! Optional features of drivers.

use crate::{CaptureMode, Error, EventOptions, Result};

use super::rig::{Make, Rig};

/// The optional features that a driver supports, whose checks run only then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Captures, graphs and their replays.
    pub captures: bool,
    /// Streams that another library created.
    pub external_streams: bool,
    /// The time between two events.
    pub timing: bool,
    /// Addresses that are mapped to memory later.
    pub virtual_memory: bool,
}

impl Features {
    pub const ALL: Features =
        Features { captures: true, external_streams: true, timing: true, virtual_memory: true };

    /// Returns the supported features: those that do not return [`Error::Unsupported`].
    pub fn of(make: Make) -> Self {
        let driver = Rig::new(make).driver;
        let stream = driver.create_stream(0, 0).unwrap();
        let captures = !is_unsupported(&driver.begin_capture(stream, CaptureMode::ThreadLocal));
        if captures {
            driver.destroy_graph(driver.end_capture(stream).unwrap());
        }
        // SAFETY: the stream lives until the end of this function, and no work is queued on it.
        let external_streams = !is_unsupported(&unsafe { driver.wrap_external_stream(0, stream.raw) });
        let event = driver.create_event(0, EventOptions { timing: true, ..EventOptions::default() }).unwrap();
        let timing = !is_unsupported(&driver.elapsed(event, event));
        let virtual_memory = driver.mapping_granularity(0).unwrap() > 0;
        driver.destroy_event(event);
        driver.destroy_stream(stream);
        Features { captures, external_streams, timing, virtual_memory }
    }
}

/// Returns whether the result is [`Error::Unsupported`].
pub fn is_unsupported<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Unsupported { .. }))
}
