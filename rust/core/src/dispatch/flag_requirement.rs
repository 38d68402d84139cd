//! Requirements: the values of flags that a kernel requires.

use crate::flags::{Flag, FlagValue, FlagWord, Switch, Value, find};
use crate::{Error, Result};

use super::Reason;

/// The value of a flag that a kernel requires.
///
/// A requirement compares the effective value: `cudnn.benchmark` counts as off while `cudnn.deterministic` is on.
///
/// ```
/// use interlock_core::dispatch::FlagRequirement;
/// use interlock_core::flags::flags::CUDNN_ENABLED;
///
/// static REQUIREMENTS: [FlagRequirement; 1] = [FlagRequirement::on(&CUDNN_ENABLED)];
/// assert!(REQUIREMENTS[0].refusal().is_none());
/// let guard = CUDNN_ENABLED.scope(false)?.guard();
/// assert_eq!(REQUIREMENTS[0].refusal().map(|reason| reason.to_string()).as_deref(), Some("backends.cudnn.enabled is False"));
/// # drop(guard);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct FlagRequirement {
    word: &'static FlagWord,
    required: Required,
}

#[derive(Clone, Copy, Debug)]
enum Required {
    Switch(bool),
    Name(&'static str),
}

impl FlagRequirement {
    /// Requires a switch to be on. One that is unspecified is not on.
    pub const fn on<T: Switch>(flag: &'static Flag<T>) -> Self {
        FlagRequirement { word: flag.word(), required: Required::Switch(true) }
    }

    /// Requires a switch to be off. One that is unspecified is not off.
    pub const fn off<T: Switch>(flag: &'static Flag<T>) -> Self {
        FlagRequirement { word: flag.word(), required: Required::Switch(false) }
    }

    /// Requires a flag whose value is one of several names to have this name.
    ///
    /// # Panics
    /// Panics if the flag has no such name. In a `static` that is an error of the compiler.
    ///
    /// ```compile_fail
    /// use interlock_core::dispatch::FlagRequirement;
    /// use interlock_core::flags::flags::MKLDNN_NUMERICS;
    ///
    /// static MISSPELT: FlagRequirement = FlagRequirement::is(&MKLDNN_NUMERICS, "modl");
    /// ```
    pub const fn is<T: FlagValue>(flag: &'static Flag<T>, name: &'static str) -> Self {
        assert!(flag.word().has_name(name), "the flag has no such name");
        FlagRequirement { word: flag.word(), required: Required::Name(name) }
    }

    /// Requires a value of a flag, both by name: `"True"`, `"False"` or a name that the flag accepts.
    ///
    /// # Errors
    /// Fails for an unknown flag, a value that the flag does not accept, and a flag with other values than bools and
    /// names.
    pub fn from_name(flag: &str, value: &str) -> Result<Self> {
        match find(flag)?.word_and_value(value)? {
            Some((word, Value::Bool(value))) => {
                Ok(FlagRequirement { word, required: Required::Switch(value) })
            }
            Some((word, Value::Name(name))) => Ok(FlagRequirement { word, required: Required::Name(name) }),
            _ => Err(Error::KernelDescriptor {
                argument: "requirements: flag",
                given: flag.to_owned(),
                allowed: "a flag with bools or names".to_owned(),
            }),
        }
    }

    /// Returns whether the effective value on this thread is the required one.
    #[inline]
    pub(super) fn is_met(&self) -> bool {
        self.accepts(self.word.effective())
    }

    #[inline]
    fn accepts(&self, value: Value) -> bool {
        match (self.required, value) {
            (Required::Switch(required), Value::Bool(value)) => required == value,
            (Required::Name(required), Value::Name(value)) => required == value,
            _ => false,
        }
    }

    /// Returns the reason for a refusal, unless the effective value on this thread is the required one. If another flag
    /// controls the effective value, the reason names that flag.
    pub fn refusal(&self) -> Option<Reason> {
        let value = self.word.effective();
        let reason = || match self.word.overridden_by() {
            // Only switches that are on override a flag.
            Some(name) => Reason::Flag { name, value: Value::Bool(true), required: Value::Bool(false) },
            None => Reason::Flag { name: self.word.name, value, required: self.required_value() },
        };
        (!self.accepts(value)).then(reason)
    }

    fn required_value(&self) -> Value {
        match self.required {
            Required::Switch(required) => Value::Bool(required),
            Required::Name(required) => Value::Name(required),
        }
    }

    pub(super) fn word(&self) -> &'static FlagWord {
        self.word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::flags::MKLDNN_ALLOW_TF32;

    #[test]
    fn gate_of_an_unspecified_switch_is_neither_on_nor_off() {
        static ON: FlagRequirement = FlagRequirement::on(&MKLDNN_ALLOW_TF32);
        static OFF: FlagRequirement = FlagRequirement::off(&MKLDNN_ALLOW_TF32);
        let refusals =
            || [&ON, &OFF].map(|requirement| requirement.refusal().map(|reason| reason.to_string()));
        let reason = |text: &str| Some(format!("backends.mkldnn.allow_tf32 is {text}"));
        assert_eq!(refusals(), [reason("None, not True"), reason("None, not False")]);
        let on = MKLDNN_ALLOW_TF32.scope(Some(true)).unwrap().guard();
        assert_eq!(refusals(), [None, reason("True")]);
        drop(on);
        let _off = MKLDNN_ALLOW_TF32.scope(Some(false)).unwrap().guard();
        assert_eq!(refusals(), [reason("False"), None]);
    }
}
