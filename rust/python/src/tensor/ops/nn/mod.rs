//! Operations of neural networks.

mod activations;
mod change;
mod layers;
mod losses;
