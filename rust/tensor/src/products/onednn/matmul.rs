//! Products of matrices by oneDNN.

use std::marker::PhantomData;
use std::ptr;

use super::INVALID;
use super::primitive::{Attributes, DESTINATION, Description, Planned, Primitive, Refusal, SOURCE, WEIGHTS};
use crate::products::matmul::{Matrix, MatrixBatch};
use crate::products::multiplier::Multiplier;
use crate::storage::fallible_alloc::try_push;
use crate::{DType, Element, Error, Result};

const OP: &str = "matmul";

/// The products of a batch of matrices of `A`, prepared for each size of its tiles.
pub(crate) struct OneDnnMatmul<A> {
    /// The elements between two rows of the result.
    step: usize,
    tiles: Vec<([usize; 3], Primitive)>,
    operands: PhantomData<fn(A)>,
}

impl<A: Element> OneDnnMatmul<A> {
    /// Prepares products into `float32`, or returns why oneDNN does not compute them.
    pub fn new(batch: &MatrixBatch, attributes: Attributes) -> std::result::Result<Self, Refusal> {
        let described = |matrix: &Matrix, sizes: [usize; 2]| {
            Description::new(A::DTYPE, &sizes, &[matrix.row_stride, matrix.column_stride])
        };
        let step = batch.right.columns;
        let mut tiles = Vec::new();
        for [rows, columns, depth] in batch.tiles::<f32>() {
            let left = described(&batch.left, [rows, depth])?;
            let right = described(&batch.right, [depth, columns])?;
            let out = Description::new(DType::Float32, &[rows, columns], &[step, 1])?;
            let operands = [(SOURCE, &left), (WEIGHTS, &right), (DESTINATION, &out)];
            let primitive = Primitive::new(attributes, true, &operands, &|planned, plan| {
                let Planned { functions, engine, attributes, operands } = *planned;
                let [left, right, out] = *operands else { return INVALID };
                // SAFETY: the objects exist; there is no bias.
                unsafe {
                    (functions.plan_matmul)(plan, engine, left, right, ptr::null_mut(), out, attributes)
                }
            })?;
            try_push(&mut tiles, ([rows, columns, depth], primitive)).map_err(|error| error.to_string())?;
        }
        Ok(OneDnnMatmul { step, tiles, operands: PhantomData })
    }
}

impl<A: Element> Multiplier<f32, A> for OneDnnMatmul<A> {
    fn add_product(&self, out: &mut [f32], step: usize, a: (&[A], Matrix), b: (&[A], Matrix)) -> Result<()> {
        let ((a, left), (b, right)) = (a, b);
        let sizes = [left.rows, right.columns, left.columns];
        let target = Matrix::from_rows(left.rows, right.columns, step);
        let fits = left.is_within(a.len()) && right.is_within(b.len()) && target.is_within(out.len());
        let prepared = self.tiles.iter().find(|(tile, _)| *tile == sizes);
        let Some((_, primitive)) = prepared.filter(|_| fits && step == self.step) else {
            debug_assert!(false, "a tile of the batch, inside of its slices");
            return Err(Error::Resized { op: OP });
        };
        // SAFETY: every element of all matrices is inside its slice, and `out` is borrowed exclusively. oneDNN only reads the
        // operands, whose type is that of the descriptions.
        unsafe {
            let (a, b) = (a.as_ptr().add(left.start), b.as_ptr().add(right.start));
            primitive.execute(OP, &[a.cast_mut().cast(), b.cast_mut().cast(), out.as_mut_ptr().cast()])
        }
    }
}
