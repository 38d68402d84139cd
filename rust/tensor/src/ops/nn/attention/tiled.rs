//! Attention in blocks of keys, with a backward pass of its own.

use interlock::dispatch::KernelError;

use super::OP;
use super::kernels::{AttentionArgs, AttentionOut};
use super::math::additive_mask;
use crate::iterate::{Plan, PlanOperand};
use crate::layout::Layout;
use crate::products::{AttentionHeads, AttentionResults, Matrix};
use crate::recording::{NodeBuilder, is_recording};
use crate::{DType, Error, ErrorKind, Result, Tensor, iterate, products};

/// Computes an attention in blocks of keys. `node` is the name of its node.
pub(crate) fn run(args: &AttentionArgs<'_>, node: &'static str) -> Result<AttentionOut, KernelError<Error>> {
    let (output, normalizers) = Operands::new(args)?.forward()?;
    Ok(AttentionOut { output, normalizers: Some(normalizers), node })
}

/// The operands of an attention with 4 dimensions, in the type in which it is computed.
struct Operands {
    query: Tensor,
    key: Tensor,
    value: Tensor,
    /// The mask that is added to the scores.
    mask: Option<Tensor>,
    /// The type of the result.
    dtype: DType,
    scale: f64,
    is_causal: bool,
}

impl Operands {
    fn new(args: &AttentionArgs<'_>) -> Result<Self> {
        let dtype = args.query.dtype();
        let computed = dtype.compute();
        let operand = |tensor: &Tensor| iterate::cast(&tensor.detach(), computed);
        Ok(Operands {
            query: operand(args.query)?,
            key: operand(args.key)?,
            value: operand(args.value)?,
            mask: args.mask.map(|mask| additive_mask(&mask.detach(), computed)).transpose()?,
            dtype,
            scale: args.scale,
            is_causal: args.is_causal,
        })
    }

    /// Returns the batch and the heads of the queries, and the matrices of each head.
    fn heads(&self) -> Result<([usize; 2], AttentionHeads)> {
        let Operands { query, key, value, mask, .. } = self;
        let (&[batch, heads, rows, _], &[_, shared, keys, _]) = (query.shape(), key.shape()) else {
            return Err(Error::shape(OP, "query", "have 4 dimensions", query.shape()));
        };
        let group = heads / shared.max(1);
        let strides = |tensor: &Tensor| <[usize; 4]>::try_from(tensor.strides()).unwrap_or_default();
        let matrix = |tensor: &Tensor| {
            let [_, _, row_stride, column_stride] = strides(tensor);
            let [.., rows, columns] = *tensor.shape() else { return Matrix::from_rows(0, 0, 0) };
            Matrix { start: 0, rows, columns, row_stride, column_stride }
        };
        // Dimensions: batch, heads of keys, heads of queries that share one of them.
        let of_queries = |[batch, head, ..]: [usize; 4]| [batch, head.saturating_mul(group), head];
        let of_keys = |[batch, head, ..]: [usize; 4]| [batch, head, 0];
        let mask_strides =
            mask.as_ref().map(|mask| mask.layout().broadcast_strides(&[batch, heads, rows, keys]));
        let mask_strides = mask_strides.as_deref().and_then(|strides| <[usize; 4]>::try_from(strides).ok());
        let steps = [
            of_queries(strides(query)),
            of_keys(strides(key)),
            of_keys(strides(value)),
            of_queries(mask_strides.unwrap_or_default()),
        ];
        let offsets = [Some(query), Some(key), Some(value), mask.as_ref()]
            .map(|tensor| tensor.map_or(0, Tensor::storage_offset));
        let operands = steps.iter().zip(offsets);
        let operands: Vec<_> =
            operands.map(|(strides, offset)| PlanOperand { strides, offset, size: 1 }).collect();
        let plan = Plan::new(&Layout::contiguous(&[batch, shared, group]), &operands);
        let heads_of = AttentionHeads {
            plan,
            group,
            query: matrix(query),
            key: matrix(key),
            value: matrix(value),
            mask: mask_strides.map(|[_, _, row, column]| [row, column]),
            scale: self.scale,
            is_causal: self.is_causal,
        };
        Ok(([batch, heads], heads_of))
    }

