//! The entry that registers kernels of extensions.

use std::mem::offset_of;

use interlock::Error;
use interlock::base::dlpack::{DLDataType, DLDevice, DLTensor};
use interlock::base::quote::quoted;
use interlock::dispatch::{ForeignCall, ForeignGate, ForeignKernelDescriptor, ForeignNumerics};
use interlock_capi::sys::*;

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
    // SAFETY: guaranteed by the caller. The layouts are compared below.
    let registered = unsafe { register(operation, kernel.cast::<ForeignKernelDescriptor>()) };
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
        Error::KernelGate { error } => {
            Failure::from(*error).within(format_args!("kernel_register: gates: value of "))
        }
        other => Failure::from(other).within(format_args!("kernel_register: ")),
    }
}

/// Compares the fields of a struct of the C interface with those of the runtime.
macro_rules! same_layout {
    ($ours:ty, $theirs:ty: $($our:ident = $their:ident),+) => {
        const _: () = {
            assert!(size_of::<$ours>() == size_of::<$theirs>());
            assert!(align_of::<$ours>() == align_of::<$theirs>());
            $(assert!(offset_of!($ours, $our) == offset_of!($theirs, $their));)+
        };
    };
}

same_layout!(InterlockKernel, ForeignKernelDescriptor:
    size = size, name = name, gates = gates, num_gates = num_gates, node = node, context = context,
    condition = condition, run = run);
same_layout!(InterlockGate, ForeignGate: flag = flag, value = value);
same_layout!(InterlockNumerics, ForeignNumerics: inputs = inputs, sums = sums, reserved = reserved);
same_layout!(InterlockKernelCall, ForeignCall:
    size = size, inputs = inputs, outputs = outputs, num_inputs = num_inputs, num_outputs = num_outputs,
    numerics = numerics, stream = stream, options = options);
same_layout!(InterlockTensor, DLTensor:
    data = data, device_type = device, ndim = ndim, dtype_code = dtype, shape = shape, strides = strides,
    byte_offset = byte_offset);

const _: () = {
    const DEVICE: usize = offset_of!(DLTensor, device);
    const DTYPE: usize = offset_of!(DLTensor, dtype);
    assert!(offset_of!(InterlockTensor, device_id) == DEVICE + offset_of!(DLDevice, device_id));
    assert!(offset_of!(InterlockTensor, dtype_bits) == DTYPE + offset_of!(DLDataType, bits));
    assert!(offset_of!(InterlockTensor, dtype_lanes) == DTYPE + offset_of!(DLDataType, lanes));
};
