//! Calls of foreign code whose panics no caller can handle.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::sync::debug_assert_unlocked;

/// Drops a value and discards a panic of its destructor.
pub fn drop_catching_panic<T>(value: T) {
    debug_assert_unlocked();
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // The destructor of the payload may panic as well.
        std::mem::forget(payload);
    }
}

/// Calls a function and returns its failure, or the message of its panic.
pub fn call_catching_panic<E: From<String>>(run: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    debug_assert_unlocked();
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Err(message_of(payload).into()))
}

fn message_of(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    drop_catching_panic(payload);
    text.unwrap_or_else(|| "it panicked".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_catching_panic_returns_the_message_of_a_panic() {
        let call_catching_panic = |run: fn() -> Result<(), String>| call_catching_panic(run);
        assert_eq!(call_catching_panic(|| panic!("plain")), Err("plain".into()));
        assert_eq!(call_catching_panic(|| panic!("{} and {}", 1, 2)), Err("1 and 2".into()));
        assert_eq!(call_catching_panic(|| std::panic::panic_any(3)), Err("it panicked".into()));
        assert_eq!(call_catching_panic(|| Err("failed".into())), Err("failed".into()));
        assert_eq!(call_catching_panic(|| Ok(())), Ok(()));
    }
}
