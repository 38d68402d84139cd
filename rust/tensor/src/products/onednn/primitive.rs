//! Objects of oneDNN, each freed by its owner.

use std::ffi::{c_int, c_void};
use std::ptr;

use interlock::dispatch::Rounding;
use interlock_core::base::fork::rank;
use interlock_core::base::sync::ForkLock;

use super::{Argument, Destroy, Dims, FUNCTIONS, Functions, Object, OneThread, Status, name_of};
use crate::layout::signed;
use crate::storage::fallible_alloc::try_with_capacity;
use crate::{DType, Error, Result};

/// A prepared computation, or the reason why oneDNN does not compute it.
pub(crate) type Prepared<T> = Result<T, String>;

/// Returns the library, or why it cannot be used.
pub(super) fn functions() -> Prepared<&'static Functions> {
    FUNCTIONS.get().map_err(str::to_owned)
}

/// An object, and the function that frees it.
struct Owned {
    object: Object,
    destroy: Destroy,
}

// SAFETY: oneDNN's objects belong to no thread. What this crate shares among threads is not changed after its creation.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: `object` exists, and nothing uses it.
        let status = unsafe { (self.destroy)(self.object) };
        debug_assert_eq!(status, 0, "an object is freed once");
    }
}

impl Owned {
    /// Creates an object, or returns the status of the function that does not.
    fn new(destroy: Destroy, create: impl FnOnce(*mut Object) -> Status) -> Result<Self, Status> {
        let mut object = ptr::null_mut();
        check(create(&raw mut object))?;
        Ok(Owned { object, destroy })
    }
}

/// Returns a status that is no success as an error.
fn check(status: Status) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(status) }
}

/// Returns the refusal for a status of a call that creates an object.
fn refused(status: Status) -> String {
    format!("oneDNN reports {:?}", name_of(status))
}

/// The sizes, order in memory and element type of a tensor.
pub(super) struct Description(Owned);

impl Description {
    /// Describes a tensor. Sizes and strides have one number for each dimension.
    pub fn new(dtype: DType, sizes: &[usize], strides: &[usize]) -> Prepared<Self> {
        Description::create(dtype, sizes, |functions, object, dims, sizes, code| {
            let strides = dims_of(strides);
            // SAFETY: both arrays have the length that the type of the header has.
            unsafe { (functions.describe_memory)(object, dims, sizes, code, &raw const strides) }
        })
    }

    /// Describes a tensor whose order in memory oneDNN chooses.
    pub fn any(dtype: DType, sizes: &[usize]) -> Prepared<Self> {
        /// `dnnl_format_tag_any`.
        const ANY: c_int = 1;
        Description::create(dtype, sizes, |functions, object, dims, sizes, code| {
            // SAFETY: the array has the length that the type of the header has.
            unsafe { (functions.describe_any)(object, dims, sizes, code, ANY) }
        })
    }

    fn create(
        dtype: DType,
        sizes: &[usize],
        create: impl FnOnce(&Functions, *mut Object, c_int, *const Dims, c_int) -> Status,
    ) -> Prepared<Self> {
        let (functions, code) = (functions()?, code_of(dtype)?);
        let count = c_int::try_from(sizes.len()).unwrap_or(c_int::MAX);
        let sizes = dims_of(sizes);
        let create = |object| create(functions, object, count, &raw const sizes, code);
        Owned::new(functions.destroy_description, create).map(Description).map_err(refused)
    }

    /// Returns whether both describe the same order in memory.
    pub fn equals(&self, other: &Description) -> bool {
        // SAFETY: both objects exist.
        functions()
            .is_ok_and(|functions| unsafe { (functions.are_equal)(self.0.object, other.0.object) } != 0)
    }

    /// Returns the bytes of a tensor.
    pub fn bytes(&self) -> usize {
        // SAFETY: the object exists.
        functions().map_or(0, |functions| unsafe { (functions.size_of_memory)(self.0.object) })
    }
}

/// Returns numbers of dimensions as the library reads them.
pub(super) fn dims_of(values: &[usize]) -> Dims {
    let mut dims: Dims = [0; 12];
    for (dim, value) in dims.iter_mut().zip(values) {
        *dim = signed(*value);
    }
    dims
}

/// Memory for elements in an order that oneDNN chooses, or for a computation.
pub(super) struct Buffer {
    memory: Vec<u8>,
    offset: usize,
}

