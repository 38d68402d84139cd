//! Factors of matrices, and systems of equations with a triangular matrix.
//!
//! All kernels compute in float64: one copy of the code, and the results of float32 are rounded once.

mod cholesky;
mod eigh;
pub(crate) mod lapack;
mod lu;
mod matrix;
mod qr;
mod svd;
mod triangular;

use std::ops::Range;

use lapack::Lapack;

use super::matmul::THREADED_WORK;
use crate::iterate::parts::{part, rest_mut, source, take};
use crate::iterate::{PartedKernel, TensorPart, check_count, for_each, launch_several, threads_on};
use crate::storage::fallible_alloc::try_collect;
use crate::{Result, Tensor};

/// The number of multiplications between two checks for interrupts.
const CHUNK_WORK: usize = 1 << 28;

/// The multiplications of an iterative factorization, as a multiple of those of a direct one.
const SWEEP_WORK: usize = 32;

/// What is computed of each matrix, of `rows` x `columns` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Routine {
    /// The lower Cholesky factor of a symmetric matrix, of which the lower triangle is read.
    Cholesky,
    /// Both LU factors in one matrix, and the pivots.
    Lu,
    /// The solution of `A X = B`, of the shape of B, whose columns are the right sides.
    Triangular {
        is_upper: bool,
        /// The diagonal counts as ones.
        is_unit: bool,
        sides: usize,
    },
    /// The orthogonal factor with so many columns, and as many rows of the triangular one; or only the latter.
    Qr { columns: Option<usize> },
    /// The eigenvalues of a symmetric matrix, of which the lower triangle is read, and perhaps the eigenvectors.
    Eigh { has_vectors: bool },
    /// The left singular vectors, the singular values and the right vectors of a matrix with at least as many rows as columns;
    /// so many left ones, and all right ones.
    Svd { left: usize, has_vectors: bool },
}

/// The results of a routine for a batch of matrices.
#[derive(Debug)]
pub(crate) struct Factors {
    /// The results in float64, in the order in which [`Routine`] names them; others are empty.
    pub parts: [Tensor; 3],
    /// A number for each matrix: 0, or, counted from 1, the pivot or leading minor that fails; 1 for a decomposition that
    /// does not exist.
    pub info: Tensor,
}

/// The matrices of a batch.
#[derive(Clone, Copy)]
struct Batch {
    routine: Routine,
    rows: usize,
    columns: usize,
    count: usize,
    threads: usize,
    library: Option<Lapack>,
}

/// The sizes of the results of one matrix. Of those that do not exist there are none.
type Sizes = [Option<Vec<usize>>; 4];

impl Routine {
    fn results(self, rows: usize, columns: usize) -> Sizes {
        let info = Some(Vec::new());
        let least = rows.min(columns);
        match self {
            Routine::Cholesky => [Some(vec![rows, rows]), None, None, info],
            Routine::Lu => [Some(vec![rows, columns]), Some(vec![least]), None, info],
            Routine::Triangular { sides, .. } => [Some(vec![rows, sides]), None, None, info],
            Routine::Qr { columns: None } => [None, Some(vec![least, columns]), None, info],
            Routine::Qr { columns: Some(of_q) } => {
                [Some(vec![rows, of_q]), Some(vec![of_q, columns]), None, info]
            }
            Routine::Eigh { has_vectors } => {
                [Some(vec![rows]), has_vectors.then(|| vec![rows, rows]), None, info]
            }
            Routine::Svd { left, has_vectors } => {
                let vectors = |sizes: Vec<usize>| has_vectors.then_some(sizes);
                [vectors(vec![rows, left]), Some(vec![columns]), vectors(vec![columns, columns]), info]
            }
        }
    }
}

impl Batch {
    /// Returns the number of multiplications for one matrix, roughly.
    fn work(&self) -> usize {
        let area = self.rows.saturating_mul(self.columns);
        match self.routine {
            Routine::Triangular { sides, .. } => area.saturating_mul(sides),
            Routine::Eigh { .. } | Routine::Svd { .. } => {
                area.saturating_mul(self.columns).saturating_mul(SWEEP_WORK)
            }
            _ => area.saturating_mul(self.rows.min(self.columns)),
        }
        .max(1)
    }

