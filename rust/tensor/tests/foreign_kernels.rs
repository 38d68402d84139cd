//! Kernels of other libraries: a product in C functions, which obeys flags and queues its work on devices, and an
//! attention.

#![allow(clippy::undocumented_unsafe_blocks)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::slice;

use interlock::accelerator::{self, CaptureMode, Graph, HostFn};
use interlock::backends::flags::{MIOPEN_IMMEDIATE, MKLDNN_NUMERICS, NNPACK_ENABLED};
use interlock::backends::{MkldnnNumerics, Node, Precision};
use interlock::dispatch::Recording;
use interlock::sys::{
    INTERLOCK_TENSOR_CPU, InterlockAttentionOptions, InterlockFlagRequirement, InterlockKernel,
    InterlockKernelCall, InterlockTensor,
};
use interlock_tensor::{AttentionOptions, DType, Tensor, register_foreign_kernel};

use crate::device;

/// The sizes or strides of a tensor.
unsafe fn numbers<'a>(pointer: *const i64, tensor: &InterlockTensor) -> &'a [i64] {
    unsafe { slice::from_raw_parts(pointer, tensor.ndim as usize) }
}

/// Returns the address of an element of a matrix.
unsafe fn at(matrix: &InterlockTensor, row: i64, column: i64) -> *mut f32 {
    let strides = unsafe { numbers(matrix.strides, matrix) };
    let offset = row * strides[strides.len() - 2] + column * strides[strides.len() - 1];
    matrix.data.cast::<f32>().wrapping_offset(offset as isize)
}

/// Truncates to bfloat16.
fn truncated(number: f32) -> f32 {
    f32::from_bits(number.to_bits() & 0xffff_0000)
}

/// Multiplies two matrices. Inputs are truncated to bfloat16 if `inputs` is 2.
unsafe fn multiply([a, b, out]: [InterlockTensor; 3], inputs: u32) {
    let rounded = |number: f32| if inputs == 2 { truncated(number) } else { number };
    let (shape, depth) = unsafe { (numbers(out.shape, &out), *a.shape.add(1)) };
    for row in 0..shape[0] {
        for column in 0..shape[1] {
            let product = |inner| unsafe { rounded(*at(&a, row, inner)) * rounded(*at(&b, inner, column)) };
            unsafe { *at(&out, row, column) = (0..depth).map(product).sum() };
        }
    }
}

unsafe fn tensors(call: *const InterlockKernelCall) -> [InterlockTensor; 3] {
    unsafe { [*(*call).inputs, *(*call).inputs.add(1), *(*call).outputs] }
}

/// Accepts matrices of dtype float32 whose inner size is the number that the context points to.
unsafe extern "C" fn condition(
    context: *mut c_void,
    call: *const InterlockKernelCall,
    message: *mut c_char,
    capacity: usize,
) -> i32 {
    let [a, _, _] = unsafe { tensors(call) };
    let shape = unsafe { numbers(a.shape, &a) };
    let depth = unsafe { *context.cast::<i64>() };
    let accepted = a.ndim == 2 && a.dtype.bits == 32 && shape[1] == depth;
    unsafe { write(message, capacity, &format!("needs float32 matrices with inner size {depth}")) };
    i32::from(!accepted)
}

/// Multiplies on the INTERLOCK_TENSOR_CPU, or queues the product on the current stream.
unsafe extern "C" fn run(
    _: *mut c_void,
    call: *const InterlockKernelCall,
    message: *mut c_char,
    capacity: usize,
) -> i32 {
    /// The kernel does not read tensors with these sizes.
    const REFUSED: i64 = 5;
    const FAILS: i64 = 6;
    let (operands, inputs) = unsafe { (tensors(call), (*call).numerics.inputs) };
    match unsafe { *operands[0].shape } {
        REFUSED => {
            unsafe { write(message, capacity, "unimplemented") };
            1
        }
        FAILS => {
            unsafe { write(message, capacity, "out of registers") };
            -3
        }
        _ if operands[0].device.device_type == INTERLOCK_TENSOR_CPU => {
            unsafe { multiply(operands, inputs) };
            0
        }
        _ => unsafe { queue(call, operands, inputs) },
    }
}

