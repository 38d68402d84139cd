//! candle's switches of reduced precision, and the flags that control them.

use std::fmt::Write;

use candle_core::cuda;
use interlock::backends::Node;
use interlock::backends::flags::{CUDA_MATMUL_BF16_REDUCTION, CUDA_MATMUL_FP16_ACCUMULATION};
use interlock::state::ThreadState;

/// The switches of candle, which its matrix products on CUDA read. A candle without CUDA has none: writes have no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Whether products of f32 may use TensorFloat-32.
    pub f32: bool,
    /// Whether products of f16 accumulate in f16.
    pub f16: bool,
    /// Whether products of bf16 may use cuBLAS's fast bfloat16 arithmetic.
    pub bf16: bool,
}

impl Precision {
    /// Returns what the effective values of the flags on this thread request.
    pub fn capture() -> Self {
        Precision {
            f32: Node::CudaMatmul.effective() == interlock::backends::Precision::Tf32,
            f16: CUDA_MATMUL_FP16_ACCUMULATION.get(),
            bf16: CUDA_MATMUL_BF16_REDUCTION.get().allowed,
        }
    }

    /// Returns what the values of the flags request for the process, whatever scopes this thread has entered.
    pub fn of_process() -> Self {
        ThreadState::neutral().run(Self::capture)
    }

    /// Returns the values of candle's switches.
    pub fn of_candle() -> Self {
        Precision {
            f32: cuda::gemm_reduced_precision_f32(),
            f16: cuda::gemm_reduced_precision_f16(),
            bf16: cuda::gemm_reduced_precision_bf16(),
        }
    }

    /// Writes candle's switches, which all threads read.
    pub fn apply(self) {
        cuda::set_gemm_reduced_precision_f32(self.f32);
        cuda::set_gemm_reduced_precision_f16(self.f16);
        cuda::set_gemm_reduced_precision_bf16(self.bf16);
    }
}

/// A row: a switch of candle and the setting that controls it.
#[derive(Debug)]
pub struct Row {
    /// The flag.
    pub setting: &'static str,
    /// The function of `candle_core::cuda`.
    pub setter: &'static str,
    /// The values.
    pub rule: &'static str,
    /// Returns the value of the switch.
    pub value: fn(&Precision) -> bool,
}

/// Each switch that interlock's flags control.
pub static ROWS: [Row; 3] = [
    Row {
        setting: "cuda.matmul.fp32_precision",
        setter: "set_gemm_reduced_precision_f32",
        rule: "on for `tf32`",
        value: |precision| precision.f32,
    },
    Row {
        setting: "cuda.matmul.allow_fp16_accumulation",
        setter: "set_gemm_reduced_precision_f16",
        rule: "the flag",
        value: |precision| precision.f16,
    },
    Row {
        setting: "cuda.matmul.allow_bf16_reduced_precision_reduction",
        setter: "set_gemm_reduced_precision_bf16",
        rule: "the flag",
        value: |precision| precision.bf16,
    },
];

/// Returns the rows as a table of Markdown, as the README shows them.
pub fn markdown() -> String {
    let mut table = "| setting of interlock | function of candle | value |\n| --- | --- | --- |\n".to_owned();
    for Row { setting, setter, rule, .. } in &ROWS {
        // Writing to a String cannot fail.
        let _ = writeln!(table, "| `{setting}` | `{setter}` | {rule} |");
    }
    table
}
