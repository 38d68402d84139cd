//! Systems of equations, and inverse matrices.

use interlock::dispatch::Call;

use super::kernels;
use super::lu::{permutation_of, permute_rows};
use super::{
    A, as_transposed, batch_of, broadcast_batches, check_float, check_matrices, check_operands, check_square,
    expanded, identity_like, lu_info, matrix_sizes, shown_info, transposed,
};
use crate::layout::Layout;
use crate::ops::reduction::sums::sum_to;
use crate::products::linalg::{Factors, Routine};
use crate::recording::NodeBuilder;
use crate::{DType, Error, Result, Tensor, iterate};

/// Returns the error for operands of a system whose sizes differ.
pub(super) fn err_sizes(op: &'static str, name: &str, is_left: bool, a: &Tensor, b: &Tensor) -> Error {
    let problem = format!("B must have as many {} as {name}", if is_left { "rows" } else { "columns" });
    Error::shapes(op, problem, a.shape(), b.shape())
}

/// A kind of triangular system, of a matrix of which one triangle is read.
#[derive(Clone, Copy)]
pub(super) struct Triangular {
    is_upper: bool,
    /// Whether it is `A X = B`, not `X A = B`.
    is_left: bool,
    /// Whether the diagonal counts as ones.
    is_unit: bool,
}

impl Triangular {
    /// `L X = B`.
    pub const LOWER: Self = Triangular { is_upper: false, is_left: true, is_unit: false };
    /// `U X = B`.
    pub const UPPER: Self = Triangular { is_upper: true, ..Self::LOWER };

    /// Returns the system with the matrix on the right of X.
    pub const fn right(self) -> Self {
        Triangular { is_left: false, ..self }
    }

    /// Returns the system whose diagonal counts as ones.
    pub const fn unit(self) -> Self {
        Triangular { is_unit: true, ..self }
    }

    /// Returns the system of the transposed matrix.
    const fn transposed(self) -> Self {
        Triangular { is_upper: !self.is_upper, ..self }
    }

    /// Solves `A X = B` without history. The result is float64 if the operands are not.
    fn solve(self, op: &'static str, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let Triangular { is_upper, is_unit, .. } = self;
        let routine = Routine::Triangular { is_upper, is_unit, sides: matrix_sizes(b)[1] };
        let [solution, ..] = kernels::call(op, routine, a, Some(b))?.parts;
        Ok(solution)
    }
}

impl Tensor {
    /// Returns the solutions of `A X = B` for triangular matrices, or, if `is_left` is false, of `X A = B`:
    /// `torch.linalg.solve_triangular`. The other triangle is not read, nor the diagonal if it `is_unit`.
    pub fn solve_triangular(
        &self,
        b: &Tensor,
        is_upper: bool,
        is_left: bool,
        is_unit: bool,
    ) -> Result<Tensor> {
        self.solve_triangular_for("solve_triangular", b, Triangular { is_upper, is_left, is_unit })
    }

    /// Returns the choice of a kernel for a triangular system now.
    pub fn explain_solve_triangular(&self, b: &Tensor, is_left: bool) -> Result<Call> {
        let (matrices, sides) = self.triangular_operands("solve_triangular", b, is_left)?;
        let (matrices, sides) =
            if is_left { (matrices, sides) } else { (transposed(&matrices)?, transposed(&sides)?) };
        let routine = Routine::Triangular { is_upper: false, is_unit: false, sides: matrix_sizes(&sides)[1] };
        Ok(kernels::explain(routine, &matrices, Some(&sides)))
    }

    /// Checks the operands of a triangular system, and broadcasts their batches.
    fn triangular_operands(&self, op: &'static str, b: &Tensor, is_left: bool) -> Result<(Tensor, Tensor)> {
        let size = check_square(op, A, self)?;
        check_matrices(op, "B", b)?;
        check_operands(op, self, b)?;
        let [rows, columns] = matrix_sizes(b);
        if size != if is_left { rows } else { columns } {
            return Err(err_sizes(op, A, is_left, self, b));
        }
        broadcast_batches(op, &self.detach(), &b.detach())
    }

    pub(super) fn solve_triangular_for(
        &self,
        op: &'static str,
        b: &Tensor,
        system: Triangular,
    ) -> Result<Tensor> {
        let Triangular { is_upper, is_left, is_unit } = system;
        let (matrices, sides) = self.triangular_operands(op, b, is_left)?;
        let out = if is_left {
            system.solve(op, &matrices, &sides)?
        } else {
            as_transposed(&system.transposed().solve(op, &transposed(&matrices)?, &transposed(&sides)?)?)?
        };
        let out = iterate::cast(&out, self.dtype())?;
        if let Some(mut builder) = NodeBuilder::new("LinalgSolveTriangularBackward0", &[self, b])? {
            let (matrices, solution) = (builder.save(self)?, builder.save_output_for(0, &out)?);
            let (shape_a, shape_b) = (self.shape().to_vec(), b.shape().to_vec());
            builder.set_history(&out, move |ctx, gradient| {
                let a = transposed(&ctx.saved(matrices)?)?;
                let of_b = a.solve_triangular_for(op, gradient, system.transposed())?;
                let of_a = || {
                    let solution = transposed(&ctx.saved(solution)?)?;
                    let product = if is_left { of_b.matmul(&solution)? } else { solution.matmul(&of_b)? };
                    let skipped = i64::from(is_unit);
                    let triangle = if is_upper { product.triu(skipped)? } else { product.tril(-skipped)? };
                    sum_to(&triangle.neg()?, &shape_a)
                };
                Ok(vec![ctx.gradient(0, of_a)?, ctx.gradient(1, || sum_to(&of_b, &shape_b))?])
            })?;
        }
        Ok(out)
    }

