//! Operations that read and write elements at the positions of an index.

mod along;
mod coordinates;
mod masked;
mod positions;
