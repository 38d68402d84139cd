//! What every layer above is made of: locks and atomics, forks, the environment, and small tools.

pub(crate) mod backoff;
pub(crate) mod catch;
pub(crate) mod env;
pub mod fork;
pub(crate) mod fork_local;
pub(crate) mod location;
pub(crate) mod parker;
pub(crate) mod suggest;
pub(crate) mod sync;
