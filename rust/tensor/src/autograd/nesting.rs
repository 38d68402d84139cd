//! The limit of backward passes that run inside of each other, because a backward function or a hook starts one.

use std::cell::Cell;

use interlock::base::stack;

use crate::{Error, Result};

/// The passes that may be open on one thread.
const LIMIT: usize = 30;

/// The bytes of the stack that an inner pass needs at least: for itself, and for the functions of the program that it
/// calls.
const STACK_BYTES: usize = 128 << 10;

thread_local! {
    static OPEN: Cell<usize> = const { Cell::new(0) };
}

/// Counts a pass on this thread until it is dropped.
pub(super) struct OpenPass(());

impl OpenPass {
    /// Begins a pass.
    ///
    /// # Errors
    /// Fails if too many are open, or too little of the stack is left for one more: the stack would overflow.
    pub fn begin(op: &'static str) -> Result<Self> {
        let open = OPEN.get();
        let has_stack = || stack::remaining().is_none_or(|bytes| bytes >= STACK_BYTES);
        if open == LIMIT || (open > 0 && !has_stack()) {
            return Err(Error::NestedPasses { op, limit: open });
        }
        OPEN.set(open + 1);
        Ok(OpenPass(()))
    }
}

impl Drop for OpenPass {
    fn drop(&mut self) {
        OPEN.set(OPEN.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins passes, each in a frame of 32 KiB, until one fails, and returns their number.
    fn nested() -> usize {
        let frame = std::hint::black_box([0u8; 32 << 10]);
        let passes = OpenPass::begin("backward").map_or(0, |pass| {
            let inner = nested();
            drop(pass);
            inner + 1
        });
        std::hint::black_box(frame);
        passes
    }

    #[test]
    fn begin_fails_at_the_limit_and_recovers() {
        let open: Vec<_> = (0..LIMIT).map(|_| OpenPass::begin("backward").unwrap()).collect();
        let error = OpenPass::begin("backward").map(drop).unwrap_err();
        assert_eq!(error.to_string(), "backward: at most 30 backward passes can run inside of each other");
        drop(open);
        assert!(OpenPass::begin("backward").is_ok());
    }

    #[test]
    fn begin_fails_before_a_small_stack_overflows() {
        let passes_on = |bytes: usize| {
            let spawned = std::thread::Builder::new().stack_size(bytes).spawn(nested);
            spawned.unwrap().join().unwrap()
        };
        let few = passes_on(512 << 10);
        assert!((1..LIMIT).contains(&few), "{few}");
        assert_eq!(passes_on(8 << 20), LIMIT);
    }
}
