//! What a thread decides for itself.
