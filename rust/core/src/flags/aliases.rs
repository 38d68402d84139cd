//! The flags without a word of their own: nodes of the precision tree, older names that are aliases of nodes, parts of
//! a flag, and constants.

use super::effect::Effect;
use super::effect::effects::*;
use super::enums::QuantizedEngine;
use super::env_parse::{EnvFormat, EnvVar};
use super::flag::FlagWord;
use super::flag_spec::{Backing, FlagSpec, Projection};
use super::precision::Node;
use super::table::words;
use super::value::Value;

pub(super) static ALIASES: [FlagSpec; 15] = [
    node(
        Node::Generic,
        &FLOAT32_OF_ALL,
        "The float32 precision of every backend whose own precision is not set.",
    ),
    node(
        Node::Cuda,
        &FLOAT32_OF_CUDA,
        "The float32 precision of operations on cuda whose own precision is not set.",
    ),
    node(
        Node::Mkldnn,
        &ONEDNN_OPERATIONS,
        "The float32 precision of oneDNN's operations whose own precision is not set.",
    ),
    node(Node::CudaMatmul, &CUBLAS_PRODUCTS, "The float32 precision of matrix products on cuda."),
    node(Node::CudaConv, &CUDNN_CONVOLUTIONS, "The float32 precision of convolutions on cuda."),
    node(Node::CudaRnn, &CUDNN_RECURRENT, "The float32 precision of recurrent layers on cuda."),
    node(Node::MkldnnMatmul, &ONEDNN_OPERATIONS, "The float32 precision of oneDNN's matrix products."),
    node(Node::MkldnnConv, &ONEDNN_OPERATIONS, "The float32 precision of oneDNN's convolutions."),
    node(Node::MkldnnRnn, &ONEDNN_OPERATIONS, "The float32 precision of oneDNN's recurrent layers."),
    alias(
        "cudnn.allow_tf32",
        Backing::Tf32(&[Node::CudaConv, Node::CudaRnn]),
        &CUDNN_OPERATIONS,
        "Whether convolutions and recurrent layers on cuda use TensorFloat-32: an alias of their fp32_precision.",
    ),
    FlagSpec {
        name: "cuda.matmul.allow_tf32",
        backing: Backing::Tf32(&[Node::CudaMatmul]),
        effect: &CUBLAS_PRODUCTS,
        own_variable: None,
        variables: &[EnvVar { name: "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", format: EnvFormat::SwitchOn }],
        doc: "Whether matrix products on cuda use TensorFloat-32: an alias of their fp32_precision.",
    },
    split(
        "cuda.matmul.allow_fp16_reduced_precision_reduction_split_k",
        &words::CUDA_MATMUL_FP16_REDUCTION.word,
        "Whether sums of float16 may be split into parts; written with the flag it belongs to.",
    ),
    split(
        "cuda.matmul.allow_bf16_reduced_precision_reduction_split_k",
        &words::CUDA_MATMUL_BF16_REDUCTION.word,
        "Whether sums of bfloat16 may be split into parts; written with the flag it belongs to.",
    ),
    alias(
        "quantized.supported_engines",
        Backing::Constant(Value::Names(QuantizedEngine::NAMES)),
        &QUANTIZED_OPERATIONS,
        "The engines for which interlock has kernels of quantized operations, whether or not they can run here: `onednn` needs oneDNN and a CPU with VNNI.",
    ),
    alias(
        "xnnpack.enabled",
        Backing::Constant(Value::Bool(false)),
        &CPU_OPERATIONS,
        "Whether operations may run on XNNPACK: they never do here.",
    ),
];

const fn node(node: Node, effect: &'static Effect, doc: &'static str) -> FlagSpec {
    alias(node.name(), Backing::Node(node), effect, doc)
}

const fn split(name: &'static str, word: &'static FlagWord, doc: &'static str) -> FlagSpec {
    alias(name, Backing::Word(word, Projection::Second), &CUBLAS_PRODUCTS, doc)
}

const fn alias(name: &'static str, backing: Backing, effect: &'static Effect, doc: &'static str) -> FlagSpec {
    FlagSpec { name, backing, effect, own_variable: None, variables: &[], doc }
}
