//! Products of matrices by oneDNN.

use std::marker::PhantomData;
use std::ptr;

use super::INVALID;
use super::primitive::{Attributes, DESTINATION, Description, Planned, Prepared, Primitive, SOURCE, WEIGHTS};
use crate::products::matmul::{MatmulElement, Matrix, MatrixBatch, is_product};
use crate::products::multiplier::Multiplier;
use crate::storage::fallible_alloc::try_push;
use crate::{Element, Error, Result};

const OP: &str = "matmul";

/// The products of a batch of matrices of `A` and `B` into sums of `T`, prepared for each size of its tiles.
pub(crate) struct OneDnnMatmul<T, A, B> {
    /// The most rows, columns and depth of a tile.
    tile: [usize; 3],
    /// The elements between two rows of the result.
    step: usize,
    tiles: Vec<([usize; 3], Primitive)>,
    types: PhantomData<fn(A, B) -> T>,
}

impl<T: Element, A: Element, B: Element> OneDnnMatmul<T, A, B> {
    /// Prepares products, or returns why oneDNN does not compute them.
    pub fn new(batch: &MatrixBatch, attributes: Attributes) -> Prepared<Self> {
        let described = |dtype, matrix: &Matrix, sizes: [usize; 2]| {
            Description::new(dtype, &sizes, &[matrix.row_stride, matrix.column_stride])
        };
        let MatrixBatch { left, right, .. } = batch;
        let (step, tile) = (right.columns, f32::tile(left.rows, right.columns, left.columns));
        let [.., tile_depth] = tile;
        let mut tiles = Vec::new();
        for sizes @ [rows, columns, depth] in batch.tiles(tile) {
            let left = described(A::DTYPE, left, [rows, depth])?;
            let right = described(B::DTYPE, right, [depth, columns])?;
            let out = Description::new(T::DTYPE, &[rows, columns], &[step, 1])?;
            let operands = [(SOURCE, &left), (WEIGHTS, &right), (DESTINATION, &out)];
            let adds = tile_depth < batch.left.columns;
            let primitive = Primitive::new(attributes, adds, &operands, &|planned, plan| {
                let Planned { functions, engine, attributes, operands } = *planned;
                let [left, right, out] = *operands else { return INVALID };
                // SAFETY: the objects exist; there is no bias.
                unsafe {
                    (functions.plan_matmul)(plan, engine, left, right, ptr::null_mut(), out, attributes)
                }
            })?;
            try_push(&mut tiles, (sizes, primitive)).map_err(|error| error.to_string())?;
        }
        Ok(OneDnnMatmul { tile, step, tiles, types: PhantomData })
    }
}

impl<T: Element, A: Element, B: Element> Multiplier<T, A, B> for OneDnnMatmul<T, A, B> {
    fn chunk_work(&self) -> usize {
        f32::CHUNK_WORK
    }

    fn tile(&self, _rows: usize, _columns: usize, _depth: usize) -> [usize; 3] {
        self.tile
    }

    /// Adds a product, or writes it if the tiles have the whole depth: sums begin at 0.
    fn add_product(&self, out: &mut [T], step: usize, a: (&[A], Matrix), b: (&[B], Matrix)) -> Result<()> {
        let ((a, left), (b, right)) = (a, b);
        let sizes = [left.rows, right.columns, left.columns];
        let fits = is_product((out.len(), step), (a.len(), left), (b.len(), right));
        let prepared = self.tiles.iter().find(|(tile, _)| *tile == sizes);
        let Some((_, primitive)) = prepared.filter(|_| fits && step == self.step) else {
            debug_assert!(false, "a tile of the batch, inside of its slices");
            return Err(Error::resized(OP));
        };
        // SAFETY: every element of all matrices is inside its slice, and `out` is borrowed exclusively. oneDNN only reads the
        // operands, whose type the descriptions have.
        unsafe {
            let (a, b) = (a.as_ptr().add(left.start), b.as_ptr().add(right.start));
            primitive.execute(OP, &[a.cast_mut().cast(), b.cast_mut().cast(), out.as_mut_ptr().cast()])
        }
    }
}
