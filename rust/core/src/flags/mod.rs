//! Global flags, which are declared once, in [`table`](self::flags), and read with two loads while no thread has a flag
//! scope open.
//!
//! The value of a flag is the first that exists of: the value of the innermost layer of this thread that names it; the
//! value assigned for the process; the environment, read once; the default.

mod aliases;
mod change;
mod cpu;
mod effect;
mod effective;
mod enums;
mod env_parse;
mod environment;
mod explain;
pub(crate) mod ffi;
mod flag;
mod flag_spec;
mod flag_type;
mod float;
pub(crate) mod freeze;
mod handle;
mod interned;
pub(crate) mod kind;
mod matmul_precision;
mod precision;
mod priority_order;
mod process_state;
mod readers;
pub(crate) mod registry;
pub(crate) mod scope;
mod snapshot;
mod store;
mod table;
mod validator;
mod value;
pub(crate) mod write;
mod write_log;

pub use crate::base::location::SourceLocation;
pub use crate::base::suggest::suggest;
pub use change::{FlagChange, FlagHook, on_change, on_change_of};
pub use cpu::{CpuCapability, cpu_capability_problem};
pub use effect::Effect;
pub use enums::{
    BlasLibrary, DepthwiseKernel, EinsumStrategy, LinalgLibrary, MkldnnNumerics, QuantizedEngine,
    RocmFaLibrary,
};
pub(crate) use environment::num_threads as environment_num_threads;
pub use environment::{problems as environment_problems, variables as environment_variables};
pub use explain::{Explanation, Level, SetBy};
pub use flag::Flag;
pub(crate) use flag::FlagWord;
pub use flag_spec::FlagSpec;
pub(crate) use flag_spec::qualified;
pub use flag_type::{FlagType, MAX_INTEGER};
pub use freeze::{FreezeGuard, FreezeScope, disable_global_flags, flags_frozen};
pub use handle::FlagHandle;
pub(crate) use interned::Interned;
pub use kind::{FlagValue, MAX_LIST_ITEMS, MAX_TEXT_BYTES, Names, Reduction, Switch};
pub use matmul_precision::MatmulPrecision;
pub use precision::{Node, Precision};
pub use priority_order::PriorityOrder;
pub use process_state::explain_state;
pub(crate) use process_state::names as state_names;
pub(crate) use readers::{Consumer, IsActive};
pub use registry::{FlagDecl, misspelt_variables, register, unregister};
pub use scope::FlagScope;
pub use snapshot::{Snapshot, SnapshotEntry, install, reset, restore, snapshot};
pub use store::{epoch, layer_epoch};
pub use table::{MODULES, find, flag_specs, own_flag_specs};
pub use validator::Validator;
pub use value::{Float, InputValue, Value};
pub use write::assign;
pub(crate) use write::call_unless_frozen;
pub use write_log::{LoggedWrite, recent_writes};

/// Returns whether writes record their source location (`INTERLOCK_DEBUG=1`).
pub fn writes_are_traced() -> bool {
    crate::base::env::debug()
}

/// A static handle of each flag.
#[allow(clippy::module_inception, reason = "Rust users write `backends::flags::CUDNN_ENABLED`")]
pub mod flags {
    pub use super::table::words::*;
}
