//! The LU factorization with partial pivoting.

use interlock::dispatch::Call;

use super::kernels;
use super::solve::{Triangular, err_sizes};
use super::{
    A, as_transposed, batch_of, broadcast_batches, check_matrices, check_operands, check_square, expanded,
    identity_like, lu_info, matrix_sizes, scale_columns, shown_info, transposed,
};
use crate::elementwise::equal;
use crate::iterate::apply_along_last_dim;
use crate::layout::signed;
use crate::ops::elementwise::operand::check_dtype;
use crate::ops::shape::join::cat;
use crate::products::linalg::{Factors, Routine};
use crate::recording::{BackwardContext, NodeBuilder};
use crate::{DType, Error, Result, Scalar, Tensor, TensorOptions, iterate};

/// Returns as many integers from `first` on.
fn counted(first: i64, count: usize, options: impl Into<TensorOptions>) -> Result<Tensor> {
    Tensor::arange(first.into(), signed(count).saturating_add(first).into(), Scalar::Int(1), options)
}

/// Returns, for each matrix, the rows of the matrix in the order of the rows of its LU factors, as int64. Pivots are int32.
pub(super) fn permutation_of(op: &'static str, pivots: &Tensor, rows: usize) -> Result<Tensor> {
    let (pivots, steps) = (pivots.contiguous()?, pivots.shape().last().copied().unwrap_or(0));
    let batch = pivots.shape().split_last().map_or(&[][..], |(_, batch)| batch);
    let shape = [batch, &[rows]].concat();
    if steps == 0 {
        let order = counted(0, rows, (DType::Int64, pivots.placement()))?;
        return expanded(&order, &shape);
    }
    apply_along_last_dim(op, &pivots, steps, &shape, rows, move |pivots: &[i32], order: &mut [i64]| {
        order.iter_mut().zip(0..).for_each(|(order, row)| *order = row);
        for (step, &pivot) in pivots.iter().enumerate() {
            let other = usize::try_from(pivot).ok().and_then(|pivot| pivot.checked_sub(1));
            match other.filter(|&other| other < order.len() && step < order.len()) {
                Some(other) => order.swap(step, other),
                None => return Err(Error::value(op, "pivots", format!("be from 1 to {rows}"), pivot)),
            }
        }
        Ok(())
    })
}

/// Returns the rows of matrices in another order, which has an element for each row.
pub(super) fn permute_rows(matrices: &Tensor, order: &Tensor) -> Result<Tensor> {
    let index = expanded(&order.unsqueeze(-1)?, matrices.shape())?;
    matrices.gather(-2, &index)
}

impl Tensor {
    /// Returns the LU factors of matrices in one matrix each, the pivots, counted from 1, as int32, and for each matrix 0 or the
    /// number of the first pivot that is 0: `torch.linalg.lu_factor_ex`. A singular matrix is an error if errors are checked.
    pub fn lu_factor_ex(&self, pivot: bool, checks_errors: bool) -> Result<(Tensor, Tensor, Tensor)> {
        self.lu_factor_for("lu_factor_ex", pivot, checks_errors)
    }

    /// Returns the LU factors of matrices, whose pivots must not be 0, and the pivots: `torch.linalg.lu_factor`.
    pub fn lu_factor(&self, pivot: bool) -> Result<(Tensor, Tensor)> {
        let (factors, pivots, _) = self.lu_factor_for("lu_factor", pivot, true)?;
        Ok((factors, pivots))
    }

    /// Returns the permutation matrix P, the lower factor L and the upper factor U, of which `P L U` is the matrix:
    /// `torch.linalg.lu`.
    pub fn lu(&self, pivot: bool) -> Result<(Tensor, Tensor, Tensor)> {
        const OP: &str = "lu";
        let (factors, pivots, _) = self.lu_factor_for(OP, pivot, false)?;
        let [rows, columns] = matrix_sizes(self);
        let least = signed(rows.min(columns));
        let order = permutation_of(OP, &pivots, rows)?.unsqueeze(-1)?;
        let positions = counted(0, rows, (DType::Int64, self.placement()))?;
        let permutation = as_transposed(&equal(&order, &positions)?.cast(self.dtype())?)?;
        let lower =
            factors.narrow(-1, 0, least)?.tril(-1)?.add(&identity_like(self, rows, rows.min(columns))?)?;
        Ok((permutation, lower, factors.narrow(-2, 0, least)?.triu(0)?))
    }

