//! The constants and types of kernels that another library registers, and of their tensors.
//!
//! Source of the tensors: `dlpack.h` of DLPack 1.x, whose layout does not change within a major version.

use std::ffi::{c_char, c_void};

use super::declare::{Declaration, Field, FieldKind, Item, Signature, callbacks, constants, records};

constants! {
    /// A function of a kernel has done its work; a condition accepts the call.
    INTERLOCK_STATUS_DONE: i32 = 0;
    /// A kernel cannot run the call and has written nothing, so that the next kernel is tried. Another number that
    /// `run` returns is an error of the call; one that a condition returns refuses the call, with the number in the
    /// reason.
    INTERLOCK_STATUS_REFUSED: i32 = 1;

    /// A kernel uses its float32 inputs as they are.
    INTERLOCK_ROUNDING_NONE: u32 = 0;
    /// A kernel rounds its float32 inputs to TensorFloat-32.
    INTERLOCK_ROUNDING_TF32: u32 = 1;
    /// A kernel rounds its float32 inputs to bfloat16.
    INTERLOCK_ROUNDING_BF16: u32 = 2;
    /// A kernel multiplies three bfloat16 parts of each float32 input: nine products that emulate float32.
    INTERLOCK_ROUNDING_BFX9: u32 = 3;

    /// Accumulation in float32, or inputs of another type.
    INTERLOCK_SUMS_FLOAT32: u32 = 0;
    /// They are summed in float16: each partial sum is rounded.
    INTERLOCK_SUMS_FLOAT16: u32 = 1;
    /// Two partial sums are computed in float32, and each is rounded to float16.
    INTERLOCK_SUMS_SPLIT_FLOAT16: u32 = 2;
    /// Two partial sums are computed in float32, and each is rounded to bfloat16.
    INTERLOCK_SUMS_SPLIT_BFLOAT16: u32 = 3;

    /// The device type of a tensor in memory of the CPU, as DLPack numbers it.
    INTERLOCK_TENSOR_CPU: i32 = 1;
    /// The device type of a tensor in memory of NVIDIA's devices.
    INTERLOCK_TENSOR_CUDA: i32 = 2;
    /// The device type of a tensor in pinned memory of CUDA, which the CPU can access.
    INTERLOCK_TENSOR_CUDA_HOST: i32 = 3;
    /// The device type of a tensor in memory of other devices, such as those of the host driver.
    INTERLOCK_TENSOR_EXTENSION: i32 = 12;

    /// Elements are signed integers, as DLPack numbers it.
    INTERLOCK_DTYPE_INT: u8 = 0;
    /// Elements are unsigned integers.
    INTERLOCK_DTYPE_UINT: u8 = 1;
    /// Elements are floats.
    INTERLOCK_DTYPE_FLOAT: u8 = 2;
    /// Elements are bfloat16.
    INTERLOCK_DTYPE_BFLOAT: u8 = 4;
    /// Elements are bools.
    INTERLOCK_DTYPE_BOOL: u8 = 6;
}

records! {
    /// The device of a tensor, in the layout of DLPack's `DLDevice`.
    #[derive(Debug, PartialEq, Eq)]
    struct InterlockTensorDevice {
        /// One of `INTERLOCK_TENSOR_*`.
        device_type: i32,
        /// The index; 0 for the CPU.
        device_id: i32,
    }

    /// The type of the elements of a tensor, in the layout of DLPack's `DLDataType`.
    #[derive(Debug, PartialEq, Eq)]
    struct InterlockDType {
        /// One of `INTERLOCK_DTYPE_*`.
        code: u8,
        /// The bits of an element.
        bits: u8,
        /// The number of lanes of a vector type: 1.
        lanes: u16,
    }

    /// A tensor, in the layout of DLPack's `DLTensor`, to which a pointer may be cast. It does not own its memory.
    #[derive(Debug)]
    struct InterlockTensor {
        /// The memory on the device; null while a kernel is only considered.
        data: *mut c_void,
        /// The device of the memory.
        device: InterlockTensorDevice,
        /// The number of dimensions.
        ndim: i32,
        /// The type of the elements.
        dtype: InterlockDType,
        /// The size of each dimension.
        shape: *mut i64,
        /// The stride of each dimension in elements, which may be 0. Null while a kernel is only considered, never null
        /// in `run`. Code that receives a `DLTensor` from others treats null as contiguous elements in row-major order.
        strides: *mut i64,
        /// The offset of the first element in bytes; 0 for kernels.
        byte_offset: u64,
    }

    /// The arithmetic that flags request of a kernel.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct InterlockNumerics {
        /// The rounding of float32 inputs: one of `INTERLOCK_ROUNDING_*`.
        inputs: u32,
        /// The accumulation of float16 and bfloat16 inputs: one of `INTERLOCK_SUMS_*`.
        sums: u32,
        /// Zero.
        reserved: [u32; 2],
    }

    /// A call of an operation, as a kernel receives it. The kernel borrows everything until it returns.
    #[derive(Debug)]
    struct InterlockKernelCall {
        /// The size of the struct in bytes.
        size: usize,
        /// The operands. While the kernel is only considered, they have neither data nor strides.
        inputs: *const InterlockTensor,
        /// The results: contiguous, with unspecified elements.
        outputs: *const InterlockTensor,
        /// The number of operands: 2 for `matmul`; for attention 3, or 4 with a mask.
        num_inputs: u32,
        /// The number of results.
        num_outputs: u32,
        /// The arithmetic that flags request; zeros while the kernel is only considered.
        numerics: InterlockNumerics,
        /// On a device, the native handle of the stream on which the kernel queues its work: the current stream, which
        /// `stream_current` returns. 0 on the CPU, and for the default stream of CUDA.
        stream: u64,
        /// The options of the operation: `InterlockAttentionOptions` for attention, null for `matmul`.
        options: *const c_void,
    }

    /// The options of `scaled_dot_product_attention`.
    #[derive(Debug)]
    struct InterlockAttentionOptions {
        /// The size of the struct in bytes.
        size: usize,
        /// The factor of the scores; 0 while the kernel is only considered.
        scale: f64,
        /// 1 if a query sees only the keys up to its own position, else 0.
        is_causal: u32,
        /// 1 if several heads of queries may share one head of keys and values, else 0.
        enable_gqa: u32,
    }

    /// The value of a flag that a kernel requires.
    #[derive(Debug)]
    struct InterlockFlagRequirement {
        /// The dotted name of a flag whose value is a bool or one of several names. Ends with a null byte.
        flag: *const c_char,
        /// `"True"`, `"False"` or a name, as the flag reads in Python. Ends with a null byte.
        value: *const c_char,
    }
}

