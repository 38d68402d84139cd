//! The Cholesky factorization, and systems of equations whose factor is known.

use interlock::dispatch::Call;

use super::kernels;
use super::solve::Triangular;
use super::{
    as_transposed, broadcast_batches, check_info, check_operands, check_square, identity_like, matrix_sizes,
    shown_info, transposed,
};
use crate::products::linalg::Routine;
use crate::recording::NodeBuilder;
use crate::{Error, Result, Tensor, iterate};

const INPUT: &str = "input";

impl Tensor {
    /// Returns the Cholesky factor of symmetric matrices, the lower one or the upper one, and for each matrix 0 or the order of
    /// the leading minor that is not positive: `torch.linalg.cholesky_ex`. One triangle is read. A matrix that is not
    /// positive-definite is an error if errors are checked.
    pub fn cholesky_ex(&self, is_upper: bool, checks_errors: bool) -> Result<(Tensor, Tensor)> {
        self.cholesky_for("cholesky_ex", is_upper, checks_errors)
    }

    /// Returns the Cholesky factor of symmetric matrices, which must be positive-definite: `torch.linalg.cholesky`.
    pub fn cholesky(&self, is_upper: bool) -> Result<Tensor> {
        Ok(self.cholesky_for("cholesky", is_upper, true)?.0)
    }

    /// Returns the choice of a kernel for a Cholesky factorization now.
    pub fn explain_cholesky(&self) -> Result<Call> {
        check_square("cholesky", INPUT, self)?;
        Ok(kernels::explain(Routine::Cholesky, self, None))
    }

    fn cholesky_for(&self, op: &'static str, is_upper: bool, checks: bool) -> Result<(Tensor, Tensor)> {
        check_square(op, INPUT, self)?;
        let input = self.detach();
        let matrices = &if is_upper { transposed(&input)? } else { input };
        let found = kernels::call(op, Routine::Cholesky, matrices, None)?;
        let [factor, ..] = found.parts;
        let factor = iterate::cast(&factor, self.dtype())?;
        let factor = if is_upper { as_transposed(&factor)? } else { factor };
        let node = "LinalgCholeskyExBackward0";
        let factor = NodeBuilder::record_saving_output(node, self, factor, move |factor, gradient| {
            cholesky_backward(factor, gradient, is_upper)
        })?;
        let info = shown_info(&found.info)?;
        if checks {
            check_info(op, (INPUT, "positive-definite"), &info, |order| {
                format!("a matrix whose leading minor of order {order} is not positive")
            })?;
        }
        Ok((factor, info))
    }

    /// Returns the solutions of `A X = self` for the Cholesky factor of A: `torch.cholesky_solve`.
    pub fn cholesky_solve(&self, factor: &Tensor, is_upper: bool) -> Result<Tensor> {
        const OP: &str = "cholesky_solve";
        super::check_matrices(OP, INPUT, self)?;
        let size = check_square(OP, "input2", factor)?;
        check_operands(OP, self, factor)?;
        if matrix_sizes(self)[0] != size {
            let problem = "input must have as many rows as input2";
            return Err(Error::shapes(OP, problem, self.shape(), factor.shape()));
        }
        let (factor, sides) = broadcast_batches(OP, factor, self)?;
        let (first, second) =
            if is_upper { (transposed(&factor)?, factor) } else { (factor.clone(), transposed(&factor)?) };
        let half = first.solve_triangular_for(OP, &sides, Triangular::LOWER)?;
        second.solve_triangular_for(OP, &half, Triangular::UPPER)
    }

    /// Returns the inverses of the matrices with these Cholesky factors: `torch.cholesky_inverse`.
    pub fn cholesky_inverse(&self, is_upper: bool) -> Result<Tensor> {
        const OP: &str = "cholesky_inverse";
        let size = check_square(OP, INPUT, self)?;
        let inverse = identity_like(self, size, size)?.cholesky_solve(self, is_upper);
        inverse.map_err(|error| error.during(OP))
    }
}

/// Returns the gradient of the matrices: `L^-T P L^-1`, made symmetric, where P is the lower triangle of `L^T G` with half of
/// its diagonal (Murray, section 3.1).
fn cholesky_backward(factor: &Tensor, gradient: &Tensor, is_upper: bool) -> Result<Tensor> {
    const OP: &str = "cholesky";
    let lower = |tensor: &Tensor| if is_upper { transposed(tensor) } else { Ok(tensor.clone()) };
    let (factor, gradient) = (lower(factor)?, lower(gradient)?);
    let product = transposed(&factor)?.matmul(&gradient)?;
    let half = product.tril(0)?.add(&product.tril(-1)?)?.mul(0.5)?;
    let left = transposed(&factor)?.solve_triangular_for(OP, &half, Triangular::UPPER)?;
    let whole = factor.solve_triangular_for(OP, &left, Triangular::LOWER.right())?;
    whole.add(&transposed(&whole)?)?.mul(0.5)
}