/// Queues a product on the stream of the call, which is the current one. Shapes and strides are copied.
unsafe fn queue(call: *const InterlockKernelCall, operands: [InterlockTensor; 3], inputs: u32) -> i32 {
    struct Owned {
        tensors: [InterlockTensor; 3],
        sizes: [Vec<i64>; 3],
        strides: [Vec<i64>; 3],
    }
    unsafe impl Send for Owned {}
    unsafe impl Sync for Owned {}
    let copy = |pointer: fn(&InterlockTensor) -> *mut i64| {
        operands.each_ref().map(|tensor| unsafe { numbers(pointer(tensor), tensor) }.to_vec())
    };
    let owned = Owned { tensors: operands, sizes: copy(|it| it.shape), strides: copy(|it| it.strides) };
    let stream = accelerator::current_stream(Some("host:0".parse().unwrap())).unwrap();
    assert_eq!(stream.handle().unwrap().raw, unsafe { (*call).stream });
    let work = HostFn::new("foreign", move || {
        let owned = &owned;
        let mut tensors = owned.tensors;
        for (tensor, (sizes, strides)) in tensors.iter_mut().zip(owned.sizes.iter().zip(&owned.strides)) {
            (tensor.shape, tensor.strides) = (sizes.as_ptr().cast_mut(), strides.as_ptr().cast_mut());
        }
        unsafe { multiply(tensors, inputs) };
        Ok(())
    });
    stream.launch(work).unwrap();
    0
}

unsafe fn write(message: *mut c_char, capacity: usize, text: &str) {
    assert!(text.len() < capacity);
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast(), message, text.len());
        *message.add(text.len()) = 0;
    }
}

/// Registers the product for matrices with this inner size.
fn register(
    name: &'static CStr,
    depth: &'static i64,
    requirements: &[InterlockFlagRequirement],
    node: Option<&'static CStr>,
) -> interlock::Result<()> {
    let descriptor = InterlockKernel {
        size: size_of::<InterlockKernel>(),
        name: name.as_ptr(),
        requirements: requirements.as_ptr(),
        num_requirements: requirements.len(),
        node: node.map_or(ptr::null(), CStr::as_ptr),
        context: ptr::from_ref(depth).cast_mut().cast(),
        condition: Some(condition),
        run: Some(run),
    };
    unsafe { register_foreign_kernel("matmul", &descriptor) }
}

/// Returns a matrix with small integers, so that sums are exact.
fn matrix(rows: usize, columns: usize) -> Tensor {
    let elements: Vec<f32> = (0..rows * columns).map(|i| (i % 7) as f32 - 3.0).collect();
    Tensor::from_slice(&elements, &[rows, columns]).unwrap()
}

fn kernel_of(a: &Tensor, b: &Tensor) -> String {
    a.explain_matmul(b).unwrap().kernel().unwrap().to_owned()
}

/// Returns the product of copies in float64, which no foreign kernel accepts.
fn expected(a: &Tensor, b: &Tensor) -> Vec<f32> {
    let product = a.cast(DType::Float64).unwrap().matmul(&b.cast(DType::Float64).unwrap()).unwrap();
    product.cast(DType::Float32).unwrap().to_vec().unwrap()
}

#[test]
fn foreign_kernel_runs_the_calls_that_its_condition_accepts() {
    register(c"eleven", &11, &[], None).unwrap();
    let (a, b) = (matrix(3, 11), matrix(4, 11).t().unwrap());
    assert_eq!(kernel_of(&a, &b), "eleven");
    assert_eq!(a.matmul(&b).unwrap().to_vec::<f32>().unwrap(), expected(&a, &b));
    let other = matrix(3, 10).explain_matmul(&matrix(10, 2)).unwrap().to_string();
    assert!(other.contains("-> native | eleven: needs float32 matrices with inner size 11"), "{other}");
}

#[test]
fn foreign_kernel_serves_products_of_backward() {
    register(c"thirteen", &13, &[], None).unwrap();
    let (a, b) = (matrix(13, 13), matrix(13, 13));
    a.set_requires_grad(true).unwrap();
    let recording = Recording::default();
    let guard = recording.guard();
    a.matmul(&b).unwrap().sum(None, false).unwrap().backward().unwrap();
    drop(guard);
    let kernels: Vec<_> = recording.calls().iter().map(|call| call.kernel().unwrap().to_owned()).collect();
    assert_eq!(kernels, ["thirteen", "thirteen"]);
    assert_eq!(
        a.grad().unwrap().to_vec::<f32>().unwrap(),
        expected(&Tensor::ones(&[13, 13], DType::Float32).unwrap(), &b.t().unwrap())
    );
}

