//! Copies to other types, devices and forms, and elements as numbers and text.

pub(crate) mod cast;
pub(crate) mod display;
pub(crate) mod item;
pub(crate) mod print_options;
pub(crate) mod transfer;
