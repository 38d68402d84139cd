//! Operations that reduce, accumulate or order the elements along dimensions.

mod conversion;
mod extreme_indices;
mod extremes;
mod median;
mod norms;
mod scans;
mod softmax;
mod sorting;
mod statistics;
mod sums;
mod truth;