    /// Returns the result, and the normalizers of each row of scores.
    fn forward(&self) -> Result<(Tensor, Tensor)> {
        let ((batch, heads), tensors) = (self.heads()?, [&self.query, &self.key, &self.value]);
        let mask = self.mask.as_ref();
        let [output, normalizers] = match self.query.dtype() {
            DType::Float64 => products::attention::<f64>(OP, heads, &batch, tensors, mask)?,
            _ => products::attention::<f32>(OP, heads, &batch, tensors, mask)?,
        };
        Ok((iterate::cast(&output, self.dtype)?, normalizers))
    }

    /// Returns the gradients of the queries, keys and values.
    fn backward(&self, output: &Tensor, normalizers: &Tensor, gradient: &Tensor) -> Result<[Tensor; 3]> {
        let ((_, heads), tensors) = (self.heads()?, [&self.query, &self.key, &self.value]);
        let (out, gradient) = (&output.contiguous_for_arithmetic()?, &gradient.contiguous_for_arithmetic()?);
        let (mask, results) = (self.mask.as_ref(), AttentionResults { out, normalizers, gradient });
        let gradients = match self.query.dtype() {
            DType::Float64 => products::attention_backward::<f64>(OP, heads, tensors, mask, results)?,
            _ => products::attention_backward::<f32>(OP, heads, tensors, mask, results)?,
        };
        let [query, key, value] = gradients.map(|gradient| iterate::cast(&gradient, self.dtype));
        Ok([query?, key?, value?])
    }
}

/// Returns the result of a kernel with its history, unless the kernel composed it of recorded operations.
pub(crate) fn with_history(out: AttentionOut, args: &AttentionArgs<'_>) -> Result<Tensor> {
    let AttentionOut { output, normalizers, node } = out;
    if output.requires_grad() {
        return Ok(output);
    }
    let Some(mut builder) = NodeBuilder::new(node, &[args.query, args.key, args.value])? else {
        return Ok(output);
    };
    let (query, key) = (builder.save(args.query)?, builder.save(args.key)?);
    // The gradient of the values uses neither the values nor the result.
    let user = if builder.needs(0) { 0 } else { 1 };
    let (value, value_shape) = (builder.save_for(user, args.value)?, args.value.shape().to_vec());
    let mask = args.mask.map(|mask| builder.save(mask)).transpose()?;
    let result = builder.save_output_for(user, &output)?;
    let normalizers = normalizers.map(|normalizers| builder.save(&normalizers)).transpose()?;
    let (scale, is_causal, enable_gqa) = (args.scale, args.is_causal, args.enable_gqa);
    builder.set_history(&output, move |ctx, gradient| {
        if is_recording() {
            let message = "the backward pass cannot be recorded (BackwardArgs::create_graph); \
                           select the math kernel with flags::CUDA_SDP_PRIORITY";
            return Err(Error::of(node, ErrorKind::State, message));
        }
        let (query, key) = (ctx.saved(query)?, ctx.saved(key)?);
        let only_value = !ctx.needs(0) && !ctx.needs(1);
        let value =
            if only_value { Tensor::zeros(&value_shape, query.options())? } else { ctx.saved(value)? };
        let mask = mask.map(|mask| ctx.saved(mask)).transpose()?;
        let (query, key, value, mask) = (&query, &key, &value, mask.as_ref());
        let operands =
            Operands::new(&AttentionArgs { query, key, value, mask, is_causal, scale, enable_gqa })?;
        let (output, normalizers) = match normalizers {
            Some(normalizers) if only_value => (gradient.clone(), ctx.saved(normalizers)?),
            Some(normalizers) => (ctx.saved(result)?, ctx.saved(normalizers)?),
            None => operands.forward()?,
        };
        let [query, key, value] = operands.backward(&output, &normalizers, gradient)?;
        let of_scores = |gradient: Tensor| (!only_value).then_some(gradient);
        Ok(vec![of_scores(query), of_scores(key), Some(value)])
    })?;
    Ok(output)
}
