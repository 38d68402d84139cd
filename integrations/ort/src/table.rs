//! The table of settings and options.

use std::fmt::Write;

use crate::SessionOptions;
use crate::options::{BF16_MATMUL, switch};

/// Which object has an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every session.
    Session,
    /// The CUDA execution provider.
    Cuda,
}

/// A row: an option of ONNX Runtime and the settings of interlock that control it.
#[derive(Debug)]
pub struct Row {
    /// The settings that control the option, the most specific first.
    pub settings: &'static [&'static str],
    /// The option, as ONNX Runtime names it.
    pub option: &'static str,
    /// The object that has the option.
    pub target: Target,
    /// The values.
    pub rule: &'static str,
    /// Returns the value, as ONNX Runtime writes it.
    pub value: fn(&SessionOptions) -> String,
}

impl Row {
    /// Returns whether a flag controls the option.
    pub fn is_of(&self, flag: &str) -> bool {
        self.settings.contains(&flag)
    }
}

/// Each option that interlock's settings control.
pub static ROWS: [Row; 11] = [
    Row {
        settings: &["deterministic_algorithms"],
        option: "use_deterministic_compute",
        target: Target::Session,
        rule: "the flag",
        value: |options| switch(options.deterministic_compute).to_owned(),
    },
    Row {
        settings: &["num_threads"],
        option: "intra_op_num_threads",
        target: Target::Session,
        rule: "the number, which includes the thread that calls `run`",
        value: |options| options.intra_threads.to_string(),
    },
    Row {
        settings: &["onnxruntime.inter_op_num_threads", "num_threads"],
        option: "inter_op_num_threads",
        target: Target::Session,
        rule: "the flag; `num_threads` if it is 0",
        value: |options| options.inter_threads.to_string(),
    },
    Row {
        settings: &["onnxruntime.allow_spinning"],
        option: "session.intra_op.allow_spinning",
        target: Target::Session,
        rule: "the flag",
        value: |options| switch(options.allow_spinning).to_owned(),
    },
    Row {
        settings: &["onnxruntime.allow_spinning"],
        option: "session.inter_op.allow_spinning",
        target: Target::Session,
        rule: "the flag",
        value: |options| switch(options.allow_spinning).to_owned(),
    },
    Row {
        settings: &["mkldnn.matmul.fp32_precision", "mkldnn.fp32_precision", "fp32_precision"],
        option: BF16_MATMUL,
        target: Target::Session,
        rule: "1 for `bf16`",
        value: |options| switch(options.bf16_matmul).to_owned(),
    },
    Row {
        settings: &["the current device"],
        option: "device_id",
        target: Target::Cuda,
        rule: "its index",
        value: |options| options.cuda.device_id.to_string(),
    },
    Row {
        settings: &[
            "cuda.matmul.fp32_precision",
            "cudnn.conv.fp32_precision",
            "cudnn.fp32_precision",
            "fp32_precision",
        ],
        option: "use_tf32",
        target: Target::Cuda,
        rule: "`true` if products and convolutions are `tf32`",
        value: |options| options.cuda.use_tf32.to_string(),
    },
    Row {
        settings: &["cudnn.benchmark", "cudnn.deterministic", "deterministic_algorithms"],
        option: "cudnn_conv_algo_search",
        target: Target::Cuda,
        rule: "`DEFAULT` if deterministic, else `EXHAUSTIVE` with benchmark, else `HEURISTIC`",
        value: |options| options.cuda.conv_search.name().to_owned(),
    },
    Row {
        settings: &["accelerator.memory.set_limit"],
        option: "gpu_mem_limit",
        target: Target::Cuda,
        rule: "the bytes; not set without a limit",
        value: |options| options.cuda.memory_limit.map_or_else(String::new, |limit| limit.to_string()),
    },
    Row {
        settings: &["cuda.flash_sdp", "cuda.mem_efficient_sdp", "cuda.cudnn_sdp", "cuda.math_sdp"],
        option: "sdpa_kernel",
        target: Target::Cuda,
        rule: "1, 2, 8 and 16, added; not set if all are on, and 16 if none is",
        value: |options| options.cuda.attention.map_or_else(String::new, |attention| attention.to_string()),
    },
];

/// Returns the rows as a table of Markdown, as the README shows them.
pub fn markdown() -> String {
    let mut table =
        "| setting of interlock | option of ONNX Runtime | value |\n| --- | --- | --- |\n".to_owned();
    for Row { settings, option, target, rule, .. } in &ROWS {
        let settings: Vec<_> = settings
            .iter()
            .map(|name| if name.contains(' ') { (*name).to_owned() } else { format!("`{name}`") })
            .collect();
        let of = if *target == Target::Cuda { " (CUDA)" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(table, "| {} | `{option}`{of} | {rule} |", settings.join(", "));
    }
    table
}
