//! The limit of backward passes that run inside of each other, because a backward function or a hook starts one.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use interlock::base::stack;

use crate::{Error, Result};

/// The passes that may be open on one thread.
const LIMIT: usize = 30;

/// The bytes of the stack that an inner pass needs at least: for itself, and for the functions of the program that it
/// calls.
const STACK_BYTES: usize = 128 << 10;

type PassObject = Arc<dyn Any + Send + Sync>;

thread_local! {
    static OPEN: Cell<usize> = const { Cell::new(0) };
    /// The objects of the open passes, from the outermost pass. It ends with the last pass that has one.
    static OBJECTS: RefCell<Vec<Option<PassObject>>> = const { RefCell::new(Vec::new()) };
}

/// Returns an object that exists once for the innermost backward pass that is open on this thread, or `None` if no pass
/// is open. `make` creates it in the first call; the end of the pass drops it.
///
/// A hook uses it to store data of one pass.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::Tensor;
/// use interlock_tensor::autograd::pass_object;
///
/// assert!(pass_object(|| Arc::new(())).is_none());
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// leaf.register_hook(Arc::new(|_: &Tensor| {
///     let object = pass_object(|| Arc::new("the pass"));
///     assert!(object.is_some_and(|object| object.is::<&str>()));
///     Ok(None)
/// }))?;
/// leaf.mul(2.0)?.backward()?;
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub fn pass_object(make: impl FnOnce() -> PassObject) -> Option<PassObject> {
    let index = OPEN.get().checked_sub(1)?;
    let found = OBJECTS.with_borrow(|objects| objects.get(index).cloned().flatten());
    if found.is_some() {
        return found;
    }
    // `make` may run code of the program, so the objects are not borrowed meanwhile.
    let made = make();
    OBJECTS.with_borrow_mut(|objects| {
        if objects.len() <= index {
            objects.resize(index + 1, None);
        }
        Some(objects.get_mut(index)?.get_or_insert(made).clone())
    })
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
        let open = OPEN.get().saturating_sub(1);
        OPEN.set(open);
        let object =
            OBJECTS.with_borrow_mut(|objects| if objects.len() > open { objects.pop() } else { None });
        // After the borrow: the drop may run code of the program.
        drop(object);
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
