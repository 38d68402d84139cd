//! The entry that registers kernels of extensions.

use interlock::Error;
use interlock_core::base::quote::quoted;
use interlock_sys::*;

use crate::arguments::{reference, text};
use crate::entry::{Failure, Result, run};
use crate::hooks;

pub(crate) unsafe extern "C" fn register(
    operation: InterlockText,
    kernel: *const InterlockKernel,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe { run(error, || register_kernel(operation, kernel)) }
}

/// # Safety
/// The operation and the kernel fulfil the contract of the table.
unsafe fn register_kernel(operation: InterlockText, kernel: *const InterlockKernel) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let operation = unsafe { text("kernel_register: operation", operation)? };
    // The size alone: the struct of a caller may have another one.
    // SAFETY: guaranteed by the caller.
    unsafe { reference("kernel_register: kernel", kernel.cast::<usize>())? };
    let register = hooks::register_kernel()?;
    // SAFETY: guaranteed by the caller.
    let registered = unsafe { register(operation, kernel) };
    registered.map_err(err_of_entry)
}

/// Returns an error of the Rust interface as one of the entry.
fn err_of_entry(error: Error) -> Failure {
    match error {
        Error::KernelDescriptor { argument, given, allowed } => {
            Failure::argument(&format!("kernel_register: {argument}"), &allowed, given)
        }
        Error::KernelName { operation, name } => {
            let allowed = format!("one that no kernel of {operation} has");
            Failure::argument("kernel_register: name", &allowed, quoted(name))
        }
        Error::KernelRequirement { error } => {
            Failure::from(*error).within(format_args!("kernel_register: requirements: value of "))
        }
        other => Failure::from(other).within(format_args!("kernel_register: ")),
    }
}
