//! Every flag, declared once. Getters, setters, module attributes, stubs, environment variables and
//! documentation all come from here; to add a flag, add it here and let something obey it.

use super::attribute::{Attribute, Part, Target};
use super::effect::Effect;
use super::flag::{Flag, FlagWord};
use super::kind::{DepthwiseKernel, Kind, Reduction};
use super::precision::Node;
use crate::libraries::{CUBLAS, CUDNN, ONEDNN};
use crate::state::FlagId;

static CUDNN_OPERATIONS: Effect =
    Effect { what: "convolutions, recurrent layers and batch normalisation on cuda", libraries: &[&CUDNN] };
static CUDNN_CONVOLUTIONS: Effect = Effect { what: "convolutions on cuda", libraries: &[&CUDNN] };
static CUDNN_RECURRENT: Effect = Effect { what: "recurrent layers on cuda", libraries: &[&CUDNN] };
static CUBLAS_PRODUCTS: Effect = Effect { what: "matrix products on cuda", libraries: &[&CUBLAS] };
static ONEDNN_OPERATIONS: Effect =
    Effect { what: "matrix products, convolutions and recurrent layers on cpu", libraries: &[&ONEDNN] };
static FLOAT32_OF_CUDA: Effect = Effect { what: "float32 operations on cuda", libraries: &[&CUBLAS, &CUDNN] };
static FLOAT32_OF_ALL: Effect =
    Effect { what: "float32 operations of every backend", libraries: &[&CUBLAS, &CUDNN, &ONEDNN] };

