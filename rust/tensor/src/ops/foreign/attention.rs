//! Attention by kernels of other libraries.

use std::ffi::c_void;

use interlock::dispatch::{
    ForeignArgs, ForeignFunctions, ForeignKernel, Kernel, Numerics, Operation, Reason, Stop,
};

use super::super::attention_kernels::{Attention, AttentionArgs, AttentionCall, AttentionOut};
use crate::kernel::{ForeignLaunch, foreign_tensor, result_placement};
use crate::shape::Layout;
use crate::{Error, Tensor};

/// The options of an attention, to which the `options` of a [`ForeignCall`](interlock::dispatch::ForeignCall) point.
///
/// ```
/// use interlock_tensor::ForeignAttentionOptions;
///
/// let options = ForeignAttentionOptions::new(0.125, true, false);
/// assert_eq!((options.scale, options.is_causal, options.enable_gqa), (0.125, 1, 0));
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ForeignAttentionOptions {
    /// The size of this struct in bytes. Later versions append members.
    pub size: usize,
    /// The factor of the scores; 0 while the kernel is only considered.
    pub scale: f64,
    /// 1 if a query sees only the keys up to its own position, else 0.
    pub is_causal: u32,
    /// 1 if several heads of queries may share one head of keys and values, else 0.
    pub enable_gqa: u32,
}

impl ForeignAttentionOptions {
    /// Creates the options of a call.
    pub fn new(scale: f64, is_causal: bool, enable_gqa: bool) -> Self {
        let (is_causal, enable_gqa) = (u32::from(is_causal), u32::from(enable_gqa));
        ForeignAttentionOptions { size: size_of::<Self>(), scale, is_causal, enable_gqa }
    }

    fn as_pointer(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }
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
    let options = ForeignAttentionOptions::new(0.0, call.is_causal(), call.enable_gqa());
    let options = options.as_pointer();
    foreign.check(&ForeignArgs { options, ..ForeignArgs::new(&inputs, &outputs, Numerics::default()) })
}

fn run(
    foreign: &ForeignKernel,
    call: &AttentionCall,
    numerics: Numerics,
    args: &AttentionArgs<'_>,
) -> Result<AttentionOut, Stop<Error>> {
    let AttentionArgs { query, key, value, mask, is_causal, scale, enable_gqa } = *args;
    let operands = [query, key, value].into_iter().chain(mask);
    let operands: Vec<(&Tensor, Layout)> =
        operands.map(|operand| (operand, operand.layout().clone())).collect();
    let options = ForeignAttentionOptions::new(scale, is_causal, enable_gqa);
    let launch = ForeignLaunch {
        op: Attention::NAME,
        kernel: foreign,
        numerics,
        operands: &operands,
        placement: result_placement(query, key),
        dtype: call.dtype(),
        shapes: &[&call.output_shape().map_err(Stop::Refused)?],
        options: options.as_pointer(),
    };
    let out = launch.run()?.pop();
    Ok(out.ok_or_else(|| Stop::Refused(Reason::from("returned no result")))?.into())
}
