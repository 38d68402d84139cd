//! Triangles and traces of matrices.

use std::ops::Range;

use crate::dtype::{Bool8, dispatch_size};
use crate::layout::signed;
use crate::ops::elementwise::operand::check_numeric;
use crate::recording::NodeBuilder;
use crate::{DType, Error, Result, Tensor, TensorOptions, iterate};

/// A part of a matrix, up to and including a diagonal.
#[derive(Clone, Copy)]
enum Triangle {
    Lower,
    Upper,
}

impl Triangle {
    /// Returns the names of the operation, of the in-place one and of the node.
    fn names(self) -> [&'static str; 3] {
        match self {
            Triangle::Lower => ["tril", "tril_", "TrilBackward0"],
            Triangle::Upper => ["triu", "triu_", "TriuBackward0"],
        }
    }

    /// Returns the columns of a row that are in the triangle.
    fn columns(self, row: usize, columns: usize, diagonal: i64) -> Range<usize> {
        let on_diagonal = signed(row).saturating_add(diagonal);
        let bound = |column: i64| usize::try_from(column.max(0)).unwrap_or(usize::MAX).min(columns);
        match self {
            Triangle::Lower => 0..bound(on_diagonal.saturating_add(1)),
            Triangle::Upper => bound(on_diagonal)..columns,
        }
    }

    /// Returns a mask of the elements of a matrix that are in the triangle.
    fn mask(self, matrices: &Tensor, diagonal: i64) -> Result<Tensor> {
        let ([op, ..], options) = (self.names(), TensorOptions { dtype: DType::Bool, ..matrices.options() });
        let &[.., rows, columns] = matrices.shape() else {
            return Err(Error::shape(op, "input", "have at least 2 dimensions", matrices.shape()));
        };
        iterate::launch_nullary(op, options, &[rows, columns], move |out: &mut [Bool8]| {
            for (row, out) in out.chunks_exact_mut(columns.max(1)).enumerate() {
                let inside = self.columns(row, columns, diagonal);
                out.get_mut(inside).unwrap_or_default().fill(Bool8::new(true));
            }
        })
    }

    /// Sets the elements of `target` where `mask` is false to 0. Does not increment the version.
    fn clear_outside(self, target: &Tensor, mask: &Tensor) -> Result<()> {
        let ([op, ..], bits) = (self.names(), iterate::bits(target));
        dispatch_size!(bits.dtype(), T => iterate::update(op, &bits, mask, |value: T, inside: Bool8| {
            if inside.get() { value } else { T::default() }
        }))
    }

    fn of(self, input: &Tensor, diagonal: i64) -> Result<Tensor> {
        let mask = self.mask(input, diagonal)?;
        let out = input.detach().contiguous_copy()?;
        self.clear_outside(&out, &mask)?;
        let [.., node] = self.names();
        NodeBuilder::record_linear(node, input, out, move |gradient| self.of(gradient, diagonal))
    }

    fn of_inplace(self, target: &Tensor, diagonal: i64) -> Result<&Tensor> {
        let mask = self.mask(target, diagonal)?;
        let work = |_: Option<&mut NodeBuilder>| self.clear_outside(target, &mask);
        let [_, op, node] = self.names();
        target.run_inplace(op, node, &[], work, move |ctx, gradient| {
            Ok(vec![ctx.gradient(0, || self.of(gradient, diagonal))?])
        })
    }
}

impl Tensor {
    /// Returns a copy of matrices with zeros above a diagonal: `torch.tril`.
    pub fn tril(&self, diagonal: i64) -> Result<Tensor> {
        Triangle::Lower.of(self, diagonal)
    }

    /// Returns a copy of matrices with zeros below a diagonal: `torch.triu`.
    pub fn triu(&self, diagonal: i64) -> Result<Tensor> {
        Triangle::Upper.of(self, diagonal)
    }

    /// Sets the elements of matrices above a diagonal to 0.
    pub fn tril_(&self, diagonal: i64) -> Result<&Tensor> {
        Triangle::Lower.of_inplace(self, diagonal)
    }

    /// Sets the elements of matrices below a diagonal to 0.
    pub fn triu_(&self, diagonal: i64) -> Result<&Tensor> {
        Triangle::Upper.of_inplace(self, diagonal)
    }

    /// Returns the sum of the diagonal of a matrix.
    pub fn trace(&self) -> Result<Tensor> {
        let op = "trace";
        Error::when(self.ndim() != 2, || Error::shape(op, "input", "be a matrix", self.shape()))?;
        check_numeric(op, "input", self.dtype(), "; long() converts it")?;
        self.diagonal(0, 0, 1)?.sum(None, false)
    }
}
