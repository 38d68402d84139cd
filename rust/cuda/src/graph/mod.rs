//! Stream captures, graphs and their descriptions.

pub(crate) mod capture;
pub(crate) mod dump;
#[expect(clippy::module_inception, reason = "the file takes the type's name")]
pub(crate) mod graph;
pub(crate) mod submission;
