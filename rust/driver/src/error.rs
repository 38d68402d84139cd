//! Errors of devices and drivers, with the data that their messages need.

use interlock_core::Error as CoreError;

use crate::{Device, OutOfMemory};

/// The result of an operation on a device.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of an operation on a device. The call that returns it has changed nothing.
///
/// ```
/// use interlock_driver::{Device, Error};
///
/// let error = Error::Unsupported { operation: "Graph.replay", device: Device::CPU };
/// assert_eq!(error.to_string(), "Graph.replay is not supported on cpu");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An error of flags, names of devices or vendor libraries.
    Core(CoreError),
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
        requested: &'static str,
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
    /// The host of this crate ended a wait.
    Interrupted,
    /// An allocator could not serve a request.
    OutOfMemory(Box<OutOfMemory>),
}

impl Error {
    /// Returns the error of an argument that is not accepted. `name` is what takes it, as a program names it.
    pub fn argument(name: &'static str, given: impl Into<String>, allowed: impl Into<String>) -> Self {
        Error::Argument { name, given: given.into(), allowed: allowed.into() }
    }

    /// Returns the error of an operation that failed without a number of the driver.
    pub fn device(device: Device, operation: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Device { device, operation: operation.into(), reason: reason.into(), code: None }
    }

    /// Names the operation of the caller where a device was lost: the call of the driver that noticed it is internal.
    #[must_use]
    pub fn during(mut self, caller: &str) -> Self {
        if let Error::DeviceLost { operation, .. } = &mut self {
            caller.clone_into(operation);
        }
        self
    }
}

impl OutOfMemory {
    /// Returns the error of a request for memory that no allocator caches.
    pub fn error(device: Device, requested: usize) -> Error {
        Error::OutOfMemory(Box::new(OutOfMemory { device, requested, cache: None }))
    }
}

impl From<CoreError> for Error {
    fn from(error: CoreError) -> Self {
        Error::Core(error)
    }
}

interlock_core::messages! { Error {
    Error::Core(error) => "{error}";
    Error::NoSuchDevice { name, given, allowed } => "{name} takes {allowed}, got {given}";
    Error::NoAccelerator { operation, reason } => "{operation} needs an accelerator and there is none: {reason}";
    Error::Device { device, operation, reason, code: Some(code) } =>
        "{operation} failed on {device}: {reason} (error {code})";
    Error::Device { device, operation, reason, code: None } => "{operation} failed on {device}: {reason}";
    Error::DeviceLost { device, operation, reason } =>
        "{operation} is impossible: {device} was lost: {reason}";
    Error::Unsupported { operation, device } => "{operation} is not supported on {device}";
    Error::Forked { what } =>
        "{what} belongs to the process from which this one was forked, and can't be used here; use devices in \
         the child only, or start it with the method spawn or forkserver";
    Error::Graph { operation, reason } => "{operation} failed: {reason}";
    Error::DriverInUse { requested, in_use } =>
        "accelerator.use({requested:?}) comes too late: the driver {in_use:?} is in use, and it is fixed at \
         first use";
    Error::UnknownDriver { given, known } => "there is no driver {given:?}; known: {}", known.join(", ");
    Error::Argument { name, given, allowed } => "{name} takes {allowed}, got {given}";
    Error::Interrupted => "the wait was interrupted";
    Error::OutOfMemory(error) => "{error}";
} }

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Core(error) => Some(error),
            _ => None,
        }
    }
}