    /// Computes the results of one matrix, which are zeros before.
    fn compute(&self, matrix: &[f64], sides: &[f64], results: [&mut [f64]; 4]) -> Result<()> {
        let [first, second, third, info] = results;
        let (rows, columns) = (self.rows, self.columns);
        let found = match self.library {
            Some(library) => {
                let results = [&mut *first, &mut *second, &mut *third];
                library.compute(self.routine, [rows, columns], (matrix, sides), results)?
            }
            None => None,
        };
        let failure = match (found, self.routine) {
            (Some(failure), _) => failure,
            (None, Routine::Cholesky) => cholesky::factor(rows, matrix, first),
            (None, Routine::Lu) => {
                first.copy_from_slice(matrix);
                lu::factor(rows, columns, first, second)
            }
            (None, Routine::Triangular { is_upper, is_unit, sides: count }) => {
                first.copy_from_slice(sides);
                triangular::solve(rows, (is_upper, is_unit), matrix, (first, count));
                0
            }
            (None, Routine::Qr { .. }) => {
                qr::factor(rows, columns, matrix, first, second)?;
                0
            }
            (None, Routine::Eigh { .. }) => {
                eigh::factor(rows, matrix, first, second)?;
                0
            }
            (None, Routine::Svd { .. }) => {
                let mut scaled = try_collect(matrix.len(), matrix.iter().copied())?;
                svd::factor(rows, columns, &mut scaled, [first, second, third])?
            }
        };
        // Exact: a float64 counts more rows than a matrix in memory has.
        info.iter_mut().for_each(|info| *info = failure as f64);
        Ok(())
    }
}

impl PartedKernel<f64, 4> for Batch {
    fn parts(&self) -> usize {
        self.count
    }

    fn chunk(&self) -> usize {
        CHUNK_WORK / self.work()
    }

    fn run(&self, matrices: Range<usize>, out: [&mut [f64]; 4], sources: &[&[f64]]) -> Result<()> {
        let _one_thread = self.library.and_then(Lapack::limit_process);
        let area = self.rows.saturating_mul(self.columns);
        let of_sides = match self.routine {
            Routine::Triangular { sides, .. } => self.rows.saturating_mul(sides),
            _ => 0,
        };
        let sizes = self.routine.results(self.rows, self.columns);
        let sizes = sizes.map(|sizes| sizes.map_or(0, |sizes| sizes.iter().product::<usize>()));
        let mut first = sizes.into_iter().map(|size| size.saturating_mul(matrices.start));
        let mut left = out.map(|out| rest_mut(out, first.next().unwrap_or_default()));
        let items = matrices.map(|number| {
            let mut sizes = sizes.into_iter();
            (number, left.each_mut().map(|left| take(left, sizes.next().unwrap_or_default())))
        });
        for_each(self.threads, items, &|(number, results)| {
            let operand = |index: usize, size: usize| match size {
                0 => &[][..],
                size => part(source(sources, index), number.saturating_mul(size), size),
            };
            self.compute(operand(0, area), operand(1, of_sides), results)
        })
    }
}

/// Computes the results of a routine for each matrix of a contiguous float64 tensor, and of another one of the same batch for
/// right sides. The runtime computes what a library does not find.
pub(crate) fn factors(
    op: &'static str,
    library: Option<Lapack>,
    routine: Routine,
    matrices: &Tensor,
    sides: Option<&Tensor>,
) -> Result<Factors> {
    let (batch, [rows, columns]) = match *matrices.shape() {
        [ref batch @ .., rows, columns] => (batch, [rows, columns]),
        _ => (&[][..], [0, 0]),
    };
    let count = batch.iter().product();
    let kernel = Batch { routine, rows, columns, count, threads: 1, library };
    let placement = matrices.placement();
    let threads = threads_on(placement, kernel.work().saturating_mul(count), THREADED_WORK);
    let shapes = routine.results(rows, columns).map(|sizes| match sizes {
        Some(sizes) => [batch, &sizes].concat(),
        None => vec![0],
    });
    let mut sources = vec![(matrices, count.saturating_mul(rows).saturating_mul(columns))];
    if let (Some(tensor), Routine::Triangular { sides, .. }) = (sides, routine) {
        sources.push((tensor, count.saturating_mul(rows).saturating_mul(sides)));
    }
    for (tensor, count) in &sources {
        check_count(op, tensor.shape(), *count)?;
    }
    let sources: Vec<_> =
        sources.iter().map(|(tensor, count)| TensorPart::contiguous(tensor, *count)).collect();
    let shapes = shapes.each_ref().map(Vec::as_slice);
    let [first, second, third, info] =
        launch_several::<f64, 4>(op, placement, shapes, &sources, Batch { threads, ..kernel })?;
    Ok(Factors { parts: [first, second, third], info })
}
