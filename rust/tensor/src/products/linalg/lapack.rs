//! Factors by LAPACK, which is found at run time in MKL, or in OpenBLAS, which the wheels of numpy and scipy bring.
//!
//! Source of the signatures: the documentation of LAPACK 3.12. Its matrices are stored in columns. A matrix in rows is the
//! transposed matrix in columns, so only LU and QR factors need a copy in another order.

use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::from_ref;

use interlock::libraries::{Library, LibraryFunctions, MKL, OPENBLAS};

use super::Routine;
use super::matrix::{largest, transpose};
use crate::Result;
use crate::iterate::parts::part;
use crate::products::one_thread::{OneThread, Threads};
use crate::storage::fallible_alloc::{try_collect, try_from_elem};

/// Integers have 64 or 32 bits: a library reads and writes all of one, or its lower half, which is at the same address.
type Int = *const i64;
type IntMut = *mut i64;
type Real = *mut f64;
type Text = *const c_char;
/// The length of a text: Fortran passes it after all other arguments.
type Length = usize;

/// The functions of a library.
struct Functions {
    potrf: unsafe extern "C" fn(Text, Int, Real, Int, IntMut, Length),
    getrf: unsafe extern "C" fn(Int, Int, Real, Int, IntMut, IntMut),
    trsm: Trsm,
    geqrf: unsafe extern "C" fn(Int, Int, Real, Int, Real, Real, Int, IntMut),
    orgqr: unsafe extern "C" fn(Int, Int, Int, Real, Int, Real, Real, Int, IntMut),
    syevd: Syevd,
    gesdd: Gesdd,
    threads: Threads,
    /// Whether integers have 64 bits.
    is_wide: bool,
}

#[rustfmt::skip]
type Trsm = unsafe extern "C" fn(
    Text, Text, Text, Text, Int, Int, *const f64, *const f64, Int, Real, Int, Length, Length, Length, Length,
);
#[rustfmt::skip]
type Syevd = unsafe extern "C" fn(
    Text, Text, Int, Real, Int, Real, Real, Int, IntMut, Int, IntMut, Length, Length,
);
#[rustfmt::skip]
type Gesdd = unsafe extern "C" fn(
    Text, Int, Int, Real, Int, Real, Real, Int, Real, Int, Real, Int, IntMut, IntMut, Length,
);

/// A library with LAPACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lapack {
    Mkl,
    OpenBlas,
}

