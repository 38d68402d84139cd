//! Every key, declared once: parsing, text, checks, reports, stubs and documentation come from here.

use Applies::{Immediately, Never, ToNewSegments};

use super::RoundupDivisions;
use super::value::{Backend, ConfigValue, Value};
use crate::accelerator::Accelerator;
use crate::{Error, Result, registry};

/// More megabytes than this can't be counted in bytes.
const MOST_MEGABYTES: usize = usize::MAX >> 20;

macro_rules! keys {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $type:ty = $default:expr, expects $expected:literal if $validate:expr,
            applies $applies:expr $(, requires $($requirement:ident)+)? $(, apart from the text: $apart:literal)?;
    )+) => {
        /// A configuration of the allocators. Its values are checked when it becomes active, or by
        /// [`check`](AllocatorConfig::check).
        ///
        /// ```
        /// use interlock_accelerator::memory::{AllocatorConfig, set_config};
        ///
        /// let config: AllocatorConfig = "max_split_size_mb:64,roundup_power2_divisions:4".parse()?;
        /// assert_eq!(config.max_split_size_mb, Some(64));
        /// set_config(AllocatorConfig { expandable_segments: true, ..config })?;
        /// # Ok::<(), interlock_accelerator::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        pub struct AllocatorConfig {$(
            $(#[doc = $doc])+
            pub $name: $type,
        )+}

        impl Default for AllocatorConfig {
            fn default() -> Self {
                AllocatorConfig { $($name: $default,)+ }
            }
        }

        /// Every key, in the order in which a text has them.
        pub static KEYS: &[Key] = &[$(
            Key {
                name: stringify!($name),
                doc: concat!($($doc, "\n"),+),
                expected: $expected,
                applies: $applies,
                requires: &[$($(Requirement::$requirement),+)?],
                in_conf_string: true $(&& !$apart)?,
                validate: $validate,
                get: |config| config.$name.clone().into_value(),
                set: |config, value| {
                    let value = <$type>::from_value(value);
                    value.map(|value| config.$name = value).is_some()
                },
                parse: |config, word| {
                    let value = <$type>::parse(word);
                    value.map(|value| config.$name = value).is_some()
                },
            },
        )+];
    };
}

const fn is_countable(megabytes: usize) -> bool {
    megabytes <= MOST_MEGABYTES
}

