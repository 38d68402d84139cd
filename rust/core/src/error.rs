//! What can go wrong, with the data that a message needs.

use std::fmt;
use std::path::PathBuf;

use crate::accelerator::memory::OutOfMemory;
use crate::accelerator::{Device, DeviceType};
use crate::backends::SourceLocation;

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
    /// A flag was given a value that it takes, but the process-wide table that has to store it is full.
    FlagTableFull {
        /// What was written, as a program names it.
        name: String,
        /// The value, as a message shows it.
        given: String,
        /// The table and its size, in words.
        table: String,
    },
    /// A flag was to be written while flags are frozen.
    FlagsFrozen {
        /// What was written, or the operation, as a program names it.
        name: String,
        /// Where flags were frozen.
        by: SourceLocation,
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
    /// An environment variable resembles the variable of a registered flag, and no registered flag reads it.
    UnreadVariable {
        /// The name.
        name: String,
        /// The variable that was probably meant, and what it takes.
        meant: (String, String),
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
    /// A device did not do what it was asked, or told late that it failed to do what was queued.
    Device {
        /// Where.
        device: Device,
        /// What failed: the operation that was queued, if it is told late.
        operation: String,
        /// Why.
        reason: String,
        /// The driver's number for it, if it has one.
        code: Option<i32>,
    },
    /// A device is gone for good, and everything on it.
    DeviceLost {
        /// Which.
        device: Device,
        /// What was to be done.
        operation: String,
        /// What is known about why.
        reason: String,
    },
    /// A driver can't do this at all.
    Unsupported {
        /// What was to be done.
        operation: &'static str,
        /// The devices of the driver.
        device: Device,
    },
    /// A handle of a process was used in one that was forked from it.
    Forked {
        /// What it is.
        what: &'static str,
    },
    /// A graph was used in the wrong order, or a capture can't be repeated.
    Graph {
        /// What was to be done.
        operation: &'static str,
        /// What stands against it.
        reason: String,
    },
    /// A driver was to be chosen or registered when one is in use.
    DriverInUse {
        /// The name of the driver that was to be used.
        asked_for: &'static str,
        /// The name of the driver in use.
        in_use: &'static str,
    },
    /// No driver has this name.
    UnknownDriver {
        /// The name given.
        given: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// A value that an argument does not take.
    Argument {
        /// What takes it, as a program names it.
        name: &'static str,
        /// What was given, as a message shows it.
        given: String,
        /// What it takes.
        allowed: String,
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
    /// A path that the user gave is not that of a vendor library that can be used.
    LibraryPath {
        /// The library, as its makers write it.
        library: &'static str,
        /// The variable or call that gave the path.
        by: String,
        /// The path.
        path: PathBuf,
        /// Why it can't be used.
        reason: String,
    },
    /// No vendor library has this name.
    UnknownLibrary {
        /// The name given.
        name: String,
        /// The one that was probably meant.
        near: Option<&'static str>,
        /// All names.
        allowed: String,
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
    /// The host of this crate ended a wait.
    Interrupted,
    /// An allocator could not serve a request.
    OutOfMemory(Box<OutOfMemory>),
}

impl Error {
    /// Names the operation of the caller where a device was lost: the call of the driver that noticed it is internal.
    #[must_use]
    pub fn during(mut self, caller: &str) -> Self {
        if let Error::DeviceLost { operation, .. } = &mut self {
            caller.clone_into(operation);
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::FlagType { name, given, allowed }
            | Error::FlagValue { name, given, allowed }
            | Error::NoSuchDevice { name, given, allowed } => {
                write!(f, "{name} takes {allowed}, got {given}")
            }
            Error::FlagTableFull { name, given, table } => write!(f, "{name} cannot hold {given}: {table}"),
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
            Error::UnreadVariable { name, meant: (near, allowed) } => {
                write!(
                    f,
                    "no flag registered so far reads {name}; did you mean {near}, which takes {allowed}?"
                )
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
            Error::Device { device, operation, reason, code: Some(code) } => {
                write!(f, "{operation} failed on {device}: {reason} (error {code})")
            }
            Error::Device { device, operation, reason, code: None } => {
                write!(f, "{operation} failed on {device}: {reason}")
            }
            Error::DeviceLost { device, operation, reason } => {
                write!(f, "{operation} is impossible: {device} was lost: {reason}")
            }
            Error::Unsupported { operation, device } => {
                write!(f, "{operation} is not supported on {device}")
            }
            Error::Forked { what } => write!(
                f,
                "{what} belongs to the process from which this one was forked, and can't be used here; use \
                 devices in the child only, or start it with the method spawn or forkserver"
            ),
            Error::Graph { operation, reason } => write!(f, "{operation} failed: {reason}"),
            Error::DriverInUse { asked_for, in_use } => write!(
                f,
                "accelerator.use({asked_for:?}) comes too late: the driver {in_use:?} is in use, and it is fixed \
                 at first use"
            ),
            Error::UnknownDriver { given, known } => {
                write!(f, "there is no driver {given:?}; known: {}", known.join(", "))
            }
            Error::Argument { name, given, allowed } => write!(f, "{name} takes {allowed}, got {given}"),
            Error::LibraryNotFound { library, operation, reason } => {
                write!(f, "{operation} needs {library}: {reason}")
            }
            Error::LibraryPath { library, by, path, reason } => {
                write!(f, "{by} gives {path:?} for {library}, which can't be used: {reason}")
            }
            Error::UnknownLibrary { name, near: Some(near), .. } => {
                write!(f, "there is no vendor library {name:?}; did you mean {near:?}?")
            }
            Error::UnknownLibrary { name, near: None, allowed } => {
                write!(f, "there is no vendor library {name:?}; there are {allowed}")
            }
            Error::LibraryRefused { library, operation, status } => {
                write!(f, "{operation} failed: {library} returned {status}")
            }
            Error::TaskIsRunning => f.write_str("the state of this task is in force already"),
            Error::Interrupted => f.write_str("the wait was interrupted"),
            Error::OutOfMemory(told) => told.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
