//! The advice of errors: the crates of the workspace name Rust's interface, and exceptions name Python's.

/// Phrases of the messages of these crates, each with Python's. `tests/packaging/test_advice.py` finds each of them in
/// the crates.
const ADVICE: [(&str, &str); 31] = [
    ("accelerator::use_named", "accelerator.use"),
    ("Call use_driver()", "Call use()"),
    ("accelerator::use_driver", "accelerator.use"),
    (" with accelerator::set_stream", ": with Stream(), graph:"),
    ("Graph::new(true)", "keep_graph=True"),
    ("Graph::reset", "Graph.reset"),
    ("Graph::capture_begin", "Graph(pool=...)"),
    ("MemPool::guard", "accelerator.use_mem_pool"),
    ("accelerator::memory::", "accelerator.memory."),
    ("\"expandable_segments:True\".parse()?", "\"expandable_segments:True\""),
    ("call memory::copy with `awaited` false", "pass non_blocking=True"),
    ("DeviceBuffer::pointer", "memoryview"),
    ("std::process::Command", "the method spawn or forkserver"),
    ("EventOptions::timing and interprocess", "enable_timing and interprocess"),
    ("false for one of them", "False for one of them"),
    ("true and true", "True and True"),
    ("EventOptions::timing", "enable_timing=True"),
    (
        "create a HostDriver with this FaultInjector in HostOptions::faults",
        "call accelerator.use(\"host\", faults=...) with this FaultInjector",
    ),
    ("HostOptions::faults", "accelerator.use: faults"),
    ("set BackwardArgs::retain_graph in", "pass retain_graph=True to"),
    ("BackwardArgs::create_graph must be false", "create_graph must be False"),
    ("BackwardArgs::create_graph", "create_graph=True"),
    ("autograd::grad with `allow_unused`", "allow_unused=True"),
    ("Tensor::to and `non_blocking`", "non_blocking=True"),
    ("Tensor::copy_from or Tensor::to with `non_blocking`", "copy_() or to() with non_blocking=True"),
    (
        "autograd::set_override_stale_capture_stream(true)",
        "autograd.graph.set_override_stale_capture_stream(True)",
    ),
    ("set flags::DETERMINISTIC_ALGORITHMS_WARN_ONLY", "use_deterministic_algorithms(True, warn_only=True)"),
    (" with flags::CUDA_SDP_PRIORITY", ", sdpa_kernel(SDPBackend.MATH)"),
    ("divide_with(.., RoundingMode::Floor)", "div(rounding_mode='floor')"),
    ("ScatterReduce::Multiply", "reduce='multiply'"),
    ("QrMode::Reduced", "mode='reduced'"),
];

/// Returns a message of these crates with Python's advice. It replaces phrases also in values of the caller in the message.
pub(crate) fn in_python(mut message: String) -> String {
    if message.contains("::") {
        for (rust, python) in ADVICE {
            if message.contains(rust) {
                message = message.replace(rust, python);
            }
        }
    }
    message
}