keys! {
    /// Which of PyTorch's allocators a program asks for.
    backend: Backend = Backend::Native, expects "native or cudaMallocAsync" if |_| true,
        applies Never("there is one allocator, with the statistics of native");
    /// Blocks of at least this size are not split, and serve no smaller requests.
    max_split_size_mb: Option<usize> = None,
        expects "a number of megabytes, at least large_segment_size_mb"
            if |config| config.max_split_size_mb.is_none_or(|size| size >= config.large_segment_size_mb && is_countable(size)),
        applies Immediately, requires Caching;
    /// By how much a block that is not split may be larger than the request that it serves.
    max_non_split_rounding_mb: usize = 20,
        expects "20, or a number of megabytes, at least large_segment_size_mb"
            if |config| {
                let size = config.max_non_split_rounding_mb;
                size == 20 || size >= config.large_segment_size_mb && is_countable(size)
            },
        applies Immediately, requires Caching SplitLimit;
    /// How much is taken from the driver at once to serve requests of 1 to 10 megabytes.
    large_segment_size_mb: usize = 20,
        expects "a number of megabytes above 10"
            if |config| config.large_segment_size_mb > 10 && is_countable(config.large_segment_size_mb),
        applies ToNewSegments, requires Caching;
    /// Into how many equal steps requests are rounded up between powers of two; 0 is off.
    roundup_power2_divisions: RoundupDivisions = RoundupDivisions::OFF,
        expects "0, a power of two, or by size [256:1,512:2,>:8], where the sizes are rising powers of two in megabytes"
            if |config| config.roundup_power2_divisions.is_valid(),
        applies Immediately, requires Caching;
    /// From which part of the limit on unused blocks go back to the driver, the oldest first; 0 is off.
    garbage_collection_threshold: f64 = 0.0,
        expects "0, or a fraction between 0 and 1"
            if |config| (0.0..1.0).contains(&config.garbage_collection_threshold),
        applies Immediately, requires Caching Limit;
    /// Whether a segment is a range of addresses that gets memory as it grows.
    expandable_segments: bool = false, expects "True or False" if |_| true,
        applies ToNewSegments, requires Caching VirtualMemory;
    /// Whether other threads may use the allocator while the driver is asked for memory.
    release_lock_on_cudamalloc: bool = false, expects "True or False" if |_| true,
        applies Never("it is always so: no lock is held while the driver is called");
    /// Whether memory that several streams used is reused in a capture where the graph allows it.
    graph_capture_record_stream_reuse: bool = false, expects "True or False" if |_| true,
        applies Never("such memory is kept until the capture has ended");
    /// Which part of the memory of each device may be reserved.
    per_process_memory_fraction: f64 = 1.0,
        expects "a fraction from 0 to 1"
            if |config| (0.0..=1.0).contains(&config.per_process_memory_fraction),
        applies Immediately;
    /// Whether a request that a device has no room for is refused without asking its driver.
    throw_on_cudamalloc_oom: bool = false, expects "True or False" if |_| true, applies Immediately;
    /// Whether pinned memory is ordinary memory that is registered with the driver.
    pinned_use_cuda_host_register: bool = false, expects "True or False" if |_| true,
        applies Never("pinned memory always comes from the driver");
    /// How many threads touch the pages of pinned memory before it is registered.
    pinned_num_register_threads: usize = 1,
        expects "a power of two up to 128"
            if |config| config.pinned_num_register_threads.is_power_of_two() && config.pinned_num_register_threads <= 128,
        applies Never("pinned memory always comes from the driver");
    /// Whether a thread looks for pinned memory that copies have finished with.
    pinned_use_background_threads: bool = false, expects "True or False" if |_| true,
        applies Never("that is looked for when pinned memory is asked for");
    /// How much pinned memory is taken at once, to be handed out in pieces and kept for good.
    pinned_reserve_segment_size_mb: usize = 0,
        expects "a number of megabytes" if |config| is_countable(config.pinned_reserve_segment_size_mb),
        applies ToNewSegments;
    /// Requests for pinned memory above this size are not rounded up to a power of two.
    pinned_max_round_threshold_mb: Option<usize> = None,
        expects "a number of megabytes" if |config| config.pinned_max_round_threshold_mb.is_none_or(is_countable),
        applies Immediately;
    /// Blocks of pinned memory above this size are given back instead of being kept.
    pinned_max_cached_size_mb: Option<usize> = None,
        expects "a number of megabytes" if |config| config.pinned_max_cached_size_mb.is_none_or(is_countable),
        applies Immediately;
    /// Whether errors of giving pinned memory back are passed over.
    pinned_free_catch_all: bool = false, expects "True or False" if |_| true,
        applies Never("giving memory back never fails here");
    /// Whether memory is kept for later; never where `PYTORCH_NO_CUDA_MEMORY_CACHING` is set.
    caching: bool = true, expects "True or False" if |_| true, applies Immediately, apart from the text: true;
}

/// A key of the configuration.
///
/// ```
/// use interlock_accelerator::memory::AllocatorConfig;
/// use interlock_accelerator::memory::config::KEYS;
///
/// let config = AllocatorConfig::default();
/// for key in KEYS {
///     println!("{}: {} ({})", key.name, key.value(&config), key.expected);
/// }
/// ```
#[derive(Debug)]
pub struct Key {
    /// The name, as PyTorch's text and the struct have it.
    pub name: &'static str,
    /// What it means, in sentences.
    pub doc: &'static str,
    /// The values that it accepts, in words.
    pub expected: &'static str,
    /// When it applies where its requirements are met.
    pub applies: Applies,
    /// Without what it does not apply.
    pub requires: &'static [Requirement],
    /// Whether PyTorch's text may contain it.
    pub in_conf_string: bool,
    validate: fn(&AllocatorConfig) -> bool,
    get: fn(&AllocatorConfig) -> Value,
    set: fn(&mut AllocatorConfig, Value) -> bool,
    parse: fn(&mut AllocatorConfig, &str) -> bool,
}

