//! A builder of Python classes (`PyType_FromSpecWithBases`).

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::header::ensure_room;

type Getter = unsafe extern "C" fn(*mut ffi::PyObject, *mut c_void) -> *mut ffi::PyObject;
type Setter = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject, *mut c_void) -> c_int;

/// A C function with its calling convention.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    /// `METH_NOARGS`.
    NoArgs(ffi::PyCFunction),
    /// `METH_FASTCALL`.
    Fast(ffi::PyCFunctionFast),
    /// `METH_FASTCALL | METH_KEYWORDS`.
    FastWithKeywords(ffi::PyCFunctionFastWithKeywords),
}

/// A builder of a class. The class and its definitions live as long as the process.
pub(crate) struct HeapType {
    name: CString,
    size: usize,
    slots: Vec<ffi::PyType_Slot>,
    attributes: Vec<ffi::PyGetSetDef>,
    methods: Vec<ffi::PyMethodDef>,
    flags: std::ffi::c_ulong,
}

impl HeapType {
    /// Starts a class with this qualified name. Its instances have `size` bytes and begin with a
    /// [`Header`](super::Header); 0 means the size of the base.
    pub(crate) fn new(name: &str, size: usize) -> PyResult<Self> {
        let name = CString::new(name).map_err(|_| PyValueError::new_err("a class name with a zero byte"))?;
        let flags = ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE;
        Ok(HeapType { name, size, slots: Vec::new(), attributes: Vec::new(), methods: Vec::new(), flags })
    }

    /// Makes a class without subclasses, whose instances programs cannot create.
    pub(crate) fn without_constructor(mut self) -> Self {
        const DISALLOW_INSTANTIATION: std::ffi::c_ulong = 1 << 7;
        self.flags = ffi::Py_TPFLAGS_DEFAULT | DISALLOW_INSTANTIATION;
        self
    }

    /// Sets the docstring. The lines `name(arguments)` and `--` at its beginning define the signature.
    pub(crate) fn doc(mut self, doc: &CStr) -> Self {
        let doc = CString::into_raw(doc.to_owned());
        self.slots.push(ffi::PyType_Slot { slot: ffi::Py_tp_doc, pfunc: doc.cast() });
        self
    }

    /// Sets the function of a slot.
    ///
    /// # Safety
    /// `function` is a function pointer of the slot's type.
    pub(crate) unsafe fn slot(mut self, slot: c_int, function: *mut c_void) -> Self {
        self.slots.push(ffi::PyType_Slot { slot, pfunc: function });
        self
    }

    /// Adds an attribute, which is read-only without a setter. `closure` is passed to both functions.
    pub(crate) fn attribute(
        mut self,
        name: &CStr,
        doc: &CStr,
        get: Getter,
        set: Option<Setter>,
        closure: *mut c_void,
    ) -> Self {
        let leaked = |text: &CStr| CString::into_raw(text.to_owned()).cast_const();
        self.attributes.push(ffi::PyGetSetDef {
            name: leaked(name),
            get: Some(get),
            set,
            doc: leaked(doc),
            closure,
        });
        self
    }

    /// Adds a method.
    pub(crate) fn method(mut self, name: &'static CStr, doc: &'static CStr, method: Method) -> Self {
        let (ml_meth, ml_flags) = match method {
            Method::NoArgs(function) => (ffi::PyMethodDefPointer { PyCFunction: function }, ffi::METH_NOARGS),
            Method::Fast(function) => {
                (ffi::PyMethodDefPointer { PyCFunctionFast: function }, ffi::METH_FASTCALL)
            }
            Method::FastWithKeywords(function) => (
                ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: function },
                ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ),
        };
        self.methods.push(ffi::PyMethodDef {
            ml_name: name.as_ptr(),
            ml_meth,
            ml_flags,
            ml_doc: doc.as_ptr(),
        });
        self
    }

    /// Creates the class.
    pub(crate) fn build<'py>(
        mut self,
        py: Python<'py>,
        base: &Bound<'py, PyType>,
    ) -> PyResult<Bound<'py, PyType>> {
        if self.size != 0 {
            ensure_room(py)?;
        }
        // SAFETY: both structures may be zero; a zero entry terminates each array.
        unsafe {
            self.attributes.push(std::mem::zeroed());
            self.methods.push(std::mem::zeroed());
        }
        let arrays = [
            (ffi::Py_tp_getset, leak(self.attributes).cast::<c_void>()),
            (ffi::Py_tp_methods, leak(self.methods).cast::<c_void>()),
            (0, ptr::null_mut()),
        ];
        self.slots.extend(arrays.map(|(slot, pfunc)| ffi::PyType_Slot { slot, pfunc }));
        let mut spec = ffi::PyType_Spec {
            name: CString::into_raw(self.name),
            basicsize: self.size as c_int,
            itemsize: 0,
            flags: self.flags as c_uint,
            slots: leak(self.slots),
        };
        // SAFETY: every pointer in the spec lives as long as the process, callers of `slot` guarantee the types of the
        // functions, and `base` is a class.
        unsafe {
            let class = ffi::PyType_FromSpecWithBases(&raw mut spec, base.as_ptr());
            Ok(Bound::from_owned_ptr_or_err(py, class)?.cast_into_unchecked())
        }
    }
}

fn leak<T>(items: Vec<T>) -> *mut T {
    Box::leak(items.into_boxed_slice()).as_mut_ptr()
}
