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
            return forward(geometry, self, weight, options.bias);
        }
        forward(geometry, &self.unsqueeze(0)?, weight, options.bias)?.squeeze(Some(0))
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

/// Returns the output of a convolution.
fn forward(geometry: ConvGeometry, input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let out = run(ConvPass::Forward, geometry, &ConvArgs::new(input, weight, bias))?;
    let inputs: Vec<&Tensor> = [input, weight].into_iter().chain(bias).collect();
    if let Some(mut builder) = NodeBuilder::new("ConvolutionBackward0", &inputs)? {
        let (of_weight, of_input) = (builder.save_for(1, input)?, builder.save_for(0, weight)?);
        let (dtype, has_bias) = (input.dtype(), bias.is_some());
        builder.set_history(&out, move |ctx, gradient| {
            let gradient = &gradient.cast(dtype)?;
            let mut gradients = vec![
                ctx.gradient(0, || input_gradient(geometry, gradient, &ctx.saved(of_input)?))?,
                ctx.gradient(1, || weight_gradient(geometry, gradient, &ctx.saved(of_weight)?))?,
            ];
            if has_bias {
                gradients.push(ctx.gradient(2, || gradient.sum(Some(&[0, 2, 3]), false))?);
            }
            Ok(gradients)
        })?;
    }
    Ok(out)
}

/// The node of the gradients of a convolution, which can be differentiated again.
const GRADIENT_NODE: &str = "ConvolutionBackwardBackward0";

/// Returns the gradient of the input.
fn input_gradient(geometry: ConvGeometry, gradient: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let out = run(ConvPass::InputGradient, geometry, &ConvArgs::new(gradient, weight, None))?;
    if let Some(mut builder) = NodeBuilder::new(GRADIENT_NODE, &[gradient, weight])? {
        let (of_weight, of_gradient) = (builder.save_for(1, gradient)?, builder.save_for(0, weight)?);
        builder.set_history(&out, move |ctx, second| {
            Ok(vec![
                ctx.gradient(0, || forward(geometry, second, &ctx.saved(of_gradient)?, None))?,
                ctx.gradient(1, || weight_gradient(geometry, &ctx.saved(of_weight)?, second))?,
            ])
        })?;
    }
    Ok(out)
}

/// Returns the gradient of the weight.
fn weight_gradient(geometry: ConvGeometry, gradient: &Tensor, input: &Tensor) -> Result<Tensor> {
    let out = run(ConvPass::WeightGradient, geometry, &ConvArgs::new(gradient, input, None))?;
    if let Some(mut builder) = NodeBuilder::new(GRADIENT_NODE, &[gradient, input])? {
        let (of_input, of_gradient) = (builder.save_for(1, gradient)?, builder.save_for(0, input)?);
        builder.set_history(&out, move |ctx, second| {
            Ok(vec![
                ctx.gradient(0, || forward(geometry, &ctx.saved(of_gradient)?, second, None))?,
                ctx.gradient(1, || input_gradient(geometry, &ctx.saved(of_input)?, second))?,
            ])
        })?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
