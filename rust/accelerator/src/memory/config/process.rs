//! The configuration of the process.

use std::fmt;
use std::sync::Arc;

use interlock_core::base::env;
use interlock_core::base::fork::rank;
use interlock_core::base::sync::{Epoch, ForkLock, RelaxedU64};

use super::keys::{AllocatorConfig, Applies, KEYS};
use super::value::Value;
use crate::{Error, Result};

/// What is in force, once somebody has asked for it.
static CONFIGURED: ForkLock<Option<Configured>> = ForkLock::new(rank::ALLOCATOR_CONFIG, None);

static EPOCH: Epoch = Epoch::new();

#[derive(Clone)]
pub(crate) struct Configured {
    config: Result<Arc<AllocatorConfig>>,
    source: Source,
    /// Whether the environment keeps memory from being kept, whatever the program says.
    is_uncached: bool,
}

/// Who said how memory is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody.
    Default,
    /// This variable.
    Environment(&'static str),
    /// The program.
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

impl Configured {
    /// What the environment says: the first variable that is set and not empty.
    fn by_environment(value_of: impl Fn(&str) -> Option<String>) -> Self {
        let is_uncached = value_of(env::NO_MEMORY_CACHING).is_some();
        let text_of = |variable| value_of(variable).filter(|text: &String| !text.is_empty());
        let found = env::ALLOC_CONF.into_iter().find_map(|variable| Some((variable, text_of(variable)?)));
        let (parsed, source) = match found {
            Some((variable, text)) => {
                let parsed = text.parse::<AllocatorConfig>();
                (parsed.map_err(|error| told_of(variable, error)), Source::Environment(variable))
            }
            None => (Ok(AllocatorConfig::default()), Source::Default),
        };
        let config = parsed.map(|config| Arc::new(AllocatorConfig { caching: !is_uncached, ..config }));
        Configured { config, source, is_uncached }
    }

    /// Who said what a key holds.
    fn source_of(&self, key: &str) -> Source {
        if key == "caching" && self.is_uncached {
            Source::Environment(env::NO_MEMORY_CACHING)
        } else {
            self.source
        }
    }
}

/// The error with the name of the variable in it.
fn told_of(variable: &'static str, error: Error) -> Error {
    match error {
        Error::Argument { name, given, allowed } => {
            Error::Argument { name, given: format!("{given} in {variable}"), allowed }
        }
        other => other,
    }
}

fn configured() -> Configured {
    if let Some(configured) = &*CONFIGURED.lock() {
        return configured.clone();
    }
    // Read without the lock, and so perhaps in vain.
    let read = Configured::by_environment(env::read_lossy);
    CONFIGURED.lock().get_or_insert(read).clone()
}

/// The configuration in force. The environment is read when it is first asked for; if that can't be understood,
/// this fails until the program [sets](set_config) one.
pub fn config() -> Result<Arc<AllocatorConfig>> {
    configured().config
}

/// Who said it.
pub fn config_source() -> Source {
    configured().source
}

/// Puts a configuration in force, whole, in place of the one before. Only `caching` stays off where the environment
/// says so. Fails where a key holds what it does not take.
pub fn set_config(config: AllocatorConfig) -> Result<()> {
    config.check()?;
    let is_uncached = configured().is_uncached;
    let config = Arc::new(AllocatorConfig { caching: config.caching && !is_uncached, ..config });
    let replacement = Configured { config: Ok(config), source: Source::Program, is_uncached };
    let replaced = {
        let mut configured = CONFIGURED.lock();
        let replaced = configured.replace(replacement);
        EPOCH.advance();
        replaced
    };
    drop(replaced);
    Ok(())
}

/// How often a configuration was set: read it before the configuration, and that is no older.
#[inline]
fn epoch() -> u64 {
    EPOCH.get()
}

/// What is told of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// The key.
    pub name: &'static str,
    /// What it holds.
    pub value: Value,
    /// Whether that is the default.
    pub is_default: bool,
    /// Who said so.
    pub source: Source,
    /// When it applies here.
    pub applies: Applies,
}

/// What every key is set to, by what, and when it applies in this process. Starts no driver.
pub fn config_report() -> Result<Vec<Reported>> {
    let configured = configured();
    let config = configured.config.clone()?;
    let default = AllocatorConfig::default();
    let reported = KEYS.iter().map(|key| {
        let value = key.value(&config);
        let is_default = value == key.value(&default);
        let source = if is_default { Source::Default } else { configured.source_of(key.name()) };
        Reported { name: key.name(), value, is_default, source, applies: config.applies(key) }
    });
    Ok(reported.collect())
}

/// The configuration that somebody has taken over who asks often: as long as it stays the same that costs two loads.
#[derive(Debug, Default)]
pub(crate) struct TakenOver(RelaxedU64);

impl TakenOver {
    /// Calls `take` with the configuration in force if that is another than the last time, and with a number that
    /// grows with each: where two threads call at once, the greater has the last word. Fails as [`config`] does.
    #[inline]
    pub(crate) fn renew(&self, take: impl FnOnce(u64, &AllocatorConfig)) -> Result<()> {
        // 0 is none at all.
        let number = epoch() + 1;
        if self.0.get() == number { Ok(()) } else { self.take_over(number, take) }
    }

    #[cold]
    fn take_over(&self, number: u64, take: impl FnOnce(u64, &AllocatorConfig)) -> Result<()> {
        let config = config()?;
        take(number, &config);
        self.0.set(number);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Configured {
        Configured::by_environment(|wanted| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn split_size(variables: &[(&str, &str)]) -> Option<usize> {
        read(variables).config.unwrap().max_split_size_mb
    }

    #[test]
    fn our_own_variable_goes_first_and_pytorchs_old_one_last() {
        let all = [
            ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:33"),
            ("PYTORCH_ALLOC_CONF", "max_split_size_mb:32"),
            ("INTERLOCK_ALLOC_CONF", "max_split_size_mb:31"),
        ];
        assert_eq!([1, 2, 3].map(|count| split_size(&all[..count])), [Some(33), Some(32), Some(31)]);
        assert_eq!(read(&all).source, Source::Environment("INTERLOCK_ALLOC_CONF"));
    }

    #[test]
    fn an_empty_variable_says_nothing_and_the_next_is_asked() {
        let variables = [("PYTORCH_ALLOC_CONF", ""), ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:33")];
        assert_eq!(split_size(&variables), Some(33));
        assert_eq!(read(&[("PYTORCH_ALLOC_CONF", "")]).source, Source::Default);
    }

    #[test]
    fn the_first_variable_is_taken_whole_or_is_an_error_that_names_it() {
        let variables = [
            ("PYTORCH_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:1"),
            ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:33"),
        ];
        let read = read(&variables);
        let message = read.config.unwrap_err().to_string();
        assert!(message.contains("max_split_size_mb takes"), "{message}");
        assert!(message.ends_with("got 1 in PYTORCH_ALLOC_CONF"), "{message}");
        assert_eq!(read.source, Source::Environment("PYTORCH_ALLOC_CONF"));
    }

    #[test]
    fn caching_is_off_where_its_variable_is_set_to_anything() {
        for text in ["", "0", "1"] {
            let read = read(&[(env::NO_MEMORY_CACHING, text)]);
            assert!(!read.config.as_ref().unwrap().caching);
            assert_eq!(read.source_of("caching"), Source::Environment(env::NO_MEMORY_CACHING));
            assert_eq!(read.source_of("backend"), Source::Default);
        }
        assert!(read(&[]).config.unwrap().caching);
    }
}
