//! Attention by kernels of other libraries.

use std::ptr;

use interlock::dispatch::{
    ForeignArgs, ForeignFunctions, ForeignKernel, Kernel, KernelError, Numerics, Operation, Reason,
};
use interlock::sys::InterlockAttentionOptions;

use super::launch::{ForeignLaunch, foreign_tensor};
use crate::iterate::result_placement;
use crate::layout::Layout;
use crate::ops::nn::attention::kernels::{Attention, AttentionArgs, AttentionCall, AttentionOut};
use crate::{Error, Tensor};

fn options_of(scale: f64, is_causal: bool, enable_gqa: bool) -> InterlockAttentionOptions {
    let (is_causal, enable_gqa) = (u32::from(is_causal), u32::from(enable_gqa));
    let size = size_of::<InterlockAttentionOptions>();
    InterlockAttentionOptions { size, scale, is_causal, enable_gqa }
}

/// Returns a kernel of attention. Its gradient is recomputed in blocks, as that of every registered kernel.
pub(super) fn kernel(foreign: ForeignKernel) -> Kernel<Attention> {
    Kernel::foreign(foreign, ForeignFunctions { check, run })
}

fn check(foreign: &ForeignKernel, call: &AttentionCall) -> Result<(), Reason> {
    let tensor = |shape: &[usize]| foreign_tensor(call.device(), call.dtype(), shape);
    let mut inputs = call.shapes().map(tensor).to_vec();
    inputs.extend(call.mask().map(|(dtype, shape)| foreign_tensor(call.device(), dtype, shape)));
    let outputs = [tensor(&call.output_shape()?)];
    let options = options_of(0.0, call.is_causal(), call.enable_gqa());
    let options = ptr::from_ref(&options).cast();
    foreign.check(&ForeignArgs { options, ..ForeignArgs::new(&inputs, &outputs, Numerics::default()) })
}

fn run(
    foreign: &ForeignKernel,
    call: &AttentionCall,
    numerics: Numerics,
    args: &AttentionArgs<'_>,
) -> Result<AttentionOut, KernelError<Error>> {
    let AttentionArgs { query, key, value, mask, is_causal, scale, enable_gqa } = *args;
    let operands = [query, key, value].into_iter().chain(mask);
    let operands: Vec<(&Tensor, Layout)> =
        operands.map(|operand| (operand, operand.layout().clone())).collect();
    let options = options_of(scale, is_causal, enable_gqa);
    let launch = ForeignLaunch {
        op: Attention::NAME,
        kernel: foreign,
        numerics,
        operands: &operands,
        placement: result_placement(query, key),
        dtype: call.dtype(),
        shape: &call.output_shape().map_err(KernelError::Declined)?,
        options: ptr::from_ref(&options).cast(),
    };
    Ok(launch.run()?.into())
}