impl Key {
    /// Its value in a configuration.
    pub fn value(&self, config: &AllocatorConfig) -> Value {
        (self.get)(config)
    }

    /// Sets its value in a configuration, unchecked; returns whether the value is of the key's type.
    pub fn set(&self, config: &mut AllocatorConfig, value: Value) -> bool {
        (self.set)(config, value)
    }

    /// Sets its value in a configuration to one that is parsed.
    pub(super) fn parse(&self, config: &mut AllocatorConfig, word: &str) -> Result<()> {
        if (self.parse)(config, word) { Ok(()) } else { Err(self.refused(format!("{word:?}"))) }
    }

    fn refused(&self, given: String) -> Error {
        Error::Argument { name: self.name, given, allowed: self.expected.to_owned() }
    }
}

/// When a configuration key takes effect.
///
/// ```
/// use interlock_accelerator::memory::AllocatorConfig;
/// use interlock_accelerator::memory::config::{Applies, KEYS};
///
/// let config = AllocatorConfig::default();
/// let has_effect = |applies| !matches!(applies, Applies::Never(_));
/// let count = KEYS.iter().filter(|key| has_effect(config.applies(key))).count();
/// println!("{count} of {} keys have an effect", KEYS.len());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// From the next call of the allocator on.
    Immediately,
    /// To segments that are allocated from now on.
    ToNewSegments,
    /// Not at all, and why.
    Never(&'static str),
}

impl Applies {
    /// In words.
    pub const fn when(self) -> &'static str {
        match self {
            Immediately => "now",
            ToNewSegments => "on new segments",
            Never(_) => "never",
        }
    }
}

/// A condition without which a key has no effect.
///
/// ```
/// use interlock_accelerator::memory::config::KEYS;
///
/// for key in KEYS {
///     let conditions: Vec<_> = key.requires.iter().map(|requirement| requirement.condition()).collect();
///     println!("{}: {}", key.name, conditions.join(", "));
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// The allocator caches memory.
    Caching,
    /// There is a limit of what may be reserved.
    Limit,
    /// There is a size above which blocks are not split.
    SplitLimit,
    /// The driver maps memory at reserved addresses.
    VirtualMemory,
}

impl Requirement {
    /// Where a key with this requirement applies, in words.
    pub const fn condition(self) -> &'static str {
        self.words().0
    }

    /// Where a key with this requirement applies, and why it does not elsewhere.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Requirement::Caching => ("where memory is kept", "no memory is kept: caching is off"),
            Requirement::Limit => ("with a memory limit", "there is no memory limit"),
            Requirement::SplitLimit => ("with max_split_size_mb", "max_split_size_mb is not set"),
            Requirement::VirtualMemory => {
                ("where the driver has virtual memory", "no driver with virtual memory is there")
            }
        }
    }

    /// Reads the accelerator of this process without starting its driver.
    fn is_met(self, config: &AllocatorConfig) -> bool {
        match self {
            Requirement::Caching => config.caching,
            Requirement::Limit => {
                config.per_process_memory_fraction < 1.0
                    || registry::try_accelerator().is_some_and(Accelerator::limits_memory)
            }
            Requirement::SplitLimit => config.max_split_size_mb.is_some(),
            Requirement::VirtualMemory => registry::has_virtual_memory(),
        }
    }
}

impl AllocatorConfig {
    /// When a key of this configuration applies in this process.
    pub fn applies(&self, key: &Key) -> Applies {
        match key.requires.iter().find(|requirement| !requirement.is_met(self)) {
            Some(unmet) if !matches!(key.applies, Never(_)) => Never(unmet.words().1),
            _ => key.applies,
        }
    }

    /// Checks that every key has a value that it accepts.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] for the first one that does not.
    pub fn check(&self) -> Result<()> {
        let wrong = KEYS.iter().find(|key| !(key.validate)(self));
        wrong.map_or(Ok(()), |key| Err(key.refused(key.value(self).to_string())))
    }
}
