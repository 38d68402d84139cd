//! Errors of functions of the program.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// An error of a function of the program, in a form that this crate does not know, such as an exception of Python.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::ForeignError;
///
/// let error = ForeignError::new("division by zero".to_owned(), Arc::new(7));
/// assert_eq!(error.payload().downcast_ref(), Some(&7));
/// assert_eq!(error.to_string(), "division by zero");
/// ```
#[derive(Clone)]
pub struct ForeignError {
    message: String,
    payload: Arc<dyn Any + Send + Sync>,
}

impl ForeignError {
    /// Creates an error with a message and the program's object.
    pub fn new(message: String, payload: Arc<dyn Any + Send + Sync>) -> Self {
        ForeignError { message, payload }
    }

    /// Returns the program's object.
    pub fn payload(&self) -> &(dyn Any + Send + Sync) {
        &*self.payload
    }
}

impl fmt::Debug for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignError({:?})", self.message)
    }
}

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl PartialEq for ForeignError {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.payload, &other.payload)
    }
}
