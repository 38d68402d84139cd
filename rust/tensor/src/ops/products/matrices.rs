//! Matrix products of tensors with any number of dimensions.

use std::fmt;

use interlock::backends::Node;
use interlock::dispatch::{Call, Composite, Numerics};

use super::matmul_kernels::{MATMUL, MatmulArgs, MatmulCall, NATIVE, err_bools};
use crate::error::{Tuple, check_factor};
use crate::layout::broadcast;
use crate::ops::elementwise::arithmetic::{add_products, scale_by_alpha};
use crate::ops::elementwise::operand::{check_device, check_same_dtype};
use crate::recording::NodeBuilder;
use crate::{DType, Error, Result, Scalar, Tensor};

const OP: &str = "matmul";

/// The name of the linear layer in errors.
const LINEAR: &str = "linear";

/// The composite operation that a matrix product is part of.
#[derive(Clone, Copy)]
pub(crate) struct Parent {
    /// The name of the operation in records and errors, such as "matmul".
    name: &'static str,
    /// The node of the precision tree that controls the arithmetic, also of the gradients, instead of the kernel's
    /// node.
    node: Option<Node>,
}

impl Parent {
    /// A composite operation whose products obey `node`, as it is when each product and its gradients are computed.
    pub fn with_node(name: &'static str, node: Node) -> Self {
        Parent { name, node: Some(node) }
    }

    fn composite(self, dtype: DType) -> Composite {
        let node = self.node.filter(|_| dtype == DType::Float32);
        Composite { name: self.name, numerics: node.map(Numerics::from_node) }
    }
}

/// A composite operation whose products obey the nodes of their own kernels.
impl From<&'static str> for Parent {
    fn from(name: &'static str) -> Self {
        Parent { name, node: None }
    }
}

/// Operands of a product with at least two dimensions, and the shape of the result.
struct Prepared {
    a: Tensor,
    b: Tensor,
    shape: Vec<usize>,
}

/// Multiplies matrices of tensors with at least two dimensions, broadcast over the others, for the gradient of a
/// product that is part of `parent`.
fn batch_matmul(parent: Option<Parent>, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    matmul_into_shape(a, b, a.dtype(), None, parent.filter(|parent| parent.node.is_some()))
}

/// Multiplies matrices of tensors with at least two dimensions, broadcast over the others. `wanted` is another shape
/// for the result, which is not a view of the product.
fn matmul_into_shape(
    a: &Tensor,
    b: &Tensor,
    dtype: DType,
    wanted: Option<&[usize]>,
    parent: Option<Parent>,
) -> Result<Tensor> {
    let (batch_a, [rows, _]) = split_shape(a)?;
    let (batch_b, [_, columns]) = split_shape(b)?;
    check_inner_dims(a, b)?;
    check_same_dtype(OP, a, b)?;
    let batch = broadcast(OP, batch_a, batch_b).map_err(|_| {
        let [sizes_a, sizes_b] = [batch_a, batch_b].map(Tuple);
        err_shapes(OP, format!("batch dimensions {sizes_a} and {sizes_b} cannot be broadcast"), a, b)
    })?;
    let mut shape = batch.clone();
    shape.extend([rows, columns]);
    let args = MatmulArgs { a, b, batch: &batch, shape: wanted.unwrap_or(&shape), dtype };
    let composite = parent.map(|parent| parent.composite(a.dtype()));
    let out = MATMUL.call(&MatmulCall::new(a, b), composite, &args)?;
    let name = if shape.len() > 2 { "BmmBackward0" } else { "MmBackward0" };
    if let Some(mut builder) = NodeBuilder::new(name, &[a, b])? {
        let (right, left) = (builder.save_for(0, b)?, builder.save_for(1, a)?);
        let dtype = a.dtype();
        builder.set_history(&out, move |ctx, gradient| {
            let gradient = &gradient.cast(dtype)?.reshaped(&shape)?;
            Ok(vec![
                ctx.gradient(0, || batch_matmul(parent, gradient, &ctx.saved(right)?.transpose(-1, -2)?))?,
                ctx.gradient(1, || batch_matmul(parent, &ctx.saved(left)?.transpose(-1, -2)?, gradient))?,
            ])
        })?;
    }
    Ok(out)
}

/// Splits the shape into the batch sizes, and the rows and columns.
fn split_shape(tensor: &Tensor) -> Result<(&[usize], [usize; 2])> {
    match tensor.shape() {
        [batch @ .., rows, columns] => Ok((batch, [*rows, *columns])),
        _ => Err(err_shapes(OP, "an operand is not a matrix", tensor, tensor)),
    }
}

