//! How many plans cuFFT's cache of each device keeps. Unlike a flag it belongs to a device; like a flag it is
//! written under the process's lock, and not while flags are frozen.

use interlock_core::base::sync::RelaxedU64;
use interlock_core::flags::{InputValue, parse_count, write_unless_frozen};

use crate::{Device, DeviceType, Error, Result, registry};

const NAME: &str = "cuda.cufft_plan_cache";
const WANTED: &str = "a cuda device with its index, or an index";
/// As in PyTorch.
const DEFAULT: u64 = 4096;
const MOST_PLANS: u64 = i64::MAX as u64;

/// One word for each index that a device can have.
static MAX_SIZES: [RelaxedU64; Device::MAX_INDEX as usize + 1] =
    [const { RelaxedU64::new(DEFAULT) }; Device::MAX_INDEX as usize + 1];

/// The cache of one device's plans of Fourier transforms.
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
    /// The cache of a cuda device that is there; `given` is its index or its text. Starts the driver.
    pub fn named(given: &InputValue) -> Result<Self> {
        match given {
            InputValue::Integer(index) => Self::among(device_count()?, *index),
            InputValue::Text(text) => Self::of(text.parse()?),
            _ => Err(no_such_device(given.to_string(), WANTED.to_owned())),
        }
    }

    /// The cache of this device, which has an index. Starts the driver.
    pub fn of(device: Device) -> Result<Self> {
        match (device.kind(), device.index()) {
            (DeviceType::Cuda, Some(index)) => Self::among(device_count()?, i64::from(index)),
            _ => Err(no_such_device(format!("the device {device}"), WANTED.to_owned())),
        }
    }

    /// The cache of the current device. Starts the driver.
    pub fn current() -> Result<Self> {
        // Nothing makes another device the current one yet.
        Self::among(device_count()?, 0)
    }

    fn among(count: u32, index: i64) -> Result<Self> {
        let there = u8::try_from(index).ok().filter(|index| u32::from(*index) < count);
        let found = there.and_then(|index| {
            MAX_SIZES.get(usize::from(index)).map(|max_size| PlanCache { index, max_size })
        });
        found.ok_or_else(|| no_such_device(index.to_string(), indices(count)))
    }

    /// The index of the device.
    pub fn index(&self) -> u8 {
        self.index
    }

    /// How many plans it holds: none, as long as no operation makes any.
    pub fn size(&self) -> u64 {
        0
    }

    /// How many plans it keeps at most.
    pub fn max_size(&self) -> u64 {
        self.max_size.get()
    }

    /// Says how many plans it keeps at most. Fails for what is no such number, and while flags are frozen.
    pub fn set_max_size(&self, given: &InputValue) -> Result<()> {
        let name = format!("{NAME}[{}].max_size", self.index);
        let size = parse_count(&name, given, MOST_PLANS)?;
        write_unless_frozen(&name, || self.max_size.set(size)).map_err(Error::from)
    }

    /// Drops the plans that it holds.
    pub fn clear(&self) {}
}

/// How many cuda devices there are; an error where there is no device of any type.
fn device_count() -> Result<u32> {
    let accelerator = registry::required("backends.cuda.cufft_plan_cache")?;
    Ok(if accelerator.kind() == DeviceType::Cuda { registry::device_count() } else { 0 })
}

fn indices(count: u32) -> String {
    match count.checked_sub(1) {
        Some(last) => format!("an index from 0 to {last}"),
        None => "no index, because there is no cuda device".to_owned(),
    }
}

fn no_such_device(given: String, allowed: String) -> Error {
    Error::NoSuchDevice { name: format!("backends.{NAME}"), given, allowed }
}

#[cfg(test)]
mod tests {
    use interlock_core::Error as CoreError;

    use super::*;

    #[test]
    fn every_device_keeps_a_number_of_its_own() {
        let [first, second] = [0, 1].map(|index| PlanCache::among(2, index).unwrap());
        assert_eq!((first.max_size(), second.max_size()), (DEFAULT, DEFAULT));
        second.set_max_size(&InputValue::Integer(7)).unwrap();
        assert_eq!((first.max_size(), second.max_size(), second.index()), (DEFAULT, 7, 1));
        second.clear();
        assert_eq!((second.max_size(), second.size()), (7, 0));
    }

    #[test]
    fn an_index_outside_of_the_devices_is_refused_with_the_range() {
        for index in [-1, 2, 256, i64::MAX] {
            let error = PlanCache::among(2, index).unwrap_err().to_string();
            assert!(error.contains("an index from 0 to 1") && error.contains(&index.to_string()), "{error}");
        }
        assert!(PlanCache::among(0, 0).unwrap_err().to_string().contains("no cuda device"));
        // No more words than indices, however many devices a driver counts.
        assert!(PlanCache::among(u32::MAX, 128).is_err());
    }

    #[test]
    fn what_is_no_cuda_device_is_named() {
        for (given, shown) in [("cpu", "cpu"), ("cuda", "cuda"), ("meta:1", "meta:1")] {
            let error = PlanCache::named(&InputValue::Text(given.into())).unwrap_err();
            assert!(matches!(&error, Error::NoSuchDevice { given, .. } if given.ends_with(shown)), "{error}");
        }
        assert!(matches!(PlanCache::named(&InputValue::Bool(true)), Err(Error::NoSuchDevice { .. })));
    }

    #[test]
    fn a_number_of_plans_is_checked_and_named() {
        let cache = PlanCache::among(4, 3).unwrap();
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
