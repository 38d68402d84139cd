//! The active configuration of the process.

use std::fmt;
use std::sync::{Arc, Weak};

use interlock_core::base::env;
use interlock_core::base::fork::rank;
use interlock_core::base::sync::{ForkLock, RelaxedU64};

use super::keys::AllocatorConfig;
use crate::{Error, Result};

/// The configuration of the process, and the allocators that use it.
static PROCESS: ForkLock<Process> =
    ForkLock::new(rank::ALLOCATOR_CONFIG, Process { active: None, changes: 0, watches: Vec::new() });

pub(crate) struct Process {
    /// `None` before the environment was read.
    active: Option<ActiveConfig>,
    /// The number of configurations that the program has set.
    changes: u64,
    watches: Vec<Weak<RelaxedU64>>,
}

#[derive(Clone)]
pub(crate) struct ActiveConfig {
    config: Result<Arc<AllocatorConfig>>,
    source: Source,
    /// Whether the environment disables caching, which the program can't override.
    is_uncached: bool,
}

/// The source of a configuration.
///
/// ```
/// use interlock_accelerator::memory::config::{AllocatorConfig, Source, config_source, set_config};
///
/// set_config(AllocatorConfig::default())?;
/// assert_eq!(config_source(), Source::Program);
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The defaults.
    Default,
    /// This environment variable.
    Environment(&'static str),
    /// The program, by [`set_config`].
    Program,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Default => "default",
            Source::Environment(variable) => variable,
            Source::Program => "set by the program",
        })
    }
}

impl ActiveConfig {
    /// Returns the configuration of the environment, from the first variable that is set and not empty.
    fn from_env(value_of: impl Fn(&str) -> Option<String>) -> Self {
        let is_uncached = value_of(env::NO_MEMORY_CACHING).is_some();
        let text_of = |variable| value_of(variable).filter(|text: &String| !text.is_empty());
        let found = env::ALLOC_CONF.into_iter().find_map(|variable| Some((variable, text_of(variable)?)));
        let (parsed, source) = match found {
            Some((variable, text)) => {
                let parsed = text.parse::<AllocatorConfig>();
                (
                    parsed.map_err(|error| Error::Variable { variable, error: Box::new(error) }),
                    Source::Environment(variable),
                )
            }
            None => (Ok(AllocatorConfig::default()), Source::Default),
        };
        let config = parsed.map(|config| Arc::new(AllocatorConfig { caching: !is_uncached, ..config }));
        ActiveConfig { config, source, is_uncached }
    }

    /// Returns the configuration.
    ///
    /// # Errors
    /// Returns the error of an invalid environment.
    pub(crate) fn config(&self) -> Result<Arc<AllocatorConfig>> {
        self.config.clone()
    }

    /// Returns the source of a key's value.
    pub(crate) fn source_of(&self, key: &str) -> Source {
        if key == "caching" && self.is_uncached {
            Source::Environment(env::NO_MEMORY_CACHING)
        } else {
            self.source
        }
    }
}

pub(crate) fn active() -> ActiveConfig {
    if let Some(active) = &PROCESS.lock().active {
        return active.clone();
    }
    // Read outside the lock; discarded if another thread wins.
    let read = ActiveConfig::from_env(env::read_lossy);
    PROCESS.lock().active.get_or_insert(read).clone()
}

/// Returns the active configuration. The environment is read on first use.
///
/// # Errors
/// Returns the error of an invalid environment until the program [sets](set_config) a configuration.
pub fn config() -> Result<Arc<AllocatorConfig>> {
    active().config
}

/// Returns the source of the active configuration.
pub fn config_source() -> Source {
    active().source
}

/// Replaces the active configuration. `caching` remains off if the environment disables it.
///
/// # Errors
/// Returns [`Error::Argument`] if a key does not accept its value.
pub fn set_config(config: AllocatorConfig) -> Result<()> {
    config.check()?;
    let is_uncached = active().is_uncached;
    let config = Arc::new(AllocatorConfig { caching: config.caching && !is_uncached, ..config });
    replace(Some(ActiveConfig { config: Ok(config), source: Source::Program, is_uncached }));
    Ok(())
}

/// Ends the configuration of the program, if it has [set](set_config) one: the environment is read at the next use.
pub fn unset_config() {
    if program_config().is_some() {
        replace(None);
    }
}

