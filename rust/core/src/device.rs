//! Device names: a type and an optional index.

use std::fmt;
use std::str::FromStr;

use crate::base::fork::rank;
use crate::base::sync::ForkLock;
use crate::{Error, Result};

macro_rules! device_types {
    ($($variant:ident = $name:literal, $number:literal;)+) => {
        /// Device types: those of PyTorch (`c10::DeviceType`), the host driver, and those of registered drivers.
        ///
        /// ```
        /// use interlock_core::device::DeviceType;
        ///
        /// let kind: DeviceType = "cuda".parse()?;
        /// assert_eq!(kind, DeviceType::Cuda);
        /// // The type of a driver that another crate registers.
        /// assert_eq!(DeviceType::from_name("mychip")?.name(), "mychip");
        /// # Ok::<(), interlock_core::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum DeviceType {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
            /// The type of a driver that is registered under this name; see [`DeviceType::from_name`].
            Registered(&'static str),
        }

        impl DeviceType {
            /// Every predefined type.
            pub const ALL: &[DeviceType] = &[$(DeviceType::$variant,)+];

            /// Returns the name, as in `device("name:0")`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(DeviceType::$variant => $name,)+
                    DeviceType::Registered(name) => name,
                }
            }

            /// Returns the number of PyTorch's `c10::DeviceType`; `host` and registered types have numbers that it does
            /// not use.
            pub fn number(self) -> u32 {
                match self {
                    $(DeviceType::$variant => $number,)+
                    DeviceType::Registered(name) => {
                        // A program may have created the variant without `named`.
                        FIRST_REGISTERED + registered_position(name) as u32
                    }
                }
            }

            /// Returns the type with this number.
            pub fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(DeviceType::$variant),)+
                    _ => {
                        let index = number.checked_sub(FIRST_REGISTERED)? as usize;
                        NAMES.lock().get(index).copied().map(DeviceType::Registered)
                    }
                }
            }
        }
    };
}

/// The index of a device of one driver.
pub type DeviceIndex = u8;

const FIRST_REGISTERED: u32 = 65;

device_types! {
    Cpu = "cpu", 0;
    Cuda = "cuda", 1;
    Ipu = "ipu", 18;
    Xpu = "xpu", 12;
    Mkldnn = "mkldnn", 2;
    OpenGl = "opengl", 3;
    OpenCl = "opencl", 4;
    Ideep = "ideep", 5;
    Hip = "hip", 6;
    Ve = "ve", 16;
    Fpga = "fpga", 7;
    Maia = "maia", 8;
    Xla = "xla", 9;
    Lazy = "lazy", 17;
    Vulkan = "vulkan", 10;
    Mps = "mps", 13;
    Meta = "meta", 14;
    Hpu = "hpu", 15;
    Mtia = "mtia", 19;
    PrivateUseOne = "privateuseone", 20;
    Host = "host", 64;
}

/// The names that [`DeviceType::from_name`] has added.
static NAMES: ForkLock<Vec<&'static str>> = ForkLock::new(rank::DEVICE_NAMES, Vec::new());

impl DeviceType {
    /// Returns the type with this name, and creates it for a registered driver if there is none. A name consists of
    /// lower-case letters, digits and underscores and begins with a letter.
    pub fn from_name(name: &str) -> Result<Self> {
        if let Ok(known) = name.parse() {
            return Ok(known);
        }
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if !name.starts_with(|first: char| first.is_ascii_lowercase()) || !name.bytes().all(fits) {
            return Err(unknown_type(name));
        }
        // Types are `Copy` and live until the process exits, so their names do, too.
        let name: &'static str = Box::leak(name.into());
        registered_position(name);
        Ok(DeviceType::Registered(name))
    }
}

/// Returns the position of a name in [`NAMES`], to which it is added if it is absent.
fn registered_position(name: &'static str) -> usize {
    let mut names = NAMES.lock();
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DeviceType {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let registered = || NAMES.lock().iter().copied().find(|known| *known == name);
        let fixed = Self::ALL.iter().copied().find(|kind| kind.name() == name);
        fixed.or_else(|| registered().map(DeviceType::Registered)).ok_or_else(|| unknown_type(name))
    }
}

