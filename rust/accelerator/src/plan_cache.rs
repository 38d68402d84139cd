//! The size limits of cuFFT's plan cache for each device. Like flags, they are written under the lock of the process
//! and not while flags are frozen.

use interlock_core::base::sync::RelaxedU64;
use interlock_core::binding::flags::{parse_count, write_unless_frozen};
use interlock_core::flags::InputValue;

use crate::started::current_index_or_zero;
use crate::{Device, DeviceType, Error, Result, registry};

const NAME: &str = "cuda.cufft_plan_cache";
const EXPECTED: &str = "a CUDA device with an index, or an index";
/// PyTorch's default.
const DEFAULT: u64 = 4096;
const MAX_PLANS: u64 = i64::MAX as u64;

/// The limit of each possible device index.
static MAX_SIZES: [RelaxedU64; Device::MAX_INDEX as usize + 1] =
    [const { RelaxedU64::new(DEFAULT) }; Device::MAX_INDEX as usize + 1];

/// The cuFFT plan cache of one device.
///
/// ```
/// use interlock_accelerator::PlanCache;
/// use interlock_core::flags::InputValue;
///
/// match PlanCache::current() {
///     Ok(cache) => cache.set_max_size(&InputValue::Integer(16))?,
///     Err(error) => println!("no CUDA device: {error}"),
/// }
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PlanCache {
    index: u8,
    max_size: &'static RelaxedU64,
}

impl PlanCache {
    /// Returns the cache of a CUDA device; `given` is its index or its name. Starts the driver.
    ///
    /// # Errors
    /// Returns [`Error::NoSuchDevice`] and [`Error::NoAccelerator`].
    pub fn from_input(given: &InputValue) -> Result<Self> {
        match given {
            InputValue::Integer(index) => Self::from_index(device_count()?, *index),
            InputValue::Text(text) => Self::from_device(registry::parse_device(text)?),
            _ => Err(no_such_device(given.to_string(), EXPECTED.to_owned())),
        }
    }

    /// Returns the cache of a CUDA device with an index. Starts the driver.
    ///
    /// # Errors
    /// Returns [`Error::NoSuchDevice`] and [`Error::NoAccelerator`].
    pub fn from_device(device: Device) -> Result<Self> {
        match (device.kind(), device.index()) {
            (DeviceType::Cuda, Some(index)) => Self::from_index(device_count()?, i64::from(index)),
            _ => Err(no_such_device(format!("the device {device}"), EXPECTED.to_owned())),
        }
    }

    /// Returns the cache of the current device. Starts the driver.
    pub fn current() -> Result<Self> {
        let count = device_count()?;
        Self::from_index(count, i64::from(current_index_or_zero(count as usize)))
    }

    fn from_index(count: u32, index: i64) -> Result<Self> {
        let valid = u8::try_from(index).ok().filter(|index| u32::from(*index) < count);
        let found = valid.and_then(|index| {
            MAX_SIZES.get(usize::from(index)).map(|max_size| PlanCache { index, max_size })
        });
        found.ok_or_else(|| no_such_device(index.to_string(), indices(count)))
    }

    /// Returns the index of the device.
    pub fn index(&self) -> u8 {
        self.index
    }

    /// Returns the number of cached plans: 0, because no operation creates plans yet.
    pub fn size(&self) -> u64 {
        0
    }

    /// Returns the largest number of cached plans.
    pub fn max_size(&self) -> u64 {
        self.max_size.get()
    }

    /// Sets the largest number of cached plans.
    ///
    /// # Errors
    /// Returns an error for a value that is not a valid count, and while flags are frozen.
    pub fn set_max_size(&self, given: &InputValue) -> Result<()> {
        let name = format!("{NAME}[{}].max_size", self.index);
        let size = parse_count(&name, given, MAX_PLANS)?;
        write_unless_frozen(&name, || self.max_size.set(size)).map_err(Error::from)
    }

    /// Removes all cached plans.
    pub fn clear(&self) {}
}

/// Returns the number of CUDA devices.
///
/// # Errors
/// Returns [`Error::NoAccelerator`] if there is no device of any type.
fn device_count() -> Result<u32> {
    let accelerator = registry::required("backends.cuda.cufft_plan_cache")?;
    Ok(if accelerator.kind() == DeviceType::Cuda { registry::device_count() } else { 0 })
}

fn indices(count: u32) -> String {
    match count.checked_sub(1) {
        Some(last) => format!("an index from 0 to {last}"),
        None => "an index of a CUDA device, of which this process has none".to_owned(),
    }
}

fn no_such_device(given: String, allowed: String) -> Error {
    Error::NoSuchDevice { name: format!("backends.{NAME}: device"), given, allowed }
}

#[cfg(test)]
mod tests {
    use interlock_core::Error as CoreError;

    use super::*;

    #[test]
    fn plan_cache_max_size_belongs_to_one_device() {
        let [first, second] = [0, 1].map(|index| PlanCache::from_index(2, index).unwrap());
        assert_eq!((first.max_size(), second.max_size()), (DEFAULT, DEFAULT));
        second.set_max_size(&InputValue::Integer(7)).unwrap();
        assert_eq!((first.max_size(), second.max_size(), second.index()), (DEFAULT, 7, 1));
        second.clear();
        assert_eq!((second.max_size(), second.size()), (7, 0));
    }

    #[test]
    fn plan_cache_reports_the_range_of_indices_for_an_unknown_index() {
        for index in [-1, 2, 256, i64::MAX] {
            let error = PlanCache::from_index(2, index).unwrap_err().to_string();
            assert!(error.contains("an index from 0 to 1") && error.contains(&index.to_string()), "{error}");
        }
        assert!(PlanCache::from_index(0, 0).unwrap_err().to_string().contains("has none"));
        // A driver may count more devices than there are indices.
        assert!(PlanCache::from_index(u32::MAX, 128).is_err());
    }

    #[test]
    fn plan_cache_of_another_device_type_is_an_error_with_its_name() {
        for (given, shown) in [("cpu", "cpu"), ("cuda", "cuda"), ("meta:1", "meta:1")] {
            let error = PlanCache::from_input(&InputValue::Text(given.into())).unwrap_err();
            assert!(matches!(&error, Error::NoSuchDevice { given, .. } if given.ends_with(shown)), "{error}");
        }
        assert!(matches!(PlanCache::from_input(&InputValue::Bool(true)), Err(Error::NoSuchDevice { .. })));
    }

    #[test]
    fn set_max_size_rejects_values_that_are_not_counts() {
        let cache = PlanCache::from_index(4, 3).unwrap();
        for (wrong, is_type) in [
            (InputValue::Integer(-1), false),
            (InputValue::HugeInteger { display: "an int".into(), nearest: Some(1e30) }, false),
            (InputValue::Bool(true), true),
        ] {
            let error = cache.set_max_size(&wrong).unwrap_err();
            assert_eq!(matches!(error, Error::Core(CoreError::FlagType { .. })), is_type, "{error}");
            assert!(error.to_string().contains("backends.cuda.cufft_plan_cache[3].max_size"), "{error}");
        }
        assert_eq!(cache.max_size(), DEFAULT);
        cache.set_max_size(&InputValue::Integer(0)).unwrap();
        assert_eq!(cache.max_size(), 0);
    }
}
