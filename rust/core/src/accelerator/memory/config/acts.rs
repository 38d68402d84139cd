//! When a key acts.

use super::super::super::in_use::Accelerator;
use super::super::super::registry;
use super::{AllocatorConfig, Key};

/// When a key acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    /// From the next call of the allocator on.
    Now,
    /// On memory that is taken from the driver from now on.
    OnNewSegments,
    /// Not at all, and why.
    Never(&'static str),
}

impl Acts {
    /// In words.
    pub const fn when(self) -> &'static str {
        match self {
            Acts::Now => "now",
            Acts::OnNewSegments => "on new segments",
            Acts::Never(_) => "never",
        }
    }
}

/// Something without which a key does not act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// That memory is kept at all.
    Caching,
    /// A limit of what may be reserved.
    Limit,
    /// A size above which memory is not split.
    SplitLimit,
    /// A driver that gives memory to reserved addresses.
    VirtualMemory,
}

impl Need {
    /// What is needed, in words.
    pub const fn what(self) -> &'static str {
        match self {
            Need::Caching => "where memory is kept",
            Need::Limit => "with a memory limit",
            Need::SplitLimit => "with max_split_size_mb",
            Need::VirtualMemory => "where the driver has virtual memory",
        }
    }

    /// Why a key does not act without it.
    const fn missing(self) -> &'static str {
        match self {
            Need::Caching => "no memory is kept: caching is off",
            Need::Limit => "there is no memory limit",
            Need::SplitLimit => "max_split_size_mb is not set",
            Need::VirtualMemory => "no driver with virtual memory is there",
        }
    }

    fn is_met(self, config: &AllocatorConfig, here: Circumstances) -> bool {
        match self {
            Need::Caching => config.caching,
            Need::Limit => here.is_limited || config.per_process_memory_fraction < 1.0,
            Need::SplitLimit => config.max_split_size_mb.is_some(),
            Need::VirtualMemory => here.has_virtual_memory,
        }
    }
}

/// What must be known of a device to say which keys act there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Whether its driver gives memory to reserved addresses.
    pub has_virtual_memory: bool,
    /// Whether a program has limited its memory.
    pub is_limited: bool,
}

impl Circumstances {
    /// What is known of the accelerator of this process. Starts no driver.
    pub fn of_this_process() -> Self {
        Circumstances {
            has_virtual_memory: registry::has_virtual_memory(),
            is_limited: registry::used_already().is_some_and(Accelerator::limits_memory),
        }
    }
}

impl AllocatorConfig {
    /// When a key acts here.
    pub fn acts(&self, key: &Key, here: Circumstances) -> Acts {
        match key.needs().iter().find(|need| !need.is_met(self, here)) {
            Some(need) if !matches!(key.acts(), Acts::Never(_)) => Acts::Never(need.missing()),
            _ => key.acts(),
        }
    }
}
