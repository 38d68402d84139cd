//! Convolutions as calls of [`MATMUL`], whose flags control the arithmetic, with matrices of patches in
//! memory of the device.

use interlock::dispatch::Composite;

use super::OP;
use super::call::{ConvArgs, ConvCall};
use crate::dtype::dispatch_float;
use crate::layout::signed;
use crate::ops::products::matmul_kernels::{MATMUL, MatmulArgs, MatmulCall};
use crate::products::{ConvGeometry, ConvPass};
use crate::{DType, Result, Tensor, cat, iterate, products};

/// The most elements of the matrices of patches that exist at one time, unless those of one image have more.
const ELEMENTS: usize = 1 << 24;

/// Runs a pass. The images are divided into lots whose patches have a limited size.
pub(super) fn run(call: &ConvCall, args: &ConvArgs<'_>) -> Result<Tensor> {
    let g = call.geometry();
    let [first, second] = args.operands.map(|tensor| tensor.detach().contiguous());
    let (first, second) = (first?, second?);
    let patches = g.groups.saturating_mul(g.depth()).saturating_mul(g.positions());
    let lot = (ELEMENTS / patches.max(1)).max(1);
    // Gradients and outputs of halves are added to before they are rounded.
    let dtype = call.dtype().compute();
    let parts = (0..g.batch.max(1)).step_by(lot).map(|start| {
        let end = start.saturating_add(lot).min(g.batch);
        let geometry = ConvGeometry { batch: end - start, ..*g };
        let part = &images(&first, start, end)?;
        match call.pass() {
            ConvPass::Forward => forward(geometry, part, &second, dtype),
            ConvPass::InputGradient => input_gradient(geometry, part, &second, dtype),
            ConvPass::WeightGradient => weight_gradient(geometry, part, &images(&second, start, end)?, dtype),
        }
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let out = match (call.pass(), parts.as_slice()) {
        (_, [part]) => part.clone(),
        (ConvPass::WeightGradient, [first, others @ ..]) => {
            others.iter().try_fold(first.clone(), |sum, part| sum.add(part))?
        }
        _ => cat(&parts, 0)?,
    };
    let out = match args.bias {
        Some(bias) => out.add(&bias.detach().reshaped(&[1, bias.numel(), 1, 1])?)?,
        None => out,
    };
    iterate::cast(&out, call.dtype())
}

/// Returns some images of a tensor.
fn images(tensor: &Tensor, first: usize, end: usize) -> Result<Tensor> {
    let [first, end] = [first, end].map(signed);
    tensor.slice(0, Some(first), Some(end), 1)
}

/// Multiplies matrices with the dimensions (batch, groups, rows, columns), without that of groups if there is one.
fn multiply(g: ConvGeometry, a: &Tensor, b: &Tensor, shape: &[usize], dtype: DType) -> Result<Tensor> {
    let squeezed = |tensor: &Tensor| if g.groups == 1 { tensor.squeeze(Some(1)) } else { Ok(tensor.clone()) };
    let (a, b) = (squeezed(a)?, squeezed(b)?);
    let batch: &[usize] = if g.groups == 1 { &[g.batch] } else { &[g.batch, g.groups] };
    let args = MatmulArgs { a: &a, b: &b, batch, shape, dtype };
    MATMUL.call(&MatmulCall::new(&a, &b), Some(Composite { name: OP, numerics: None }), &args)
}

/// Returns the filters of each group as rows.
fn rows(g: ConvGeometry, weight: &Tensor) -> Result<Tensor> {
    let weight = if g.has_channels_last() { weight.permute(&[0, 2, 3, 1])? } else { weight.clone() };
    weight.reshaped(&[1, g.groups, g.filters, g.depth()])
}

/// Returns the channels of each group of the gradient of the output as rows.
fn rows_of_output(g: ConvGeometry, gradient: &Tensor) -> Result<Tensor> {
    gradient.reshaped(&[g.batch, g.groups, g.filters, g.positions()])
}

fn forward(g: ConvGeometry, input: &Tensor, weight: &Tensor, dtype: DType) -> Result<Tensor> {
    multiply(g, &rows(g, weight)?, &products::columns(OP, g, input)?, &g.output_shape(), dtype)
}

fn input_gradient(g: ConvGeometry, gradient: &Tensor, weight: &Tensor, dtype: DType) -> Result<Tensor> {
    let shape = [g.batch, g.groups, g.depth(), g.positions()];
    let weight = rows(g, weight)?.transpose(-1, -2)?;
    let patches = multiply(g, &weight, &rows_of_output(g, gradient)?, &shape, dtype)?;
    match patches.dtype() {
        DType::Int64 => products::add_columns::<i64>(OP, g, &patches),
        dtype => dispatch_float!(dtype, T => products::add_columns::<T>(OP, g, &patches)),
    }
}

fn weight_gradient(g: ConvGeometry, gradient: &Tensor, input: &Tensor, dtype: DType) -> Result<Tensor> {
    let patches = products::columns(OP, g, input)?.transpose(-1, -2)?;
    let [filters, a, b, c] = g.product_weight_shape();
    let of_images =
        multiply(g, &rows_of_output(g, gradient)?, &patches, &[g.batch, filters, a, b, c], dtype)?;
    let sum = of_images.sum(Some(&[0]), false)?;
    if g.has_channels_last() { sum.permute(&[0, 3, 1, 2])?.contiguous() } else { Ok(sum) }
}
