//! The options of the CUDA execution provider.

use interlock::accelerator::memory;
use interlock::backends::flags::{
    CUDA_CUDNN_SDP, CUDA_FLASH_SDP, CUDA_MATH_SDP, CUDA_MEM_EFFICIENT_SDP, CUDNN_BENCHMARK,
    CUDNN_DETERMINISTIC,
};
use interlock::backends::{Flag, Node, Precision, Value, find};
use interlock::state::ThreadState;
use ort::ep;
use ort::ep::cuda::{AttentionBackend, ConvAlgorithmSearch};

use crate::Result;

/// The bits of the kernels of attention in `sdpa_kernel`, and the flags that allow them.
const ATTENTION: [(u32, &Flag<bool>); 4] = [
    (1 << 0, &CUDA_FLASH_SDP),
    (1 << 1, &CUDA_MEM_EFFICIENT_SDP),
    (1 << 3, &CUDA_CUDNN_SDP),
    (MATH, &CUDA_MATH_SDP),
];
const MATH: u32 = 1 << 4;

/// How cuDNN selects the algorithm of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvSearch {
    /// All algorithms are measured: under `cudnn.benchmark`.
    Exhaustive,
    /// cuDNN's heuristics select one.
    Heuristic,
    /// One fixed algorithm: under `cudnn.deterministic`.
    Default,
}

impl ConvSearch {
    /// Returns the name in ONNX Runtime.
    pub fn name(self) -> &'static str {
        match self {
            ConvSearch::Exhaustive => "EXHAUSTIVE",
            ConvSearch::Heuristic => "HEURISTIC",
            ConvSearch::Default => "DEFAULT",
        }
    }
}

/// The options of the CUDA execution provider that interlock's settings control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaOptions {
    /// The index of the current device; 0 if none was set.
    pub device_id: i32,
    /// Whether products and convolutions may use TensorFloat-32. ONNX Runtime has one option for both, so both
    /// precisions must be `"tf32"`.
    pub use_tf32: bool,
    /// The search for algorithms of convolutions.
    pub conv_search: ConvSearch,
    /// The largest size of the arena in bytes: the limit of the current device. `None` for no limit.
    pub memory_limit: Option<u64>,
    /// The allowed kernels of attention, as bits; `None` if all are.
    pub attention: Option<u32>,
}

impl CudaOptions {
    /// Reads the effective values on this thread. Starts no driver.
    ///
    /// # Errors
    /// Returns [`Error::Accelerator`](crate::Error::Accelerator) if the device of the limit does not exist.
    pub fn capture() -> Result<Self> {
        let is_tf32 = |node: Node| node.effective() == Precision::Tf32;
        let conv_search = if is_effective(&CUDNN_DETERMINISTIC)? {
            ConvSearch::Default
        } else if is_effective(&CUDNN_BENCHMARK)? {
            ConvSearch::Exhaustive
        } else {
            ConvSearch::Heuristic
        };
        let allowed = || ATTENTION.iter().filter(|(_, flag)| flag.get()).map(|(bit, _)| bit);
        let attention = match allowed().count() {
            4 => None,
            // No bits would mean every kernel.
            0 => Some(MATH),
            _ => Some(allowed().sum()),
        };
        Ok(CudaOptions {
            device_id: ThreadState::capture().device().map_or(0, i32::from),
            use_tf32: is_tf32(Node::CudaMatmul) && is_tf32(Node::CudaConv),
            conv_search,
            memory_limit: memory::limit(None)?,
            attention,
        })
    }

    /// Returns the execution provider with these options.
    pub fn provider(&self) -> ep::CUDA {
        let mut provider = ep::CUDA::default()
            .with_device_id(self.device_id)
            .with_tf32(self.use_tf32)
            .with_conv_algorithm_search(match self.conv_search {
                ConvSearch::Exhaustive => ConvAlgorithmSearch::Exhaustive,
                ConvSearch::Heuristic => ConvAlgorithmSearch::Heuristic,
                ConvSearch::Default => ConvAlgorithmSearch::Default,
            });
        if let Some(limit) = self.memory_limit {
            provider = provider.with_memory_limit(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        if let Some(attention) = self.attention {
            let names = [
                AttentionBackend::FLASH_ATTENTION,
                AttentionBackend::EFFICIENT_ATTENTION,
                AttentionBackend::CUDNN_FLASH_ATTENTION,
                AttentionBackend::MATH,
            ];
            let allowed = ATTENTION.iter().zip(names).filter(|((bit, _), _)| attention & bit != 0);
            let allowed =
                allowed.map(|(_, name)| name).fold(AttentionBackend::none(), |all, name| all | name);
            provider = provider.with_attention_backend(allowed);
        }
        provider
    }
}

/// Returns whether a switch is on, or another flag overrides it so that it is.
fn is_effective(flag: &Flag<bool>) -> interlock::Result<bool> {
    Ok(find(flag.name())?.effective() == Value::Bool(true))
}
