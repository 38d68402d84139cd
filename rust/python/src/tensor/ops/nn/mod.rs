//! Operations of neural networks.

mod activations;
mod attention;
mod convolution;
mod layers;
mod losses;
mod lstm;
pub(super) mod multi_head_attention;
mod padding;
