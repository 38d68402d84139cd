//! Layer normalization.

use super::layer_norm_rows::{self, NormResults, NormRows};
use crate::dtype::dispatch_float;
use crate::error::Tuple;
use crate::layout::signed;
use crate::ops::elementwise::operand::{check_device, check_floating_point};
use crate::recording::{BackwardContext, Gradients, NodeBuilder, is_recording};
use crate::{Error, Result, Tensor, iterate};

const OP: &str = "layer_norm";

/// The arguments of the backward function. Only tensors that a needed gradient uses are saved; the gradient of the bias uses
/// none.
#[derive(Clone, Copy)]
struct Norm {
    rows: NormRows,
    /// The number of normalized dimensions, which are the last ones.
    ndim: usize,
    eps: f64,
    /// The numbers of the saved tensors.
    input: usize,
    mean: usize,
    rstd: usize,
    weight: Option<usize>,
}

impl Tensor {
    /// Normalizes the elements of the last dimensions, whose sizes are `normalized_shape`, to a mean of 0 and a variance
    /// of `1 - eps / (variance + eps)`, and then multiplies them by `weight` and adds `bias`.
    ///
    /// Parameters have the dtype of this tensor, or `float32` for a tensor of 16-bit floats.
    pub fn layer_norm(
        &self,
        normalized_shape: &[usize],
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        eps: f64,
    ) -> Result<Tensor> {
        self.check_layer_norm(normalized_shape, weight, bias)?;
        let input = self.contiguous_for_arithmetic()?;
        let load = |given: Option<&Tensor>| given.map(Tensor::contiguous_for_arithmetic).transpose();
        let parameters = [load(weight)?, load(bias)?];
        let length: usize = normalized_shape.iter().product();
        let outer = self.ndim().saturating_sub(normalized_shape.len());
        let rows = NormRows { rows: self.shape().iter().take(outer).product(), length };
        let [normalized, mean, rstd] = dispatch_float!(input.dtype(), T => {
            layer_norm_rows::layer_norm::<T>(OP, rows, &input, parameters.each_ref().map(Option::as_ref), eps)
        })?;
        let out = iterate::cast(&normalized, self.dtype())?;
        let absent = self.detach();
        let inputs = [self, weight.unwrap_or(&absent), bias.unwrap_or(&absent)];
        if let Some(mut builder) = NodeBuilder::new("NativeLayerNormBackward0", &inputs)? {
            let user = if builder.needs(0) { 0 } else { 1 };
            let [input, mean, rstd] = [self, &mean, &rstd].map(|tensor| builder.save_for(user, tensor));
            let (input, mean, rstd) = (input?, mean?, rstd?);
            let weight = weight.map(|weight| builder.save_for(0, weight)).transpose()?;
            let norm = Norm { rows, ndim: normalized_shape.len(), eps, input, mean, rstd, weight };
            builder.set_history(&out, move |ctx, gradient| {
                if !ctx.needs(0) && !ctx.needs(1) {
                    let gradient = gradient.cast(gradient.dtype().compute())?;
                    Ok(vec![None, None, ctx.gradient(2, || norm.total(&gradient))?])
                } else if is_recording() {
                    norm.recorded(ctx, gradient)
                } else {
                    norm.fused(ctx, gradient)
                }
            })?;
        }
        Ok(out)
    }

    /// Returns an error unless the arguments of `layer_norm` fit this tensor.
    fn check_layer_norm(
        &self,
        normalized_shape: &[usize],
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
    ) -> Result<()> {
        check_floating_point(OP, self)?;
        if normalized_shape.is_empty() || !self.shape().ends_with(normalized_shape) {
            let expected = format!("be the last sizes of the input shape {}", Tuple(self.shape()));
            return Err(Error::sizes(OP, "normalized_shape", expected, normalized_shape));
        }
        let parameters = [("weight", weight), ("bias", bias)];
        let mut first = None;
        for (argument, parameter) in parameters.into_iter().filter_map(|(name, given)| Some((name, given?))) {
            if parameter.shape() != normalized_shape {
                let expected = format!("be of shape {}, normalized_shape", Tuple(normalized_shape));
                return Err(Error::shape(OP, argument, expected, parameter.shape()));
            }
            let given = parameter.dtype();
            let accepted = [self.dtype(), self.dtype().compute()];
            if *first.get_or_insert(given) != given || !accepted.contains(&given) {
                let expected = format!("{}, the dtype of the input", self.dtype());
                return Err(Error::dtype(OP, argument, expected, given));
            }
            check_device(OP, self, parameter)?;
        }
        Ok(())
    }
}

impl Norm {
    /// Computes the gradients by one kernel, and the sums of those of the parameters.
    fn fused(self, ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<Gradients> {
        let load = |saved: usize| ctx.saved(saved)?.contiguous_for_arithmetic();
        let (input, gradient) = (load(self.input)?, gradient.contiguous_for_arithmetic()?);
        let weight = self.weight.filter(|_| ctx.needs(0)).map(load).transpose()?;
        let (mean, rstd) = (ctx.saved(self.mean)?, ctx.saved(self.rstd)?);
        let results = NormResults { gradient: &gradient, mean: &mean, rstd: &rstd };
        let needs = [ctx.needs(1), ctx.needs(2)];
        let [of_input, of_weight, of_bias] = dispatch_float!(input.dtype(), T => {
            layer_norm_rows::layer_norm_backward::<T>(OP, self.rows, &input, weight.as_ref(), &results, needs)
        })?;
        let normalized = input.shape().get(input.ndim().saturating_sub(self.ndim)..).unwrap_or_default();
        let total = |parts: &Tensor| parts.sum(Some(&[0]), false)?.reshaped(normalized);
        let of_input = ctx.needs(0).then_some(of_input);
        Ok(vec![of_input, ctx.gradient(1, || total(&of_weight))?, ctx.gradient(2, || total(&of_bias))?])
    }

    /// Computes the gradients by recorded operations, so that they can be differentiated.
    fn recorded(self, ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<Gradients> {
        let input = ctx.saved(self.input)?;
        let (input, gradient) =
            (input.cast(input.dtype().compute())?, gradient.cast(input.dtype().compute())?);
        let inner: Vec<i64> = (1..=self.ndim).map(|dim| -signed(dim)).collect();
        let mean = |tensor: &Tensor| tensor.mean(Some(&inner), true);
        let centered = input.sub(&mean(&input)?)?;
        let rstd = mean(&centered.mul(&centered)?)?.add(self.eps)?.sqrt()?.rdiv(1i64)?;
        let normalized = centered.mul(&rstd)?;
        let of_input = || {
            let scaled = match self.weight {
                Some(weight) => gradient.mul(&ctx.saved(weight)?)?,
                None => gradient.clone(),
            };
            let projection = normalized.mul(&mean(&scaled.mul(&normalized)?)?)?;
            scaled.sub(&mean(&scaled)?)?.sub(&projection)?.mul(&rstd)
        };
        Ok(vec![
            ctx.gradient(0, of_input)?,
            ctx.gradient(1, || self.total(&gradient.mul(&normalized)?))?,
            ctx.gradient(2, || self.total(&gradient))?,
        ])
    }

    /// Returns the sum over the dimensions that are not normalized.
    fn total(self, tensor: &Tensor) -> Result<Tensor> {
        let outer = 0..tensor.ndim().saturating_sub(self.ndim);
        let outer: Vec<i64> = outer.map(signed).collect();
        if outer.is_empty() { Ok(tensor.clone()) } else { tensor.sum(Some(&outer), false) }
    }
}
