//! Matrix products of tensors with any number of dimensions.

use crate::autograd::NodeBuilder;
use crate::error::Tuple;
use crate::kernel::{self, Matrix, MatrixBatch, StridedIter};
use crate::shape::{broadcast, sizes_and_strides};
use crate::{DType, Error, Result, Tensor};

const OP: &str = "matmul";

/// Multiplies matrices of tensors with at least two dimensions, broadcast over the others.
fn batch_matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    matmul_into_shape(a, b, None)
}

/// Like [`batch_matmul`], with another shape for the result, which is not a view of the product.
fn matmul_into_shape(a: &Tensor, b: &Tensor, wanted: Option<&[usize]>) -> Result<Tensor> {
    let err_no_matrix = || err_shapes(OP, "an operand is not a matrix", a, b);
    let (batch_a, rows, depth) = split_dims(a).ok_or_else(err_no_matrix)?;
    let (batch_b, depth_b, columns) = split_dims(b).ok_or_else(err_no_matrix)?;
    check_inner_dims(a, b)?;
    if a.dtype() != b.dtype() {
        return Err(Error::DTypes { op: OP, left: a.dtype(), right: b.dtype() });
    }
    let (sizes_a, sizes_b) = (sizes(&batch_a), sizes(&batch_b));
    let batch = broadcast(OP, &sizes_a, &sizes_b).map_err(|_| {
        let [sizes_a, sizes_b] = [&sizes_a, &sizes_b].map(|sizes| Tuple(sizes));
        err_shapes(OP, format!("batch dimensions {sizes_a} and {sizes_b} cannot be broadcast"), a, b)
    })?;
    let strides = (batch_strides(&batch_a, batch.len()), batch_strides(&batch_b, batch.len()));
    let iter = StridedIter::new(&batch, [(&strides.0, a.storage_offset()), (&strides.1, b.storage_offset())]);
    let batch_of_matrices = MatrixBatch { iter, left: matrix(rows, depth), right: matrix(depth_b, columns) };
    let mut shape = batch;
    shape.extend([rows.0, columns.0]);
    let wanted = wanted.unwrap_or(&shape);
    let out = match a.dtype() {
        DType::Float32 => kernel::matmul::<f32>(wanted, a, b, batch_of_matrices),
        DType::Float64 => kernel::matmul::<f64>(wanted, a, b, batch_of_matrices),
        DType::Int64 => kernel::matmul::<i64>(wanted, a, b, batch_of_matrices),
        DType::Bool => Err(Error::not_numeric(OP, "both operands", "; long() converts them")),
    }?;
    let name = if shape.len() > 2 { "BmmBackward0" } else { "MmBackward0" };
    if let Some(mut builder) = NodeBuilder::new(name, &[a, b])? {
        let (right, left) = (builder.save_for(0, b)?, builder.save_for(1, a)?);
        builder.set_history(&out, move |ctx, gradient| {
            let gradient = &gradient.reshaped(&shape)?;
            Ok(vec![
                ctx.gradient(0, || batch_matmul(gradient, &ctx.saved(right)?.transpose(-1, -2)?))?,
                ctx.gradient(1, || batch_matmul(&ctx.saved(left)?.transpose(-1, -2)?, gradient))?,
            ])
        });
    }
    Ok(out)
}

/// Returns the error for operands whose shapes do not fit.
fn err_shapes(op: &'static str, problem: impl Into<String>, a: &Tensor, b: &Tensor) -> Error {
    Error::Shapes { op, problem: problem.into(), left: a.shape().to_vec(), right: b.shape().to_vec() }
}

/// Returns an error unless rows of `a` are as long as columns of `b`. Both have dimensions.
fn check_inner_dims(a: &Tensor, b: &Tensor) -> Result<()> {
    let rows = b.shape().iter().rev().nth(usize::from(b.ndim() > 1));
    match (a.shape().last(), rows) {
        (Some(depth), Some(rows)) if depth == rows => Ok(()),
        (Some(depth), Some(rows)) => {
            Err(err_shapes(OP, format!("inner dimensions differ ({depth} and {rows})"), a, b))
        }
        _ => Err(err_shapes(OP, "an operand has no dimension", a, b)),
    }
}

type Dim = (usize, usize);

/// Splits the dimensions into the batch dimensions, rows and columns.
fn split_dims(tensor: &Tensor) -> Option<(Vec<Dim>, Dim, Dim)> {
    let mut dims = sizes_and_strides(tensor.layout());
    let columns = dims.pop()?;
    let rows = dims.pop()?;
    Some((dims, rows, columns))
}

fn sizes(dims: &[Dim]) -> Vec<usize> {
    dims.iter().map(|&(size, _)| size).collect()
}

fn batch_strides(dims: &[Dim], ndim: usize) -> Vec<usize> {
    let own = dims.iter().map(|&(size, stride)| if size == 1 { 0 } else { stride });
    std::iter::repeat_n(0, ndim - dims.len()).chain(own).collect()
}

/// Returns a matrix with these dimensions and an offset of 0.
fn matrix((rows, row_stride): Dim, (columns, column_stride): Dim) -> Matrix {
    Matrix { start: 0, rows, columns, row_stride, column_stride }
}

