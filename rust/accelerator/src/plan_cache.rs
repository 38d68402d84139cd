//! The plans of Fourier transforms that each device caches. Like flags, their size limits are written under the lock of the
//! process and not while flags are frozen.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use interlock_core::base::fork::rank;
use interlock_core::base::sync::{ForkLock, RelaxedU64};
use interlock_core::binding::flags::{parse_count, write_unless_frozen};
use interlock_core::flags::InputValue;

use crate::started::current_index_or_zero;
use crate::{Device, DeviceType, Error, Result, registry};

const NAME: &str = "cuda.cufft_plan_cache";
const EXPECTED: &str = "a device of the accelerator with an index, or an index";
/// PyTorch's default.
const DEFAULT: u64 = 4096;
const MAX_PLANS: u64 = i64::MAX as u64;

/// The limit of each possible device index.
static MAX_SIZES: [RelaxedU64; Device::MAX_INDEX as usize + 1] =
    [const { RelaxedU64::new(DEFAULT) }; Device::MAX_INDEX as usize + 1];

/// The plans of all devices by device index.
static PLANS: ForkLock<BTreeMap<u8, Plans>> = ForkLock::new(rank::PLANS, BTreeMap::new());

/// What a plan computes. Kernels that make plans of one type exchange those with equal keys.
///
/// ```
/// use interlock_accelerator::PlanKey;
///
/// let key = PlanKey { transform: "rfft", dtype: "float32", sizes: vec![128], batch: 4 };
/// assert_ne!(key, PlanKey { batch: 5, ..key.clone() });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanKey {
    /// The name of the transform.
    pub transform: &'static str,
    /// The name of the element type.
    pub dtype: &'static str,
    /// The transformed sizes.
    pub sizes: Vec<usize>,
    /// The number of transforms.
    pub batch: usize,
}

/// A plan, and whether the cache had it.
///
/// ```
/// use std::sync::Arc;
///
/// use interlock_accelerator::CachedPlan;
///
/// let planned = CachedPlan { plan: Arc::new([1.0, 0.5]), is_hit: false };
/// assert_eq!(planned.plan.len(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct CachedPlan<P> {
    /// The plan. It exists as long as something refers to it, also after it was removed from the cache.
    pub plan: Arc<P>,
    /// Whether an earlier transform made it.
    pub is_hit: bool,
}

/// The cached plans of a device.
#[derive(Default)]
struct Plans {
    by_key: HashMap<(TypeId, PlanKey), Plan>,
    /// The number of uses of all plans.
    uses: u64,
}

struct Plan {
    plan: Arc<dyn Any + Send + Sync>,
    /// The number of uses of all plans at the last use of this one.
    last_use: u64,
}

impl Plans {
    /// Returns a plan, which then is the last used one.
    fn find(&mut self, key: &(TypeId, PlanKey)) -> Option<Arc<dyn Any + Send + Sync>> {
        self.uses += 1;
        let found = self.by_key.get_mut(key)?;
        found.last_use = self.uses;
        Some(found.plan.clone())
    }

