//! The eigenvalues and eigenvectors of symmetric matrices.

use interlock::dispatch::Call;

use super::kernels;
use super::{check_square, identity_like, matrix_sizes, scale_columns, skew, transposed};
use crate::products::linalg::Routine;
use crate::recording::{BackwardContext, NodeBuilder, is_recording};
use crate::{Result, Tensor, iterate};

const INPUT: &str = "input";

impl Tensor {
    /// Returns the eigenvalues of symmetric matrices in ascending order, and the eigenvectors as columns: `torch.linalg.eigh`.
    /// The upper triangle is read if it `is_upper`, else the lower one.
    pub fn eigh(&self, is_upper: bool) -> Result<(Tensor, Tensor)> {
        self.eigh_for("eigh", is_upper, true)
    }

    /// Returns the eigenvalues of symmetric matrices in ascending order: `torch.linalg.eigvalsh`.
    pub fn eigvalsh(&self, is_upper: bool) -> Result<Tensor> {
        let has_vectors = is_recording() && self.requires_grad();
        Ok(self.eigh_for("eigvalsh", is_upper, has_vectors)?.0)
    }

    /// Returns the choice of a kernel for eigenvalues now.
    pub fn explain_eigh(&self) -> Result<Call> {
        check_square("eigh", INPUT, self)?;
        Ok(kernels::explain(Routine::Eigh { has_vectors: true }, self, None))
    }

    fn eigh_for(&self, op: &'static str, is_upper: bool, has_vectors: bool) -> Result<(Tensor, Tensor)> {
        check_square(op, INPUT, self)?;
        let input = self.detach();
        let matrices = &if is_upper { transposed(&input)? } else { input };
        let found = kernels::call(op, Routine::Eigh { has_vectors }, matrices, None)?;
        let [values, vectors, _] = found.parts;
        let results = [iterate::cast(&values, self.dtype())?, iterate::cast(&vectors, self.dtype())?];
        if let Some(mut builder) = NodeBuilder::new("LinalgEighBackward0", &[self])? {
            builder.save_results(&results)?;
            builder.set_history_of_several(&results, eigh_backward)?;
        }
        Ok(results.into())
    }
}

/// Returns the gradient of matrices: `V (diag(GL) + skew(V^T GV) / 2 / E) V^T`, where E has the differences of eigenvalues
/// (Giles, section 3.1), of which the symmetric part is taken. Where eigenvalues are equal their vectors have no gradient: it is
/// infinite or NaN, as in PyTorch.
fn eigh_backward(ctx: &BackwardContext<'_>, gradients: &[Option<Tensor>]) -> Result<Tensor> {
    let (values, vectors) = (ctx.saved(0)?, ctx.saved(1)?);
    let (of_values, of_vectors) = match gradients {
        [of_values, of_vectors] => (of_values, of_vectors),
        _ => (&None, &None),
    };
    let turned = transposed(&vectors)?;
    let Some(of_vectors) = of_vectors else {
        return match of_values {
            Some(gradient) => scale_columns(&vectors, gradient)?.matmul(&turned),
            None => vectors.mul(0.0),
        };
    };
    let [size, _] = matrix_sizes(&vectors);
    let identity = identity_like(&vectors, size, size)?;
    let differences = values.unsqueeze(-2)?.sub(&values.unsqueeze(-1)?)?.add(&identity)?;
    // Zeros of the diagonal of a skew matrix are divided by 1.
    let mut inner = skew(&turned.matmul(of_vectors)?)?.mul(0.5)?.div(&differences)?;
    if let Some(gradient) = of_values {
        inner = inner.add(&scale_columns(&identity, gradient)?)?;
    }
    vectors.matmul(&inner)?.matmul(&turned)
}
