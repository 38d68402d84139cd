//! The options of the CUDA execution provider as options, because no test has a GPU, and the table of them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

use interlock::accelerator::{self, memory};
use interlock::backends::flags::{
    CUDA_CUDNN_SDP, CUDA_FLASH_SDP, CUDA_MATH_SDP, CUDA_MEM_EFFICIENT_SDP, CUDNN_BENCHMARK,
    CUDNN_DETERMINISTIC, DETERMINISTIC_ALGORITHMS,
};
use interlock::backends::{FlagScope, Node, Precision, find};
use interlock_ort::{ConvSearch, CudaOptions, ROWS, SessionOptions, Target, markdown};

/// Returns the options in scopes.
fn within(scopes: &[FlagScope]) -> CudaOptions {
    let _guards: Vec<_> = scopes.iter().map(|scope| scope.guard()).collect();
    CudaOptions::capture().unwrap()
}

#[test]
fn tf32_needs_the_precision_of_products_and_of_convolutions() {
    let [products, convolutions] = [Node::CudaMatmul, Node::CudaConv];
    let scope = |node: Node, precision| node.scope(precision).unwrap();
    // As in PyTorch, convolutions may use it by default, and products may not.
    assert!(!within(&[]).use_tf32);
    assert!(within(&[scope(products, Precision::Tf32)]).use_tf32);
    assert!(!within(&[scope(products, Precision::Tf32), scope(convolutions, Precision::Ieee)]).use_tf32);
    assert!(!within(&[scope(products, Precision::Ieee), scope(convolutions, Precision::Tf32)]).use_tf32);
    let flag = interlock::backends::InputValue::Bool(true);
    let alias = FlagScope::new([(find("cuda.matmul.allow_tf32").unwrap(), flag)], None).unwrap();
    assert!(within(&[alias]).use_tf32);
}

#[test]
fn the_search_for_algorithms_obeys_benchmark_and_deterministic() {
    let benchmark = || CUDNN_BENCHMARK.scope(true).unwrap();
    assert_eq!(within(&[]).conv_search, ConvSearch::Heuristic);
    assert_eq!(within(&[benchmark()]).conv_search, ConvSearch::Exhaustive);
    for flag in [&CUDNN_DETERMINISTIC, &DETERMINISTIC_ALGORITHMS] {
        assert_eq!(within(&[benchmark(), flag.scope(true).unwrap()]).conv_search, ConvSearch::Default);
    }
}

#[test]
fn attention_runs_on_the_kernels_that_flags_allow() {
    let flags = [&CUDA_FLASH_SDP, &CUDA_MEM_EFFICIENT_SDP, &CUDA_CUDNN_SDP, &CUDA_MATH_SDP];
    let without = |indices: &[usize]| {
        let scopes: Vec<_> = indices.iter().map(|index| flags[*index].scope(false).unwrap()).collect();
        within(&scopes)
    };
    assert_eq!(without(&[]).attention, None);
    assert_eq!(without(&[0]).attention, Some(2 + 8 + 16));
    assert_eq!(without(&[1, 2]).attention, Some(1 + 16));
    assert_eq!(without(&[0, 1, 2]).attention, Some(16));
    // ONNX Runtime reads 0 as every kernel.
    assert_eq!(without(&[0, 1, 2, 3]).attention, Some(16));
}

#[test]
fn device_and_memory_limit_are_those_of_the_current_device() {
    accelerator::use_named("host:2").unwrap();
    assert_eq!(within(&[]), CudaOptions { device_id: 0, memory_limit: None, ..within(&[]) });
    let second = accelerator::parse_device("host:1").unwrap();
    memory::set_limit(Some(memory::Limit::Bytes(3 << 30)), Some(second)).unwrap();
    {
        let _guard = accelerator::device_guard(second).unwrap();
        let options = within(&[]);
        assert_eq!((options.device_id, options.memory_limit), (1, Some(3 << 30)));
    }
    assert_eq!(within(&[]).memory_limit, None);
    memory::set_limit(None, Some(second)).unwrap();
}

/// The keys and the texts are those that the typed functions of ort pass on.
#[test]
fn the_provider_has_the_options_of_the_table() {
    let cuda = CudaOptions {
        device_id: 3,
        use_tf32: true,
        conv_search: ConvSearch::Exhaustive,
        memory_limit: Some(12_345),
        attention: Some(1 + 8),
    };
    for cuda in [
        CudaOptions { conv_search: ConvSearch::Default, attention: Some(2 + 16), ..cuda.clone() },
        CudaOptions { use_tf32: false, conv_search: ConvSearch::Heuristic, ..cuda.clone() },
        CudaOptions { memory_limit: None, attention: None, ..cuda.clone() },
        cuda,
    ] {
        let provider = format!("{:?}", cuda.provider());
        let options = SessionOptions { cuda, ..SessionOptions::capture().unwrap() };
        for row in ROWS.iter().filter(|row| row.target == Target::Cuda) {
            let value = (row.value)(&options);
            let expected = format!("\"{}\": \"{value}\"", row.option);
            assert_eq!(provider.contains(&expected), !value.is_empty(), "{expected} in {provider}");
            assert_eq!(provider.contains(row.option), !value.is_empty(), "{} in {provider}", row.option);
        }
    }
}

#[test]
fn each_row_names_settings_that_exist() {
    interlock_ort::flags::flags().unwrap();
    let others = ["num_threads", "accelerator.memory.set_limit", "the current device"];
    for setting in ROWS.iter().flat_map(|row| row.settings) {
        assert!(find(setting).is_ok() != others.contains(setting), "{setting}");
    }
}

#[test]
fn the_readme_has_the_table() {
    let readme = include_str!("../README.md");
    assert!(readme.contains(&markdown()), "the table of README.md must be\n{}", markdown());
}