impl Buffer {
    /// Allocates at least `bytes` bytes. They are not initialized.
    pub fn new(bytes: usize) -> Result<Self> {
        /// Vectors of the widest instructions do not cross cache lines.
        const ALIGNMENT: usize = 64;
        let memory = try_with_capacity::<u8>(bytes.saturating_add(ALIGNMENT))?;
        let offset = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Ok(Buffer { memory, offset })
    }

    /// Returns the first byte.
    pub fn pointer(&mut self) -> *mut c_void {
        self.memory.as_mut_ptr().wrapping_add(self.offset).cast()
    }
}

/// Returns the `dnnl_data_type_t` of elements.
fn code_of(dtype: DType) -> Prepared<c_int> {
    match dtype {
        DType::Float16 => Ok(1),
        DType::BFloat16 => Ok(2),
        DType::Float32 => Ok(3),
        DType::Int32 => Ok(4),
        DType::Int8 => Ok(5),
        DType::UInt8 => Ok(6),
        _ => Err(format!("oneDNN has no products of {}", dtype.name())),
    }
}

/// The options of a primitive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    /// The precision to which oneDNN may round float32 inputs, as a `dnnl_fpmath_mode_t`.
    mode: c_int,
    is_deterministic: bool,
}

impl Attributes {
    /// Permits oneDNN to round float32 inputs, and requires equal results of equal calls if it `is_deterministic`.
    pub fn new(rounding: Rounding, is_deterministic: bool) -> Self {
        let mode = match rounding {
            Rounding::Bf16 => 1,
            Rounding::Tf32 => 4,
            _ => 0,
        };
        Attributes { mode, is_deterministic }
    }

    /// Creates the object. `adds` makes the primitive add its result to the elements of the destination.
    fn object(self, functions: &Functions, adds: bool) -> Result<Owned, Status> {
        /// `dnnl_scratchpad_mode_user`: the memory belongs to the caller, so that threads can share a primitive.
        const USER: c_int = 1;
        // SAFETY: the function writes an object that is freed once.
        let create = |object| unsafe { (functions.create_attributes)(object) };
        let attributes = Owned::new(functions.destroy_attributes, create)?;
        // SAFETY: the object exists, and the values are those of the header.
        unsafe {
            check((functions.set_scratchpad_mode)(attributes.object, USER))?;
            check((functions.set_fpmath_mode)(attributes.object, self.mode))?;
            if let Some(set_deterministic) = functions.set_deterministic {
                check(set_deterministic(attributes.object, c_int::from(self.is_deterministic)))?;
            }
        }
        if adds {
            // SAFETY: as above.
            let create = |object| unsafe { (functions.create_post_operations)(object) };
            let operations = Owned::new(functions.destroy_post_operations, create)?;
            // SAFETY: both objects exist. The type 0 is the type of the result. The attributes copy the operations.
            unsafe {
                check((functions.append_sum)(operations.object, 1.0, 0, 0))?;
                check((functions.set_post_operations)(attributes.object, operations.object))?;
            }
        }
        Ok(attributes)
    }
}

/// The roles of memory: `DNNL_ARG_SRC`, `DNNL_ARG_DST` and so on.
pub(super) const SOURCE: c_int = 1;
pub(super) const DESTINATION: c_int = 17;
pub(super) const WEIGHTS: c_int = 33;
pub(super) const SOURCE_GRADIENT: c_int = 129;
pub(super) const DESTINATION_GRADIENT: c_int = 145;
pub(super) const WEIGHTS_GRADIENT: c_int = 161;
const SCRATCHPAD: c_int = 80;

/// The objects from which a computation is planned.
pub(super) struct Planned<'a> {
    pub functions: &'a Functions,
    pub engine: Object,
    pub attributes: Object,
    /// The descriptions of the operands, in their order.
    pub operands: &'a [Object],
}

/// A computation that is prepared for sizes and orders in memory.
pub(super) struct Primitive {
    functions: &'static Functions,
    primitive: Owned,
    /// The plan, which owns the description of the scratchpad.
    plan: Owned,
    operands: Vec<(c_int, Description)>,
}

