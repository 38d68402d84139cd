//! Functions of programs that check the values of their flags.

use std::fmt;
use std::sync::Arc;

use super::Value;
use crate::{Error, Result};

type Check = dyn Fn(Value) -> Result<(), String> + Send + Sync;

/// A function that refuses values of a registered flag with a reason.
///
/// It is called with each value that has the type of the flag and lies in its range, before the value is stored: on the
/// thread that assigns it, enters it into a scope, restores it or registers the flag, outside of all locks. It is not
/// called for None.
///
/// ```
/// use interlock_core::flags::{FlagDecl, FlagType, InputValue, Validator, Value, assign, register};
///
/// let flag_type = FlagType::Count { default: 8, maximum: 1024 };
/// let mut declaration = FlagDecl::new("mylib.block", flag_type, "The block size.");
/// declaration.validator = Some(Validator::new("is_even", |value| match value {
///     Value::Integer(number) if number % 2 != 0 => Err("it must be even".to_owned()),
///     _ => Ok(()),
/// }));
/// let (block, _) = register(declaration)?;
/// let error = assign(&[(block, Some(InputValue::Integer(7)))], None).unwrap_err();
/// assert_eq!(error.to_string(), "mylib.block: is_even refused 7: it must be even");
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Validator {
    name: Arc<str>,
    check: Arc<Check>,
}

impl Validator {
    /// Creates a validator. Errors contain `name`, the name of the function.
    pub fn new(
        name: impl Into<Arc<str>>,
        check: impl Fn(Value) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Validator { name: name.into(), check: Arc::new(check) }
    }

    /// Returns the name of the function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls the function with a value of a flag.
    pub(super) fn check(&self, flag: &str, value: Value) -> Result<()> {
        (self.check)(value).map_err(|reason| Error::FlagRefused {
            name: flag.to_owned(),
            given: value.shown(),
            validator: self.name.to_string(),
            reason,
        })
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Validator").field(&self.name).finish()
    }
}

/// Two validators are equal if they are clones of one.
impl PartialEq for Validator {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.check, &other.check)
    }
}