callbacks! {
    /// A function of a kernel. It may be called on any thread, on several at once and without the interpreter, and must
    /// not throw or unwind. A guard that it does not exit stays open on the thread that called the operation. It clears
    /// each Python exception before it returns. Returns one of `INTERLOCK_STATUS_*` or another number for an error.
    /// `message` has `capacity` bytes for a text that says why it does not return `INTERLOCK_STATUS_DONE`, and that
    /// ends with a null byte.
    InterlockKernelFn(
        context: *mut c_void,
        call: *const InterlockKernelCall,
        message: *mut c_char,
        capacity: usize
    ) -> i32;
}

/// Records that contain callbacks, which C must read after them.
mod late {
    use super::super::declare::{Declaration, Field, FieldKind, Item, records};
    use super::{InterlockFlagRequirement, InterlockKernelFn, c_char, c_void};

    records! {
        /// A kernel of an extension. Texts end with a null byte and are copied.
        #[derive(Debug)]
        struct InterlockKernel {
            /// The size of the struct in bytes.
            size: usize,
            /// The name in records, without whitespace and control characters, which no other kernel of the operation
            /// has.
            name: *const c_char,
            /// The flags whose values the kernel requires.
            requirements: *const InterlockFlagRequirement,
            /// The number of requirements.
            num_requirements: usize,
            /// The dotted name of the node of the precision tree that controls the arithmetic, such as
            /// `"cuda.matmul.fp32_precision"`; null for none.
            node: *const c_char,
            /// The first argument of both functions. It must be valid until the process exits.
            context: *mut c_void,
            /// Returns whether the kernel can run a call. Null for a kernel that runs every call.
            condition: InterlockKernelFn,
            /// Computes the results; on a device it queues the work on the stream of the call. It may refuse before it
            /// writes anything.
            run: InterlockKernelFn,
        }
    }

    pub(in super::super) const LATE_RECORDS: &[Declaration] = RECORDS;
}

pub use late::InterlockKernel;
pub(super) use late::LATE_RECORDS;

impl InterlockTensorDevice {
    /// The CPU.
    pub const CPU: Self = InterlockTensorDevice { device_type: INTERLOCK_TENSOR_CPU, device_id: 0 };

    /// Returns whether the CPU can access the memory of the device.
    pub fn is_host(self) -> bool {
        [INTERLOCK_TENSOR_CPU, INTERLOCK_TENSOR_CUDA_HOST].contains(&self.device_type)
    }
}

impl InterlockDType {
    /// bfloat16.
    pub const BFLOAT16: Self = InterlockDType { code: INTERLOCK_DTYPE_BFLOAT, bits: 16, lanes: 1 };
    /// Bools of one byte.
    pub const BOOL: Self = InterlockDType { code: INTERLOCK_DTYPE_BOOL, bits: 8, lanes: 1 };

    /// Signed integers.
    pub const fn int(bits: u8) -> Self {
        InterlockDType { code: INTERLOCK_DTYPE_INT, bits, lanes: 1 }
    }

    /// Unsigned integers.
    pub const fn uint(bits: u8) -> Self {
        InterlockDType { code: INTERLOCK_DTYPE_UINT, bits, lanes: 1 }
    }

    /// Floating-point numbers of IEEE 754.
    pub const fn float(bits: u8) -> Self {
        InterlockDType { code: INTERLOCK_DTYPE_FLOAT, bits, lanes: 1 }
    }
}
