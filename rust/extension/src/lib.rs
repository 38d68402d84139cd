//! The shared library of the extension module `interlock._core`, whose initialization function `interlock-python` defines.
//!
//! It is a crate of its own because fat LTO optimizes all crates at the level of the last one: so the bindings can be
//! optimized for size, and the loops of the tensor runtime keep their vector instructions.

pub use interlock_python::_core;
