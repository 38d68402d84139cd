//! Matrix products of tensors with any number of dimensions.

use std::borrow::Cow;
use std::fmt;

use interlock::backends::Node;
use interlock::dispatch::{Call, Composite, Numerics};

use super::matmul_kernels::{MATMUL, MatmulArgs, MatmulCall, NATIVE, err_bools};
use crate::error::{Tuple, check_factor};
use crate::layout::broadcast;
use crate::ops::elementwise::arithmetic::{NO_FACTOR, add_products, scale_by_alpha};
use crate::ops::elementwise::operand::{Operand, check_device, check_same_dtype};
use crate::ops::reduction::sums::sum_to;
use crate::recording::{BackwardContext, NodeBuilder};
use crate::{DType, Error, Result, Scalar, Tensor, iterate};

const OP: &str = "matmul";

/// The node of `addmm`, and of a linear layer with a bias.
const ADDMM: &str = "AddmmBackward0";

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

/// Operands of a product, and the shape of the result. An operand has one dimension if the node of the product has an edge
/// to the vector.
struct Prepared {
    a: Tensor,
    b: Tensor,
    shape: Vec<usize>,
}

/// A product that is not recorded yet.
struct MatrixProduct<'a> {
    a: &'a Tensor,
    b: &'a Tensor,
    out: Tensor,
    /// The shape of the product of the matrices, which has as many elements as `out`.
    shape: Vec<usize>,
    parent: Option<Parent>,
}

impl<'a> MatrixProduct<'a> {
    /// Multiplies matrices of tensors, broadcast over the dimensions before the last two. A vector is a row on the left and a
    /// column on the right. `wanted` is another shape for the result, which is not a view of the product.
    fn new(
        a: &'a Tensor,
        b: &'a Tensor,
        dtype: DType,
        wanted: Option<&[usize]>,
        parent: Option<Parent>,
    ) -> Result<Self> {
        // The node has edges to the vectors.
        let vector =
            |operand: &Tensor| (operand.ndim() == 1 && operand.requires_grad()).then(|| operand.detach());
        let (row, column) = (vector(a), vector(b));
        let left = &*matrix(row.as_ref().unwrap_or(a), 0)?;
        let right = &*matrix(column.as_ref().unwrap_or(b), 1)?;
        let (batch_left, [rows, _]) = split_shape(left)?;
        let (batch_right, [_, columns]) = split_shape(right)?;
        check_inner_dims(left, right)?;
        check_same_dtype(OP, left, right)?;
        let batch = broadcast(OP, batch_left, batch_right).map_err(|_| {
            let [sizes_left, sizes_right] = [batch_left, batch_right].map(Tuple);
            let problem = format!("batch dimensions {sizes_left} and {sizes_right} cannot be broadcast");
            err_shapes(OP, problem, left, right)
        })?;
        let mut shape = batch.clone();
        shape.extend([rows, columns]);
        let args = MatmulArgs { a: left, b: right, batch: &batch, shape: wanted.unwrap_or(&shape), dtype };
        let composite = parent.map(|parent| parent.composite(a.dtype()));
        let out = MATMUL.call(&MatmulCall::new(left, right), composite, &args)?;
        Ok(MatrixProduct { a, b, out, shape, parent })
    }

    /// Records the product and returns it.
    fn recorded(self) -> Result<Tensor> {
        let name = match (self.a.ndim(), self.b.ndim()) {
            (1, 1) => "DotBackward0",
            (_, 1) => "MvBackward0",
            _ if self.shape.len() > 2 => "BmmBackward0",
            _ => "MmBackward0",
        };
        if let Some(mut builder) = NodeBuilder::new(name, &[self.a, self.b])? {
            let backward = ProductBackward::new(&mut builder, 0, &self)?;
            builder
                .set_history(&self.out, move |ctx, gradient| Ok(backward.gradients(ctx, gradient)?.into()))?;
        }
        Ok(self.out)
    }

