//! Blocks of a program that want to know what is allocated while they run.

use super::super::driver::DeviceIndex;
use super::super::in_use::Accelerator;
use super::super::{Device, current};
use super::cache::ScopeStatistics;
use super::usage;
use crate::{Error, Result};

const WHAT: &str = "accelerator.memory.scope";

/// Counts what is allocated on a device from now on, by all threads, until it is closed or dropped.
#[derive(Debug)]
pub struct Scope {
    /// Where, and under which number; `None` where there is no accelerator, and nothing to be counted.
    counting: Option<(&'static Accelerator, DeviceIndex, u64)>,
}

impl Scope {
    /// Begins to count; no device is the current one.
    pub fn open(device: Option<Device>) -> Result<Self> {
        let (home, index) = match current::resolve(device, WHAT) {
            Err(Error::NoAccelerator { .. }) => {
                return usage::in_use(device).map(|_| Scope { counting: None });
            }
            resolved => resolved?,
        };
        let id = home.cache_for(index, WHAT)?.open_scope();
        Ok(Scope { counting: Some((home, index, id)) })
    }

    /// What was counted so far.
    pub fn statistics(&self) -> Result<ScopeStatistics> {
        let Some((home, index, id)) = self.counting else { return Ok(ScopeStatistics::default()) };
        Ok(home.cache_for(index, WHAT)?.scope(id).unwrap_or_default())
    }

    /// Stops; returns what was counted.
    pub fn close(mut self) -> Result<ScopeStatistics> {
        let Some((home, index, id)) = self.counting.take() else { return Ok(ScopeStatistics::default()) };
        Ok(home.cache_for(index, WHAT)?.close_scope(id).unwrap_or_default())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if let Some((home, index, id)) = self.counting
            && let Ok(cache) = home.cache_for(index, WHAT)
        {
            cache.close_scope(id);
        }
    }
}
