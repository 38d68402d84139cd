//! Typed access to a registered flag.

use std::marker::PhantomData;

use super::flag::FlagWord;
use super::kind::FlagValue;
use super::scope::FlagScope;
use super::{FlagSpec, SourceLocation, registry};
use crate::{Error, Result};

/// Typed access to a registered flag, as [`Flag`](super::Flag) provides for interlock's own flags.
///
/// A handle is a reference, so it is cheap to copy. A read costs the same two loads as a read of a
/// [`Flag`](super::Flag); [`find`](super::find) and [`FlagSpec::read`] look the flag up by name and decode the value by
/// its kind at run time.
///
/// ```
/// use interlock_core::flags::{FlagDecl, FlagHandle, FlagType, register};
///
/// let flag_type = FlagType::Switch { default: false };
/// let declaration = FlagDecl::new("mylib.verbose", flag_type, "Whether mylib prints what it does.");
/// let (spec, _) = register(declaration)?;
/// let verbose: FlagHandle<bool> = spec.handle()?;
/// assert!(!verbose.get());
/// let scope = verbose.scope(true)?;
/// let _guard = scope.guard();
/// assert!(verbose.get());
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct FlagHandle<T> {
    word: &'static FlagWord,
    value: PhantomData<fn() -> T>,
}

// Not derived: `T` need not be `Copy` for a reference to be.
impl<T> Clone for FlagHandle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for FlagHandle<T> {}

impl<T: FlagValue> FlagHandle<T> {
    /// Returns the dotted name.
    pub fn name(self) -> &'static str {
        self.word.name
    }

    /// Returns the active value on this thread: two loads while no scope of any thread is open.
    #[inline]
    pub fn get(self) -> T {
        T::decode(self.word.payload())
    }

    /// Writes the flag in the innermost guard or scope that sets it, else for the process. Fails for a value
    /// that the flag does not accept, and while flags are frozen.
    #[track_caller]
    pub fn set(self, value: T) -> Result<()> {
        self.word.write(value)
    }

    /// Returns a scope that sets this flag. Fails for a value that the flag does not accept.
    #[track_caller]
    pub fn scope(self, value: T) -> Result<FlagScope> {
        self.word.scope(value, SourceLocation::caller())
    }
}

impl FlagSpec {
    /// Returns a typed handle of a registered flag: `bool` for a switch, `u64` for a count (`u32` if the maximum fits),
    /// `i64` for an integer that may be negative, `f64` for a float, and an enum that implements [`FlagValue`] for a
    /// choice.
    ///
    /// Fails with [`Error::FlagType`] for another type, and for a flag that is not registered.
    pub fn handle<T: FlagValue>(&'static self) -> Result<FlagHandle<T>> {
        match registry::word_and_decl(self) {
            Some((word, declaration)) if T::matches_type(&declaration.flag_type) => {
                Ok(FlagHandle { word, value: PhantomData })
            }
            Some(_) => Err(Error::FlagType {
                name: format!("the type of a FlagHandle of {}", self.name()),
                given: std::any::type_name::<T>().to_owned(),
                allowed: "the Rust type of its values".to_owned(),
            }),
            None => Err(Error::FlagType {
                name: "the flag of a FlagHandle".to_owned(),
                given: format!("{}, a flag of interlock", self.name()),
                allowed: "one that a library has registered".to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FlagDecl, FlagType, InputValue, assign, find, register};
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Color {
        Auto,
        Never,
    }

    impl FlagValue for Color {
        fn payload(self) -> u64 {
            self as u64
        }

        fn decode(payload: u64) -> Self {
            if payload == 0 { Color::Auto } else { Color::Never }
        }

        fn matches_type(flag_type: &FlagType) -> bool {
            matches!(flag_type, FlagType::Choice { names, .. } if *names == ["auto", "never"])
        }
    }

    fn registered(name: &str, flag_type: FlagType) -> &'static FlagSpec {
        register(FlagDecl::new(name, flag_type, "A flag of a test.")).unwrap().0
    }

    #[test]
    fn handle_reads_writes_and_scopes_the_flag() {
        let spec = registered("handle_test.verbose", FlagType::Switch { default: false });
        let verbose: FlagHandle<bool> = spec.handle().unwrap();
        assert_eq!((verbose.name(), verbose.get()), ("handle_test.verbose", false));
        assign(&[(spec, Some(InputValue::Bool(true)))], None).unwrap();
        assert!(verbose.get());
        {
            let _guard = verbose.scope(false).unwrap().guard();
            assert!(!verbose.get());
            // Written to the scope, which ends.
            verbose.set(true).unwrap();
            assert!(verbose.get());
        }
        verbose.set(false).unwrap();
        assert_eq!((verbose.get(), spec.read()), (false, super::super::Value::Bool(false)));
    }

    #[test]
    fn handle_refuses_values_that_the_flag_does_not_accept() {
        let flag_type = FlagType::Count { default: 3, maximum: 10 };
        let retries = registered("handle_test.retries", flag_type).handle::<u64>().unwrap();
        assert!(matches!(retries.set(11), Err(Error::FlagValue { .. })));
        assert!(matches!(retries.scope(11), Err(Error::FlagValue { .. })));
        assert_eq!(retries.get(), 3);
        let names = ["auto", "never"].map(str::to_owned).to_vec();
        let flag_type = FlagType::Choice { default: "never".to_owned(), names };
        let color = registered("handle_test.color", flag_type).handle::<Color>().unwrap();
        assert_eq!(color.get(), Color::Never);
        color.set(Color::Auto).unwrap();
        assert_eq!(color.get(), Color::Auto);
    }

    #[test]
    fn handle_of_a_float_and_of_a_negative_integer_reads_all_values() {
        let flag_type = FlagType::Float { default: 0.5, minimum: -f64::INFINITY, maximum: f64::INFINITY };
        let float = registered("handle_test.float", flag_type).handle::<f64>().unwrap();
        for number in [0.0, -1e300, 1.0 / 3.0, f64::INFINITY] {
            float.set(number).unwrap();
            assert_eq!(float.get(), number);
        }
        assert!(matches!(float.set(f64::NAN), Err(Error::FlagValue { .. })));
        let flag_type = FlagType::Integer { default: -1, minimum: -5, maximum: 5 };
        let offset = registered("handle_test.offset", flag_type).handle::<i64>().unwrap();
        assert_eq!(offset.get(), -1);
        let guard = offset.scope(-5).unwrap();
        let _guard = guard.guard();
        assert_eq!(offset.get(), -5);
        for wrong in [-6, 6, i64::MIN, i64::MAX] {
            assert!(matches!(offset.set(wrong), Err(Error::FlagValue { .. })), "{wrong}");
        }
    }

    #[test]
    fn handle_of_another_type_or_of_an_own_flag_is_refused() {
        let large = FlagType::Count { default: 0, maximum: 1 << 40 };
        let large = registered("handle_test.large", large);
        assert!(large.handle::<u64>().is_ok());
        assert!(large.handle::<u32>().is_err(), "its values do not fit");
        assert!(matches!(large.handle::<bool>(), Err(Error::FlagType { .. })));
        assert!(find("cudnn.enabled").unwrap().handle::<bool>().is_err());
    }
}