    /// Records and returns `out`, which is `beta * input` plus `alpha` times the product.
    fn recorded_in_sum(
        self,
        name: &'static str,
        input: &Tensor,
        [beta, alpha]: [Scalar; 2],
        out: Tensor,
    ) -> Result<Tensor> {
        if let Some(mut builder) = NodeBuilder::new(name, &[input, self.a, self.b])? {
            let backward = ProductBackward::new(&mut builder, 1, &self)?;
            let shape = self.out.shape().to_vec();
            builder.set_history(&out, move |ctx, gradient| {
                let scaled = |factor: Scalar| {
                    if factor == NO_FACTOR { Ok(gradient.clone()) } else { gradient.mul(factor) }
                };
                let of_input = ctx.gradient(0, || scaled(beta))?;
                if !ctx.needs(1) && !ctx.needs(2) {
                    return Ok(vec![of_input, None, None]);
                }
                // A bias may have more dimensions than the product.
                let of_product = sum_to(&scaled(alpha)?, &shape)?;
                let [of_left, of_right] = backward.gradients(ctx, &of_product)?;
                Ok(vec![of_input, of_left, of_right])
            })?;
        }
        Ok(out)
    }
}

/// The gradients of a product whose operands are the inputs of a node from `first` on.
struct ProductBackward {
    first: usize,
    /// The indices of the saved operands.
    left: usize,
    right: usize,
    are_vectors: [bool; 2],
    dtype: DType,
    shape: Vec<usize>,
    parent: Option<Parent>,
}

impl ProductBackward {
    fn new(builder: &mut NodeBuilder, first: usize, product: &MatrixProduct<'_>) -> Result<Self> {
        let MatrixProduct { a, b, shape, parent, .. } = product;
        let (right, left) = (builder.save_for(first, b)?, builder.save_for(first + 1, a)?);
        let are_vectors = [a, b].map(|operand| operand.ndim() == 1);
        let parent = parent.filter(|parent| parent.node.is_some());
        Ok(ProductBackward {
            first,
            left,
            right,
            are_vectors,
            dtype: a.dtype(),
            shape: shape.clone(),
            parent,
        })
    }

    fn gradients(&self, ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let gradient = &gradient.cast(self.dtype)?.reshaped(&self.shape)?;
        let product = |left: &Tensor, right: &Tensor, is_vector: bool| {
            let out = MatrixProduct::new(left, right, self.dtype, None, self.parent)?.recorded()?;
            if is_vector { out.flatten() } else { Ok(out) }
        };
        let transposed = |saved, dim| matrix(&ctx.saved(saved)?, dim)?.transpose(-1, -2);
        let [is_row, is_column] = self.are_vectors;
        Ok([
            ctx.gradient(self.first, || product(gradient, &transposed(self.right, 1)?, is_row))?,
            ctx.gradient(self.first + 1, || product(&transposed(self.left, 0)?, gradient, is_column))?,
        ])
    }
}

/// Returns an operand as a matrix: a vector with a new dimension.
fn matrix(operand: &Tensor, dim: i64) -> Result<Cow<'_, Tensor>> {
    if operand.ndim() == 1 { operand.unsqueeze(dim).map(Cow::Owned) } else { Ok(Cow::Borrowed(operand)) }
}

/// Splits the shape into the batch sizes, and the rows and columns.
fn split_shape(tensor: &Tensor) -> Result<(&[usize], [usize; 2])> {
    match tensor.shape() {
        [batch @ .., rows, columns] => Ok((batch, [*rows, *columns])),
        _ => Err(err_shapes(OP, "an operand is not a matrix", tensor, tensor)),
    }
}

