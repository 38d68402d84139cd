//! The options of a session.

use interlock::backends::flags::DETERMINISTIC_ALGORITHMS;
use interlock::backends::{Node, Precision};
use interlock::num_threads;
use ort::session::builder::SessionBuilder;

use crate::flags::flags;
use crate::{CudaOptions, Result};

/// The key of ONNX Runtime for matrix products of float32 in bfloat16, which its kernels for ARM have.
pub(crate) const BF16_MATMUL: &str = "mlas.enable_gemm_fastmath_arm64_bfloat16";

/// The options of a session that interlock's settings control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// Whether kernels must be deterministic.
    pub deterministic_compute: bool,
    /// The number of threads on which a node runs, of which the thread that calls `run` is one.
    pub intra_threads: usize,
    /// The number of threads that run nodes, if the session runs nodes in parallel.
    pub inter_threads: usize,
    /// Whether threads without work spin before they sleep.
    pub allow_spinning: bool,
    /// Whether matrix products of float32 on ARM may round their operands to bfloat16.
    pub bf16_matmul: bool,
    /// The options of the CUDA execution provider.
    pub cuda: CudaOptions,
}

impl SessionOptions {
    /// Reads the effective values on this thread.
    ///
    /// # Errors
    /// Returns the errors of [`flags`](crate::flags::flags) and of [`CudaOptions::capture`].
    pub fn capture() -> Result<Self> {
        let flags = flags()?;
        let threads = num_threads().get();
        Ok(SessionOptions {
            deterministic_compute: DETERMINISTIC_ALGORITHMS.get(),
            intra_threads: threads,
            inter_threads: match flags.inter_op_num_threads.get() {
                0 => threads,
                threads => threads as usize,
            },
            allow_spinning: flags.allow_spinning.get(),
            bf16_matmul: Node::MkldnnMatmul.effective() == Precision::Bf16,
            cuda: CudaOptions::capture()?,
        })
    }

    /// Applies the options to a builder of ort, without the execution provider.
    ///
    /// # Errors
    /// Returns the errors of ONNX Runtime.
    pub fn apply(&self, builder: SessionBuilder) -> ort::Result<SessionBuilder> {
        Ok(builder
            .with_deterministic_compute(self.deterministic_compute)?
            .with_intra_threads(self.intra_threads)?
            .with_inter_threads(self.inter_threads)?
            .with_intra_op_spinning(self.allow_spinning)?
            .with_inter_op_spinning(self.allow_spinning)?
            .with_config_entry(BF16_MATMUL, switch(self.bf16_matmul))?)
    }
}

/// Returns a switch as ONNX Runtime writes it.
pub(crate) fn switch(on: bool) -> &'static str {
    if on { "1" } else { "0" }
}