impl Primitive {
    /// Prepares a computation with operands in these roles. The primitive adds to the elements of the destination if it `adds`.
    pub fn new(
        attributes: Attributes,
        adds: bool,
        operands: &[(c_int, &Description)],
        plan: &dyn Fn(&Planned<'_>, *mut Object) -> Status,
    ) -> Prepared<Self> {
        /// `dnnl_query_exec_arg_md`.
        const MEMORY_OF_ROLE: c_int = 255;
        /// oneDNN prepares computations under locks of the process. A child that is forked at that time would wait for them
        /// forever.
        static PREPARING: ForkLock<()> = ForkLock::new(rank::ONEDNN, ());
        let functions = functions()?;
        let _one_thread = functions.threads.map(OneThread::new);
        let _no_fork = PREPARING.lock();
        let attributes = attributes.object(functions, adds).map_err(refused)?;
        let descriptions: Vec<Object> =
            operands.iter().map(|(_, description)| description.0.object).collect();
        let (engine, attributes) = (functions.engine, attributes.object);
        let planned = Planned { functions, engine, attributes, operands: &descriptions };
        let plan = Owned::new(functions.destroy_plan, |object| plan(&planned, object)).map_err(refused)?;
        // SAFETY: the plan exists.
        let create = |object| unsafe { (functions.create_primitive)(object, plan.object) };
        let primitive = Owned::new(functions.destroy_primitive, create).map_err(refused)?;
        let chosen = operands.iter().map(|(role, _)| {
            // SAFETY: the plan exists, and owns the description that is copied.
            let create = |object| unsafe {
                (functions.clone_description)(
                    object,
                    (functions.memory_of_plan)(plan.object, MEMORY_OF_ROLE, *role),
                )
            };
            Ok((*role, Description(Owned::new(functions.destroy_description, create).map_err(refused)?)))
        });
        let operands = chosen.collect::<Prepared<_>>()?;
        Ok(Primitive { functions, primitive, plan, operands })
    }

    /// Returns the description of an operand.
    pub fn operand(&self, index: usize) -> Option<&Description> {
        self.operands.get(index).map(|(_, description)| description)
    }

    /// Computes with the memory of each operand, on the calling thread.
    ///
    /// # Safety
    /// Each pointer is the first element of memory that the description of its operand fits; the memory of the destination may
    /// be written.
    pub unsafe fn execute(&self, op: &'static str, memory: &[*mut c_void]) -> Result<()> {
        /// `dnnl_query_scratchpad_md`.
        const MEMORY_OF_SCRATCHPAD: c_int = 136;
        debug_assert_eq!(memory.len(), self.operands.len(), "memory for each operand");
        let functions = self.functions;
        let failed = |status| Error::value(op, "the library", "succeed", refused(status));
        let _one_thread = functions.threads.map(OneThread::new);
        // SAFETY: the plan exists and owns the description.
        let description = unsafe { (functions.memory_of_plan)(self.plan.object, MEMORY_OF_SCRATCHPAD, 0) };
        // SAFETY: a description that is not null exists. An empty one has no bytes.
        let size = |description| unsafe { (functions.size_of_memory)(description) };
        let bytes = if description.is_null() { 0 } else { size(description) };
        let mut scratchpad = Buffer::new(bytes)?;
        let object = |description: Object, pointer: *mut c_void| {
            // SAFETY: the description and the engine exist.
            let create =
                |object| unsafe { (functions.create_memory)(object, description, functions.engine, pointer) };
            Owned::new(functions.destroy_memory, create).map_err(failed)
        };
        let mut objects = Vec::with_capacity(memory.len() + 1);
        for ((role, description), pointer) in self.operands.iter().zip(memory) {
            objects.push((*role, object(description.0.object, *pointer)?));
        }
        if bytes != 0 {
            objects.push((SCRATCHPAD, object(description, scratchpad.pointer())?));
        }
        let arguments: Vec<Argument> =
            objects.iter().map(|(role, memory)| Argument { role: *role, memory: memory.object }).collect();
        // SAFETY: the engine exists. 1 is `dnnl_stream_in_order`.
        let create = |object| unsafe { (functions.create_stream)(object, functions.engine, 1) };
        let stream = Owned::new(functions.destroy_stream, create).map_err(failed)?;
        let count = c_int::try_from(arguments.len()).unwrap_or(0);
        // SAFETY: the caller guarantees that the memory fits the descriptions, with which the primitive was planned; the
        // scratchpad has the size that the plan demands.
        unsafe {
            check((functions.execute)(self.primitive.object, stream.object, count, arguments.as_ptr()))
                .and_then(|()| check((functions.wait_stream)(stream.object)))
                .map_err(failed)
        }
    }
}
