//! How a library is asked for its version.

use std::ffi::{CStr, c_int};

use super::Library;

/// What a library answers about its version.
#[derive(Debug)]
pub(super) enum Question {
    /// Nothing that anybody asks.
    None,
    /// `size_t function(void)`.
    Number(&'static CStr),
    /// `int function(int property, int *value)`, which answers 0, of the properties major, minor and
    /// patch; what each counts for in the number that the library's header has.
    Properties(&'static CStr, [u64; 3]),
}

type Number = unsafe extern "C" fn() -> usize;
type Property = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;

/// What a version is asked for, in messages that nobody sees: an absent library is no error here.
const OPERATION: &str = "version()";

impl Question {
    pub(super) fn ask(&self, library: &Library) -> Option<u64> {
        match self {
            Question::None => None,
            Question::Number(name) => {
                // SAFETY: every release of the library declares the function so.
                let function = unsafe { library.function::<Number>(name, OPERATION) }.ok()?;
                // SAFETY: it takes nothing and needs no call before it.
                u64::try_from(unsafe { function() }).ok()
            }
            Question::Properties(name, weights) => {
                // SAFETY: every release of the library declares the function so.
                let function = unsafe { library.function::<Property>(name, OPERATION) }.ok()?;
                let parts = (0..).zip(weights).map(|(property, weight)| {
                    let mut value = 0;
                    // SAFETY: it writes one int, and needs no call before it.
                    let status = unsafe { function(property, &raw mut value) };
                    u64::try_from(value).ok().filter(|_| status == 0).map(|value| value * weight)
                });
                parts.sum()
            }
        }
    }
}
