//! The keys of the configuration. Parsing, text, checks, reports, stubs and documentation are derived from them.

use Applies::{Immediately, Never, ToNewSegments};

use interlock_core::base::quote::quoted;

use super::RoundupDivisions;
use super::value::{Backend, ConfigValue, Value};
use crate::{Error, Result};

/// The largest number of megabytes that can be counted in bytes.
const MAX_MEGABYTES: usize = usize::MAX >> 20;

macro_rules! keys {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $type:ty = $default:expr, expects $expected:literal if $validate:expr,
            applies $applies:expr $(, requires $($requirement:ident)+)? $(, not in conf string: $absent:literal)?;
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

        /// All keys, in the order of the text format.
        pub static KEYS: &[Key] = &[$(
            Key {
                name: stringify!($name),
                doc: concat!($($doc, "\n"),+),
                expected: $expected,
                applies: $applies,
                requires: &[$($(Requirement::$requirement),+)?],
                in_conf_string: true $(&& !$absent)?,
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
    megabytes <= MAX_MEGABYTES
}

keys! {
    /// The allocator of PyTorch to use, for compatibility.
    backend: Backend = Backend::Native, expects "native or cudaMallocAsync" if |_| true,
        applies Never("there is one allocator, with the statistics of native");
    /// Blocks of at least this size are not split, and serve no smaller requests.
    max_split_size_mb: Option<usize> = None,
        expects "a number of megabytes, at least large_segment_size_mb"
            if |config| config.max_split_size_mb.is_none_or(|size| size >= config.large_segment_size_mb && is_countable(size)),
        applies Immediately, requires Caching;
    /// The megabytes by which a block that is not split may exceed its request.
    max_non_split_rounding_mb: usize = 20,
        expects "20, or a number of megabytes, at least large_segment_size_mb"
            if |config| {
                let size = config.max_non_split_rounding_mb;
                size == 20 || size >= config.large_segment_size_mb && is_countable(size)
            },
        applies Immediately, requires Caching SplitLimit;
    /// The size of segments for requests of 1 to 10 megabytes.
    large_segment_size_mb: usize = 20,
        expects "a number of megabytes above 10"
            if |config| config.large_segment_size_mb > 10 && is_countable(config.large_segment_size_mb),
        applies ToNewSegments, requires Caching;
    /// The number of equal steps between powers of two to which requests are rounded up; 0 disables it.
    roundup_power2_divisions: RoundupDivisions = RoundupDivisions::OFF,
        expects "0, a power of two, or by size [256:1,512:2,>:8], where the sizes are rising powers of two in megabytes"
            if |config| config.roundup_power2_divisions.is_valid(),
        applies Immediately, requires Caching;
    /// The fraction of the limit above which unused blocks are released, oldest first; 0 disables it.
    garbage_collection_threshold: f64 = 0.0,
        expects "0, or a fraction between 0 and 1"
            if |config| (0.0..1.0).contains(&config.garbage_collection_threshold),
        applies Immediately, requires Caching Limit;
    /// Whether segments reserve addresses and map memory as they grow.
    expandable_segments: bool = false, expects "True or False" if |_| true,
        applies ToNewSegments, requires Caching VirtualMemory;
    /// Whether other threads may use the allocator while the driver allocates memory.
    release_lock_on_cudamalloc: bool = false, expects "True or False" if |_| true,
        applies Never("no lock is ever held while the driver is called");
    /// Whether memory used by several streams is reused during a capture where the graph allows it.
    graph_capture_record_stream_reuse: bool = false, expects "True or False" if |_| true,
        applies Never("such memory is not reused before the capture ends");
    /// The fraction of the memory of each device that may be reserved.
    per_process_memory_fraction: f64 = 1.0,
        expects "a fraction from 0 to 1"
            if |config| (0.0..=1.0).contains(&config.per_process_memory_fraction),
        applies Immediately;
    /// Whether requests that exceed the free memory of a device fail without an allocation by its driver.
    throw_on_cudamalloc_oom: bool = false, expects "True or False" if |_| true, applies Immediately;
    /// Whether pinned memory is ordinary memory that is registered with the driver.
    pinned_use_cuda_host_register: bool = false, expects "True or False" if |_| true,
        applies Never("pinned memory always comes from the driver");
    /// The number of threads that touch the pages of pinned memory before it is registered.
    pinned_num_register_threads: usize = 1,
        expects "a power of two up to 128"
            if |config| config.pinned_num_register_threads.is_power_of_two() && config.pinned_num_register_threads <= 128,
        applies Never("pinned memory always comes from the driver");
    /// Whether a background thread polls the events of pinned memory.
    pinned_use_background_threads: bool = false, expects "True or False" if |_| true,
        applies Never("events are polled when pinned memory is requested");
    /// The size of a segment of pinned memory that is split into blocks and never released.
    pinned_reserve_segment_size_mb: usize = 0,
        expects "a number of megabytes" if |config| is_countable(config.pinned_reserve_segment_size_mb),
        applies ToNewSegments;
    /// Requests for pinned memory above this size are not rounded up to a power of two.
    pinned_max_round_threshold_mb: Option<usize> = None,
        expects "a number of megabytes" if |config| config.pinned_max_round_threshold_mb.is_none_or(is_countable),
        applies Immediately;
    /// Blocks of pinned memory above this size are released instead of cached.
    pinned_max_cached_size_mb: Option<usize> = None,
        expects "a number of megabytes" if |config| config.pinned_max_cached_size_mb.is_none_or(is_countable),
        applies Immediately;
    /// Whether errors are ignored when pinned memory is released.
    pinned_free_catch_all: bool = false, expects "True or False" if |_| true,
        applies Never("no error is reported when pinned memory is released");
    /// Whether freed memory is cached; never if `PYTORCH_NO_CUDA_MEMORY_CACHING` is set.
    caching: bool = true, expects "True or False" if |_| true, applies Immediately, not in conf string: true;
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
    /// The name in PyTorch's text format, which is also the field of the struct.
    pub name: &'static str,
    /// The documentation, in sentences.
    pub doc: &'static str,
    /// A description of the values that it accepts.
    pub expected: &'static str,
    /// When it takes effect if its requirements are met.
    pub applies: Applies,
    /// The conditions without which it has no effect.
    pub requires: &'static [Requirement],
    /// Whether PyTorch's text format has the key.
    pub in_conf_string: bool,
    validate: fn(&AllocatorConfig) -> bool,
    get: fn(&AllocatorConfig) -> Value,
    set: fn(&mut AllocatorConfig, Value) -> bool,
    parse: fn(&mut AllocatorConfig, &str) -> bool,
}

impl Key {
    /// Returns the value of the key in a configuration.
    pub fn value(&self, config: &AllocatorConfig) -> Value {
        (self.get)(config)
    }

    /// Sets the value of the key in a configuration, without validation; returns false if it has another type.
    pub fn set(&self, config: &mut AllocatorConfig, value: Value) -> bool {
        (self.set)(config, value)
    }

    /// Parses a value of the key and sets it in a configuration.
    pub(super) fn parse(&self, config: &mut AllocatorConfig, word: &str) -> Result<()> {
        if (self.parse)(config, word) { Ok(()) } else { Err(self.refused(quoted(word))) }
    }

    fn refused(&self, given: String) -> Error {
        Error::argument(self.name, given, self.expected)
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
#[non_exhaustive]
pub enum Applies {
    /// With the next call of the allocator.
    Immediately,
    /// For segments that are allocated from now on.
    ToNewSegments,
    /// Never, with the reason.
    Never(&'static str),
}

impl Applies {
    /// Returns the text of reports and documentation.
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
#[non_exhaustive]
pub enum Requirement {
    /// The allocator caches memory.
    Caching,
    /// The reserved memory is limited.
    Limit,
    /// `max_split_size_mb` is set.
    SplitLimit,
    /// The driver can map memory at reserved addresses.
    VirtualMemory,
}

impl Requirement {
    /// Describes the requirement.
    pub const fn condition(self) -> &'static str {
        self.words().0
    }

    /// Returns the description of the requirement, and the reason if it is not met.
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Requirement::Caching => ("where memory is cached", "memory is not cached: caching is off"),
            Requirement::Limit => ("with a memory limit", "there is no memory limit"),
            Requirement::SplitLimit => ("with max_split_size_mb", "max_split_size_mb is not set"),
            Requirement::VirtualMemory => {
                ("where the driver has virtual memory", "no driver with virtual memory is available")
            }
        }
    }
}

impl AllocatorConfig {
    /// Checks that every key has a value that it accepts.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] for the first key with an invalid value.
    pub fn check(&self) -> Result<()> {
        let wrong = KEYS.iter().find(|key| !(key.validate)(self));
        wrong.map_or(Ok(()), |key| Err(key.refused(key.value(self).to_string())))
    }
}
