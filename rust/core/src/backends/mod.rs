//! Global flags.
