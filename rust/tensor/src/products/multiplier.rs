//! Implementations of products of matrices: interlock's own, and those of libraries.

use std::ops::Deref;
use std::sync::Arc;

use super::matmul::{MatmulElement, Matrix};
use crate::{Element, Result};

/// Multiplies matrices of `A` into sums of `T`, on the calling thread.
pub(crate) trait Multiplier<T: Element, A: Element>: Send + Sync {
    /// Adds the product of `a` and `b` to the rows of `out`, whose stride is `step`.
    fn add_product(&self, out: &mut [T], step: usize, a: (&[A], Matrix), b: (&[A], Matrix)) -> Result<()>;
}

/// The implementation of this crate.
pub(crate) struct Native;

impl<T: MatmulElement> Multiplier<T, T> for Native {
    fn add_product(&self, out: &mut [T], step: usize, a: (&[T], Matrix), b: (&[T], Matrix)) -> Result<()> {
        T::add_product(out, step, a, b)
    }
}

/// The implementation that computes a product.
#[derive(Clone)]
pub(crate) enum MultiplyBy<T: Element, A: Element> {
    /// One without a state of its own.
    Static(&'static dyn Multiplier<T, A>),
    /// One that was prepared for the product.
    Prepared(Arc<dyn Multiplier<T, A>>),
}

impl<T: Element, A: Element> Deref for MultiplyBy<T, A> {
    type Target = dyn Multiplier<T, A>;

    fn deref(&self) -> &Self::Target {
        match self {
            MultiplyBy::Static(multiplier) => *multiplier,
            MultiplyBy::Prepared(multiplier) => &**multiplier,
        }
    }
}
