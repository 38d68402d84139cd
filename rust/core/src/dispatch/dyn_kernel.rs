//! Kernels with a state of their own, whose registration can end.

use super::kernel::KernelError;
use super::numerics::Numerics;
use super::operation::Operation;
use super::record::Reason;

/// A kernel whose functions have a state, such as an object of another language, and whose registration can end.
///
/// The object itself is never freed, because other threads may run it at any time. While it is not registered, no call
/// considers it, and another kernel may have its name.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use interlock_core::dispatch::{DynKernel, Kernel, NoKernel, Numerics, Op, Operation, Reason, KernelError};
///
/// struct Negate;
///
/// impl Operation for Negate {
///     const NAME: &'static str = "negate";
///     type Call = String;
///     type Args<'a> = i64;
///     type Out = i64;
///     type Error = NoKernel;
/// }
///
/// static NEGATE: Op<Negate> = Op::new(&[Kernel::new("native", |_, _, x| Ok(-x))]);
///
/// struct Fast {
///     is_registered: AtomicBool,
/// }
///
/// impl DynKernel<Negate> for Fast {
///     fn is_registered(&self) -> bool {
///         self.is_registered.load(Ordering::Relaxed)
///     }
///
///     fn check(&self, _: &String) -> Result<(), Reason> {
///         Ok(())
///     }
///
///     fn run(&self, _: &String, _: Numerics, x: &i64) -> Result<i64, KernelError<NoKernel>> {
///         Ok(0 - x)
///     }
/// }
///
/// let fast: &'static Fast = Box::leak(Box::new(Fast { is_registered: AtomicBool::new(true) }));
/// NEGATE.register(Kernel::dynamic("fast", fast))?;
/// assert_eq!(NEGATE.explain(&"int64".to_owned()).kernel(), Some("fast"));
/// fast.is_registered.store(false, Ordering::Relaxed);
/// assert_eq!(NEGATE.explain(&"int64".to_owned()).kernel(), Some("native"));
/// # Ok::<(), interlock_core::Error>(())
/// ```
pub trait DynKernel<O: Operation>: Send + Sync {
    /// Returns whether calls consider the kernel.
    fn is_registered(&self) -> bool;

    /// Checks whether the kernel can run a call.
    ///
    /// # Errors
    /// Returns the reason if it cannot.
    fn check(&self, call: &O::Call) -> Result<(), Reason>;

    /// Runs a call on the calling thread.
    ///
    /// # Errors
    /// Returns the reason of a kernel that cannot run the call and has written nothing, or the error of the call.
    fn run(
        &self,
        call: &O::Call,
        numerics: Numerics,
        args: &O::Args<'_>,
    ) -> Result<O::Out, KernelError<O::Error>>;
}
