//! The flags that this crate registers with interlock, for options of ONNX Runtime that no flag of PyTorch controls.
//! They have scopes, variables and explanations as all others have.

use std::sync::OnceLock;

use interlock::Result;
use interlock::backends::{FlagDecl, FlagHandle, FlagType, register};

/// The handles of the registered flags.
#[derive(Clone, Copy, Debug)]
pub struct Flags {
    /// `onnxruntime.allow_spinning` (`ONNXRUNTIME_ALLOW_SPINNING`): whether threads without work spin before they sleep.
    /// On by default, as in ONNX Runtime.
    pub allow_spinning: FlagHandle<bool>,
    /// `onnxruntime.inter_op_num_threads` (`ONNXRUNTIME_INTER_OP_NUM_THREADS`): the number of threads that run nodes in
    /// parallel; 0, the default, means `num_threads`.
    pub inter_op_num_threads: FlagHandle<u32>,
}

/// Returns the flags, which the first call registers.
///
/// # Errors
/// Returns [`FlagRegistration`](interlock::Error::FlagRegistration) if the program has registered other flags of these
/// names.
pub fn flags() -> Result<Flags> {
    static FLAGS: OnceLock<Flags> = OnceLock::new();
    if let Some(flags) = FLAGS.get() {
        return Ok(*flags);
    }
    let spinning = FlagDecl {
        affects: Some("sessions of ONNX Runtime".to_owned()),
        ..FlagDecl::new(
            "onnxruntime.allow_spinning",
            FlagType::Switch { default: true },
            "Whether threads of ONNX Runtime without work spin before they sleep.",
        )
    };
    let threads = FlagDecl {
        affects: Some("sessions of ONNX Runtime that run nodes in parallel".to_owned()),
        ..FlagDecl::new(
            "onnxruntime.inter_op_num_threads",
            FlagType::Count { default: 0, maximum: i32::MAX as u64 },
            "The number of threads that run nodes in parallel; 0 means num_threads.",
        )
    };
    let (spinning, spinning_problems) = register(spinning)?;
    let (threads, threads_problems) = register(threads)?;
    for (variable, problem) in spinning_problems.iter().chain(&threads_problems) {
        log::warn!("{variable}: {problem}");
    }
    let flags = Flags { allow_spinning: spinning.handle()?, inter_op_num_threads: threads.handle()? };
    Ok(*FLAGS.get_or_init(|| flags))
}
