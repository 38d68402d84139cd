//! Recordings of the history of device memory.

use super::stats_api::resolve_if_initialized;
use crate::allocators::trace::{self, HistoryConfig};
use crate::{Device, Result};

/// A recording of the history of device memory, until it is stopped or another one begins.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, HistoryConfig, HistoryRecorder, snapshot};
///
/// interlock_accelerator::use_named("host")?;
/// let history = HistoryRecorder::record(HistoryConfig::default(), None)?;
/// drop(DeviceBuffer::new(None, 512)?);
/// history.stop()?;
/// assert!(!snapshot(None)?.traces[0].is_empty());
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[must_use = "the history ends when the recorder is dropped"]
#[derive(Debug)]
pub struct HistoryRecorder(u64);

impl HistoryRecorder {
    /// Begins to record allocations and releases of a device, or of all devices. Discards earlier entries. Starts no
    /// driver: recording begins with the first one.
    ///
    /// # Errors
    /// Returns [`Error::DeviceUnavailable`](crate::Error::DeviceUnavailable).
    pub fn record(options: HistoryConfig, device: Option<Device>) -> Result<Self> {
        let found = resolve_if_initialized(device)?;
        let index = device.map(|device| found.map_or(device.index().unwrap_or(0), |(_, index)| index));
        let number = trace::begin(options, index);
        apply_if_initialized()?;
        Ok(HistoryRecorder(number))
    }

    /// Returns the recording of the process, whichever code has begun it; `None` if nothing is recorded.
    #[must_use]
    pub fn active() -> Option<Self> {
        trace::recording().active_change().map(HistoryRecorder)
    }

    /// Returns a number that no other recording of the process has.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0
    }

    /// Stops recording, unless another recording has begun. Snapshots still contain the recorded entries.
    pub fn stop(&self) -> Result<()> {
        if trace::end(self.0) { apply_if_initialized() } else { Ok(()) }
    }
}

fn apply_if_initialized() -> Result<()> {
    resolve_if_initialized(None)?.map_or(Ok(()), |(accelerator, _)| accelerator.apply_history())
}
