//! Softmax and its logarithm.
//!
//! The backward pass is one kernel. A backward pass that is recorded is computed by recorded operations instead, so that
//! it can be differentiated any number of times.

use super::along_dim::Rows;
use crate::dtype::dispatch_float;
use crate::ops::elementwise::operand::check_floating_point;
use crate::recording::{NodeBuilder, is_recording};
use crate::{Result, Tensor, iterate, loops};

impl Tensor {
    /// Returns the logarithm of the [`softmax`](Tensor::softmax) along `dim`, which is also accurate where the
    /// softmax underflows.
    pub fn log_softmax(&self, dim: i64) -> Result<Tensor> {
        self.log_softmax_for("log_softmax", dim)
    }

    /// Returns the [`log_softmax`](Tensor::log_softmax), for an operation that errors name.
    pub(crate) fn log_softmax_for(&self, op: &'static str, dim: i64) -> Result<Tensor> {
        check_floating_point(op, self)?;
        let out = apply_along_dim(op, self, dim, |rows, length| {
            dispatch_float!(rows.dtype(), T => {
                iterate::map_rows(op, rows, length, loops::log_softmax::<T>)
            })
        })?;
        NodeBuilder::record_saving_output("LogSoftmaxBackward0", self, out, move |out, gradient| {
            log_softmax_backward(out, gradient, dim)
        })
    }

    /// Returns the exponentials of the elements, normalized to a sum of 1 along `dim`.
    pub fn softmax(&self, dim: i64) -> Result<Tensor> {
        self.softmax_as("SoftmaxBackward0", dim, false)
    }

    /// Returns the [`softmax`](Tensor::softmax) along `dim`, and 0 where all elements are minus infinity: PyTorch's
    /// `_safe_softmax`.
    pub(crate) fn safe_softmax(&self, dim: i64) -> Result<Tensor> {
        self.softmax_as("SafeSoftmaxBackward0", dim, true)
    }

    /// Returns the softmax along `dim`. Where all elements are minus infinity it is 0 if `is_safe`, else NaN.
    fn softmax_as(&self, node: &'static str, dim: i64, is_safe: bool) -> Result<Tensor> {
        let op = "softmax";
        check_floating_point(op, self)?;
        let out = apply_along_dim(op, self, dim, |rows, length| {
            dispatch_float!(rows.dtype(), T => {
                iterate::map_rows(op, rows, length, move |row: &[T], out| loops::softmax(row, out, is_safe))
            })
        })?;
        NodeBuilder::record_saving_output(node, self, out, move |out, gradient| {
            softmax_backward(out, gradient, dim)
        })
    }
}

/// Returns the gradient of the input of `log_softmax`: `g - exp(y) * sum(g)` for the gradient g of the result y.
fn log_softmax_backward(output: &Tensor, gradient: &Tensor, dim: i64) -> Result<Tensor> {
    if is_recording() {
        let total = gradient.sum(Some(&[dim]), true)?;
        return gradient.sub(&output.exp()?.mul(&total)?);
    }
    zip_along_dim("log_softmax", gradient, output, dim, |gradients, outputs, length| {
        dispatch_float!(gradients.dtype(), T => iterate::zip_rows("log_softmax", gradients, outputs, length, |g, y, out| {
            loops::log_softmax_backward::<T>(g, y, out);
            Ok(())
        }))
    })
}

/// Returns the gradient of the input of `softmax`: `(g - sum(g * y)) * y` for the gradient g of the result y.
fn softmax_backward(output: &Tensor, gradient: &Tensor, dim: i64) -> Result<Tensor> {
    if is_recording() {
        let total = gradient.mul(output)?.sum(Some(&[dim]), true)?;
        return gradient.sub(&total)?.mul(output);
    }
    zip_along_dim("softmax", gradient, output, dim, |gradients, outputs, length| {
        dispatch_float!(gradients.dtype(), T => iterate::zip_rows("softmax", gradients, outputs, length, |g, y, out| {
            loops::softmax_backward::<T>(g, y, out);
            Ok(())
        }))
    })
}

/// Runs `f` on the rows of a tensor along `dim` and their length.
fn apply_along_dim(
    op: &'static str,
    tensor: &Tensor,
    dim: i64,
    f: impl FnOnce(&Tensor, usize) -> Result<Tensor>,
) -> Result<Tensor> {
    let rows = Rows::in_compute_type(op, tensor, dim)?;
    rows.restore(&iterate::cast(&f(&rows.rows, rows.length)?, tensor.dtype())?)
}

/// Like [`apply_along_dim`], on the rows of two tensors of one shape.
fn zip_along_dim(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    dim: i64,
    f: impl FnOnce(&Tensor, &Tensor, usize) -> Result<Tensor>,
) -> Result<Tensor> {
    let (rows, others) = (Rows::in_compute_type(op, a, dim)?, Rows::in_compute_type(op, b, dim)?);
    rows.restore(&iterate::cast(&f(&rows.rows, &others.rows, rows.length)?, a.dtype())?)
}
