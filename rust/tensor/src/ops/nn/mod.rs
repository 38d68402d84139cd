//! Activations, attention, losses and layers.

pub(crate) mod activations;
pub(crate) mod attention;
pub(crate) mod binary_cross_entropy;
pub(crate) mod class_grid;
pub(crate) mod cross_entropy;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod layer_norm;
pub(crate) mod layer_norm_rows;
pub(crate) mod loss;
pub(crate) mod multi_head;
pub(crate) mod nll_loss;
pub(crate) mod padding;