impl Tensor {
    /// Returns the matrix product: `torch.matmul`. A one-dimensional tensor is a row vector on the left and a column
    /// vector on the right, and the result does not have that dimension. Dimensions before the last two are
    /// broadcast.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        let (m, n) = (self.ndim(), other.ndim());
        check_inner_dims(self, other)?;
        let a = if m == 1 { self.unsqueeze(0)? } else { self.clone() };
        let b = if n == 1 { other.unsqueeze(1)? } else { other.clone() };
        let rows = self.shape().iter().rev().nth(1);
        let columns = if n == 1 { None } else { other.shape().last() };
        let batch_of = |tensor: &Tensor| -> Vec<usize> {
            tensor.shape().iter().copied().take(tensor.ndim().saturating_sub(2)).collect()
        };
        // Batch sizes that cannot be broadcast are reported by the product.
        let batch = broadcast(OP, &batch_of(&a), &batch_of(&b)).unwrap_or_default();
        let shape: Vec<usize> = batch.into_iter().chain(rows.copied()).chain(columns.copied()).collect();
        // A batch of matrices times one matrix is computed as one tall matrix times that matrix.
        let a = if a.ndim() > 2 && b.ndim() == 2 && a.is_contiguous() {
            let (columns, rows) = (a.shape().last().copied(), a.shape().iter().rev().skip(1).product());
            a.reshaped(&[rows, columns.unwrap_or(1)])?
        } else {
            a
        };
        matmul_into_shape(&a, &b, Some(&shape))
    }

    /// Returns the product of two matrices.
    pub fn mm(&self, other: &Tensor) -> Result<Tensor> {
        if self.ndim() != 2 || other.ndim() != 2 {
            return Err(err_shapes(
                "mm",
                "an operand is not a matrix (matmul() accepts others)",
                self,
                other,
            ));
        }
        self.matmul(other).map_err(|error| error.during("mm"))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_close, doubles, gradcheck};
    use crate::{DType, Error, Tensor};

    fn range(shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        doubles(&(0..count).map(|i| i as f64 * 0.25 - 1.0).collect::<Vec<_>>(), shape)
    }

    #[test]
    fn matmul_result_shapes_follow_pytorch() {
        let shape = |a: &[usize], b: &[usize]| range(a).matmul(&range(b)).map(|out| out.shape().to_vec());
        assert_eq!(shape(&[3], &[3]), Ok(vec![]));
        assert_eq!(shape(&[2, 3], &[3]), Ok(vec![2]));
        assert_eq!(shape(&[3], &[3, 4]), Ok(vec![4]));
        assert_eq!(shape(&[2, 3], &[3, 4]), Ok(vec![2, 4]));
        assert_eq!(shape(&[5, 2, 3], &[3, 4]), Ok(vec![5, 2, 4]));
        assert_eq!(shape(&[2, 1, 2, 3], &[4, 3, 2]), Ok(vec![2, 4, 2, 2]));
        assert_eq!(shape(&[3], &[4, 3, 2]), Ok(vec![4, 2]));
        assert_eq!(shape(&[0, 3], &[3, 2]), Ok(vec![0, 2]));
        for (a, b) in [(&[2, 3][..], &[2, 3][..]), (&[], &[2]), (&[2, 2, 3], &[3, 3, 2])] {
            let error = shape(a, b).unwrap_err();
            assert!(
                matches!(&error, Error::Shapes { op: "matmul", left, right, .. } if left == a && right == b)
            );
        }
    }

    #[test]
    fn matmul_of_transposed_operands() {
        let (a, b) = (range(&[2, 3]), range(&[3, 4]));
        let expected = a.matmul(&b).unwrap().to_vec::<f64>().unwrap();
        let flipped = |x: &Tensor| x.t().unwrap().contiguous().unwrap().t().unwrap();
        assert_close(&flipped(&a).matmul(&flipped(&b)).unwrap(), &expected);
        let ints = |x: &Tensor| x.mul(4.0).unwrap().cast(DType::Int64).unwrap();
        let product = ints(&flipped(&a)).matmul(&ints(&b)).unwrap();
        let scaled: Vec<f64> = expected.iter().map(|v| v * 16.0).collect();
        assert_close(&product, &scaled);
    }

    #[test]
    fn matmul_with_inner_dimension_0_is_zero() {
        assert_close(&range(&[2, 0]).matmul(&range(&[0, 1])).unwrap(), &[0.0, 0.0]);
    }

    #[test]
    fn matmul_of_different_types_is_an_error() {
        let singles = Tensor::ones(&[3], DType::Float32).unwrap();
        assert!(matches!(range(&[3]).matmul(&singles), Err(Error::DTypes { op: "matmul", .. })));
    }

    #[test]
    fn matmul_passes_gradcheck() {
        let shapes: [(&[usize], &[usize]); 7] = [
            (&[3], &[3]),
            (&[2, 3], &[3]),
            (&[3], &[3, 4]),
            (&[2, 3], &[3, 4]),
            (&[5, 2, 3], &[3, 4]),
            (&[2, 1, 2, 3], &[4, 3, 2]),
            (&[3], &[4, 3, 2]),
        ];
        for (a, b) in shapes {
            gradcheck(|x| x[0].matmul(&x[1])?.pow(2.0), &[range(a), range(b)]);
        }
        gradcheck(|x| x[0].matmul(&x[0].t()?), &[range(&[2, 3])]);
    }
}
