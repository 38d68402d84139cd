//! The environment variables that this crate reads, each named once.

use once_cell::race::OnceBool;

/// `1` makes writes of flags remember where they came from.
const DEBUG: &str = "INTERLOCK_DEBUG";

/// Whether `INTERLOCK_DEBUG=1` was set when it was first asked.
pub(crate) fn debug() -> bool {
    // Not a blocking cell: a fork while another thread fills it would leave the child waiting.
    static DEBUG_ENABLED: OnceBool = OnceBool::new();
    DEBUG_ENABLED.get_or_init(|| std::env::var(DEBUG).is_ok_and(|value| value == "1"))
}

/// The variable that sets a flag: `cudnn.allow_tf32` is `INTERLOCK_CUDNN_ALLOW_TF32`.
pub(crate) fn variable_of_flag(name: &str) -> String {
    format!("INTERLOCK_{}", name.replace('.', "_").to_uppercase())
}

/// The value of a variable, if it is set and is text.
pub(crate) fn read(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}
