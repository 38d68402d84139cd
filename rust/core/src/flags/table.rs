//! The table of flags. Getters, setters, module attributes, stubs, environment variables and documentation are all
//! derived from it. To add a flag, add it here and let an operation read it.

use super::aliases::ALIASES;
use super::effect::effects::*;
use super::enums::{
    BlasLibrary, DepthwiseKernel, EinsumStrategy, LinalgLibrary, MkldnnNumerics, QuantizedEngine,
    RocmFaLibrary,
};
use super::env_parse::{EnvFormat, EnvVar};
use super::flag::{Flag, FlagWord};
use super::flag_spec::{Backing, FlagSpec, Projection};
use super::kind::{EMPTY_TEXT, Kind, Names, Reduction};
use super::priority_order::PriorityOrder;
use super::registry;
use crate::base::quote::{quoted, shown};
use crate::thread::FlagId;

macro_rules! flags {
    ($(
        $(#[doc = $doc:literal])+
        $word:ident: $type:ty = $kind:expr, $name:literal, $part:ident, $effect:ident
            $(, $format:ident $(($requested:literal))? of $variable:literal)?;
    )+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named like the words")]
        #[repr(u16)]
        enum FlagIndex { $($word,)+ Count }

        /// The words of the flags, as statics.
        pub mod words {
            use super::*;

            $(
                $(#[doc = $doc])+
                pub static $word: Flag<$type> = Flag::new($name, FlagIndex::$word as u16, $kind);
            )+
        }

        /// The flags in the order of their ids.
        static FLAGS: [FlagSpec; FlagIndex::Count as usize] = [$(
            FlagSpec {
                name: $name,
                backing: Backing::Word(&words::$word.word, Projection::$part),
                effect: &$effect,
                own_variable: None,
                variables: &[$(
                    EnvVar { name: $variable, format: EnvFormat::$format $(($requested))? }
                )?],
                doc: concat!($($doc, "\n"),+),
            },
        )+];

        static WORDS: [&FlagWord; FlagIndex::Count as usize] = [$(&words::$word.word,)+];
    };
}

const fn on_or_off(default: bool) -> Kind {
    Kind::Switch { default }
}

const fn bytes(default: u64) -> Kind {
    Kind::Count { default, max: 1 << 60 }
}

/// A text that lists names, and is empty by default.
const NAMES: Kind = Kind::Text { default: EMPTY_TEXT };

const fn one_of(names: &'static [&'static str]) -> Kind {
    Kind::Choice { names, aliases: &[], default: 0 }
}

/// The names of ROCm for the same libraries.
const HIP_NAMES: &[(&str, &str)] = &[("hipblas", "cublas"), ("hipblaslt", "cublaslt")];

/// The attention kernels in the order of PyTorch's `SDPBackend`.
const ATTENTION_KERNELS: &[&str] =
    &["math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable"];

flags! {
    /// Whether operations run deterministic algorithms, and operations without one are refused. It overrides
    /// `deterministic` of each library.
    DETERMINISTIC_ALGORITHMS: bool = on_or_off(false), "deterministic_algorithms", Whole, ALL_OPERATIONS;
    /// Whether operations without a deterministic algorithm warn under `deterministic_algorithms`, instead of being
    /// refused.
    DETERMINISTIC_ALGORITHMS_WARN_ONLY: bool = on_or_off(false),
        "deterministic_algorithms_warn_only", Whole, ALL_OPERATIONS;
    /// Whether memory that is not initialized is filled under `deterministic_algorithms`: with NaN, the largest integer
    /// or True. `utils.deterministic` has it under PyTorch's name.
    DETERMINISTIC_FILL_UNINITIALIZED_MEMORY: bool = on_or_off(true),
        "deterministic_fill_uninitialized_memory", Whole, UNINITIALIZED;
    /// Whether operations may run on cuDNN.
    CUDNN_ENABLED: bool = on_or_off(true), "cudnn.enabled", Whole, CUDNN_OPERATIONS;
    /// Whether cuDNN benchmarks several algorithms and uses the fastest for each shape.
    CUDNN_BENCHMARK: bool = on_or_off(false), "cudnn.benchmark", Whole, CUDNN_CONVOLUTIONS;
    /// The maximum number of algorithms that `benchmark` tries; 0 means all.
    CUDNN_BENCHMARK_LIMIT: u32 = Kind::Count { default: 10, max: i32::MAX as u64 },
        "cudnn.benchmark_limit", Whole, CUDNN_CONVOLUTIONS;
    /// Whether cuDNN is restricted to deterministic algorithms.
    CUDNN_DETERMINISTIC: bool = on_or_off(false),
        "cudnn.deterministic", Whole, CUDNN_OPERATIONS;
    /// The kernel of depthwise convolutions.
    CUDNN_DEPTHWISE_KERNEL: DepthwiseKernel = one_of(DepthwiseKernel::NAMES),
        "cudnn.depthwise_kernel", Whole, CUDNN_CONVOLUTIONS;
    /// Whether `matmul` of float16 may accumulate in float16. Accepts a bool, or a tuple whose second item sets whether
    /// the sum may be split into parts; reads as the first item.
    CUDA_MATMUL_FP16_REDUCTION: Reduction = Kind::Reduction,
        "cuda.matmul.allow_fp16_reduced_precision_reduction", First, CUBLAS_PRODUCTS;
    /// Whether `matmul` of bfloat16 may accumulate in bfloat16. Accepts a bool, or a tuple whose second item sets
    /// whether the sum may be split into parts; reads as the first item.
    CUDA_MATMUL_BF16_REDUCTION: Reduction = Kind::Reduction,
        "cuda.matmul.allow_bf16_reduced_precision_reduction", First, CUBLAS_PRODUCTS;
    /// Whether `matmul` of float16 may accumulate in float16 throughout.
    CUDA_MATMUL_FP16_ACCUMULATION: bool = on_or_off(false),
        "cuda.matmul.allow_fp16_accumulation", Whole, CUBLAS_PRODUCTS;
    /// Whether grouped matrix multiplication prefers cuBLASLt to the kernels of the runtime.
    CUDA_MATMUL_PREFER_CUBLASLT_GROUPED_GEMM: bool = on_or_off(false),
        "cuda.matmul.prefer_cublaslt_grouped_gemm", Whole, GROUPED_PRODUCTS;
    /// Whether scaled-dot-product attention may run on the flash kernel.
    CUDA_FLASH_SDP: bool = on_or_off(true), "cuda.flash_sdp", Whole, CUDA_ATTENTION;
    /// Whether scaled-dot-product attention may run on the memory-efficient kernel.
    CUDA_MEM_EFFICIENT_SDP: bool = on_or_off(true), "cuda.mem_efficient_sdp", Whole, CUDA_ATTENTION;
    /// Whether scaled-dot-product attention may run as plain matrix products.
    CUDA_MATH_SDP: bool = on_or_off(true), "cuda.math_sdp", Whole, CUDA_ATTENTION;
    /// Whether scaled-dot-product attention may run on cuDNN.
    CUDA_CUDNN_SDP: bool = on_or_off(true), "cuda.cudnn_sdp", Whole, CUDNN_ATTENTION;
    /// Whether scaled-dot-product attention that runs as plain matrix products may sum float16 and bfloat16 in
    /// these types.
    CUDA_FP16_BF16_REDUCTION_MATH_SDP: bool = on_or_off(false),
        "cuda.fp16_bf16_reduction_math_sdp", Whole, CUDA_ATTENTION;
    /// The order in which the kernels of scaled-dot-product attention are tried.
    CUDA_SDP_PRIORITY: PriorityOrder =
        Kind::PriorityOrder { names: ATTENTION_KERNELS, default: PriorityOrder::new(&[1, 2, 0, 3, 4]) },
        "cuda.sdp_priority", Whole, CUDA_ATTENTION;
    /// The library of linear algebra on cuda. `magma` selects kernels that a program registers: interlock has none.
    CUDA_LINALG_LIBRARY: LinalgLibrary = one_of(LinalgLibrary::NAMES),
        "cuda.linalg_library", Whole, CUDA_LINEAR_ALGEBRA, SwitchTo("cusolver") of "TORCH_LINALG_PREFER_CUSOLVER";
    /// The library of matrix products on cuda. The default is cuBLAS. `ck` selects the kernel that a program registers
    /// under this name: interlock has none.
    CUDA_BLAS_LIBRARY: BlasLibrary =
        Kind::Choice { names: BlasLibrary::NAMES, aliases: HIP_NAMES, default: 0 },
        "cuda.blas_library", Whole, CUBLAS_PRODUCTS, SwitchTo("cublaslt") of "TORCH_BLAS_PREFER_CUBLASLT";
    /// The library of flash attention on ROCm.
    CUDA_ROCM_FA_LIBRARY: RocmFaLibrary = one_of(RocmFaLibrary::NAMES),
        "cuda.rocm_fa_library", Whole, ROCM_ATTENTION, SwitchTo("ck") of "TORCH_ROCM_FA_PREFER_CK";
    /// The size of the cuBLAS workspace of each stream, in bytes. The default is two blocks of 4 MiB and eight of 16
    /// KiB.
    CUDA_CUBLAS_WORKSPACE: u64 = bytes(8_519_680), "cuda.cublas_workspace", Whole, CUBLAS_PRODUCTS,
        WorkspaceConfiguration of "CUBLAS_WORKSPACE_CONFIG";
    /// The size of the cuBLASLt workspace of each stream, in bytes.
    CUDA_CUBLASLT_WORKSPACE: u64 = bytes(1 << 20), "cuda.cublaslt_workspace", Whole, CUBLAS_PRODUCTS,
        Kibibytes of "CUBLASLT_WORKSPACE_SIZE";
    /// Whether operations may run on oneDNN.
    MKLDNN_ENABLED: bool = on_or_off(true), "mkldnn.enabled", Whole, ONEDNN_OPERATIONS;
    /// Whether oneDNN is restricted to deterministic algorithms.
    MKLDNN_DETERMINISTIC: bool = on_or_off(false),
        "mkldnn.deterministic", Whole, ONEDNN_OPERATIONS;
    /// Whether oneDNN may use TensorFloat-32 on Intel GPUs; None if it is unspecified.
    MKLDNN_ALLOW_TF32: Option<bool> = Kind::OptionalSwitch, "mkldnn.allow_tf32", Whole, ONEDNN_ON_XPU;
    /// The arithmetic of float32 `matmul` on the CPU: `model` rounds the inputs as the precision nodes of oneDNN
    /// request, and `hardware` computes as the kernels of the machine do.
    MKLDNN_NUMERICS: MkldnnNumerics = one_of(MkldnnNumerics::NAMES), "mkldnn.numerics", Whole, ONEDNN_OPERATIONS;
    /// Whether MIOpen uses its immediate mode instead of searching for the fastest algorithm.
    MIOPEN_IMMEDIATE: bool = on_or_off(false), "miopen.immediate", Whole, MIOPEN_CONVOLUTIONS;
    /// Whether multi-head attention may use its fast path during inference.
    MHA_FASTPATH: bool = on_or_off(true), "mha.fastpath", Whole, ATTENTION_LAYERS;
    /// Whether convolutions may run on NNPACK.
    NNPACK_ENABLED: bool = on_or_off(true), "nnpack.enabled", Whole, NNPACK_CONVOLUTIONS;
    /// Whether the contraction order of an einsum is optimized. Without the package opt_einsum it is left to right.
    OPT_EINSUM_ENABLED: bool = on_or_off(true), "opt_einsum.enabled", Whole, EINSUM;
    /// The strategy that searches the contraction order of an einsum.
    OPT_EINSUM_STRATEGY: EinsumStrategy = one_of(EinsumStrategy::NAMES), "opt_einsum.strategy", Whole, EINSUM;
    /// Whether operations may run on kernels that are registered from Python for CuTe DSL.
    PYTHON_NATIVE_CUTEDSL_ENABLED: bool = on_or_off(true),
        "python_native.cutedsl.enabled", Whole, PYTHON_KERNELS;
    /// Whether operations may run on kernels that are registered from Python for FlyDSL.
    PYTHON_NATIVE_FLYDSL_ENABLED: bool = on_or_off(true),
        "python_native.flydsl.enabled", Whole, PYTHON_KERNELS;
    /// Whether operations may run on kernels that are registered from Python for Helion.
    PYTHON_NATIVE_HELION_ENABLED: bool = on_or_off(true),
        "python_native.helion.enabled", Whole, PYTHON_KERNELS;
    /// Whether operations may run on kernels that are registered from Python and written in no other language.
    PYTHON_NATIVE_PYTHON_ENABLED: bool = on_or_off(true),
        "python_native.python.enabled", Whole, PYTHON_KERNELS;
    /// Whether operations may run on kernels that are registered from Python for Triton.
    PYTHON_NATIVE_TRITON_ENABLED: bool = on_or_off(true),
        "python_native.triton.enabled", Whole, PYTHON_KERNELS;
    /// The operations that run no kernel that is registered from Python: names with commas between.
    PYTHON_NATIVE_DISABLED_OPERATIONS: Names = NAMES,
        "python_native.disabled_operations", Whole, PYTHON_KERNELS;
    /// The dispatch keys under which operations run no kernel that is registered from Python, such as `CPU` or `CUDA`:
    /// names with commas between.
    PYTHON_NATIVE_DISABLED_DISPATCH_KEYS: Names = NAMES,
        "python_native.disabled_dispatch_keys", Whole, PYTHON_KERNELS;
    /// The engine of quantized operations, one of `supported_engines`.
    QUANTIZED_ENGINE: QuantizedEngine = one_of(QuantizedEngine::NAMES),
        "quantized.engine", Whole, QUANTIZED_OPERATIONS;
}

/// The modules below `backends`, also those without flags of their own; `""` is `backends` itself.
pub static MODULES: [&str; 18] = [
    "",
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "kleidiai",
    "libraries",
    "mha",
    "miopen",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "python_native",
    "quantized",
    "xnnpack",
];

/// Iterates over every flag, node and alias below `backends`, and every registered flag.
pub fn flag_specs() -> impl Iterator<Item = &'static FlagSpec> {
    own_flag_specs().chain(registry::flag_specs())
}

