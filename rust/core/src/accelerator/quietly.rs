//! Foreign code that may panic where nobody is there whom that would concern.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Drops what may panic while it goes: nobody is there whom that would concern.
pub(super) fn drop_quietly<T>(thing: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(thing))) {
        // What was thrown may panic as well; then it is not dropped at all.
        std::mem::forget(payload);
    }
}

/// Calls a function that says why it fails; a panic is a reason like any other.
pub(super) fn call_quietly(run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Err(message_of(payload)))
}

/// What a panic said.
fn message_of(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    drop_quietly(payload);
    text.unwrap_or_else(|| "it panicked".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_reason_like_any_other() {
        assert_eq!(call_quietly(|| panic!("plain")), Err("plain".into()));
        assert_eq!(call_quietly(|| panic!("{} and {}", 1, 2)), Err("1 and 2".into()));
        assert_eq!(call_quietly(|| std::panic::panic_any(3)), Err("it panicked".into()));
        assert_eq!(call_quietly(|| Err("told".into())), Err("told".into()));
        assert_eq!(call_quietly(|| Ok(())), Ok(()));
    }
}
