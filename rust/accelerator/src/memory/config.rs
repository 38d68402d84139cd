//! Configuration of the allocators: the settings of PyTorch's caching allocator, as a struct and in PyTorch's text
//! format, and reports of it.

use super::limits;
use crate::allocators::config::active;
pub use crate::allocators::config::{
    AllocatorConfig, Applies, Backend, KEYS, Key, Requirement, RoundupDivisions, Source, Value, config,
    config_source, program_config, set_config, unset_config,
};
use crate::{Result, registry};

/// The value of a key, its source and its effect, as [`config_report`] returns them.
///
/// ```
/// use interlock_accelerator::memory::config::config_report;
///
/// for entry in config_report()?.iter().filter(|entry| !entry.is_default) {
///     println!("{} is {} ({})", entry.name, entry.value, entry.source);
/// }
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfigEntry {
    /// The name of the key.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
    /// Whether the value is the default.
    pub is_default: bool,
    /// The source of the value.
    pub source: Source,
    /// When the key takes effect in this process.
    pub applies: Applies,
}

/// Returns the value of every key, its source, and when it takes effect in this process. Starts no driver.
///
/// # Errors
/// Returns the error of an invalid environment.
pub fn config_report() -> Result<Vec<ConfigEntry>> {
    let active = active();
    let config = active.config()?;
    let default = AllocatorConfig::default();
    let reported = KEYS.iter().map(|key| {
        let value = key.value(&config);
        let is_default = value == key.value(&default);
        let source = if is_default { Source::Default } else { active.source_of(key.name) };
        ConfigEntry { name: key.name, value, is_default, source, applies: config.applies(key) }
    });
    Ok(reported.collect())
}

impl AllocatorConfig {
    /// Returns when a key of this configuration takes effect in this process.
    pub fn applies(&self, key: &Key) -> Applies {
        match key.requires.iter().find(|requirement| !is_met(**requirement, self)) {
            Some(unmet) if !matches!(key.applies, Applies::Never(_)) => Applies::Never(unmet.words().1),
            _ => key.applies,
        }
    }
}

/// Returns whether a requirement is met in this process. Starts no driver.
fn is_met(requirement: Requirement, config: &AllocatorConfig) -> bool {
    match requirement {
        Requirement::Caching => config.caching,
        Requirement::Limit => config.per_process_memory_fraction < 1.0 || limits::is_any_set(),
        Requirement::SplitLimit => config.max_split_size_mb.is_some(),
        Requirement::VirtualMemory => registry::has_virtual_memory(),
    }
}
