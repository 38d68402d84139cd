//! Threads that run jobs which may call the driver and block.

use interlock_core::base::worker_threads::WorkerThreads;

/// Not used in a forked child, where the driver calls no host function and nothing waits.
pub(super) static WORKERS: WorkerThreads = WorkerThreads::for_user_code("cuda worker");
