//! The limit of backward passes that run inside of each other, because a backward function or a hook starts one.

use std::cell::Cell;

use crate::{Error, Result};

/// The passes that may be open on one thread. Each needs up to 30 KB of the stack, and a stack has at least 1 MB.
const LIMIT: usize = 30;

thread_local! {
    static OPEN: Cell<usize> = const { Cell::new(0) };
}

/// Counts a pass on this thread until it is dropped.
pub(super) struct OpenPass(());

impl OpenPass {
    /// Begins a pass.
    ///
    /// # Errors
    /// Fails if too many are open: the stack would overflow.
    pub fn begin(op: &'static str) -> Result<Self> {
        let open = OPEN.get();
        if open == LIMIT {
            return Err(Error::NestedPasses { op, limit: LIMIT });
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

    #[test]
    fn begin_fails_at_the_limit_and_recovers() {
        let open: Vec<_> = (0..LIMIT).map(|_| OpenPass::begin("backward").unwrap()).collect();
        let error = OpenPass::begin("backward").map(drop).unwrap_err();
        assert_eq!(error.to_string(), "backward: at most 30 backward passes can run inside of each other");
        drop(open);
        assert!(OpenPass::begin("backward").is_ok());
    }
}
