//! Limits of the reserved and the cached memory of a process.

use std::str::FromStr;

use interlock_core::base::quote::quoted;

use super::stats_api::with_allocator;
use crate::allocators::without_total;
use crate::{Device, Error, Result, current, registry};

/// A memory limit: a number of bytes, or a fraction of the memory of a device.
///
/// ```
/// use interlock_accelerator::memory::{Limit, limit, set_limit};
///
/// interlock_accelerator::use_named("host")?;
/// assert_eq!("90%".parse(), Ok(Limit::Fraction(0.9)));
/// set_limit(Some(Limit::Bytes(1 << 30)), None)?;
/// assert_eq!(limit(None)?, Some(1 << 30));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Limit {
    /// A number of bytes.
    Bytes(u64),
    /// A fraction of the device's total memory, from 0 to 1.
    Fraction(f64),
}

const SET_LIMIT: &str = "accelerator.memory.set_limit";
const SET_CACHE_LIMIT: &str = "accelerator.memory.set_cache_limit";

impl Limit {
    /// The accepted limits, for messages.
    pub const ALLOWED: &str =
        "a number of bytes, a fraction from 0.0 to 1.0, a percentage such as \"90%\", or None";

    /// Returns a limit of a fraction of the total memory.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] for a number that is not from 0 to 1.
    pub fn fraction(part: f64) -> Result<Self> {
        if (0.0..=1.0).contains(&part) { Ok(Limit::Fraction(part)) } else { Err(refused(part.to_string())) }
    }

    fn bytes_of(self, total: u64) -> u64 {
        match self {
            Limit::Bytes(bytes) => bytes,
            Limit::Fraction(part) => (part * total as f64) as u64,
        }
    }
}

fn refused(given: String) -> Error {
    Error::argument("limit", given, Limit::ALLOWED)
}

/// Parses a percentage such as `"90%"`.
impl FromStr for Limit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let fraction = percent.map(|percent| percent / 100.0).filter(|part| (0.0..=1.0).contains(part));
        fraction.map(Limit::Fraction).ok_or_else(|| refused(quoted(text)))
    }
}

/// Sets the largest number of bytes that this process may reserve on a device, allocated or cached; `None` for no
/// limit. Returns the previous limit. Memory that is already reserved stays reserved. No device means the current
/// device.
///
/// # Errors
/// Returns [`Error::DeviceUnavailable`], the error of an invalid configuration, and [`Error::Argument`] for a fraction if
/// the device does not report its memory.
pub fn set_limit(limit: Option<Limit>, device: Option<Device>) -> Result<Option<u64>> {
    let (accelerator, index) = current::resolve(device, SET_LIMIT)?;
    let limit = in_bytes(limit, accelerator.started().device(index), SET_LIMIT)?;
    let device = accelerator.device(index)?;
    device.allocator(SET_LIMIT)?.with_limit(device, |current| std::mem::replace(current, limit))
}

/// Returns the limit in bytes that [`set_limit`] or a configuration last set. Starts no driver.
pub fn limit(device: Option<Device>) -> Result<Option<u64>> {
    with_allocator(device, |allocator, device| Some(allocator.with_limit(device, |limit| *limit)))?
        .unwrap_or(Ok(None))
}

/// Sets the largest number of bytes that may be cached on a device, `None` for no limit; returns the previous one.
/// Releases blocks beyond it to the driver, in the order in which they were freed. No device means the current device.
pub fn set_cache_limit(limit: Option<Limit>, device: Option<Device>) -> Result<Option<u64>> {
    let (accelerator, index) = current::resolve(device, SET_CACHE_LIMIT)?;
    let limit = in_bytes(limit, accelerator.started().device(index), SET_CACHE_LIMIT)?;
    let device = accelerator.device(index)?;
    Ok(device.allocator(SET_CACHE_LIMIT)?.set_cache_limit(device, limit))
}

/// Returns the limit in bytes that [`set_cache_limit`] last set. Starts no driver.
pub fn cache_limit(device: Option<Device>) -> Result<Option<u64>> {
    with_allocator(device, |allocator, _| allocator.cache_limit())
}

/// Returns whether the program has limited the memory of a device. Starts no driver.
pub(super) fn is_any_set() -> bool {
    limits().is_ok_and(|limits| limits.iter().any(|(limit, _)| limit.is_some()))
}

/// Returns the limits of reserved and of cached memory of each device; nothing before a driver is in use. Starts no
/// driver.
pub fn limits() -> Result<Vec<(Option<u64>, Option<u64>)>> {
    let Some(accelerator) = registry::try_accelerator() else { return Ok(Vec::new()) };
    let limits = accelerator.devices("the accelerator")?.iter().map(|device| {
        let allocator = device.allocator("the accelerator")?;
        Ok((allocator.with_limit(device, |limit| *limit)?, allocator.cache_limit()))
    });
    limits.collect()
}

fn in_bytes(limit: Option<Limit>, device: Device, operation: &str) -> Result<Option<u64>> {
    let total = match limit {
        Some(Limit::Fraction(fraction)) => match current::memory_info(Some(device))?.total {
            0 => {
                let allowed = without_total(device, "a number of bytes or None");
                return Err(Error::argument(format!("{operation}: limit"), fraction.to_string(), allowed));
            }
            total => total,
        },
        _ => 0,
    };
    Ok(limit.map(|limit| limit.bytes_of(total)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_parses_a_percentage_as_a_fraction() {
        assert_eq!("90%".parse(), Ok(Limit::Fraction(0.9)));
        assert_eq!(" 12.5 % ".parse(), Ok(Limit::Fraction(0.125)));
        assert_eq!(Limit::Fraction(0.5).bytes_of(1 << 40), 1 << 39);
        for text in ["90", "101%", "-1%", "%", "nan%", "many"] {
            assert!(matches!(text.parse::<Limit>(), Err(Error::Argument { .. })), "{text}");
        }
        assert!(Limit::fraction(f64::NAN).is_err() && Limit::fraction(1.0).is_ok());
    }
}