/// Returns the configuration that the program has set; `None` if it has set none. Does not read the environment.
pub fn program_config() -> Option<Arc<AllocatorConfig>> {
    let process = PROCESS.lock();
    let set = process.active.as_ref().filter(|active| matches!(active.source, Source::Program));
    set.and_then(|active| active.config.clone().ok())
}

/// Replaces the active configuration, and informs the allocators.
fn replace(replacement: Option<ActiveConfig>) {
    let mut process = PROCESS.lock();
    let replaced = std::mem::replace(&mut process.active, replacement);
    process.changes += 1;
    let pending = process.changes + 1;
    // With the lock, so that a word never gets an earlier number after a later one.
    process.watches.retain(|watch| watch.upgrade().inspect(|watch| watch.set(pending)).is_some());
    drop(process);
    drop(replaced);
}

/// Detects changes of the active configuration for an allocator, which observes them with one load.
#[derive(Debug)]
pub(crate) struct ConfigWatch {
    /// The number of the configuration that is not applied yet, 0 if the active one is applied. Numbers increase with
    /// each change.
    pending: Arc<RelaxedU64>,
}

impl Default for ConfigWatch {
    fn default() -> Self {
        let mut process = PROCESS.lock();
        let pending = Arc::new(RelaxedU64::new(process.changes + 1));
        process.watches.push(Arc::downgrade(&pending));
        ConfigWatch { pending }
    }
}

impl ConfigWatch {
    /// Returns the word that is 0 while the active configuration is applied.
    pub(crate) fn pending(&self) -> Arc<RelaxedU64> {
        self.pending.clone()
    }

    /// Calls `apply` with the active configuration if it has changed, and with a number that increases with each
    /// change. If two threads call it at once, the greater number belongs to the later configuration.
    ///
    /// # Errors
    /// Returns the errors of [`config`] and of `apply`, which is then called again next time.
    #[inline]
    pub(crate) fn refresh(&self, apply: impl FnOnce(u64, &AllocatorConfig) -> Result<()>) -> Result<()> {
        // Read before the configuration, which is then at least as new.
        match self.pending.get() {
            0 => Ok(()),
            number => self.apply(number, apply),
        }
    }

    #[cold]
    fn apply(&self, number: u64, apply: impl FnOnce(u64, &AllocatorConfig) -> Result<()>) -> Result<()> {
        let config = config()?;
        apply(number, &config)?;
        // Unless it has changed again.
        self.pending.compare_set(number, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> ActiveConfig {
        ActiveConfig::from_env(|wanted| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn split_size(variables: &[(&str, &str)]) -> Option<usize> {
        read(variables).config.unwrap().max_split_size_mb
    }

    #[test]
    fn config_prefers_its_own_variable_to_pytorchs() {
        let all = [
            ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:33"),
            ("PYTORCH_ALLOC_CONF", "max_split_size_mb:32"),
            ("INTERLOCK_ALLOC_CONF", "max_split_size_mb:31"),
        ];
        assert_eq!([1, 2, 3].map(|count| split_size(&all[..count])), [Some(33), Some(32), Some(31)]);
        assert_eq!(read(&all).source, Source::Environment("INTERLOCK_ALLOC_CONF"));
    }

    #[test]
    fn config_ignores_empty_variables() {
        let variables = [("PYTORCH_ALLOC_CONF", ""), ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:33")];
        assert_eq!(split_size(&variables), Some(33));
        assert_eq!(read(&[("PYTORCH_ALLOC_CONF", "")]).source, Source::Default);
    }

    #[test]
    fn config_error_contains_the_name_of_the_variable() {
        let variables = [
            ("PYTORCH_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:1"),
            ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:33"),
        ];
        let read = read(&variables);
        let message = read.config.unwrap_err().to_string();
        let expected = "PYTORCH_ALLOC_CONF: max_split_size_mb must be ";
        assert!(message.starts_with(expected) && message.ends_with("got 1"), "{message}");
        assert_eq!(read.source, Source::Environment("PYTORCH_ALLOC_CONF"));
    }

    #[test]
    fn caching_is_disabled_by_any_value_of_its_variable() {
        for text in ["", "0", "1"] {
            let read = read(&[(env::NO_MEMORY_CACHING, text)]);
            assert!(!read.config.as_ref().unwrap().caching);
            assert_eq!(read.source_of("caching"), Source::Environment(env::NO_MEMORY_CACHING));
            assert_eq!(read.source_of("backend"), Source::Default);
        }
        assert!(read(&[]).config.unwrap().caching);
    }
}