/// Iterates over every flag, node and alias below `backends`.
pub fn own_flag_specs() -> impl Iterator<Item = &'static FlagSpec> {
    FLAGS.iter().chain(&ALIASES)
}

/// Returns interlock's own flags and aliases in the order of their ids.
pub(super) fn own_tables() -> (&'static [FlagSpec], &'static [FlagSpec]) {
    (&FLAGS, &ALIASES)
}

/// Returns the id of the first registered flag.
pub(super) const fn first_registered_id() -> u16 {
    FlagIndex::Count as u16
}

/// Returns the flag with this dotted name, which may begin with `backends.` or `interlock.backends.`.
///
/// # Errors
/// Returns [`Error::FlagNamespace`](crate::Error::FlagNamespace) for the name of a namespace of flags, and
/// [`Error::UnknownFlag`](crate::Error::UnknownFlag) for any other name.
pub fn find(name: &str) -> crate::Result<&'static FlagSpec> {
    let below = |package| name.strip_prefix(package);
    let relative = below("backends.").or_else(|| below("interlock.backends.")).unwrap_or(name);
    if let Some(found) = flag_specs().find(|spec| spec.name() == name || spec.name() == relative) {
        return Ok(found);
    }
    // A flag without a dot belongs to the empty namespace, which has no name.
    if relative.is_empty() {
        return Err(crate::Error::UnknownFlag { name: quoted(name), suggestion: None });
    }
    let owned = flag_specs().map(FlagSpec::owner_and_leaf).filter(|(owner, _)| *owner == relative);
    let flags: Vec<_> = owned.map(|(_, leaf)| leaf).collect();
    let name = as_written(&shown(relative));
    if !flags.is_empty() {
        return Err(crate::Error::FlagNamespace { name, flags });
    }
    let suggestion = super::suggest(relative, flag_specs().map(FlagSpec::name)).map(as_written);
    Err(crate::Error::UnknownFlag { name, suggestion })
}

