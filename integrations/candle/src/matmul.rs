//! Matrix products on the kernels that interlock's flags choose.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};
use interlock::autograd::is_grad_enabled;

use crate::convert::{check_dtype, failed, to_candle, to_interlock};

/// Multiplies matrices, as [`Tensor::matmul`] does: both operands have as many dimensions and the same batch.
///
/// On the CPU the kernel and its precision are those that interlock's flags choose on this thread, and a recording shows
/// the call. Under interlock's `no_grad` the result has no history. The backward pass multiplies with this function, too.
/// Tensors of other devices are multiplied by candle, which records gradients under `no_grad`, too.
///
/// # Errors
/// Fails for shapes, types and devices that do not fit, and if every kernel refuses the call.
pub fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    check(a, b)?;
    let (batch_a, batch_b) = (batch(a), batch(b));
    if batch_a != batch_b {
        bail!(
            "matmul: batches must be equal, got shapes {:?} and {:?}; use broadcast_matmul",
            a.dims(),
            b.dims()
        );
    }
    multiply(a, b)
}

/// Multiplies matrices after broadcasting their batches, as [`Tensor::broadcast_matmul`] does. See [`matmul`].
///
/// # Errors
/// Fails as [`matmul`] does, and for batches that cannot be broadcast.
pub fn broadcast_matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    check(a, b)?;
    let Ok(batch) = Shape::from(batch(a)).broadcast_shape_binary_op(&Shape::from(batch(b)), "matmul") else {
        bail!("matmul: batches cannot be broadcast for shapes {:?} and {:?}", a.dims(), b.dims());
    };
    let broadcast = |operand: &Tensor| {
        let matrix = operand.dims().iter().skip(operand.rank() - 2);
        operand.broadcast_as(batch.dims().iter().chain(matrix).copied().collect::<Vec<_>>())
    };
    multiply(&broadcast(a)?, &broadcast(b)?)
}

/// Returns the dimensions over which matrices are repeated.
fn batch(tensor: &Tensor) -> &[usize] {
    tensor.dims().split_at(tensor.rank().saturating_sub(2)).0
}

fn check(a: &Tensor, b: &Tensor) -> Result<()> {
    let ([.., _, columns], [.., rows, _]) = (a.dims(), b.dims()) else {
        bail!(
            "matmul: tensors must have at least 2 dimensions, got shapes {:?} and {:?}",
            a.dims(),
            b.dims()
        );
    };
    if columns != rows {
        bail!(
            "matmul: inner dimensions differ ({columns} and {rows}) for shapes {:?} and {:?}",
            a.dims(),
            b.dims()
        );
    }
    if a.dtype() != b.dtype() {
        bail!("matmul: dtypes must match, got {} and {}", a.dtype().as_str(), b.dtype().as_str());
    }
    check_dtype("matmul", "tensors", a.dtype())
}

fn multiply(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    match (a.device().is_cpu() && b.device().is_cpu(), is_grad_enabled()) {
        (false, _) => a.matmul(b),
        (true, true) => a.apply_op2(b, MatMul),
        (true, false) => a.apply_op2_no_bwd(b, &MatMul),
    }
}

struct MatMul;

impl CustomOp2 for MatMul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        layout_a: &Layout,
        b: &CpuStorage,
        layout_b: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let a = to_interlock(self.name(), a, layout_a)?;
        let b = to_interlock(self.name(), b, layout_b)?;
        to_candle(&a.matmul(&b).map_err(failed)?)
    }

    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        Ok((Some(multiply(grad, &b.t()?)?), Some(multiply(&a.t()?, grad)?)))
    }
}
