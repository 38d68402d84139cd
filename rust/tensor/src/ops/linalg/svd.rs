//! The singular value decomposition.

use interlock::dispatch::Call;

use super::kernels;
use super::{
    A, as_transposed, check_info, check_matrices, identity_like, matrix_sizes, scale_columns, skew,
    transposed,
};
use crate::layout::signed;
use crate::products::linalg::Routine;
use crate::recording::{BackwardContext, NodeBuilder, is_recording};
use crate::{Result, Tensor, iterate};

impl Tensor {
    /// Returns the left singular vectors of matrices as columns, the singular values in descending order, and the right vectors
    /// as rows: `torch.linalg.svd`. With `full_matrices` both are square, else they have as many vectors as there are values.
    pub fn svd(&self, full_matrices: bool) -> Result<(Tensor, Tensor, Tensor)> {
        self.svd_for("svd", full_matrices, true)
    }

    /// Returns the singular values of matrices in descending order: `torch.linalg.svdvals`.
    pub fn svdvals(&self) -> Result<Tensor> {
        let has_vectors = is_recording() && self.requires_grad();
        Ok(self.svd_for("svdvals", false, has_vectors)?.1)
    }

    /// Returns the choice of a kernel for singular values now.
    pub fn explain_svd(&self) -> Result<Call> {
        check_matrices("svd", A, self)?;
        let [rows, columns] = matrix_sizes(self);
        let matrices = &if columns > rows { transposed(&self.detach())? } else { self.detach() };
        let routine = Routine::Svd { left: rows.max(columns), has_vectors: true };
        Ok(kernels::explain(routine, matrices, None))
    }

    fn svd_for(
        &self,
        op: &'static str,
        full_matrices: bool,
        has_vectors: bool,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        check_matrices(op, A, self)?;
        let [rows, columns] = matrix_sizes(self);
        let (is_wide, input) = (columns > rows, self.detach());
        let matrices = &if is_wide { transposed(&input)? } else { input };
        let left = if full_matrices { rows.max(columns) } else { rows.min(columns) };
        let found = kernels::call(op, Routine::Svd { left, has_vectors }, matrices, None)?;
        check_info(op, (A, "finite"), &super::shown_info(&found.info)?, |_| {
            "an infinite or NaN element".to_owned()
        })?;
        let [u, values, vh] = found.parts.each_ref().map(|part| iterate::cast(part, self.dtype()));
        let (u, values, vh) = (u?, values?, vh?);
        let (u, vh) =
            if is_wide && has_vectors { (as_transposed(&vh)?, as_transposed(&u)?) } else { (u, vh) };
        let results = [u, values, vh];
        if let Some(mut builder) = NodeBuilder::new("LinalgSvdBackward0", &[self])? {
            builder.save_results(&results)?;
            builder.set_history_of_several(&results, svd_backward)?;
        }
        Ok(results.into())
    }
}

/// Returns the gradient of matrices: `U ((skew(U^T GU) / E) S + S (skew(V^T GV) / E) + diag(GS)) V^T`, where E has the
/// differences of squared singular values, and the parts of both gradients that are orthogonal to the vectors, divided by the
/// values (Wan and Zhang). Where values are equal, vectors have no gradient: it is infinite or NaN, as in PyTorch. The gradients
/// of vectors beyond the values are ignored, as in PyTorch: they are not determined.
fn svd_backward(ctx: &BackwardContext<'_>, gradients: &[Option<Tensor>]) -> Result<Tensor> {
    let (u, values, vh) = (ctx.saved(0)?, ctx.saved(1)?, ctx.saved(2)?);
    let (rows, columns) = (matrix_sizes(&u)[0], matrix_sizes(&vh)[1]);
    let size = rows.min(columns);
    let least = signed(size);
    let (u, vh) = (u.narrow(-1, 0, least)?, vh.narrow(-2, 0, least)?);
    let gradient = |index: usize| gradients.get(index).cloned().flatten();
    let of_u = gradient(0).map(|gradient| gradient.narrow(-1, 0, least)).transpose()?;
    let of_vh = gradient(2).map(|gradient| gradient.narrow(-2, 0, least)).transpose()?;
    let identity = identity_like(&values, size, size)?;
    let by_rows = |matrices: &Tensor| matrices.mul(&values.unsqueeze(-1)?);
    let squares = values.mul(&values)?;
    // Zeros of the diagonal of a skew matrix are divided by 1.
    let differences = squares.unsqueeze(-2)?.sub(&squares.unsqueeze(-1)?)?.add(&identity)?;
    let mut inner = match gradient(1) {
        Some(gradient) => scale_columns(&identity, &gradient)?,
        None => scale_columns(&identity, &values)?.mul(0.0)?,
    };
    if let Some(of_u) = &of_u {
        let rotation = skew(&transposed(&u)?.matmul(of_u)?)?.div(&differences)?;
        inner = inner.add(&scale_columns(&rotation, &values)?)?;
    }
    if let Some(of_vh) = &of_vh {
        let rotation = skew(&vh.matmul(&transposed(of_vh)?)?)?.div(&differences)?;
        inner = inner.add(&by_rows(&rotation)?)?;
    }
    let mut whole = u.matmul(&inner)?.matmul(&vh)?;
    if let Some(of_u) = of_u.filter(|_| rows > size) {
        let scaled = of_u.div(&values.unsqueeze(-2)?)?;
        let orthogonal = scaled.sub(&u.matmul(&transposed(&u)?.matmul(&scaled)?)?)?;
        whole = whole.add(&orthogonal.matmul(&vh)?)?;
    }
    if let Some(of_vh) = of_vh.filter(|_| columns > size) {
        let scaled = of_vh.div(&values.unsqueeze(-1)?)?;
        let orthogonal = scaled.sub(&scaled.matmul(&transposed(&vh)?)?.matmul(&vh)?)?;
        whole = whole.add(&u.matmul(&orthogonal)?)?;
    }
    Ok(whole)
}
