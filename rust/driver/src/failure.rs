//! Why a host function failed.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Why a [`HostFn`](crate::HostFn) failed.
///
/// ```
/// use interlock_driver::Failure;
///
/// assert_eq!(Failure::from("no such file").reason, "no such file");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The reason, as text for a message.
    pub reason: String,
    /// The object that caused it, if the program has one.
    pub cause: Option<Cause>,
}

/// An object of the embedding program that caused an error, such as an exception of its language. The error owns it, and
/// drops it on any thread, also while the driver holds a lock.
///
/// ```
/// use interlock_driver::Cause;
///
/// let cause = Cause::new("an exception");
/// assert_eq!(cause.downcast_ref(), Some(&"an exception"));
/// assert_ne!(cause, Cause::new("an exception"));
/// ```
#[derive(Clone)]
pub struct Cause(Arc<dyn Any + Send + Sync>);

impl Cause {
    /// Creates a cause.
    pub fn new(object: impl Any + Send + Sync) -> Self {
        Cause(Arc::new(object))
    }

    /// Returns the object if it has this type.
    pub fn downcast_ref<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

/// Two causes are equal if they are the same object.
impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Cause {}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cause")
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Failure { reason, cause: None }
    }
}

impl From<&str> for Failure {
    fn from(reason: &str) -> Self {
        reason.to_owned().into()
    }
}
