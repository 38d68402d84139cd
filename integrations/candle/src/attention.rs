//! Attention on the kernel that interlock's flags choose.

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};
use interlock::autograd::{enable_grad, inference_mode, is_grad_enabled};
use interlock_tensor::autograd::{BackwardArgs, grad};
use interlock_tensor::{self as il};

use crate::convert::{check_dtype, failed, tensor_to_interlock, to_candle, to_interlock, to_tensor};

const OP: &str = "scaled_dot_product_attention";

/// The options of [`scaled_dot_product_attention`].
#[derive(Clone, Debug, Default)]
pub struct AttentionOptions {
    /// u8, where a number other than 0 lets a query see a key, or numbers of the type of the queries, which are added to the
    /// scores. It is broadcast to the shape of the scores: (..., queries, keys). It gets no gradient.
    pub mask: Option<Tensor>,
    /// Whether a query sees only the keys up to its own position. An error with a mask.
    pub is_causal: bool,
    /// The factor of the scores; `None` is one divided by the square root of the size of a query.
    pub scale: Option<f64>,
    /// Whether several heads of queries may share one head of keys and values.
    pub enable_gqa: bool,
}

/// Returns the mean of the values for each query, weighted by the softmax of its scaled dot products with the keys.
///
/// The kernel is the one that interlock's flags choose on this thread, and a recording shows the call. Under interlock's
/// `no_grad` the result has no history. The backward pass computes the attention once more, as that thread's flags choose.
/// Every tensor must be on the CPU: candle has no attention for all devices.
///
/// # Errors
/// Fails for shapes, types and devices that do not fit, and if every kernel refuses the call.
pub fn scaled_dot_product_attention(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    options: &AttentionOptions,
) -> Result<Tensor> {
    for (name, tensor) in [("query", query), ("key", key), ("value", value)] {
        check_dtype(OP, name, tensor.dtype())?;
        if !tensor.device().is_cpu() {
            bail!("{OP}: {name} must be on the CPU, got {:?}", tensor.device().location());
        }
    }
    // Converted once, and by this function, so that the operation owns it.
    let mask = options.mask.as_ref().map(|mask| tensor_to_interlock(OP, mask)).transpose()?;
    let operation = Attention { options: options.clone(), mask };
    if is_grad_enabled() {
        query.apply_op3(key, value, operation)
    } else {
        query.apply_op3_no_bwd(key, value, &operation)
    }
}

struct Attention {
    options: AttentionOptions,
    mask: Option<il::Tensor>,
}

impl Attention {
    fn compute(&self, [query, key, value]: &[il::Tensor; 3]) -> Result<il::Tensor> {
        let AttentionOptions { is_causal, scale, enable_gqa, .. } = self.options;
        let options = il::AttentionOptions { mask: self.mask.as_ref(), is_causal, scale, enable_gqa };
        query.scaled_dot_product_attention(key, value, &options).map_err(failed)
    }
}

impl CustomOp3 for Attention {
    fn name(&self) -> &'static str {
        OP
    }

    fn cpu_fwd(
        &self,
        query: &CpuStorage,
        layout_query: &Layout,
        key: &CpuStorage,
        layout_key: &Layout,
        value: &CpuStorage,
        layout_value: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let operands = [
            to_interlock(OP, query, layout_query)?,
            to_interlock(OP, key, layout_key)?,
            to_interlock(OP, value, layout_value)?,
        ];
        to_candle(&self.compute(&operands)?)
    }

    fn bwd(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        _: &Tensor,
        grad_of_result: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        // candle runs a backward pass under any mode.
        let _modes = (inference_mode(false), enable_grad());
        let operands =
            [tensor_to_interlock(OP, query)?, tensor_to_interlock(OP, key)?, tensor_to_interlock(OP, value)?];
        for operand in &operands {
            operand.set_requires_grad(true).map_err(failed)?;
        }
        let out = self.compute(&operands)?;
        let gradient = tensor_to_interlock(OP, grad_of_result)?;
        let request = BackwardArgs {
            outputs: std::slice::from_ref(&out),
            gradients: &[Some(gradient)],
            retain_graph: false,
            create_graph: false,
        };
        let gradients = grad(&request, &operands, true).map_err(failed)?;
        let mut gradients = gradients.iter().map(|gradient| gradient.as_ref().map(to_tensor).transpose());
        let mut next = || gradients.next().transpose().map(Option::flatten);
        Ok((next()?, next()?, next()?))
    }
}