impl Lapack {
    fn library(self) -> &'static Library {
        match self {
            Lapack::Mkl => &MKL,
            Lapack::OpenBlas => &OPENBLAS,
        }
    }

    fn functions(self) -> Result<&'static Functions, &'static str> {
        static OF_MKL: LibraryFunctions<Functions> = LibraryFunctions::new(&MKL, |_| Lapack::Mkl.load());
        static OF_OPENBLAS: LibraryFunctions<Functions> =
            LibraryFunctions::new(&OPENBLAS, |_| Lapack::OpenBlas.load());
        match self {
            Lapack::Mkl => OF_MKL.get(),
            Lapack::OpenBlas => OF_OPENBLAS.get(),
        }
    }

    /// Returns why the library cannot compute matrices and results of at most so many elements, if it cannot.
    pub fn check(self, elements: usize) -> Result<(), String> {
        let functions = self.functions()?;
        // Workspaces have several times the elements, and are counted in integers.
        if !functions.is_wide && elements.saturating_mul(8) > i32::MAX as usize {
            return Err(format!("{} has integers of 32 bits", self.library().title()));
        }
        Ok(())
    }

    fn load(self) -> Result<Functions, Box<dyn Error>> {
        if cfg!(target_endian = "big") {
            return Err("needs a little-endian CPU".into());
        }
        // Names with this end have integers of 64 bits, and builds for packages may have a prefix.
        let names = [("scipy_", "64_"), ("scipy_", ""), ("", "64_")];
        let has_names = |(prefix, suffix): &(&str, &str)| {
            // SAFETY: the address is not called.
            unsafe { self.function::<*const ()>(&format!("{prefix}dpotrf_{suffix}")) }.is_ok()
        };
        let (prefix, suffix) = names.into_iter().find(has_names).unwrap_or_default();
        let fortran = |name| format!("{prefix}{name}_{suffix}");
        let own = |name| format!("{prefix}{name}{suffix}");
        // SAFETY: the functions have the types of the fields, as LAPACK, MKL and OpenBLAS document them.
        unsafe {
            let threads = match self {
                Lapack::Mkl => Threads::Local(self.function("MKL_Set_Num_Threads_Local")?),
                Lapack::OpenBlas => {
                    let parallel: unsafe extern "C" fn() -> c_int =
                        self.function(&own("openblas_get_parallel"))?;
                    // Then each thread of the program has a number of threads of its own.
                    if parallel() == OPENMP {
                        return Err("OpenBLAS is built with OpenMP".into());
                    }
                    let get = self.function(&own("openblas_get_num_threads"))?;
                    Threads::Global(get, self.function(&own("openblas_set_num_threads"))?)
                }
            };
            let mut functions = Functions {
                potrf: self.function(&fortran("dpotrf"))?,
                getrf: self.function(&fortran("dgetrf"))?,
                trsm: self.function(&fortran("dtrsm"))?,
                geqrf: self.function(&fortran("dgeqrf"))?,
                orgqr: self.function(&fortran("dorgqr"))?,
                syevd: self.function(&fortran("dsyevd"))?,
                gesdd: self.function(&fortran("dgesdd"))?,
                threads,
                is_wide: true,
            };
            functions.is_wide = functions.reads_wide_integers();
            Ok(functions)
        }
    }

    /// Returns a function.
    ///
    /// # Safety
    /// As [`Library::function`].
    unsafe fn function<F: Copy>(self, name: &str) -> Result<F, Box<dyn Error>> {
        let name = CString::new(name)?;
        // SAFETY: as the caller guarantees.
        Ok(unsafe { self.library().function(&name, "linalg") }?)
    }

    /// Limits a library that has one number of threads for the process to one thread, until the result is dropped.
    pub(super) fn limit_process(self) -> Option<OneThread> {
        let threads = self.functions().ok()?.threads;
        matches!(threads, Threads::Global(..)).then(|| OneThread::new(threads))
    }

    /// Computes the results of a matrix of `rows` x `columns` elements, which are zeros before, as
    /// [`Batch::compute`](super::Batch). Returns its `info`, or `None` if the library does not find the results, of which it may
    /// have written parts.
    pub fn compute(
        self,
        routine: Routine,
        [rows, columns]: [usize; 2],
        (matrix, sides): (&[f64], &[f64]),
        [first, second, third]: [&mut [f64]; 3],
    ) -> Result<Option<usize>> {
        let Ok(functions) = self.functions() else { return Ok(None) };
        if matrix.is_empty() || matrix.len() != rows.saturating_mul(columns) {
            return Ok(None);
        }
        let is_of_thread = matches!(functions.threads, Threads::Local(_));
        let _one_thread = is_of_thread.then(|| OneThread::new(functions.threads));
        match routine {
            Routine::Cholesky => Ok(Some(functions.cholesky(rows, matrix, first))),
            Routine::Lu => functions.lu([rows, columns], matrix, first, second).map(Some),
            Routine::Triangular { is_upper, is_unit, sides: count } => {
                if sides.is_empty() {
                    return Ok(Some(0));
                }
                first.copy_from_slice(sides);
                functions.triangular(rows, (is_upper, is_unit), matrix, (first, count));
                Ok(Some(0))
            }
            Routine::Qr { .. } => functions.qr([rows, columns], matrix, first, second).map(|()| Some(0)),
            Routine::Eigh { has_vectors } => functions.eigh(rows, matrix, first, (second, has_vectors)),
            Routine::Svd { left, has_vectors } => {
                let copy = &mut try_collect(matrix.len(), matrix.iter().copied())?;
                let left = has_vectors.then_some(left);
                functions.svd([rows, columns], left, copy, [first, second, third])
            }
        }
    }
}

/// A result of `openblas_get_parallel`.
const OPENMP: c_int = 2;

