//! The QR factorization.

use interlock::dispatch::Call;

use super::kernels;
use super::solve::Triangular;
use super::{A, check_matrices, matrix_sizes, transposed};
use crate::layout::signed;
use crate::ops::shape::join::cat;
use crate::products::linalg::Routine;
use crate::recording::{BackwardContext, NodeBuilder};
use crate::{Error, Result, Tensor, iterate};

/// What a QR factorization returns of both factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QrMode {
    /// As many columns and rows as the smaller size of the matrix.
    Reduced,
    /// A square orthogonal factor.
    Complete,
    /// The triangular factor only.
    OnlyR,
}

impl Tensor {
    /// Returns the orthogonal and the triangular factor of matrices: `torch.linalg.qr`.
    pub fn qr(&self, mode: QrMode) -> Result<(Tensor, Tensor)> {
        const OP: &str = "qr";
        let routine = self.qr_routine(mode)?;
        let [q, r, _] = kernels::call(OP, routine, &self.detach(), None)?.parts;
        let results = [iterate::cast(&q, self.dtype())?, iterate::cast(&r, self.dtype())?];
        if let Some(mut builder) = NodeBuilder::new("LinalgQrBackward0", &[self])? {
            builder.save_results(&results)?;
            builder
                .set_history_of_several(&results, move |ctx, gradients| qr_backward(ctx, gradients, mode))?;
        }
        Ok(results.into())
    }

    /// Returns the choice of a kernel for a QR factorization now.
    pub fn explain_qr(&self, mode: QrMode) -> Result<Call> {
        let routine = self.qr_routine(mode)?;
        Ok(kernels::explain(routine, self, None))
    }

    fn qr_routine(&self, mode: QrMode) -> Result<Routine> {
        check_matrices("qr", A, self)?;
        let [rows, columns] = matrix_sizes(self);
        Ok(Routine::Qr {
            columns: match mode {
                QrMode::Reduced => Some(rows.min(columns)),
                QrMode::Complete => Some(rows),
                QrMode::OnlyR => None,
            },
        })
    }
}

/// Returns the gradient of matrices from those of the factors: `(GQ + Q copyltu(M)) R^-T` with `M = R GR^T - GQ^T Q`, where
/// `copyltu` copies the strict lower triangle to the upper one (Walter and Lehmann). The columns of a wide matrix `[X Y]` beyond
/// the square of R are `Y = Q V`, which adds `Y GV^T` to the gradient of Q.
fn qr_backward(ctx: &BackwardContext<'_>, gradients: &[Option<Tensor>], mode: QrMode) -> Result<Tensor> {
    const OP: &str = "qr";
    if mode == QrMode::OnlyR {
        return Err(Error::not_differentiable(OP, "its gradient needs Q: use QrMode::Reduced"));
    }
    let (q, r) = (ctx.saved(0)?, ctx.saved(1)?);
    let (rows, columns) = (matrix_sizes(&q)[0], matrix_sizes(&r)[1]);
    if mode == QrMode::Complete && rows > columns {
        return Err(Error::not_differentiable(OP, "use QrMode::Reduced for more rows than columns"));
    }
    let gradient = |index: usize, like: &Tensor| match gradients.get(index).cloned().flatten() {
        Some(gradient) => Ok(gradient),
        None => like.mul(0.0),
    };
    let (of_q, of_r) = (gradient(0, &q)?, gradient(1, &r)?);
    let (size, more) = (signed(rows.min(columns)), signed(columns.saturating_sub(rows)));
    let part = |tensor: &Tensor, start: i64, length: i64| tensor.narrow(-1, start, length);
    let (square, of_square) = (part(&r, 0, size)?, part(&of_r, 0, size)?);
    if more == 0 {
        return square_backward(&q, &square, &of_q, &of_square);
    }
    let (rest, of_rest) = (part(&r, size, more)?, part(&of_r, size, more)?);
    let of_q = of_q.add(&q.matmul(&rest)?.matmul(&transposed(&of_rest)?)?)?;
    let of_first = square_backward(&q, &square, &of_q, &of_square)?;
    cat(&[of_first, q.matmul(&of_rest)?], -1)
}

/// Returns the gradient for a square triangular factor.
fn square_backward(q: &Tensor, r: &Tensor, of_q: &Tensor, of_r: &Tensor) -> Result<Tensor> {
    let m = r.matmul(&transposed(of_r)?)?.sub(&transposed(of_q)?.matmul(q)?)?;
    let symmetric = m.tril(0)?.add(&transposed(&m.tril(-1)?)?)?;
    let sum = of_q.add(&q.matmul(&symmetric)?)?;
    transposed(r)?.solve_triangular_for("qr", &sum, Triangular::LOWER.right())
}
