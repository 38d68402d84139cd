//! The state of the interlock that is imported in this process.
pub mod sys;
