//! Operations of neural networks.

mod activations;
mod layers;
mod losses;
mod padding;