#[test]
fn foreign_kernel_obeys_gates_and_its_precision_node() {
    let requirement =
        |flag: &'static CStr| InterlockFlagRequirement { flag: flag.as_ptr(), value: c"True".as_ptr() };
    let requirements = [requirement(c"nnpack.enabled"), requirement(c"miopen.immediate")];
    register(c"gated", &17, &requirements, Some(c"mkldnn.matmul.fp32_precision")).unwrap();
    let odd = 1.0f32 + 3.0 / 4096.0;
    let x = Tensor::from_slice(&[odd; 17], &[1, 17]).unwrap();
    let ones = Tensor::ones(&[17, 1], DType::Float32).unwrap();
    let refusal = || x.explain_matmul(&ones).unwrap().to_string();
    assert!(refusal().contains("gated: backends.miopen.immediate is False"), "{}", refusal());
    let _immediate = MIOPEN_IMMEDIATE.scope(true).unwrap().guard();
    assert_eq!(kernel_of(&x, &ones), "gated");
    let product = || x.matmul(&ones).unwrap().to_vec::<f32>().unwrap()[0];
    assert!(product() > 17.0);
    {
        let _numerics = MKLDNN_NUMERICS.scope(MkldnnNumerics::Model).unwrap().guard();
        let _precision = Node::MkldnnMatmul.scope(Precision::Bf16).unwrap().guard();
        assert_eq!(product(), 17.0, "the inputs are rounded");
    }
    let _enabled = NNPACK_ENABLED.scope(false).unwrap().guard();
    assert!(refusal().contains("gated: backends.nnpack.enabled is False"), "{}", refusal());
    let affects = interlock::backends::find("nnpack.enabled").unwrap().affects();
    assert!(affects.ends_with(": obeyed by matmul"), "{affects}");
}

#[test]
fn foreign_kernel_that_refuses_when_it_runs_is_skipped() {
    register(c"nineteen", &19, &[], None).unwrap();
    let (a, b) = (matrix(5, 19), matrix(19, 2));
    let recording = Recording::default();
    let guard = recording.guard();
    assert_eq!(a.matmul(&b).unwrap().to_vec::<f32>().unwrap(), expected(&a, &b));
    drop(guard);
    let line = recording.calls()[0].to_string();
    assert!(line.contains("-> native | nineteen: unimplemented"), "{line}");
}

#[test]
fn foreign_kernel_that_fails_returns_its_message() {
    register(c"twentythree", &23, &[], None).unwrap();
    let error = matrix(6, 23).matmul(&matrix(23, 2)).unwrap_err();
    assert_eq!(error.to_string(), "matmul: the kernel twentythree failed: out of registers");
}

#[test]
fn foreign_kernel_queues_its_work_on_the_current_stream() {
    register(c"twentynine", &29, &[], None).unwrap();
    let there = device(0);
    let (a, b) = (matrix(3, 29), matrix(29, 2));
    let [x, y] = [&a, &b].map(|tensor| tensor.to((DType::Float32, there), false).unwrap());
    assert_eq!(kernel_of(&x, &y), "twentynine");
    assert_eq!(x.matmul(&y).unwrap().to_vec::<f32>().unwrap(), expected(&a, &b));
    let mixed = a.matmul(&y).unwrap_err();
    assert!(mixed.to_string().starts_with("matmul: tensors must be on one device"), "{mixed}");
}

#[test]
fn graph_that_captured_a_foreign_kernel_keeps_its_operands() {
    register(c"thirtyone", &31, &[], None).unwrap();
    let there = device(0);
    let (a, b) = (matrix(2, 31), matrix(31, 3));
    let x = a.to((DType::Float32, there), false).unwrap();
    let y = b.to((DType::Float32, there), false).unwrap();
    let stream = accelerator::Stream::new(Some(there), 0).unwrap();
    let _current = stream.guard().unwrap();
    let graph = Graph::new(false).unwrap();
    graph.capture_begin(None, CaptureMode::Global).unwrap();
    let out = x.matmul(&y).unwrap();
    graph.capture_end().unwrap();
    drop((x, y));
    graph.replay().unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), expected(&a, &b));
}

