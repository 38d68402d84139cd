//! Gradient modes.

/// Whether operations of this thread record what a backward pass needs.
pub fn is_grad_enabled() -> bool {
    true
}

/// Whether tensors made by this thread are inference tensors.
pub fn is_inference_mode_enabled() -> bool {
    false
}
