//! Whether NVIDIA's driver can be used, asked before any call into cudarc: cudarc panics where the
//! library is missing.

/// What the probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverStatus {
    /// `libcuda.so.1` is not installed.
    Absent,
}
