//! What a binding of another language, a layer of devices and a tensor runtime use: contexts of the language, slots of
//! layers, ids of flags, modes as bits.
//!
//! Programs use the crate `interlock-runtime`, which does not export this module: its items may change in every
//! release, like those of [`base`](crate::base). The bindings of Python are such a binding, the crate
//! `interlock-accelerator` is such a layer.

pub mod dispatch;
pub mod flags;
pub mod libraries;
pub mod modes;
pub mod thread;