macro_rules! flags {
    ($(
        $(#[doc = $doc:literal])+
        $word:ident: $type:ty = $kind:expr, $name:literal, $part:ident, $effect:ident;
    )+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named like the words")]
        #[repr(u16)]
        enum Number { $($word,)+ HowMany }

        /// The words of the flags, at addresses that never change.
        pub mod words {
            use super::*;

            $(
                $(#[doc = $doc])+
                pub static $word: Flag<$type> = Flag::new($name, Number::$word as u16, $kind);
            )+
        }

        /// In the order of their numbers.
        static FLAGS: [Attribute; Number::HowMany as usize] = [$(
            Attribute {
                name: $name,
                target: Target::Word(&words::$word.word, Part::$part),
                effect: &$effect,
                variables: &[],
                doc: concat!($($doc, "\n"),+),
            },
        )+];

        static WORDS: [&FlagWord; Number::HowMany as usize] = [$(&words::$word.word,)+];
    };
}

flags! {
    /// Whether operations may run on cuDNN.
    CUDNN_ENABLED: bool = Kind::Switch { default: true }, "cudnn.enabled", Whole, CUDNN_OPERATIONS;
    /// Whether cuDNN tries several algorithms and keeps the fastest for each shape.
    CUDNN_BENCHMARK: bool = Kind::Switch { default: false }, "cudnn.benchmark", Whole, CUDNN_CONVOLUTIONS;
    /// How many algorithms `benchmark` tries at most; 0 means all.
    CUDNN_BENCHMARK_LIMIT: u32 = Kind::Count { default: 10, max: i32::MAX as u64 },
        "cudnn.benchmark_limit", Whole, CUDNN_CONVOLUTIONS;
    /// Whether cuDNN is restricted to algorithms that give the same bits every time.
    CUDNN_DETERMINISTIC: bool = Kind::Switch { default: false },
        "cudnn.deterministic", Whole, CUDNN_OPERATIONS;
    /// Which kernel serves a depthwise convolution.
    CUDNN_DEPTHWISE_KERNEL: DepthwiseKernel = Kind::Choice { names: DepthwiseKernel::NAMES, default: 0 },
        "cudnn.depthwise_kernel", Whole, CUDNN_CONVOLUTIONS;
    /// Whether float16 products may sum in float16. Written as a bool, or as a tuple whose second
    /// item says whether the sum may be split into parts; reads as the first.
    CUDA_MATMUL_FP16_REDUCTION: Reduction = Kind::Reduction,
        "cuda.matmul.allow_fp16_reduced_precision_reduction", First, CUBLAS_PRODUCTS;
    /// Whether bfloat16 products may sum in bfloat16. Written as a bool, or as a tuple whose second
    /// item says whether the sum may be split into parts; reads as the first.
    CUDA_MATMUL_BF16_REDUCTION: Reduction = Kind::Reduction,
        "cuda.matmul.allow_bf16_reduced_precision_reduction", First, CUBLAS_PRODUCTS;
    /// Whether float16 products may accumulate in float16 throughout.
    CUDA_MATMUL_FP16_ACCUMULATION: bool = Kind::Switch { default: false },
        "cuda.matmul.allow_fp16_accumulation", Whole, CUBLAS_PRODUCTS;
    /// Whether operations may run on oneDNN.
    MKLDNN_ENABLED: bool = Kind::Switch { default: true }, "mkldnn.enabled", Whole, ONEDNN_OPERATIONS;
    /// Whether oneDNN is restricted to algorithms that give the same bits every time.
    MKLDNN_DETERMINISTIC: bool = Kind::Switch { default: false },
        "mkldnn.deterministic", Whole, ONEDNN_OPERATIONS;
    /// Whether oneDNN may use TensorFloat-32 on Intel GPUs; None while nobody has said.
    MKLDNN_ALLOW_TF32: Option<bool> = Kind::OptionalSwitch, "mkldnn.allow_tf32", Whole, ONEDNN_OPERATIONS;
}

/// The nodes of the precision tree, the names that are views, and what can only be read.
static VIEWS: [Attribute; 13] = [
    node(
        Node::Generic,
        &FLOAT32_OF_ALL,
        "The float32 precision of every backend that holds none of its own.",
    ),
    node(
        Node::Cuda,
        &FLOAT32_OF_CUDA,
        "The float32 precision of operations on cuda that hold none of their own.",
    ),
    node(
        Node::Mkldnn,
        &ONEDNN_OPERATIONS,
        "The float32 precision of oneDNN's operations that hold none of their own.",
    ),
    node(Node::CudaMatmul, &CUBLAS_PRODUCTS, "The float32 precision of matrix products on cuda."),
    node(Node::CudaConv, &CUDNN_CONVOLUTIONS, "The float32 precision of convolutions on cuda."),
    node(Node::CudaRnn, &CUDNN_RECURRENT, "The float32 precision of recurrent layers on cuda."),
    node(Node::MkldnnMatmul, &ONEDNN_OPERATIONS, "The float32 precision of oneDNN's matrix products."),
    node(Node::MkldnnConv, &ONEDNN_OPERATIONS, "The float32 precision of oneDNN's convolutions."),
    node(Node::MkldnnRnn, &ONEDNN_OPERATIONS, "The float32 precision of oneDNN's recurrent layers."),
    Attribute {
        name: "cudnn.allow_tf32",
        target: Target::Tf32(&[Node::CudaConv, Node::CudaRnn]),
        effect: &CUDNN_OPERATIONS,
        variables: &[],
        doc: "Whether convolutions and recurrent layers on cuda use TensorFloat-32: a view of their fp32_precision.",
    },
    Attribute {
        name: "cuda.matmul.allow_tf32",
        target: Target::Tf32(&[Node::CudaMatmul]),
        effect: &CUBLAS_PRODUCTS,
        variables: &["TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"],
        doc: "Whether matrix products on cuda use TensorFloat-32: a view of their fp32_precision.",
    },
    split(
        "cuda.matmul.allow_fp16_reduced_precision_reduction_split_k",
        &words::CUDA_MATMUL_FP16_REDUCTION.word,
        "Whether the sums of float16 products may be split into parts; written with the flag it belongs to.",
    ),
    split(
        "cuda.matmul.allow_bf16_reduced_precision_reduction_split_k",
        &words::CUDA_MATMUL_BF16_REDUCTION.word,
        "Whether the sums of bfloat16 products may be split into parts; written with the flag it belongs to.",
    ),
];

const fn node(node: Node, effect: &'static Effect, doc: &'static str) -> Attribute {
    Attribute { name: node.name(), target: Target::Node(node), effect, variables: &[], doc }
}

const fn split(name: &'static str, word: &'static FlagWord, doc: &'static str) -> Attribute {
    Attribute {
        name,
        target: Target::Word(word, Part::Second),
        effect: &CUBLAS_PRODUCTS,
        variables: &[],
        doc,
    }
}

/// Every name below `backends` that is a flag, a node or a view.
pub fn attributes() -> impl Iterator<Item = &'static Attribute> {
    FLAGS.iter().chain(&VIEWS)
}

/// The attribute with this dotted name.
pub fn find(name: &str) -> crate::Result<&'static Attribute> {
    attributes().find(|attribute| attribute.name() == name).ok_or_else(|| crate::Error::UnknownFlag {
        name: name.to_owned(),
        near: super::nearest(name, attributes().map(Attribute::name)),
    })
}

/// Views before the slots that they are views of.
pub(super) fn views_first() -> impl Iterator<Item = &'static Attribute> {
    let is_view = |attribute: &&Attribute| matches!(attribute.target, Target::Tf32(_));
    attributes().filter(is_view).chain(attributes().filter(move |attribute| !is_view(attribute)))
}

/// The word of a flag.
pub(super) fn word(id: FlagId) -> Option<&'static FlagWord> {
    WORDS.get(usize::from(id.0)).copied()
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::*;

    #[test]
    fn every_word_is_found_by_its_number() {
        for (index, word) in WORDS.iter().enumerate() {
            assert_eq!(usize::from(word.id.0), index, "{}", word.name);
        }
    }

    #[test]
    fn names_are_unique_and_documented_in_sentences() {
        let mut names: Vec<_> = attributes().map(Attribute::name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for attribute in attributes() {
            assert!(attribute.doc().trim_end().ends_with('.'), "{}", attribute.name());
        }
    }

    #[test]
    fn every_default_is_a_value_of_its_kind() {
        for attribute in attributes() {
            let none_is_right = attribute.annotation().contains("None");
            assert!(attribute.read() != Value::None || none_is_right, "{}", attribute.name());
        }
    }

    #[test]
    fn an_unknown_name_comes_with_the_near_one() {
        let error = find("cudnn.benchmrak").unwrap_err();
        assert!(error.to_string().contains("cudnn.benchmark"), "{error}");
    }
}
