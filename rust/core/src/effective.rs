//! The effective values of a thread: modes, devices and flags, each with its origin.

use std::fmt;

use crate::flags::{Explanation, FlagSpec, explain_state, flag_specs, state_names};

/// The modes, devices and flags of a thread at one moment, from [`effective_values`].
///
/// ```
/// use interlock_core::effective::{EffectiveValues, effective_values};
/// use interlock_core::flags::flags::CUDNN_BENCHMARK;
/// use interlock_core::modes::no_grad;
///
/// let _guards = (no_grad(), CUDNN_BENCHMARK.scope(true)?.guard());
/// let values: EffectiveValues = effective_values();
/// assert_eq!(values.to_string(), "state.grad = False (scope)\ncudnn.benchmark = True (scope)");
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveValues(Vec<Explanation>);

impl EffectiveValues {
    /// Iterates over all values: modes, devices, flags.
    pub fn iter(&self) -> impl Iterator<Item = &Explanation> {
        self.0.iter()
    }

    /// Iterates over the values that something sets or overrides.
    pub fn set(&self) -> impl Iterator<Item = &Explanation> {
        self.iter().filter(|value| value.is_set())
    }

    /// Returns the value with this name, which may begin with `backends.`.
    pub fn get(&self, name: &str) -> Option<&Explanation> {
        let name = name.strip_prefix("backends.").unwrap_or(name);
        self.iter().find(|value| value.name == name)
    }
}

impl fmt::Display for EffectiveValues {
    /// Writes one line for each value that something sets or overrides.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = self.set();
        match set.next() {
            None => return f.write_str("all values are defaults"),
            Some(first) => first.fmt(f)?,
        }
        set.try_for_each(|value| write!(f, "\n{value}"))
    }
}

/// Returns the effective values of this thread, each with the level that sets it: what `backends.explain` and the report
/// show in Python.
///
/// In the state of a request, `state.run(effective_values)` returns those of the request.
pub fn effective_values() -> EffectiveValues {
    let state = state_names().filter_map(explain_state);
    EffectiveValues(state.chain(flag_specs().map(FlagSpec::explain)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::flags::{CUDNN_BENCHMARK, CUDNN_ENABLED, DETERMINISTIC_ALGORITHMS};
    use crate::flags::{Level, Value};
    use crate::modes::{Mode, inference_mode};
    use crate::thread::ThreadState;

    #[test]
    fn effective_values_have_every_mode_and_flag_with_its_level() {
        let values = effective_values();
        assert_eq!(values.to_string(), "all values are defaults");
        assert_eq!(values.iter().count(), Mode::ALL.len() + 2 + flag_specs().count());
        for spec in flag_specs() {
            let value = values.get(spec.name()).unwrap();
            assert_eq!((value.effective, value.value), (spec.effective(), spec.read()));
        }
        assert_eq!(values.get("backends.cudnn.enabled"), values.get("cudnn.enabled"));
        assert_eq!(values.get("cudnn.enable"), None);
    }

    #[test]
    fn effective_values_are_those_of_the_state_that_is_active() {
        let state = {
            let _guards = (inference_mode(true), CUDNN_ENABLED.scope(false).unwrap().guard());
            ThreadState::capture()
        };
        CUDNN_BENCHMARK.set(true).unwrap();
        DETERMINISTIC_ALGORITHMS.set(true).unwrap();
        let here = effective_values();
        let there = state.run(effective_values);
        assert_eq!(effective_values(), here);
        let of = |values: &EffectiveValues, name| {
            let value = values.get(name).unwrap();
            (value.value, value.level)
        };
        assert_eq!(of(&here, "cudnn.enabled"), (Value::Bool(true), Level::Default));
        assert_eq!(of(&there, "cudnn.enabled"), (Value::Bool(false), Level::Scope));
        assert_eq!(of(&there, "state.inference"), (Value::Bool(true), Level::Scope));
        let benchmark = there.get("cudnn.benchmark").unwrap();
        let text = "cudnn.benchmark = False (process: True, overridden by deterministic_algorithms)";
        assert_eq!(benchmark.to_string(), text);
    }
}