/// Returns the sizes of the dimensions before the last two.
fn batch_sizes(tensor: &Tensor) -> &[usize] {
    tensor.shape().get(..tensor.ndim().saturating_sub(2)).unwrap_or_default()
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
        MatrixProduct::new(&a, &b, self.dtype(), Some(&shape), None)?.recorded()
    }

    /// Computes a matrix product that is part of the composite operation `parent`.
    pub(crate) fn matmul_in(&self, parent: impl Into<Parent>, other: &Tensor) -> Result<Tensor> {
        let Prepared { a, b, shape } = self.prepare_matmul(other)?;
        MatrixProduct::new(&a, &b, self.dtype(), Some(&shape), Some(parent.into()))?.recorded()
    }

    /// Returns the choice of a kernel for `self.matmul(other)` now, without running it.
    ///
    /// # Errors
    /// Fails as [`matmul`](Tensor::matmul) does for shapes, types and devices that do not fit.
    pub fn explain_matmul(&self, other: &Tensor) -> Result<Call> {
        let Prepared { a, b, .. } = self.prepare_matmul(other)?;
        let (a, b) = (matrix(&a, 0)?, matrix(&b, 1)?);
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
        let rows = self.shape().iter().rev().nth(1);
        let columns = if n == 1 { None } else { other.shape().last() };
        // Batch sizes that cannot be broadcast are reported by the product.
        let batch = broadcast(OP, batch_sizes(self), batch_sizes(other)).unwrap_or_default();
        let shape: Vec<usize> = batch.into_iter().chain(rows.copied()).chain(columns.copied()).collect();
        // As in PyTorch the node of a product with a vector on the right has an edge to the vector.
        let a = if m == 1 && n > 1 {
            self.unsqueeze(0)?
        } else if m > 2 && n <= 2 && self.is_contiguous() {
            // A batch of matrices times one matrix is computed as one tall matrix times that matrix.
            let (columns, rows) = (self.shape().last().copied(), self.shape().iter().rev().skip(1).product());
            self.reshaped(&[rows, columns.unwrap_or(1)])?
        } else {
            self.clone()
        };
        let b = if n == 1 && a.ndim() > 2 { other.unsqueeze(1)? } else { other.clone() };
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
        self.add_product((OP, ADDMM), left, right, beta, alpha)
    }

    /// Returns `beta * self + alpha * (left @ right)` for operands that `op` has checked.
    pub(crate) fn add_product(
        &self,
        (op, node): (&'static str, &'static str),
        left: &Tensor,
        right: &Tensor,
        beta: Scalar,
        alpha: Scalar,
    ) -> Result<Tensor> {
        check_same_dtype(op, self, left)?;
        check_factor(beta, self.dtype(), op, "beta")?;
        check_factor(alpha, self.dtype(), op, "alpha")?;
        let is_zero = |number: Scalar| number.cast::<f64>() == 0.0;
        let Prepared { a, b, shape } = left.prepare_matmul(right)?;
        let product = MatrixProduct::new(&a, &b, self.dtype().compute(), Some(&shape), Some(op.into()))?;
        if !self.shape().is_empty() && broadcast(op, self.shape(), &shape)? != shape {
            return Err(err_shapes(op, "input must be broadcastable to the product", self, &product.out));
        }
        let out = &product.out;
        let scaled = scale_by_alpha(op, out.into(), out.into(), ("alpha", alpha))?;
        let input = scale_by_alpha(op, out.into(), self.into(), ("beta", beta))?;
        let factors = [input.alpha, scaled.alpha];
        let zeros = if is_zero(alpha) { Some(Tensor::zeros(&shape, out.options())?) } else { None };
        let scaled = zeros.as_ref().map_or(scaled.operand(), Operand::Tensor);
        let out = if is_zero(beta) {
            iterate::cast(&scaled.tensor(self.dtype())?, self.dtype())?
        } else {
            add_products(scaled, input.operand(), self.dtype())?
        };
        product.recorded_in_sum(node, self, factors, out)
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
            Some(bias) if bias.dtype() == self.dtype() => self.linear_with_bias(parent, &weight, bias),
            Some(bias) => self.matmul_in(parent, &weight).and_then(|product| product.add(bias)),
            None => self.matmul_in(parent, &weight),
        };
        out.map_err(|error| error.during(LINEAR))
    }

    fn linear_with_bias(&self, parent: Parent, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
        let Prepared { a, b, shape } = self.prepare_matmul(weight)?;
        let product = MatrixProduct::new(&a, &b, self.dtype().compute(), Some(&shape), Some(parent))?;
        let out = add_products(&product.out, bias, self.dtype())?;
        product.recorded_in_sum(ADDMM, bias, [NO_FACTOR; 2], out)
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