    /// Removes the plans that were not used for the longest time, until `max_size` remain.
    fn evict(&mut self, max_size: u64) -> Vec<Plan> {
        let mut evicted = Vec::new();
        while self.by_key.len() as u64 > max_size {
            let oldest = self.by_key.iter().min_by_key(|(_, plan)| plan.last_use).map(|(key, _)| key.clone());
            evicted.extend(oldest.and_then(|key| self.by_key.remove(&key)));
        }
        evicted
    }
}

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
    /// Returns the cache of a device of the driver in use; `given` is its index or its name. Starts the driver.
    ///
    /// # Errors
    /// Returns [`Error::NoSuchDevice`] and [`Error::NoAccelerator`].
    pub fn from_input(given: &InputValue) -> Result<Self> {
        match given {
            InputValue::Integer(index) => Self::from_index(devices()?.1, *index),
            InputValue::Text(text) => Self::from_device(registry::parse_device(text)?),
            _ => Err(no_such_device(given.to_string(), EXPECTED.to_owned())),
        }
    }

    /// Returns the cache of a device of the driver in use. Starts the driver.
    ///
    /// # Errors
    /// Returns [`Error::NoSuchDevice`] and [`Error::NoAccelerator`].
    pub fn from_device(device: Device) -> Result<Self> {
        let refused = || no_such_device(format!("the device {device}"), EXPECTED.to_owned());
        if matches!(device.kind(), DeviceType::Cpu | DeviceType::Meta) {
            return Err(refused());
        }
        let index = device.index().ok_or_else(refused)?;
        let (kind, count) = devices()?;
        if device.kind() == kind { Self::from_index(count, i64::from(index)) } else { Err(refused()) }
    }

    /// Returns the cache of the current device. Starts the driver.
    pub fn current() -> Result<Self> {
        let (_, count) = devices()?;
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

    /// Returns the number of cached plans.
    pub fn size(&self) -> u64 {
        PLANS.lock().get(&self.index).map_or(0, |plans| plans.by_key.len() as u64)
    }

    /// Returns the plan of a key, which `make` makes unless it is cached. The plan that was not used for the longest time is
    /// removed if there are too many. With a largest number of 0 nothing is cached.
    ///
    /// # Errors
    /// Returns the error of `make`, and caches nothing.
    pub fn plan<P: Any + Send + Sync, E>(
        &self,
        key: PlanKey,
        make: impl FnOnce() -> Result<P, E>,
    ) -> Result<CachedPlan<P>, E> {
        let key = (TypeId::of::<P>(), key);
        let found = PLANS.lock().entry(self.index).or_default().find(&key);
        if let Some(plan) = found {
            let plan = plan.downcast();
            debug_assert!(plan.is_ok(), "a key has the type of its plan");
            if let Ok(plan) = plan {
                return Ok(CachedPlan { plan, is_hit: true });
            }
        }
        // Made without the lock: a large plan takes milliseconds.
        let plan = Arc::new(make()?);
        let mut all = PLANS.lock();
        let plans = all.entry(self.index).or_default();
        let replaced = plans.by_key.insert(key, Plan { plan: plan.clone(), last_use: plans.uses });
        let evicted = plans.evict(self.max_size());
        drop(all);
        // A plan may free memory of a library, which takes locks of its own.
        drop((replaced, evicted));
        Ok(CachedPlan { plan, is_hit: false })
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
        write_unless_frozen(&name, || self.max_size.set(size)).map_err(Error::from)?;
        let evicted = PLANS.lock().get_mut(&self.index).map(|plans| plans.evict(size));
        drop(evicted);
        Ok(())
    }

    /// Removes all cached plans. Work that uses them keeps them.
    pub fn clear(&self) {
        let removed = PLANS.lock().remove(&self.index);
        drop(removed);
    }
}

/// Returns the type and the number of the devices of the driver in use.
///
/// # Errors
/// Returns [`Error::NoAccelerator`] if there is no device of any type.
fn devices() -> Result<(DeviceType, u32)> {
    let accelerator = registry::required("backends.cuda.cufft_plan_cache")?;
    Ok((accelerator.kind(), registry::device_count()))
}

fn indices(count: u32) -> String {
    match count.checked_sub(1) {
        Some(last) => format!("an index from 0 to {last}"),
        None => "an index of a device, of which this process has none".to_owned(),
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
    fn plan_is_made_once_and_the_least_recently_used_one_is_evicted() {
        let cache = PlanCache::from_index(6, 5).unwrap();
        let key = |size| PlanKey { transform: "fft", dtype: "float32", sizes: vec![size], batch: 1 };
        let plan = |size| cache.plan(key(size), || Ok::<_, ()>(size)).unwrap();
        cache.set_max_size(&InputValue::Integer(2)).unwrap();
        let hits = [8, 8, 16, 8, 32, 8, 16].map(|size| {
            let planned = plan(size);
            assert_eq!(*planned.plan, size);
            planned.is_hit
        });
        assert_eq!(hits, [false, true, false, true, false, true, false], "32 evicted 16, not 8");
        assert_eq!(cache.size(), 2);
        assert_eq!(cache.plan(key(8), || Err::<u8, _>("no plan")).unwrap_err(), "no plan", "of another type");
        let kept = plan(8).plan;
        cache.set_max_size(&InputValue::Integer(1)).unwrap();
        assert_eq!((cache.size(), plan(8).is_hit), (1, true));
        cache.clear();
        assert_eq!((cache.size(), *kept, plan(8).is_hit), (0, 8, false));
        cache.set_max_size(&InputValue::Integer(0)).unwrap();
        assert_eq!((cache.size(), plan(8).is_hit, plan(8).is_hit, cache.size()), (0, false, false, 0));
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
