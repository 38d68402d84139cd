//! Two-dimensional convolutions.

mod call;
mod im2col;
mod kernels;
mod shape;
mod tuning;

use interlock::dispatch::Call;

pub use call::{Conv2d, ConvArgs, ConvCall};
pub use kernels::CONV2D;
pub use shape::{ConvOptions, ConvPadding};

use crate::products::{ConvGeometry, ConvPass};
use crate::recording::NodeBuilder;
use crate::{Result, Tensor};

const OP: &str = "conv2d";

impl Tensor {
    /// Returns the convolution of images with filters: `torch.nn.functional.conv2d`. This tensor has the shape
    /// (batch, channels, rows, columns), or no batch. `weight` has the shape (filters, channels / groups, rows, columns).
    ///
    /// # Errors
    /// Fails if shapes, types or devices do not fit, and for options that are out of range.
    ///
    /// ```
    /// use interlock_tensor::{ConvOptions, ConvPadding, DType, Tensor};
    ///
    /// let image = Tensor::ones(&[1, 3, 3], DType::Float32)?;
    /// let weight = Tensor::ones(&[1, 1, 3, 3], DType::Float32)?;
    /// let options = ConvOptions { padding: ConvPadding::Same, ..ConvOptions::default() };
    /// let sums = image.conv2d(&weight, &options)?;
    /// assert_eq!(sums.to_vec::<f32>()?, [4.0, 6.0, 4.0, 6.0, 9.0, 6.0, 4.0, 6.0, 4.0]);
    /// # Ok::<(), interlock_tensor::Error>(())
    /// ```
    pub fn conv2d(&self, weight: &Tensor, options: &ConvOptions<'_>) -> Result<Tensor> {
        let geometry = shape::geometry(self, weight, options)?;
        if self.ndim() == 4 {
            return recorded(ConvPass::Forward, geometry, [self, weight], options.bias);
        }
        let batch = &self.unsqueeze(0)?;
        recorded(ConvPass::Forward, geometry, [batch, weight], options.bias)?.squeeze(Some(0))
    }

    /// Returns the choice of a kernel for [`conv2d`](Tensor::conv2d) now, without running it.
    ///
    /// # Errors
    /// Fails as the operation does for arguments that do not fit.
    pub fn explain_conv2d(&self, weight: &Tensor, options: &ConvOptions<'_>) -> Result<Call> {
        let geometry = shape::geometry(self, weight, options)?;
        let args = ConvArgs::new(self, weight, options.bias);
        Ok(CONV2D.explain(&ConvCall::new(ConvPass::Forward, geometry, &args)))
    }
}

/// Runs a pass without its history.
fn run(pass: ConvPass, geometry: ConvGeometry, args: &ConvArgs<'_>) -> Result<Tensor> {
    let call = ConvCall::new(pass, geometry, args);
    match tuning::tune(&call, args)? {
        None => CONV2D.call(&call, None, args),
        Some(tuning) => {
            let call = tuning.kept().map_or_else(|| call.clone(), |kernel| call.preferring(kernel));
            CONV2D.call(&call, None, &ConvArgs { tuning: Some(tuning), ..*args })
        }
    }
}

/// Returns the pass that computes the gradient of an operand of a pass, and whether its operands are the other operand of the
/// pass and the gradient, in this order: otherwise the gradient is the first.
///
/// The input, the weight and the output are computed from two of them each, so gradients of any order are passes.
fn pass_of_gradient(pass: ConvPass, operand: usize) -> (ConvPass, bool) {
    match (pass, operand) {
        (ConvPass::Forward, 0) => (ConvPass::InputGradient, false),
        (ConvPass::Forward, _) => (ConvPass::WeightGradient, false),
        (ConvPass::InputGradient, 0) => (ConvPass::Forward, false),
        (ConvPass::InputGradient, _) => (ConvPass::WeightGradient, true),
        (ConvPass::WeightGradient, 0) => (ConvPass::Forward, true),
        (ConvPass::WeightGradient, _) => (ConvPass::InputGradient, true),
    }
}

/// Runs a pass and records it.
fn recorded(
    pass: ConvPass,
    geometry: ConvGeometry,
    [first, second]: [&Tensor; 2],
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let out = run(pass, geometry, &ConvArgs::new(first, second, bias))?;
    let inputs: Vec<&Tensor> = [first, second].into_iter().chain(bias).collect();
    let node = match pass {
        ConvPass::Forward => "ConvolutionBackward0",
        _ => "ConvolutionBackwardBackward0",
    };
    if let Some(mut builder) = NodeBuilder::new(node, &inputs)? {
        let (first_saved, second_saved) = (builder.save_for(1, first)?, builder.save_for(0, second)?);
        let (dtype, has_bias) = (first.dtype(), bias.is_some());
        builder.set_history(&out, move |ctx, gradient| {
            let gradient = &gradient.cast(dtype)?;
            let of_operand = |operand: usize, other: usize| {
                let (pass, is_second) = pass_of_gradient(pass, operand);
                let other = &ctx.saved(other)?;
                let operands = if is_second { [other, gradient] } else { [gradient, other] };
                recorded(pass, geometry, operands, None)
            };
            let mut gradients = vec![
                ctx.gradient(0, || of_operand(0, second_saved))?,
                ctx.gradient(1, || of_operand(1, first_saved))?,
            ];
            if has_bias {
                gradients.push(ctx.gradient(2, || gradient.sum(Some(&[0, 2, 3]), false))?);
            }
            Ok(gradients)
        })?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
