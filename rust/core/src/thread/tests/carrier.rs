//! A carrier of contexts in Rust: contexts that are copied and switched, as Python does it.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use crate::binding::thread::{Carrier, Receipt, State, leave_context, set_carrier};
use crate::thread::sync;

/// A context. Clones are the same context; [`copy`](TestContext::copy) makes another one.
#[derive(Clone, Default)]
pub(super) struct TestContext(Arc<Mutex<State>>);

thread_local! {
    /// The contexts that this thread has entered, the current one last.
    static ENTERED: RefCell<Vec<TestContext>> = const { RefCell::new(Vec::new()) };

    /// Whether the carrier says that looks follow switches on this thread.
    static REPORTS_SWITCHES: Cell<bool> = const { Cell::new(true) };

    /// Whether the carrier says that it knows this thread.
    static IS_KNOWN: Cell<bool> = const { Cell::new(true) };

    /// Whether the carrier fails to store states on this thread.
    static STORES_FAIL: Cell<bool> = const { Cell::new(false) };
}

impl TestContext {
    /// Returns an empty context.
    pub(super) fn new() -> Self {
        set_carrier(&TestCarrier);
        Self::default()
    }

    /// Returns a copy of this context.
    pub(super) fn copy(&self) -> Self {
        TestContext(Arc::new(Mutex::new(self.state())))
    }

    pub(super) fn state(&self) -> State {
        self.0.lock().unwrap().clone()
    }

    /// Calls `action` in this context, without a look before or after.
    pub(super) fn run_without_look<R>(&self, action: impl FnOnce() -> R) -> R {
        ENTERED.with_borrow_mut(|entered| entered.push(self.clone()));
        let result = action();
        ENTERED.with_borrow_mut(|entered| entered.pop());
        result
    }

    /// Calls `action` in this context, with a look before and after, as a watcher of contexts does.
    pub(super) fn run<R>(&self, action: impl FnOnce() -> R) -> R {
        let result = self.run_without_look(|| {
            sync();
            action()
        });
        if current().is_some() {
            sync()
        } else {
            leave_context()
        }
        result
    }
}

/// Returns a copy of the current context.
pub(super) fn copy_current() -> TestContext {
    current().map(|context| context.copy()).unwrap()
}

/// Calls `action` on this thread without a current context, as a thread that is detached from the interpreter.
pub(super) fn detached<R>(action: impl FnOnce() -> R) -> R {
    let entered = ENTERED.take();
    let result = action();
    ENTERED.set(entered);
    result
}

/// Calls `action` while the carrier fails to store states on this thread, as if memory had run out.
pub(super) fn without_memory<R>(action: impl FnOnce() -> R) -> R {
    STORES_FAIL.set(true);
    let result = action();
    STORES_FAIL.set(false);
    result
}

/// Calls `action` while looks on this thread don't follow switches, as with an interpreter that reports none.
pub(super) fn without_reports<R>(action: impl FnOnce() -> R) -> R {
    REPORTS_SWITCHES.set(false);
    let result = action();
    REPORTS_SWITCHES.set(true);
    result
}

/// Calls `action` as on a thread of the program that was attached before and that the interpreter has forgotten.
pub(super) fn forgotten<R>(action: impl FnOnce() -> R) -> R {
    IS_KNOWN.set(false);
    let result = detached(action);
    IS_KNOWN.set(true);
    result
}

fn current() -> Option<TestContext> {
    ENTERED.with_borrow(|entered| entered.last().cloned())
}

struct TestCarrier;

struct TestReceipt {
    context: TestContext,
    before: State,
}

impl Carrier for TestCarrier {
    fn is_at_hand(&self) -> bool {
        current().is_some()
    }

    fn knows_thread(&self) -> bool {
        IS_KNOWN.get()
    }

    fn reports_switches(&self) -> bool {
        REPORTS_SWITCHES.get()
    }

    unsafe fn serial(&self) -> Option<u64> {
        Some(current()?.state().serial())
    }

    unsafe fn load(&self) -> Option<State> {
        current().map(|context| context.state())
    }

    unsafe fn store(&self, state: &State) -> Option<Receipt> {
        let context = current().filter(|_| !STORES_FAIL.get())?;
        let before = std::mem::replace(&mut *context.0.lock().unwrap(), state.clone());
        let receipt = Box::into_raw(Box::new(TestReceipt { context, before }));
        // SAFETY: a receipt is `Send` and `Sync`, and comes from a box.
        unsafe {
            let drop_it =
                |receipt: NonNull<c_void>| drop(Box::from_raw(receipt.as_ptr().cast::<TestReceipt>()));
            Some(Receipt::new(NonNull::new(receipt.cast()).unwrap(), drop_it))
        }
    }

    unsafe fn revoke(&self, receipt: Receipt) -> bool {
        // SAFETY: `store` made the receipt.
        let receipt = unsafe { Box::from_raw(receipt.into_object().as_ptr().cast::<TestReceipt>()) };
        let is_here = current().is_some_and(|context| Arc::ptr_eq(&context.0, &receipt.context.0));
        if is_here {
            *receipt.context.0.lock().unwrap() = receipt.before;
        }
        is_here
    }
}