/// Returns the error for operands whose shapes do not fit.
pub(super) fn err_shapes(op: &'static str, problem: impl fmt::Display, a: &Tensor, b: &Tensor) -> Error {
    Error::shapes(op, problem, a.shape(), b.shape())
}

/// Returns an error unless rows of `a` are as long as columns of `b`. Both have dimensions.
fn check_inner_dims(a: &Tensor, b: &Tensor) -> Result<()> {
    let rows = b.shape().iter().rev().nth(usize::from(b.ndim() > 1));
    match (a.shape().last(), rows) {
        (Some(depth), Some(rows)) if depth == rows => Ok(()),
        (Some(depth), Some(rows)) => {
            Err(err_shapes(OP, format!("inner dimensions differ ({depth} and {rows})"), a, b))
        }
        _ => Err(err_shapes(OP, "an operand has no dimension", a, b)),
    }
}

impl Tensor {
    /// Returns the matrix product: `torch.matmul`. A one-dimensional tensor is a row vector on the left and a column
    /// vector on the right, and the result does not have that dimension. Dimensions before the last two are
    /// broadcast.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        let Prepared { a, b, shape } = self.prepare_matmul(other)?;
        matmul_into_shape(&a, &b, self.dtype(), Some(&shape), None)
    }

    /// Computes a matrix product that is part of the composite operation `parent`. A product of 16-bit floats is not
    /// rounded if `is_term`, because the operation adds to it.
    pub(crate) fn matmul_in(
        &self,
        parent: impl Into<Parent>,
        other: &Tensor,
        is_term: bool,
    ) -> Result<Tensor> {
        let Prepared { a, b, shape } = self.prepare_matmul(other)?;
        let dtype = if is_term { self.dtype().compute() } else { self.dtype() };
        matmul_into_shape(&a, &b, dtype, Some(&shape), Some(parent.into()))
    }

    /// Returns the choice of a kernel for `self.matmul(other)` now, without running it.
    ///
    /// # Errors
    /// Fails as [`matmul`](Tensor::matmul) does for shapes, types and devices that do not fit.
    pub fn explain_matmul(&self, other: &Tensor) -> Result<Call> {
        let Prepared { a, b, .. } = self.prepare_matmul(other)?;
        check_same_dtype(OP, &a, &b)?;
        check_device(OP, &a, &b)?;
        let call = MATMUL.explain(&MatmulCall::new(&a, &b));
        // A kernel that a program has registered may multiply bools.
        Error::when(a.dtype() == DType::Bool && call.kernel() == Some(NATIVE), err_bools)?;
        Ok(call)
    }

    fn prepare_matmul(&self, other: &Tensor) -> Result<Prepared> {
        let (m, n) = (self.ndim(), other.ndim());
        check_inner_dims(self, other)?;
        let a = if m == 1 { self.unsqueeze(0)? } else { self.clone() };
        let b = if n == 1 { other.unsqueeze(1)? } else { other.clone() };
        let rows = self.shape().iter().rev().nth(1);
        let columns = if n == 1 { None } else { other.shape().last() };
        // Batch sizes that cannot be broadcast are reported by the product.
        let batch = broadcast(OP, split_shape(&a)?.0, split_shape(&b)?.0).unwrap_or_default();
        let shape: Vec<usize> = batch.into_iter().chain(rows.copied()).chain(columns.copied()).collect();
        // A batch of matrices times one matrix is computed as one tall matrix times that matrix.
        let a = if a.ndim() > 2 && b.ndim() == 2 && a.is_contiguous() {
            let (columns, rows) = (a.shape().last().copied(), a.shape().iter().rev().skip(1).product());
            a.reshaped(&[rows, columns.unwrap_or(1)])?
        } else {
            a
        };
        Ok(Prepared { a, b, shape })
    }

    /// Returns the product of two matrices.
    pub fn mm(&self, other: &Tensor) -> Result<Tensor> {
        Error::when(self.ndim() != 2 || other.ndim() != 2, || {
            err_shapes("mm", "an operand is not a matrix (matmul() accepts others)", self, other)
        })?;
        self.matmul(other).map_err(|error| error.during("mm"))
    }

    /// Returns the products of two batches of matrices with equal batch sizes.
    pub fn bmm(&self, other: &Tensor) -> Result<Tensor> {
        let (own, others) = (self.shape(), other.shape());
        if self.ndim() != 3 || other.ndim() != 3 || own.first() != others.first() {
            let problem = "both operands must have 3 dimensions, with equal first sizes";
            return Err(err_shapes("bmm", problem, self, other));
        }
        self.matmul(other)
    }

    /// Returns `beta * self + alpha * (left @ right)` for matrices; this tensor is broadcast to the product. If `beta`
    /// is 0, the elements of this tensor are ignored, and those of the product if `alpha` is 0.
    pub fn addmm(&self, left: &Tensor, right: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
        const OP: &str = "addmm";
        if left.ndim() != 2 || right.ndim() != 2 {
            return Err(err_shapes(OP, "mat1 and mat2 must be matrices", left, right));
        }
        self.add_product(OP, left, right, beta, alpha)
    }

    /// Returns `beta * self + alpha * (left @ right)` for operands that `op` has checked.
    pub(crate) fn add_product(
        &self,
        op: &'static str,
        left: &Tensor,
        right: &Tensor,
        beta: Scalar,
        alpha: Scalar,
    ) -> Result<Tensor> {
        check_same_dtype(op, self, left)?;
        check_factor(beta, self.dtype(), op, "beta")?;
        check_factor(alpha, self.dtype(), op, "alpha")?;
        let is_zero = |number: Scalar| number.cast::<f64>() == 0.0;
        let product = left.matmul_in(op, right, true)?;
        if !self.shape().is_empty() && broadcast(op, self.shape(), product.shape())? != product.shape() {
            return Err(err_shapes(op, "input must be broadcastable to the product", self, &product));
        }
        let scaled = scale_by_alpha(op, (&product).into(), (&product).into(), ("alpha", alpha))?;
        let scaled = scaled.into_tensor(&product)?;
        let input = scale_by_alpha(op, (&product).into(), self.into(), ("beta", beta))?.into_tensor(self)?;
        let scaled = if is_zero(alpha) { product.zeros_with_history()? } else { scaled };
        match is_zero(beta) {
            true if self.requires_grad() => add_products(&scaled, &self.zeros_with_history()?, self.dtype()),
            true => scaled.cast(self.dtype()),
            false => add_products(&scaled, &input, self.dtype()),
        }
    }

    /// Returns zeros with the history of this tensor, even if its elements are infinite or NaN.
    fn zeros_with_history(&self) -> Result<Tensor> {
        self.unsqueeze(0)?.slice(0, None, Some(0), 1)?.sum(Some(&[0]), false)
    }

    /// Returns `self @ weight.T + bias`: the linear layer of `torch.nn.functional`. `weight` has the shape
    /// (outputs, inputs), or (inputs) for one output; `bias` is broadcast to the result.
    pub fn linear(&self, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        self.linear_in(LINEAR, weight, bias)
    }

    /// Computes a [`linear`](Tensor::linear) layer whose product is part of the composite operation `parent`.
    pub(crate) fn linear_in(
        &self,
        parent: impl Into<Parent>,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor> {
        self.check_linear(weight, bias)?;
        let (parent, weight) = (parent.into(), if weight.ndim() == 2 { weight.t()? } else { weight.clone() });
        let out = match bias {
            Some(bias) if bias.dtype() == self.dtype() => self
                .matmul_in(parent, &weight, true)
                .and_then(|product| add_products(&product, bias, self.dtype())),
            Some(bias) => self.matmul_in(parent, &weight, false).and_then(|product| product.add(bias)),
            None => self.matmul_in(parent, &weight, false),
        };
        out.map_err(|error| error.during(LINEAR))
    }

    /// Returns an error unless the shapes of a linear layer fit.
    fn check_linear(&self, weight: &Tensor, bias: Option<&Tensor>) -> Result<()> {
        let Some(size) = self.shape().last() else {
            return Err(Error::shape(LINEAR, "input", "have at least one dimension", self.shape()));
        };
        if !matches!(weight.ndim(), 1 | 2) || weight.shape().last() != Some(size) {
            let expected = format!(
                "be of shape (outputs, {size}) or ({size},) for an input of shape {}",
                Tuple(self.shape())
            );
            return Err(Error::shape(LINEAR, "weight", expected, weight.shape()));
        }
        let outer = self.shape().split_last().map_or(&[][..], |(_, outer)| outer);
        let outputs = weight.shape().split_last().map_or(&[][..], |(_, outputs)| outputs);
        let out = [outer, outputs].concat();
        match bias {
            Some(bias) if broadcast(LINEAR, &out, bias.shape()).is_err() => {
                let expected = format!("be broadcastable to the result of shape {}", Tuple(&out));
                Err(Error::shape(LINEAR, "bias", expected, bias.shape()))
            }
            _ => Ok(()),
        }
    }
}