#[test]
fn register_refuses_an_unknown_operation_and_a_used_name() {
    register(c"twice", &37, &[], None).unwrap();
    let error = register(c"twice", &37, &[], None).unwrap_err().to_string();
    assert_eq!(error, "register: matmul has a kernel named \"twice\"; names must be unique");
    let error = unsafe { register_foreign_kernel("conv9d", ptr::null()) }.unwrap_err().to_string();
    assert_eq!(
        error,
        "register_foreign_kernel: operation must be matmul or scaled_dot_product_attention, got \"conv9d\""
    );
}

/// Accepts one key of size 7 on the INTERLOCK_TENSOR_CPU. The mean of a single value is the value.
unsafe extern "C" fn has_one_key(
    _: *mut c_void,
    call: *const InterlockKernelCall,
    message: *mut c_char,
    capacity: usize,
) -> i32 {
    let (key, options) =
        unsafe { (*(*call).inputs.add(1), *(*call).options.cast::<InterlockAttentionOptions>()) };
    let shape = unsafe { numbers(key.shape, &key) };
    let accepted =
        shape[2..] == [1, 7] && key.device.device_type == INTERLOCK_TENSOR_CPU && options.is_causal == 0;
    unsafe { write(message, capacity, "needs one key of size 7") };
    i32::from(!accepted)
}

unsafe extern "C" fn copy_value(
    _: *mut c_void,
    call: *const InterlockKernelCall,
    message: *mut c_char,
    capacity: usize,
) -> i32 {
    let (value, out) = unsafe { (*(*call).inputs.add(2), *(*call).outputs) };
    let options = unsafe { *(*call).options.cast::<InterlockAttentionOptions>() };
    let count = unsafe { (*call).num_inputs };
    unsafe { write(message, capacity, &format!("{count} inputs, scale {}", options.scale)) };
    if count == 4 {
        return 2;
    }
    for (row, column) in (0..5).flat_map(|row| (0..7).map(move |column| (row, column))) {
        unsafe { *at(&out, row, column) = *at(&value, 0, column) };
    }
    0
}

#[test]
fn foreign_kernel_of_attention_receives_options_and_the_mask() {
    let descriptor = InterlockKernel {
        size: size_of::<InterlockKernel>(),
        name: c"one_key".as_ptr(),
        requirements: ptr::null(),
        num_requirements: 0,
        node: ptr::null(),
        context: ptr::null_mut(),
        condition: Some(has_one_key),
        run: Some(copy_value),
    };
    unsafe { register_foreign_kernel("scaled_dot_product_attention", &descriptor) }.unwrap();
    let tensor = |rows| matrix(rows, 7).reshape(&[1, 1, rows as i64, 7]).unwrap();
    let (query, key, value) = (tensor(5), tensor(1), tensor(1));
    value.set_requires_grad(true).unwrap();
    let attention =
        |options: &AttentionOptions<'_>| query.scaled_dot_product_attention(&key, &value, options);
    let options = AttentionOptions { scale: Some(0.25), ..AttentionOptions::default() };
    let chosen = query.explain_scaled_dot_product_attention(&key, &value, &options).unwrap();
    assert_eq!(chosen.kernel(), Some("one_key"));
    let out = attention(&options).unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), value.to_vec::<f32>().unwrap().repeat(5));
    out.sum(None, false).unwrap().backward().unwrap();
    assert_eq!(value.grad().unwrap().to_vec::<f32>().unwrap(), [5.0; 7], "recomputed in blocks");
    let mask = Tensor::ones(&[5, 1], DType::Float32).unwrap();
    let error = attention(&AttentionOptions { mask: Some(&mask), ..options }).unwrap_err().to_string();
    assert_eq!(error, "scaled_dot_product_attention: the kernel one_key failed: 4 inputs, scale 0.25");
    let causal = AttentionOptions { is_causal: true, ..options };
    let other = query.explain_scaled_dot_product_attention(&key, &value, &causal).unwrap().to_string();
    assert!(other.contains("one_key: needs one key of size 7"), "{other}");
}
