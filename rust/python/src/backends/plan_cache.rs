//! Bindings of the plan caches of cuFFT.

use interlock::backends::PlanCache;
use pyo3::prelude::*;

use super::values::from_py;
use crate::detach::detach;
use crate::device::Device;
use crate::errors::IntoPyResult;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(plan_cache_index, module)?)?;
    module.add_function(wrap_pyfunction!(current_plan_cache_index, module)?)?;
    module.add_function(wrap_pyfunction!(plan_cache_size, module)?)?;
    module.add_function(wrap_pyfunction!(plan_cache_max_size, module)?)?;
    module.add_function(wrap_pyfunction!(set_plan_cache_max_size, module)?)?;
    module.add_function(wrap_pyfunction!(clear_plan_cache, module)?)
}

/// Returns the cache of a device, which is an index, a str or a device. The first call starts the driver.
fn cache_of(device: &Bound<'_, PyAny>) -> PyResult<PlanCache> {
    let py = device.py();
    if let Ok(device) = device.cast::<Device>() {
        let device = device.get().core;
        return detach(py, || PlanCache::from_device(device)).into_py_result(py);
    }
    let named = from_py(device)?.into_owned();
    detach(py, || PlanCache::from_input(&named)).into_py_result(py)
}

/// Return the index of an existing cuda device.
#[pyfunction]
fn plan_cache_index(device: &Bound<'_, PyAny>) -> PyResult<u8> {
    Ok(cache_of(device)?.index())
}

/// Return the index of the current cuda device.
#[pyfunction]
fn current_plan_cache_index(py: Python<'_>) -> PyResult<u8> {
    Ok(detach(py, PlanCache::current).into_py_result(py)?.index())
}

/// Return the number of plans in the cache.
#[pyfunction]
fn plan_cache_size(device: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(cache_of(device)?.size())
}

/// Return the maximum number of plans.
#[pyfunction]
fn plan_cache_max_size(device: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(cache_of(device)?.max_size())
}

/// Set the maximum number of plans.
#[pyfunction]
fn set_plan_cache_max_size(device: &Bound<'_, PyAny>, plans: &Bound<'_, PyAny>) -> PyResult<()> {
    cache_of(device)?.set_max_size(&from_py(plans)?).into_py_result(device.py())
}

/// Remove all plans.
#[pyfunction]
fn clear_plan_cache(device: &Bound<'_, PyAny>) -> PyResult<()> {
    cache_of(device)?.clear();
    Ok(())
}
