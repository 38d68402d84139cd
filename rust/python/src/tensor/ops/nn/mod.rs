//! Operations of neural networks.

mod activations;
mod attention;
mod convolution;
mod layers;
mod losses;
mod lstm;
mod padding;