    /// Returns the choice of a kernel for an LU factorization now.
    pub fn explain_lu_factor(&self) -> Result<Call> {
        check_matrices("lu_factor", A, self)?;
        Ok(kernels::explain(Routine::Lu, self, None))
    }

    fn lu_factor_for(&self, op: &'static str, pivot: bool, checks: bool) -> Result<(Tensor, Tensor, Tensor)> {
        check_matrices(op, A, self)?;
        if !pivot {
            return Err(Error::value(op, "pivot", "be True", "False; there is no kernel without pivoting"));
        }
        let Factors { parts: [factors, pivots, _], info } =
            kernels::call(op, Routine::Lu, &self.detach(), None)?;
        let (factors, pivots) = (iterate::cast(&factors, self.dtype())?, shown_info(&pivots)?);
        if let Some(mut builder) = NodeBuilder::new("LinalgLuFactorExBackward0", &[self])? {
            let (saved, saved_pivots) = (builder.save_output(&factors)?, builder.save(&pivots)?);
            builder.set_history(&factors, move |ctx, gradient| {
                Ok(vec![Some(lu_factor_backward(ctx, gradient, saved, saved_pivots)?)])
            })?;
        }
        Ok((factors, pivots, lu_info(op, &info, checks)?))
    }

    /// Returns the solutions of `A X = B` for the LU factors of A; if `is_left` is false, of `X A = B`, and with the transposed
    /// A if it `is_adjoint`: `torch.linalg.lu_solve`.
    pub fn lu_solve(&self, pivots: &Tensor, b: &Tensor, is_left: bool, is_adjoint: bool) -> Result<Tensor> {
        const OP: &str = "lu_solve";
        let size = check_square(OP, "LU", self)?;
        check_matrices(OP, "B", b)?;
        check_operands(OP, self, b)?;
        check_dtype(OP, "pivots", pivots, (DType::Int32, "; int() converts it"))?;
        Error::when(Some(pivots.shape()) != self.shape().split_last().map(|(_, shape)| shape), || {
            Error::shape(OP, "pivots", "have the shape of LU without its last dimension", pivots.shape())
        })?;
        let [rows, columns] = matrix_sizes(b);
        if size != if is_left { rows } else { columns } {
            return Err(err_sizes(OP, "LU", is_left, self, b));
        }
        // X A = B is A^T X^T = B^T.
        let sides = if is_left { b.clone() } else { transposed(b)? };
        let (factors, sides) = broadcast_batches(OP, self, &sides)?;
        let order = permutation_of(OP, &pivots.detach(), size)?;
        let order = expanded(&order, &[batch_of(&factors), &[size]].concat())?;
        let solved = if is_left == is_adjoint {
            let turned = transposed(&factors)?;
            let half = turned.solve_triangular_for(OP, &sides, Triangular::LOWER)?;
            let whole = turned.solve_triangular_for(OP, &half, Triangular::UPPER.unit())?;
            permute_rows(&whole, &order.argsort(-1, false)?)?
        } else {
            let half =
                factors.solve_triangular_for(OP, &permute_rows(&sides, &order)?, Triangular::LOWER.unit())?;
            factors.solve_triangular_for(OP, &half, Triangular::UPPER)?
        };
        if is_left { Ok(solved) } else { transposed(&solved) }
    }
}

