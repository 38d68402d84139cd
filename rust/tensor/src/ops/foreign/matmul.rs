//! Products of matrices by kernels of other libraries.

use interlock::backends::Node;
use interlock::dispatch::{
    ForeignArgs, ForeignFunctions, ForeignKernel, Kernel, KernelError, Numerics, Operation, Reason,
};

use super::launch::{ForeignLaunch, foreign_tensor};
use crate::iterate::result_placement;
use crate::layout::{Layout, broadcast};
use crate::ops::products::matmul_kernels::{Matmul, MatmulArgs, MatmulCall, split};
use crate::products::Matrix;
use crate::{Error, Tensor, iterate};

/// Returns a kernel of `matmul`. With the node of cuBLAS it accumulates 16-bit floats as the flags of `cuda.matmul`
/// request.
pub(super) fn kernel(foreign: ForeignKernel) -> Kernel<Matmul> {
    let obeys_cuda = foreign.node() == Some(Node::CudaMatmul);
    let kernel = Kernel::<Matmul>::foreign(foreign, ForeignFunctions { check, run });
    if obeys_cuda { kernel.accumulation(MatmulCall::accumulation) } else { kernel }
}

fn check(foreign: &ForeignKernel, call: &MatmulCall) -> Result<(), Reason> {
    let [left, right] = call.shapes();
    let ([batch_left @ .., rows, _], [batch_right @ .., _, columns]) = (left, right) else {
        return Err(Reason::from("needs matrices"));
    };
    let Ok(batch) = broadcast(Matmul::NAME, batch_left, batch_right) else {
        return Err(Reason::from("needs batches that can be broadcast"));
    };
    let tensor =
        |matrix: &[usize]| foreign_tensor(call.device(), call.dtype(), &[batch.as_slice(), matrix].concat());
    let matrix = |shape: &[usize]| tensor(shape.split_at(shape.len().saturating_sub(2)).1);
    let (inputs, outputs) = ([matrix(left), matrix(right)], [tensor(&[*rows, *columns])]);
    foreign.check(&ForeignArgs::new(&inputs, &outputs, Numerics::default()))
}

fn run(
    foreign: &ForeignKernel,
    call: &MatmulCall,
    numerics: Numerics,
    args: &MatmulArgs<'_>,
) -> Result<Tensor, KernelError<Error>> {
    let MatmulArgs { a, b, batch, shape, dtype } = *args;
    let [left, right] = [a, b].map(|operand| split(operand, batch.len()));
    let product = [batch, &[left.0.rows, right.0.columns]].concat();
    let layout = |operand: &Tensor, (matrix, strides): (Matrix, Vec<usize>)| Layout {
        shape: [batch, &[matrix.rows, matrix.columns]].concat(),
        strides: [strides.as_slice(), &[matrix.row_stride, matrix.column_stride]].concat(),
        offset: operand.storage_offset(),
    };
    let launch = ForeignLaunch {
        op: Matmul::NAME,
        kernel: foreign,
        numerics,
        operands: &[(a, layout(a, left)), (b, layout(b, right))],
        placement: result_placement(a, b),
        dtype: call.dtype(),
        shape: &product,
        options: std::ptr::null(),
    };
    Ok(iterate::cast(&launch.run()?.alias(Layout::contiguous(shape)), dtype)?)
}