/// A device: its type and index. No index means the current device of the type.
///
/// ```
/// use interlock_core::device::{Device, DeviceType};
///
/// let device: Device = "cuda:1".parse()?;
/// assert_eq!((device.kind(), device.index()), (DeviceType::Cuda, Some(1)));
/// assert_eq!(Device::CPU.to_string(), "cpu");
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    kind: DeviceType,
    index: Option<u8>,
}

impl Device {
    /// The CPU.
    pub const CPU: Device = Device { kind: DeviceType::Cpu, index: None };

    /// The current CUDA device.
    pub const CUDA: Device = Device { kind: DeviceType::Cuda, index: None };

    /// The largest index: PyTorch stores it in eight signed bits.
    pub const MAX_INDEX: u8 = i8::MAX as u8;

    /// Creates a device of `kind`; `index` is from 0 to [`Device::MAX_INDEX`].
    pub fn new(kind: DeviceType, index: Option<i64>) -> Result<Self> {
        let index = index
            .map(|index| checked_index(index).ok_or_else(|| Device::invalid_index(index)))
            .transpose()?;
        Ok(Device { kind, index })
    }

    /// Creates a device without an index: the current device of the type.
    pub const fn of(kind: DeviceType) -> Self {
        Device { kind, index: None }
    }

    /// Creates a device with an index of its driver.
    pub fn with_index(kind: DeviceType, index: DeviceIndex) -> Self {
        Device { kind, index: Some(index) }
    }

    /// Returns the error for an index that is out of range.
    pub fn invalid_index(given: impl fmt::Display) -> Error {
        Error::DeviceIndex { given: given.to_string(), max: Device::MAX_INDEX }
    }

    /// Returns the type.
    pub fn kind(self) -> DeviceType {
        self.kind
    }

    /// Returns the index, or `None` for the current device of the type.
    pub fn index(self) -> Option<u8> {
        self.index
    }
}

fn checked_index(index: i64) -> Option<u8> {
    u8::try_from(index).ok().filter(|&index| index <= Device::MAX_INDEX)
}

fn unknown_type(given: &str) -> Error {
    Error::UnknownDeviceType { given: given.to_owned(), available: None }
}

/// Parses `type` or `type:index`; the index has no sign and no leading zero.
impl FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some((kind, index)) = text.split_once(':') else {
            return Device::new(text.parse()?, None);
        };
        let kind = kind.parse()?;
        let canonical = index == "0" || !index.starts_with('0');
        let is_number = canonical && index.bytes().all(|byte| byte.is_ascii_digit());
        let number = index.parse().ok().filter(|_| is_number).and_then(checked_index);
        let invalid = || Error::DeviceName { given: text.to_owned(), max: Device::MAX_INDEX };
        Ok(Device { kind, index: Some(number.ok_or_else(invalid)?) })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}:{index}", self.kind),
            None => write!(f, "{}", self.kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_display_parses_to_the_device() {
        for text in ["cpu", "cpu:1", "cuda", "cuda:0", "cuda:127", "meta"] {
            assert_eq!(text.parse::<Device>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn number_of_a_type_that_was_not_named_is_its_own() {
        let named = DeviceType::from_name("device_test_chip").unwrap();
        let created = DeviceType::Registered("device_test_other");
        assert_ne!(created.number(), named.number());
        assert_eq!(DeviceType::from_number(created.number()), Some(created));
    }

    #[test]
    fn device_from_str_refuses_malformed_and_large_indices() {
        for text in
            ["cuda:", "cuda:-1", "cuda:01", "cuda:+1", "cuda:128", "cuda: 1", "cuda:99999999999999999999"]
        {
            assert!(matches!(text.parse::<Device>(), Err(Error::DeviceName { .. })), "{text}");
        }
        assert!(Device::new(DeviceType::Cuda, Some(-1)).is_err());
        assert!(Device::new(DeviceType::Cuda, Some(256)).is_err());
    }

    #[test]
    fn device_from_str_names_an_unknown_type() {
        let error = "nope:0".parse::<Device>().unwrap_err();
        assert!(error.to_string().contains("nope"), "{error}");
    }
}
