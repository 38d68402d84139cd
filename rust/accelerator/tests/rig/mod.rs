//! Helpers for tests besides `interlock_driver::testing`.

#![allow(dead_code, unused_imports, reason = "every test binary that has a rig uses a part of it")]

pub mod failing;
pub mod host;

pub use interlock_driver::testing::rig::*;
