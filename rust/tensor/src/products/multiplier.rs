//! Implementations of products of matrices: interlock's own, and those of libraries.

use std::ops::Deref;
use std::sync::Arc;

use super::matmul::{MatmulElement, Matrix};
use crate::{Element, Result};

/// Multiplies matrices of `A` and `B` into sums of `T`, on the calling thread.
pub(crate) trait Multiplier<T: Element, A: Element, B: Element>: Send + Sync {
    /// Returns the number of multiplications between two checks for interrupts.
    fn chunk_work(&self) -> usize;

    /// Returns the rows, columns and depth of the tiles into which a product of this size is divided.
    fn tile(&self, rows: usize, columns: usize, depth: usize) -> [usize; 3];

    /// Adds the product of `a` and `b` to the rows of `out`, whose stride is `step`.
    fn add_product(&self, out: &mut [T], step: usize, a: (&[A], Matrix), b: (&[B], Matrix)) -> Result<()>;
}

/// The implementation of this crate.
pub(crate) struct Native;

impl<T: MatmulElement> Multiplier<T, T, T> for Native {
    fn chunk_work(&self) -> usize {
        T::CHUNK_WORK
    }

    fn tile(&self, rows: usize, columns: usize, depth: usize) -> [usize; 3] {
        T::tile(rows, columns, depth)
    }

    fn add_product(&self, out: &mut [T], step: usize, a: (&[T], Matrix), b: (&[T], Matrix)) -> Result<()> {
        T::add_product(out, step, a, b)
    }
}

/// The implementation that computes a product.
#[derive(Clone)]
pub(crate) enum MultiplyBy<T: Element, A: Element, B: Element> {
    /// One without a state of its own.
    Static(&'static dyn Multiplier<T, A, B>),
    /// One that was prepared for the product.
    Prepared(Arc<dyn Multiplier<T, A, B>>),
}

impl<T: Element, A: Element, B: Element> Deref for MultiplyBy<T, A, B> {
    type Target = dyn Multiplier<T, A, B>;

    fn deref(&self) -> &Self::Target {
        match self {
            MultiplyBy::Static(multiplier) => *multiplier,
            MultiplyBy::Prepared(multiplier) => &**multiplier,
        }
    }
}
