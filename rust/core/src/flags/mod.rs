//! Global flags: every flag is declared once, in [`table`](self::flags), and read with one load.
//!
//! The value of a flag is the first of these: what the innermost layer of this thread that names it
//! holds; what was assigned for the process; the environment, read once; the default.

mod attribute;
mod choice;
mod cpu;
mod effect;
mod environment;
mod explain;
mod flag;
mod float;
mod freeze;
mod handle;
mod interned;
mod kind;
mod log;
mod matmul_precision;
mod overruled;
mod precision;
mod process;
mod ranking;
mod registry;
mod scope;
mod snapshot;
mod table;
mod takes;
mod value;
mod variable;
mod views;
mod write;

pub use crate::base::location::SourceLocation;
pub use crate::base::suggest::suggest;
pub use attribute::Attribute;
pub use choice::{
    BlasLibrary, DepthwiseKernel, EinsumStrategy, LinalgLibrary, QuantizedEngine, RocmFaLibrary,
};
pub use cpu::{CpuCapability, cpu_capability_problem};
pub use effect::Effect;
pub use environment::{problems as environment_problems, variables as environment_variables};
pub use explain::{Explanation, Level, SetBy};
pub use flag::Flag;
pub use freeze::{FreezeScope, disable_global_flags, flags_frozen};
pub use handle::FlagHandle;
pub use kind::{FlagValue, LONGEST_TEXT, Reduction};
pub use log::{LoggedWrite, written};
pub use matmul_precision::MatmulPrecision;
pub use precision::{Node, Precision};
pub use process::{epoch, layer_epoch};
pub use ranking::Ranking;
pub use registry::{Declaration, misspelt_variables, register};
pub use scope::{FlagScope, FlagScopeBuilder, Purpose};
pub use snapshot::{Snapshot, SnapshotEntry, install, reset, restore, snapshot};
pub use table::{MODULES, attributes, find, own_attributes};
pub use takes::{LARGEST_COUNT, Takes};
pub use value::{Float, Given, Value};
pub use write::assign;
#[doc(hidden)]
pub use write::{check_writable, parse_count};

/// Whether writes remember where they came from (`INTERLOCK_DEBUG=1`).
pub fn writes_are_traced() -> bool {
    crate::base::env::debug()
}

/// A handle of each flag, for Rust.
#[allow(clippy::module_inception, reason = "Rust users write `backends::flags::CUDNN_ENABLED`")]
pub mod flags {
    pub use super::table::words::*;
}
