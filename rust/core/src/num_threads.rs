//! The number of threads on which one operation runs on the CPU.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use crate::base::sync::RelaxedU64;
use crate::flags::environment_num_threads;
use crate::libraries::set_library_threads;

/// 0 until the number is requested or set.
static THREADS: RelaxedU64 = RelaxedU64::new(0);

/// Returns the number of threads on which an operation may run, as `torch.get_num_threads`.
///
/// The default is the first that is set of `OMP_NUM_THREADS` and `MKL_NUM_THREADS`, else the number of CPUs that the
/// process may use. A forked child continues with the number of its parent.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use interlock_core::{num_threads, set_num_threads};
///
/// set_num_threads(NonZeroUsize::MIN);
/// assert_eq!(num_threads(), NonZeroUsize::MIN);
/// ```
pub fn num_threads() -> NonZeroUsize {
    let known = match THREADS.get() {
        0 => THREADS.compare_set(0, default_threads().get() as u64),
        known => known,
    };
    usize::try_from(known).ok().and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN)
}

/// Sets the number of threads for the whole process, as `torch.set_num_threads`. Operations that run keep the number
/// with which they began.
///
/// The number is passed to the OpenMP runtimes that are loaded under their own names, for parallel regions of the
/// calling thread, and to MKL if it has been called before. A library that is loaded later begins with its own default.
pub fn set_num_threads(threads: NonZeroUsize) {
    THREADS.set(threads.get() as u64);
    set_library_threads(threads);
}

fn default_threads() -> NonZeroUsize {
    environment_num_threads().or_else(|| available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}
