//! Softmax and its logarithm.
//!
//! The backward pass is one kernel. A backward pass that is recorded is computed by recorded operations instead, so that
//! it can be differentiated any number of times.

use super::along_dim::Rows;
use crate::dtype::dispatch_float;
use crate::layout::wrap_dim;
use crate::loops::{Columns, Softmax};
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
        let out = along_dim(op, self, dim, Softmax::Logarithm)?;
        NodeBuilder::record_saving_output("LogSoftmaxBackward0", self, out, move |out, gradient| {
            if is_recording() {
                let total = gradient.sum(Some(&[dim]), true)?;
                return gradient.sub(&out.exp()?.mul(&total)?);
            }
            gradient_along_dim("log_softmax", gradient, out, dim, true)
        })
    }

    /// Returns the exponentials of the elements, normalized to a sum of 1 along `dim`.
    pub fn softmax(&self, dim: i64) -> Result<Tensor> {
        self.softmax_as("SoftmaxBackward0", dim, Softmax::Plain)
    }

    /// Returns the [`softmax`](Tensor::softmax) along the last dimension, and 0 where all elements are minus infinity: PyTorch's
    /// `_safe_softmax`.
    pub(crate) fn safe_softmax(&self) -> Result<Tensor> {
        self.softmax_as("SafeSoftmaxBackward0", -1, Softmax::Safe)
    }

    fn softmax_as(&self, node: &'static str, dim: i64, kind: Softmax) -> Result<Tensor> {
        let out = along_dim("softmax", self, dim, kind)?;
        NodeBuilder::record_saving_output(node, self, out, move |out, gradient| {
            if is_recording() {
                let total = gradient.mul(out)?.sum(Some(&[dim]), true)?;
                return gradient.sub(&total)?.mul(out);
            }
            gradient_along_dim("softmax", gradient, out, dim, false)
        })
    }
}

/// Returns the sizes of the matrices that a contiguous tensor consists of, whose columns are along `dim`, unless they are narrow:
/// then they are transposed, and computed as rows.
fn matrices(tensor: &Tensor, dim: i64) -> Option<(usize, usize)> {
    const NARROW: usize = 32;
    let (rows, inner) = tensor.shape().get(wrap_dim("softmax", dim, tensor.ndim()).ok()?..)?.split_first()?;
    let width = inner.iter().product();
    (!inner.is_empty() && width >= NARROW).then_some((*rows, width))
}

/// Returns the softmax or its logarithm, without history.
fn along_dim(op: &'static str, tensor: &Tensor, dim: i64, kind: Softmax) -> Result<Tensor> {
    check_floating_point(op, tensor)?;
    if let Some(sizes) = matrices(tensor, dim) {
        let source = tensor.contiguous_for_arithmetic()?;
        let out = dispatch_float!(source.dtype(), T => {
            let is_log = kind == Softmax::Logarithm;
            let function = move |columns: Columns<T, 1>| loops::softmax_of_columns(columns, is_log);
            // SAFETY: it writes each element.
            unsafe { iterate::map_columns(op, [&source], sizes, function) }
        })?;
        return iterate::cast(&out, tensor.dtype());
    }
    let rows = Rows::in_compute_type(op, tensor, dim)?;
    let out = dispatch_float!(rows.rows.dtype(), T => {
        iterate::map_rows(op, &rows.rows, rows.length, move |row: &[T], out| loops::softmax(row, out, kind))
    })?;
    rows.restore(&iterate::cast(&out, tensor.dtype())?)
}

/// Returns the gradient of the input, without history: `(g - sum(g * y)) * y` for the gradient g of the result y, and if that
/// `is_log` `g - exp(y) * sum(g)`.
fn gradient_along_dim(
    op: &'static str,
    gradient: &Tensor,
    output: &Tensor,
    dim: i64,
    is_log: bool,
) -> Result<Tensor> {
    if let Some(sizes) = matrices(output, dim) {
        let sources = [&gradient.contiguous_for_arithmetic()?, &output.contiguous_for_arithmetic()?];
        let out = dispatch_float!(output.dtype().compute(), T => {
            let function = move |columns: Columns<T, 2>| loops::softmax_of_columns_backward(columns, is_log);
            // SAFETY: it writes each element.
            unsafe { iterate::map_columns(op, sources, sizes, function) }
        })?;
        return iterate::cast(&out, gradient.dtype());
    }
    let (rows, others) = (Rows::in_compute_type(op, gradient, dim)?, Rows::in_compute_type(op, output, dim)?);
    let out = dispatch_float!(rows.rows.dtype(), T => {
        iterate::zip_rows(op, &rows.rows, &others.rows, rows.length, move |g: &[T], y, out| {
            if is_log { loops::log_softmax_backward(g, y, out) } else { loops::softmax_backward(g, y, out) }
            Ok(())
        })
    })?;
    rows.restore(&iterate::cast(&out, gradient.dtype())?)
}