/// Returns the gradient of a matrix `A = P L U` from the gradient of its factors in one matrix. For a square matrix it is
/// `P L^-T (tril(L^T GL, -1) + triu(GU U^T)) U^-T` (Giles, section 2, on both factors). The columns of a wide matrix beyond
/// U1, and the rows of a tall one beyond L1, are products of both factors, whose gradients are added to the others.
fn lu_factor_backward(
    ctx: &BackwardContext<'_>,
    gradient: &Tensor,
    factors: usize,
    pivots: usize,
) -> Result<Tensor> {
    const OP: &str = "lu_factor";
    let (factors, pivots) = (ctx.saved(factors)?, ctx.saved(pivots)?);
    let [rows, columns] = matrix_sizes(&factors);
    let (least, more) = (signed(rows.min(columns)), signed(rows.abs_diff(columns)));
    let (dim, is_wide) = (if columns > rows { -1 } else { -2 }, columns > rows);
    let part = |tensor: &Tensor, start: i64, length: i64| tensor.narrow(dim, start, length);
    let square = part(&factors, 0, least)?;
    let (square_gradient, rest_gradient) = (part(gradient, 0, least)?, part(gradient, least, more)?);
    let rest = part(&factors, least, more)?;
    // Solve with the transposed factors, of which the matrix holds both.
    let turned = transposed(&square)?;
    let by_lower = |b: &Tensor| turned.solve_triangular_for(OP, b, Triangular::UPPER.unit());
    let by_upper = |b: &Tensor| turned.solve_triangular_for(OP, b, Triangular::LOWER.right());
    let lower = square.tril(-1)?.add(&identity_like(&square, rows.min(columns), rows.min(columns))?)?;
    let upper = square.triu(0)?;
    let (mut of_lower, mut of_upper) = (square_gradient.tril(-1)?, square_gradient.triu(0)?);
    let mut of_rest = None;
    if more > 0 && is_wide {
        let solved = by_lower(&rest_gradient)?;
        of_lower = of_lower.sub(&solved.matmul(&transposed(&rest)?)?)?;
        of_rest = Some(solved);
    } else if more > 0 {
        let solved = by_upper(&rest_gradient)?;
        of_upper = of_upper.sub(&transposed(&rest)?.matmul(&solved)?)?;
        of_rest = Some(solved);
    }
    let inner = transposed(&lower)?.matmul(&of_lower)?.tril(-1)?;
    let inner = inner.add(&of_upper.matmul(&transposed(&upper)?)?.triu(0)?)?;
    let of_square = by_upper(&by_lower(&inner)?)?;
    let whole = match of_rest {
        Some(of_rest) => cat(&[of_square, of_rest], dim)?,
        None => of_square,
    };
    let order = permutation_of(OP, &pivots, rows)?;
    permute_rows(&whole, &order.argsort(-1, false)?)
}

/// Returns the sign of the permutation of each matrix, and the diagonal of its factors, in float64 without history.
pub(super) fn signed_diagonal(op: &'static str, input: &Tensor) -> Result<(Tensor, Tensor)> {
    let [factors, pivots, _] = kernels::call(op, Routine::Lu, &input.detach(), None)?.parts;
    let [size, _] = matrix_sizes(input);
    let options = (DType::Float64, input.placement());
    let steps = counted(1, size, options)?;
    // A step without a swap keeps the sign, and any other one changes it.
    let signs = equal(&pivots, &steps)?.cast(DType::Float64)?.mul(2.0)?.sub(1.0)?;
    let diagonal = factors.diagonal(0, -2, -1)?;
    Ok((signs.prod(Some(-1), false)?, diagonal))
}

/// Returns the products of the singular values but one, for each, times the singular vectors: the cofactors of matrices that
/// may be singular.
pub(super) fn cofactors(input: &Tensor) -> Result<Tensor> {
    let (u, values, vh) = input.svd(false)?;
    let [size, _] = matrix_sizes(input);
    let identity = identity_like(input, size, size)?;
    let others =
        values.unsqueeze(-2)?.mul(&identity.neg()?.add(1.0)?)?.add(&identity)?.prod(Some(-1), false)?;
    let orientation = u.det()?.mul(&vh.det()?)?;
    super::scale_matrices(&scale_columns(&u, &others)?.matmul(&vh)?, &orientation)
}
