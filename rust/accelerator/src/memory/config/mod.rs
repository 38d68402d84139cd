//! How memory is kept: PyTorch's settings of its caching allocator, as a struct and as PyTorch's text.
//!
//! Every key is declared once, in `keys.rs`. A text is parsed whole and a configuration checked whole before it
//! takes the place of another, and what a text does not name has its default: nothing is left over from the
//! configuration before.

mod divisions;
mod keys;
mod parse;
mod process;
#[cfg(not(loom))]
#[cfg(test)]
mod tests;
mod value;

pub use divisions::Divisions;
pub use keys::{AllocatorConfig, Applies, KEYS, Key, Requirement};
pub(crate) use process::TakenOver;
pub use process::{Reported, Source, config, config_report, config_source, set_config};
pub use value::{Backend, Value};
