//! Configuration of the allocators: the settings of PyTorch's caching allocator, as a struct and in PyTorch's text
//! format.
//!
//! Each key is declared once, in `keys.rs`. A configuration replaces the active one as a whole after it was parsed and
//! checked. Keys that a text does not contain have their defaults, whatever the previous configuration was.

mod active;
mod keys;
mod parse;
mod roundup;
#[cfg(not(loom))]
#[cfg(test)]
mod tests;
mod value;

pub(crate) use active::{ConfigWatch, active};
pub use active::{Source, config, config_source, program_config, set_config, unset_config};
pub use keys::{AllocatorConfig, Applies, KEYS, Key, Requirement};
pub use roundup::RoundupDivisions;
pub use value::{Backend, Value};