    /// Returns the solutions of `A X = B`, or, if `is_left` is false, of `X A = B`, and for each matrix 0 or the number of a
    /// pivot that is 0: `torch.linalg.solve_ex`. B may be a vector, or a batch of them with the batch of A. A
    /// singular matrix is an error if errors are checked.
    pub fn solve_ex(&self, b: &Tensor, is_left: bool, checks_errors: bool) -> Result<(Tensor, Tensor)> {
        self.solve_for("solve_ex", b, is_left, checks_errors)
    }

    /// Returns the solutions of systems of equations, whose matrices must be invertible: `torch.linalg.solve`.
    pub fn solve(&self, b: &Tensor, is_left: bool) -> Result<Tensor> {
        Ok(self.solve_for("solve", b, is_left, true)?.0)
    }

    fn solve_for(
        &self,
        op: &'static str,
        b: &Tensor,
        is_left: bool,
        checks: bool,
    ) -> Result<(Tensor, Tensor)> {
        let size = check_square(op, A, self)?;
        check_float(op, "B", b)?;
        check_operands(op, self, b)?;
        let batch = self.shape().split_last().map_or(&[][..], |(_, batch)| batch);
        let is_vector = b.ndim() == 1 || (b.ndim() + 1 == self.ndim() && b.shape() == batch);
        if !is_vector {
            check_matrices(op, "B", b)?;
        }
        if is_vector && !is_left {
            return Err(Error::shape(op, "B", "be a matrix or a batch of them for left=False", b.shape()));
        }
        let sides = if is_vector { b.unsqueeze(-1)? } else { b.clone() };
        let [rows, columns] = matrix_sizes(&sides);
        if size != if is_left { rows } else { columns } {
            return Err(err_sizes(op, A, is_left, self, b));
        }
        let matrices = if is_left { self.detach() } else { transposed(&self.detach())? };
        let Factors { parts: [factors, pivots, _], info } = kernels::call(op, Routine::Lu, &matrices, None)?;
        let permutation = permutation_of(op, &shown_info(&pivots)?, size)?;
        let sides = sides.detach();
        let sides = if is_left { sides } else { transposed(&sides)? };
        let (factors, sides) = broadcast_batches(op, &factors, &sides)?;
        let permutation = expanded(&permutation, &[batch_of(&factors), &[size]].concat())?;
        let sides = permute_rows(&sides.cast(DType::Float64)?, &permutation)?;
        let half = Triangular::LOWER.unit().solve(op, &factors, &sides)?;
        let out = Triangular::UPPER.solve(op, &factors, &half)?;
        let out = iterate::cast(&out, self.dtype())?;
        let out = if is_left { out } else { as_transposed(&out)? };
        let out = match out.shape().split_last() {
            Some((_, shape)) if is_vector => out.alias(Layout::contiguous(shape)),
            _ => out,
        };
        if let Some(mut builder) = NodeBuilder::new("LinalgSolveExBackward0", &[self, b])? {
            let (matrices, solution) = (builder.save(self)?, builder.save_output_for(0, &out)?);
            let (shape_a, shape_b) = (self.shape().to_vec(), b.shape().to_vec());
            builder.set_history(&out, move |ctx, gradient| {
                let column = |tensor: Tensor| if is_vector { tensor.unsqueeze(-1) } else { Ok(tensor) };
                let a = transposed(&ctx.saved(matrices)?)?;
                let (of_b, _) = a.solve_for(op, &column(gradient.clone())?, is_left, false)?;
                let of_a = || {
                    let solution = transposed(&column(ctx.saved(solution)?)?)?;
                    let product = if is_left { of_b.matmul(&solution)? } else { solution.matmul(&of_b)? };
                    sum_to(&product.neg()?, &shape_a)
                };
                let of_b =
                    || sum_to(&if is_vector { of_b.squeeze(Some(-1))? } else { of_b.clone() }, &shape_b);
                Ok(vec![ctx.gradient(0, of_a)?, ctx.gradient(1, of_b)?])
            })?;
        }
        Ok((out, lu_info(op, &info, checks)?))
    }

    /// Returns the inverses of matrices, and for each 0 or the number of a pivot that is 0: `torch.linalg.inv_ex`. A singular
    /// matrix is an error if errors are checked.
    pub fn inv_ex(&self, checks_errors: bool) -> Result<(Tensor, Tensor)> {
        self.inv_for("inv_ex", checks_errors)
    }

    /// Returns the inverses of matrices, which must be invertible: `torch.linalg.inv`.
    pub fn inv(&self) -> Result<Tensor> {
        Ok(self.inv_for("inv", true)?.0)
    }

    pub(super) fn inv_for(&self, op: &'static str, checks: bool) -> Result<(Tensor, Tensor)> {
        let size = check_square(op, A, self)?;
        let identity = expanded(&identity_like(self, size, size)?, self.shape())?;
        let (inverse, info) = self.detach().solve_for(op, &identity, true, checks)?;
        let inverse =
            NodeBuilder::record_saving_output("LinalgInvExBackward0", self, inverse, |inverse, gradient| {
                let inverse = transposed(inverse)?;
                inverse.matmul(gradient)?.matmul(&inverse)?.neg()
            })?;
        Ok((inverse, info))
    }
}
