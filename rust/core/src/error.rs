//! What can go wrong, with the data that a message needs.

use std::fmt;

use crate::accelerator::{Device, DeviceType};
use crate::backends::Site;

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Nothing has changed when one of these is returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A flag was given a value of the wrong type.
    FlagType {
        /// What was written, as a program names it.
        name: String,
        /// The value, as a message shows it.
        given: String,
        /// What the flag takes.
        allowed: String,
    },
    /// A flag was given a value of the right type that it does not take.
    FlagValue {
        /// What was written, as a program names it.
        name: String,
        /// The value, as a message shows it.
        given: String,
        /// What the flag takes.
        allowed: String,
    },
    /// A flag was to be written while flags are frozen.
    FlagsFrozen {
        /// What was written, or the operation, as a program names it.
        name: String,
        /// Where flags were frozen.
        by: Site,
    },
    /// No flag has this name.
    UnknownFlag {
        /// The name given.
        name: String,
        /// The flag that was probably meant.
        near: Option<String>,
    },
    /// A flag can't be registered.
    FlagRegistration {
        /// Its dotted name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// No environment variable of ours has this name.
    UnknownVariable {
        /// The name.
        name: String,
        /// The variable that was probably meant, and what it takes.
        meant: Option<(String, String)>,
    },
    /// The name can only be read.
    ReadOnlyFlag {
        /// The flag, as a program names it.
        name: String,
    },
    /// No device type has this name.
    UnknownDeviceType {
        /// The name given.
        given: String,
    },
    /// A device index that is malformed or out of range.
    DeviceIndex {
        /// The text or number given.
        given: String,
    },
    /// What was named is no device that is there, or of a type that does not fit.
    NoSuchDevice {
        /// What takes a device, as a program names it.
        name: String,
        /// What was given, as a message shows it.
        given: String,
        /// What it takes.
        allowed: String,
    },
    /// An operation needs an accelerator and there is none.
    NoAccelerator {
        /// What was to be done.
        operation: &'static str,
        /// What was looked for and not found.
        reason: String,
    },
    /// An operation needs a vendor library that is absent or can't be used.
    LibraryNotFound {
        /// The library, as its makers write it.
        library: &'static str,
        /// What was to be done.
        operation: String,
        /// Where it was looked for, or why what was found is of no use.
        reason: String,
    },
    /// A vendor library did not do what it was asked.
    LibraryRefused {
        /// The library, as its makers write it.
        library: &'static str,
        /// What was to be done.
        operation: String,
        /// What its function returned.
        status: i32,
    },
    /// A step of a task was begun while another one runs.
    TaskIsRunning,
    /// An allocator could not serve a request.
    OutOfMemory {
        /// Where the memory was asked for.
        device: Device,
        /// How many bytes were asked for.
        requested: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::FlagType { name, given, allowed }
            | Error::FlagValue { name, given, allowed }
            | Error::NoSuchDevice { name, given, allowed } => {
                write!(f, "{name} takes {allowed}, got {given}")
            }
            Error::FlagsFrozen { name, by } => {
                write!(f, "{name} is refused: flags were frozen at {by}")
            }
            Error::UnknownFlag { name, near: Some(near) } => {
                write!(f, "there is no flag {name}; did you mean {near}?")
            }
            Error::UnknownFlag { name, near: None } => write!(f, "there is no flag {name}"),
            Error::FlagRegistration { name, reason } => {
                write!(f, "the flag {name:?} can't be registered: {reason}")
            }
            Error::UnknownVariable { name, meant: Some((near, allowed)) } => {
                write!(f, "there is no variable {name}; did you mean {near}, which takes {allowed}?")
            }
            Error::UnknownVariable { name, meant: None } => {
                write!(f, "there is no variable {name}, and the prefix is interlock's own")
            }
            Error::ReadOnlyFlag { name } => write!(f, "{name} can only be read"),
            Error::UnknownDeviceType { given } => {
                let known: Vec<_> = DeviceType::ALL.iter().map(|kind| kind.name()).collect();
                write!(f, "unknown device type {given:?}; known types: {}", known.join(", "))
            }
            Error::DeviceIndex { given } => write!(
                f,
                "invalid device index in {given:?}; an index is a number from 0 to {} without sign or leading zeros",
                Device::MAX_INDEX
            ),
            Error::NoAccelerator { operation, reason } => {
                write!(f, "{operation} needs an accelerator and there is none: {reason}")
            }
            Error::LibraryNotFound { library, operation, reason } => {
                write!(f, "{operation} needs {library}: {reason}")
            }
            Error::LibraryRefused { library, operation, status } => {
                write!(f, "{operation} failed: {library} returned {status}")
            }
            Error::TaskIsRunning => f.write_str("the state of this task is in force already"),
            Error::OutOfMemory { device, requested } => {
                write!(f, "out of memory on {device}: could not allocate {requested} bytes")
            }
        }
    }
}

impl std::error::Error for Error {}
