//! Products of matrices by MKL, which is found at run time: its interface "CBLAS", as declared in Intel's `mkl_cblas_64.h`.

use std::ffi::c_int;

use interlock::libraries::{LibraryFunctions, MKL};

use super::matmul::{MatmulElement, Matrix, is_product};
use super::multiplier::Multiplier;
use super::one_thread::{OneThread, Threads};
use crate::layout::signed;
use crate::{Element, Error, Result};

/// `cblas_sgemm_64` and `cblas_dgemm_64`: order, transpositions, sizes, factor, operands, factor, result.
type Gemm<T> =
    unsafe extern "C" fn(c_int, c_int, c_int, i64, i64, i64, T, *const T, i64, *const T, i64, T, *mut T, i64);

struct Functions {
    sgemm: Gemm<f32>,
    dgemm: Gemm<f64>,
    threads: Threads,
}

static FUNCTIONS: LibraryFunctions<Functions> = LibraryFunctions::new(&MKL, |mkl| {
    // SAFETY: the functions have the types that the headers declare.
    unsafe {
        Ok(Functions {
            sgemm: mkl.function(c"cblas_sgemm_64", "matmul")?,
            dgemm: mkl.function(c"cblas_dgemm_64", "matmul")?,
            threads: Threads::Local(mkl.function(c"MKL_Set_Num_Threads_Local", "matmul")?),
        })
    }
});

/// Returns why MKL cannot be used, if it cannot.
pub(crate) fn check() -> Result<(), &'static str> {
    FUNCTIONS.get().map(|_| ())
}

/// Products by MKL, on one of its threads, because this crate divides products among threads of its own.
pub(crate) struct Mkl;

impl Mkl {
    /// Adds a product. The matrices of both operands are in rows or in columns ([`Matrix::order`]).
    fn add<T: Element>(
        gemm: impl FnOnce(&Functions) -> Gemm<T>,
        one: T,
        (out, step): (&mut [T], usize),
        (a, left): (&[T], Matrix),
        (b, right): (&[T], Matrix),
    ) -> Result<()> {
        /// `CblasRowMajor`.
        const ROW_MAJOR: c_int = 101;
        let (rows, columns, depth) = (left.rows, right.columns, left.columns);
        let prepared = FUNCTIONS.get().ok().zip(left.order().zip(right.order()));
        let is_product = is_product((out.len(), step), (a.len(), left), (b.len(), right));
        let Some((functions, (of_left, of_right))) = prepared.filter(|_| is_product) else {
            debug_assert!(false, "matrices in order, inside of their slices");
            return Err(Error::resized("matmul"));
        };
        // `CblasTrans` or `CblasNoTrans`.
        let transposed = |is_transposed: bool| if is_transposed { 112 } else { 111 };
        let _one_thread = OneThread::new(functions.threads);
        // SAFETY: every element of all matrices is inside its slice, rows of `out` do not overlap, and the strides are
        // at least the lengths of rows or columns.
        unsafe {
            gemm(functions)(
                ROW_MAJOR,
                transposed(of_left.is_transposed),
                transposed(of_right.is_transposed),
                signed(rows),
                signed(columns),
                signed(depth),
                one,
                a.as_ptr().add(left.start),
                signed(of_left.stride),
                b.as_ptr().add(right.start),
                signed(of_right.stride),
                one,
                out.as_mut_ptr(),
                signed(step),
            );
        }
        Ok(())
    }
}

macro_rules! multiply_by_mkl {
    ($($float:ident by $gemm:ident),*) => {
        $(impl Multiplier<$float, $float, $float> for Mkl {
            fn chunk_work(&self) -> usize {
                <$float>::CHUNK_WORK
            }

            fn tile(&self, rows: usize, columns: usize, depth: usize) -> [usize; 3] {
                <$float>::tile(rows, columns, depth)
            }

            fn add_product(
                &self,
                out: &mut [$float],
                step: usize,
                a: (&[$float], Matrix),
                b: (&[$float], Matrix),
            ) -> Result<()> {
                Mkl::add(|functions| functions.$gemm, 1.0, (out, step), a, b)
            }
        })*
    };
}

multiply_by_mkl!(f32 by sgemm, f64 by dgemm);
