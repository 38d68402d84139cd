//! Call stacks of the program, which memory histories and reports of races contain.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

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

/// What uses the stacks that an embedding program records.
///
/// ```
/// use interlock_driver::races::RaceDetector;
/// use interlock_driver::{StackUser, stacks_are_used};
///
/// assert!(!stacks_are_used());
/// let _detector = RaceDetector::start();
/// assert!(stacks_are_used() && StackUser::Races.is_active() && !StackUser::History.is_active());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackUser {
    /// The detection of races.
    Races = 1,
    /// A memory history with stacks.
    History = 2,
}

/// The active users, each a bit of one word, which each operation reads.
static USERS: AtomicU8 = AtomicU8::new(0);

impl StackUser {
    /// Returns whether it uses stacks now.
    #[inline]
    pub fn is_active(self) -> bool {
        USERS.load(Ordering::Relaxed) & self as u8 != 0
    }

    /// Records whether it uses stacks from now on.
    pub fn set_active(self, active: bool) {
        match active {
            true => USERS.fetch_or(self as u8, Ordering::Relaxed),
            false => USERS.fetch_and(!(self as u8), Ordering::Relaxed),
        };
    }
}

/// Returns whether an embedding program should record stacks with [`with_stack`].
#[inline]
pub fn stacks_are_used() -> bool {
    USERS.load(Ordering::Relaxed) != 0
}

static SOURCE: OnceLock<fn() -> Option<Stack>> = OnceLock::new();

/// Sets the function that captures the stack of this thread, if it can, for a release of memory outside of
/// [`with_stack`]: an interpreter destroys an object wherever its last reference ends. The first function that is set
/// remains.
///
/// ```
/// interlock_driver::set_stack_source(|| None);
/// ```
pub fn set_stack_source(source: fn() -> Option<Stack>) {
    let _ = SOURCE.set(source);
}

/// Returns the [current stack](current_stack), or captures one.
pub(crate) fn current_or_captured_stack() -> Option<Stack> {
    current_stack().or_else(|| SOURCE.get().and_then(|source| source()))
}

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
