//! Determinants.

use super::lu::{cofactors, signed_diagonal};
use super::{A, check_square, scale_matrices, transposed};
use crate::recording::NodeBuilder;
use crate::{DType, Result, Tensor, iterate};

impl Tensor {
    /// Returns the determinants of matrices: `torch.linalg.det`.
    pub fn det(&self) -> Result<Tensor> {
        const OP: &str = "det";
        check_square(OP, A, self)?;
        let (sign, diagonal) = signed_diagonal(OP, self)?;
        let out = iterate::cast(&diagonal.prod(Some(-1), false)?.mul(&sign)?, self.dtype())?;
        if let Some(mut builder) = NodeBuilder::new("LinalgDetBackward0", &[self])? {
            let (input, saved) = (builder.save(self)?, builder.save_output(&out)?);
            builder.set_history(&out, move |ctx, gradient| {
                let (input, det) = (ctx.saved(input)?, ctx.saved(saved)?);
                // The gradient is the matrix of cofactors, which is `det * A^-T` if A is invertible. Waits for a device.
                let is_singular = det.detach().cast(DType::Float64)?.to_vec::<f64>()?.contains(&0.0);
                if is_singular {
                    return Ok(vec![Some(scale_matrices(&cofactors(&input)?, gradient)?)]);
                }
                let (inverse, _) = input.inv_for(OP, false)?;
                Ok(vec![Some(scale_matrices(&transposed(&inverse)?, &gradient.mul(&det)?)?)])
            })?;
        }
        Ok(out)
    }

    /// Returns the signs of the determinants of matrices, and the logarithms of their absolute values: `torch.linalg.slogdet`.
    /// For a singular matrix they are 0 and minus infinity.
    pub fn slogdet(&self) -> Result<(Tensor, Tensor)> {
        const OP: &str = "slogdet";
        check_square(OP, A, self)?;
        let (sign, diagonal) = signed_diagonal(OP, self)?;
        let sign = sign.mul(&diagonal.sign()?.prod(Some(-1), false)?)?;
        let logarithm = diagonal.abs()?.log()?.sum(Some(&[-1]), false)?;
        let results = [iterate::cast(&sign, self.dtype())?, iterate::cast(&logarithm, self.dtype())?];
        if let Some(mut builder) = NodeBuilder::new("LinalgSlogdetBackward0", &[self])? {
            let input = builder.save(self)?;
            builder.set_history_of_several(&results, move |ctx, gradients| {
                let input = ctx.saved(input)?;
                // The sign is constant where it has a gradient.
                match gradients {
                    [_, Some(gradient)] => {
                        scale_matrices(&transposed(&input.inv_for(OP, false)?.0)?, gradient)
                    }
                    _ => input.mul(0.0),
                }
            })?;
        }
        Ok(results.into())
    }
}
