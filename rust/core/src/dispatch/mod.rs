//! The choice of a kernel for each call of an operation, and its record.
//!
//! An [`Operation`] has a list of [`Kernel`]s. Each kernel declares what it requires as data: switches
//! ([`FlagRequirement`]s), a vendor library, and a condition on the call. [`Op::call`] reads the flags once, on the
//! calling thread, and runs the first kernel that nothing refuses. The kernel receives the [`Numerics`] that its node
//! of the precision tree requests. It runs on the same thread, and the work that it queues reads no flag, so work that
//! is queued or captured never depends on later assignments.
//!
//! [`Recording`] and `INTERLOCK_DISPATCH=1` show each choice with the reasons against all other kernels;
//! [`Op::explain`] returns the choice for a call without running it.
//!
//! A [`ForeignKernel`] is a kernel of another library, with C functions. A [`DynKernel`] has a state of its own and can
//! be removed.

mod autotuner;
mod decisions;
mod dyn_kernel;
mod flag_requirement;
mod foreign;
mod kernel;
mod kernel_list;
mod numerics;
mod operation;
pub(crate) mod record;

pub use autotuner::{Autotuner, Tuned};
pub use dyn_kernel::DynKernel;
pub use flag_requirement::FlagRequirement;
pub use foreign::{ForeignArgs, ForeignKernel, ForeignTensor};
pub use kernel::{ForeignFunctions, Kernel, KernelError};
pub use numerics::{Accumulation, Numerics, Rounding, Sums};
pub use operation::{Composite, NoKernel, Op, Operation, Order, Preference, Preferred};
pub use record::{Call, Considered, Outcome, Reason, Recording, annotate};
