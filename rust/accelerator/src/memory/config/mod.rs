//! Configuration of the allocators: the settings of PyTorch's caching allocator, as a struct and as PyTorch's text.
//!
//! Every key is declared once, in `keys.rs`. A text is parsed whole and a configuration checked whole before it
//! takes the place of another, and what a text does not name has its default: nothing is left over from the
//! configuration before.

mod active;
mod keys;
mod parse;
mod roundup;
#[cfg(not(loom))]
#[cfg(test)]
mod tests;
mod value;

pub(crate) use active::ConfigWatch;
pub use active::{ConfigEntry, Source, config, config_report, config_source, set_config};
pub use keys::{AllocatorConfig, Applies, KEYS, Key, Requirement};
pub use roundup::RoundupDivisions;
pub use value::{Backend, Value};