fn int(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn text(letter: &'static CStr) -> Text {
    letter.as_ptr()
}

/// Returns a status that a library wrote.
fn status(info: i64) -> i32 {
    // The lower half: no status is larger than a size.
    info as i32
}

/// Returns a status that counts from 1, or 0.
fn position(info: i64) -> usize {
    usize::try_from(status(info)).unwrap_or_default()
}

/// Returns the memory for the number of elements that a library has written.
fn workspace(size: f64) -> Result<Vec<f64>> {
    // Exact below 2^53.
    try_from_elem(0.0, size as usize)
}

/// All pointers that the functions get are to integers, or to slices of the sizes that LAPACK documents for them.
impl Functions {
    /// Returns whether integers have 64 bits: the pivots of an identity matrix are 1 and 2.
    fn reads_wide_integers(&self) -> bool {
        let (size, mut info) = (2, 0);
        let (mut matrix, mut pivots) = ([1.0, 0.0, 0.0, 1.0], [0; 2]);
        let _one_thread = OneThread::new(self.threads);
        // SAFETY: a matrix of two columns, and two pivots.
        unsafe {
            let (size, matrix) = (from_ref(&size), matrix.as_mut_ptr());
            (self.getrf)(size, size, matrix, size, pivots.as_mut_ptr(), &raw mut info);
        }
        pivots == [1, 2]
    }

    /// The lower triangle in rows is the upper one in columns.
    fn cholesky(&self, size: usize, matrix: &[f64], out: &mut [f64]) -> usize {
        for (row, (out, elements)) in out.chunks_exact_mut(size).zip(matrix.chunks_exact(size)).enumerate() {
            out.iter_mut()
                .zip(elements)
                .take(row.saturating_add(1))
                .for_each(|(out, element)| *out = *element);
        }
        let (order, mut info) = (int(size), 0);
        // SAFETY: a square matrix.
        unsafe {
            (self.potrf)(text(c"U"), &raw const order, out.as_mut_ptr(), &raw const order, &raw mut info, 1)
        };
        let mut diagonal = out.iter().step_by(size.saturating_add(1));
        match position(info) {
            // Not every library compares with NaN.
            0 => diagonal.position(|pivot| pivot.is_nan()).map_or(0, |row| row.saturating_add(1)),
            minor => minor,
        }
    }

    fn lu(
        &self,
        [rows, columns]: [usize; 2],
        matrix: &[f64],
        out: &mut [f64],
        pivots: &mut [f64],
    ) -> Result<usize> {
        let mut copy = try_from_elem(0.0, matrix.len())?;
        transpose(columns, matrix, &mut copy);
        let mut positions = try_from_elem(0_i64, pivots.len())?;
        let ([m, n], mut info) = ([rows, columns].map(int), 0);
        // SAFETY: a matrix of `m` rows, and as many pivots as the smaller size.
        unsafe {
            let (m, n) = (&raw const m, &raw const n);
            (self.getrf)(m, n, copy.as_mut_ptr(), m, positions.as_mut_ptr(), &raw mut info);
        }
        transpose(rows, &copy, out);
        let halves = |position: i64| [position as i32, (position >> 32) as i32];
        if self.is_wide {
            pivots.iter_mut().zip(positions).for_each(|(pivot, position)| *pivot = position as f64);
        } else {
            let positions = positions.into_iter().flat_map(halves);
            pivots.iter_mut().zip(positions).for_each(|(pivot, position)| *pivot = f64::from(position));
        }
        Ok(position(info))
    }

    /// In columns the transposed solution is the left factor of the transposed matrix, whose other triangle is read.
    fn triangular(
        &self,
        size: usize,
        (is_upper, is_unit): (bool, bool),
        matrix: &[f64],
        (sides, count): (&mut [f64], usize),
    ) {
        let triangle = text(if is_upper { c"L" } else { c"U" });
        let diagonal = text(if is_unit { c"U" } else { c"N" });
        let ([m, n], one) = ([count, size].map(int), 1.0);
        let (side, kind) = (text(c"R"), text(c"N"));
        // SAFETY: a square matrix, and a matrix of as many columns and `m` rows.
        unsafe {
            let (m, n, a, b) = (&raw const m, &raw const n, matrix.as_ptr(), sides.as_mut_ptr());
            (self.trsm)(side, triangle, kind, diagonal, m, n, &raw const one, a, n, b, m, 1, 1, 1, 1);
        }
    }

    fn qr(&self, [rows, columns]: [usize; 2], matrix: &[f64], q: &mut [f64], r: &mut [f64]) -> Result<()> {
        let (steps, q_columns) = (rows.min(columns), q.len() / rows);
        let mut copy = try_from_elem(0.0, rows.saturating_mul(columns.max(q_columns)))?;
        transpose(columns, matrix, &mut copy);
        let (mut factors, mut size, mut info) = (try_from_elem(0.0, steps)?, 0.0, 0);
        let [m, n, k, of_q] = [rows, columns, steps, q_columns].map(int);
        let (m, n, k, of_q) = (&raw const m, &raw const n, &raw const k, &raw const of_q);
        let (a, tau, info) = (copy.as_mut_ptr(), factors.as_mut_ptr(), &raw mut info);
        // SAFETY: a matrix of `m` rows, at least `n` columns and `of_q` columns, and as many factors as the smaller size. The
        // first call of each function writes the size of its workspace.
        unsafe {
            (self.geqrf)(m, n, a, m, tau, &raw mut size, &QUERY, info);
            let mut work = workspace(size)?;
            (self.geqrf)(m, n, a, m, tau, work.as_mut_ptr(), &int(work.len()), info);
        }
        for (row, out) in r.chunks_exact_mut(columns).enumerate().take(steps) {
            let elements = copy.iter().skip(row).step_by(rows);
            out.iter_mut().zip(elements).skip(row).for_each(|(out, element)| *out = *element);
        }
        if q_columns > 0 {
            let a = copy.as_mut_ptr();
            // SAFETY: as above.
            unsafe {
                (self.orgqr)(m, of_q, k, a, m, tau, &raw mut size, &QUERY, info);
                let mut work = workspace(size)?;
                (self.orgqr)(m, of_q, k, a, m, tau, work.as_mut_ptr(), &int(work.len()), info);
            }
            transpose(rows, part(&copy, 0, q.len()), q);
        }
        Ok(())
    }

    /// The lower triangle in rows is the upper one in columns, and a row of the result is an eigenvector.
    fn eigh(
        &self,
        size: usize,
        matrix: &[f64],
        values: &mut [f64],
        (vectors, has_vectors): (&mut [f64], bool),
    ) -> Result<Option<usize>> {
        let mut lower = matrix.chunks_exact(size).zip(1..).map(|(row, count)| part(row, 0, count));
        if !lower.all(|row| largest(row).is_finite()) {
            values.fill(f64::NAN);
            vectors.fill(f64::NAN);
            return Ok(Some(0));
        }
        let mut copy = try_collect(matrix.len(), matrix.iter().copied())?;
        let (order, job) = (int(size), text(if has_vectors { c"V" } else { c"N" }));
        let (mut of_work, mut of_integers, mut info) = (0.0, 0, 0);
        let (n, a, w) = (&raw const order, copy.as_mut_ptr(), values.as_mut_ptr());
        let (triangle, info_at) = (text(c"U"), &raw mut info);
        let run = |work: Real, of_work: Int, integers: IntMut, of_integers: Int| {
            // SAFETY: a square matrix, as many values as it has rows, and two workspaces with their sizes.
            unsafe {
                (self.syevd)(job, triangle, n, a, n, w, work, of_work, integers, of_integers, info_at, 1, 1);
            }
        };
        // The first call writes the sizes of the workspaces.
        run(&raw mut of_work, &QUERY, &raw mut of_integers, &QUERY);
        let mut integers = try_from_elem(0_i64, usize::try_from(of_integers).unwrap_or_default())?;
        let mut work = workspace(of_work)?;
        let [of_work, of_integers] = [work.len(), integers.len()].map(int);
        run(work.as_mut_ptr(), &of_work, integers.as_mut_ptr(), &of_integers);
        if has_vectors {
            transpose(size, &copy, vectors);
        }
        Ok((status(info) == 0).then_some(0))
    }

    /// In columns the matrix is transposed: its left vectors are the right ones of the rows.
    fn svd(
        &self,
        [rows, columns]: [usize; 2],
        left: Option<usize>,
        matrix: &mut [f64],
        [u, values, vh]: [&mut [f64]; 3],
    ) -> Result<Option<usize>> {
        if !largest(matrix).is_finite() {
            return Ok(Some(1));
        }
        let job = text(match left {
            None => c"N",
            Some(left) if left == columns => c"S",
            Some(_) => c"A",
        });
        let ([m, n, of_left], mut size, mut info) = ([columns, rows, left.unwrap_or(1)].map(int), 0.0, 0);
        let mut integers = try_from_elem(0_i64, columns.saturating_mul(8))?;
        let (m, n, of_left, info_at) = (&raw const m, &raw const n, &raw const of_left, &raw mut info);
        let (a, s, first, second) =
            (matrix.as_mut_ptr(), values.as_mut_ptr(), vh.as_mut_ptr(), u.as_mut_ptr());
        let integers = integers.as_mut_ptr();
        let run = |work: Real, of_work: Int| {
            // SAFETY: a matrix of `m` rows and at least as many columns, the matrices of the vectors, unless the job is not to
            // write them, a workspace with its size, and eight integers for each value.
            unsafe {
                (self.gesdd)(
                    job, m, n, a, m, s, first, m, second, of_left, work, of_work, integers, info_at, 1,
                );
            }
        };
        // The first call writes the size of the workspace.
        run(&raw mut size, &QUERY);
        let mut work = workspace(size)?;
        run(work.as_mut_ptr(), &int(work.len()));
        Ok((status(info) == 0).then_some(0))
    }
}

/// The value of `lwork` that queries the size of a workspace.
static QUERY: i64 = -1;