/// Returns a dotted name as a program writes it: below `backends`, unless it may be the name of another library's flag.
fn as_written(name: &str) -> String {
    if registry::may_be_registered(name) { name.to_owned() } else { format!("backends.{name}") }
}

/// Iterates over interlock's own flags, aliases first.
pub(super) fn aliases_first() -> impl Iterator<Item = &'static FlagSpec> {
    let is_view = |spec: &&FlagSpec| matches!(spec.backing, Backing::Tf32(_));
    own_flag_specs().filter(is_view).chain(own_flag_specs().filter(move |spec| !is_view(spec)))
}

/// Returns the word of a flag.
pub(super) fn word(id: FlagId) -> Option<&'static FlagWord> {
    let number = usize::from(id.0);
    let found = WORDS.get(number).copied().or_else(|| registry::word(number.checked_sub(WORDS.len())?));
    debug_assert!(found.is_some(), "every id belongs to a word, got {number}");
    found
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::*;

    #[test]
    fn word_returns_every_flag_by_its_id() {
        for (index, word) in WORDS.iter().enumerate() {
            assert_eq!(usize::from(word.id.0), index, "{}", word.name);
        }
    }

    #[test]
    fn owner_and_leaf_names_a_module_or_an_object_of_one() {
        for spec in own_flag_specs() {
            let owner = spec.owner_and_leaf().0;
            assert!(MODULES.contains(&owner.split('.').next().unwrap()), "{}", spec.name());
        }
    }

    #[test]
    fn flag_specs_have_unique_names_and_documentation() {
        let mut names: Vec<_> = flag_specs().map(FlagSpec::name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for spec in flag_specs() {
            assert!(spec.doc().trim_end().ends_with('.'), "{}", spec.name());
        }
    }

    #[test]
    fn read_of_every_flag_returns_a_value_of_its_kind() {
        for spec in flag_specs() {
            let none_is_right = spec.annotation().contains("None");
            assert!(spec.read() != Value::None || none_is_right, "{}", spec.name());
        }
    }

    #[test]
    fn find_of_an_empty_name_shows_the_name() {
        let texts = ["", "backends."].map(|name| find(name).unwrap_err().to_string());
        assert_eq!(texts, ["there is no flag \"\"", "there is no flag \"backends.\""]);
    }

    #[test]
    fn find_suggests_a_similar_name() {
        for name in ["cudnn.benchmrak", "torch.backends.cudnn.benchmark", "cudnn.bench"] {
            let error = find(name).unwrap_err();
            assert!(error.to_string().ends_with("did you mean backends.cudnn.benchmark?"), "{error}");
        }
    }

    #[test]
    fn find_accepts_the_name_of_a_module_before_the_flag() {
        for name in ["cudnn.enabled", "backends.cudnn.enabled", "interlock.backends.cudnn.enabled"] {
            assert_eq!(find(name).unwrap().name(), "cudnn.enabled");
        }
    }
}
