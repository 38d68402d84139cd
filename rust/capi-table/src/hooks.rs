//! The functions of other crates that the table needs. Without them, the process has no interpreter and no tensors.

use interlock_core::base::once_call::OnceCall;
use interlock_sys::InterlockKernel;
use once_cell::race::OnceBox;

use crate::entry::{Failure, Result};

/// The functions that the binding of an interpreter provides.
///
/// ```
/// use interlock_capi_table::{Hooks, set_hooks, table};
///
/// set_hooks(Hooks {
///     detach: |work| work(),
///     raise: |code, text| eprintln!("{code}: {text}"),
///     register_kernel: Some(|_operation, _kernel| Ok(())),
/// });
/// // SAFETY: a null error is accepted.
/// unsafe { (table().error_raise)(std::ptr::null()) };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Calls the function once. A thread that is attached to the interpreter is detached meanwhile.
    pub detach: fn(&mut (dyn FnMut() + Send)),
    /// Raises the exception for a code and a text. The thread is attached.
    pub raise: fn(i32, &str),
    /// Registers a kernel of an operation of tensors; `None` in a build without the tensor runtime.
    pub register_kernel: Option<RegisterKernel>,
}

/// Registers a kernel for the operation with a name. The description is valid, as `ForeignKernel::new` requires.
pub type RegisterKernel = unsafe fn(&str, *const InterlockKernel) -> interlock::Result<()>;

static HOOKS: OnceBox<Hooks> = OnceBox::new();

/// Installs the functions. Only the first call has an effect.
pub fn set_hooks(hooks: Hooks) {
    let _ = HOOKS.set(Box::new(hooks));
}

/// Calls `work`, which may block, detached from the interpreter.
pub(crate) fn detached<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let mut call = OnceCall::new(work);
    run_detached(&mut || call.run());
    call.into_result()
}

/// Calls `work` as [`detached`] does. The second call of `work` has no effect.
fn run_detached(work: &mut (dyn FnMut() + Send)) {
    if let Some(hooks) = HOOKS.get() {
        (hooks.detach)(work);
    }
    // A hook that calls nothing violates its contract. The work is done all the same.
    work();
}

/// Raises the exception for an error.
pub(crate) fn raise(code: i32, text: &str) {
    if let Some(hooks) = HOOKS.get() {
        (hooks.raise)(code, text);
    }
}

/// Returns the function that registers a kernel.
pub(crate) fn register_kernel() -> Result<RegisterKernel> {
    let Some(hooks) = HOOKS.get() else {
        return Err(Failure::unsupported("kernel_register: this process has no tensors of interlock"));
    };
    hooks.register_kernel.ok_or_else(|| {
        Failure::unsupported(
            "kernel_register: this build of interlock has no tensor runtime; install interlock with the default features",
        )
    })
}
