//! Call stacks of the program, which memory histories and reports of races contain.

use std::cell::Cell;
use std::sync::Arc;

/// A source line in a call stack.
///
/// ```
/// use interlock_driver::{Frame, current_stack, with_stack};
///
/// let frame = Frame { file: "train.py".into(), line: 12, name: "step".into() };
/// with_stack(Some([frame.clone()].into()), || assert_eq!(current_stack().unwrap()[0], frame));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The file.
    pub file: Arc<str>,
    /// The line number, from 1.
    pub line: u32,
    /// The function.
    pub name: Arc<str>,
}

/// The call stack of the program, innermost frame first.
pub type Stack = Arc<[Frame]>;

thread_local! {
    static STACK: Cell<Option<Stack>> = const { Cell::new(None) };
}

/// Calls `function` and attributes its allocations and its queued work on this thread to `stack`. Without a stack, the
/// one of an outer call applies.
pub fn with_stack<T>(stack: Option<Stack>, function: impl FnOnce() -> T) -> T {
    struct Restore(Option<Stack>);
    impl Drop for Restore {
        fn drop(&mut self) {
            STACK.set(self.0.take());
        }
    }
    let Some(stack) = stack else { return function() };
    let _restore = Restore(STACK.replace(Some(stack)));
    function()
}

/// Returns the stack that this thread's allocations and queued work are attributed to, if there is one.
pub fn current_stack() -> Option<Stack> {
    // Not accessible while the thread ends.
    let current = STACK.try_with(|stack| {
        let current = stack.take();
        stack.set(current.clone());
        current
    });
    current.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_stack_attributes_work_to_the_innermost_call() {
        let stack = |line| Stack::from([Frame { file: "a.py".into(), line, name: "f".into() }]);
        with_stack(Some(stack(1)), || {
            with_stack(Some(stack(2)), || assert_eq!(current_stack(), Some(stack(2))));
            with_stack(None, || assert_eq!(current_stack(), Some(stack(1))));
        });
        assert_eq!(current_stack(), None);
    }
}
