//! Limits of the memory that a process reserves and caches.

use std::str::FromStr;

use super::stats_api::with_allocator;
use crate::{Device, Error, Result, current};

/// A limit of memory: a number of bytes, or a fraction of the memory of a device.
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
pub enum Limit {
    /// So many bytes.
    Bytes(u64),
    /// A part of all memory of the device, from 0 to 1.
    Fraction(f64),
}

const SET_LIMIT: &str = "accelerator.memory.set_limit";
const SET_CACHE_LIMIT: &str = "accelerator.memory.set_cache_limit";

impl Limit {
    /// What a limit may be, for messages.
    pub const ALLOWED: &str =
        "a number of bytes, a fraction from 0.0 to 1.0, a percentage such as \"90%\", or None";

    /// A part of all memory. Fails with [`Error::Argument`] for what is not from 0 to 1.
    pub fn fraction(part: f64) -> Result<Self> {
        if (0.0..=1.0).contains(&part) { Ok(Limit::Fraction(part)) } else { Err(refused(part.to_string())) }
    }

    fn bytes_of(self, total: u64) -> u64 {
        match self {
            Limit::Bytes(bytes) => bytes,
            // A part of a whole number of bytes fits one.
            Limit::Fraction(part) => (part * total as f64) as u64,
        }
    }
}

fn refused(given: String) -> Error {
    Error::Argument { name: "a memory limit", given, allowed: Limit::ALLOWED.to_owned() }
}

/// `"90%"`.
impl FromStr for Limit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let fraction = percent.map(|percent| percent / 100.0).filter(|part| (0.0..=1.0).contains(part));
        fraction.map(Limit::Fraction).ok_or_else(|| refused(format!("{text:?}")))
    }
}

/// How many bytes this process may take of a device's memory at most, used or kept; `None` for all. Returns what it
/// was. What is taken already stays. No device is the current one.
pub fn set_limit(limit: Option<Limit>, device: Option<Device>) -> Result<Option<u64>> {
    let (accelerator, index) = current::resolve(device, SET_LIMIT)?;
    let limit = in_bytes(limit, accelerator.device(index))?;
    accelerator
        .allocator(index, SET_LIMIT)?
        .with_limit(accelerator, |current| std::mem::replace(current, limit))
}

/// What [`set_limit`] or a configuration last set, in bytes. A question starts no driver.
pub fn limit(device: Option<Device>) -> Result<Option<u64>> {
    with_allocator(device, |allocator, accelerator| Some(allocator.with_limit(accelerator, |limit| *limit)))?
        .unwrap_or(Ok(None))
}

/// Sets the largest number of bytes that may be cached on a device, `None` for any number; returns the previous one.
/// Blocks beyond it are released to the driver, those first that were freed first. Without a device it is the current
/// one.
pub fn set_cache_limit(limit: Option<Limit>, device: Option<Device>) -> Result<Option<u64>> {
    let (accelerator, index) = current::resolve(device, SET_CACHE_LIMIT)?;
    let limit = in_bytes(limit, accelerator.device(index))?;
    Ok(accelerator.allocator(index, SET_CACHE_LIMIT)?.set_cache_limit(accelerator, limit))
}

/// What [`set_cache_limit`] last set, in bytes. A question starts no driver.
pub fn cache_limit(device: Option<Device>) -> Result<Option<u64>> {
    with_allocator(device, |allocator, _| allocator.cache_limit())
}

fn in_bytes(limit: Option<Limit>, device: Device) -> Result<Option<u64>> {
    let total = match limit {
        Some(Limit::Fraction(_)) => current::memory_info(Some(device))?.total,
        _ => 0,
    };
    Ok(limit.map(|limit| limit.bytes_of(total)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_a_part_of_the_whole() {
        assert_eq!("90%".parse(), Ok(Limit::Fraction(0.9)));
        assert_eq!(" 12.5 % ".parse(), Ok(Limit::Fraction(0.125)));
        assert_eq!(Limit::Fraction(0.5).bytes_of(1 << 40), 1 << 39);
        for text in ["90", "101%", "-1%", "%", "nan%", "many"] {
            assert!(matches!(text.parse::<Limit>(), Err(Error::Argument { .. })), "{text}");
        }
        assert!(Limit::fraction(f64::NAN).is_err() && Limit::fraction(1.0).is_ok());
    }
}
