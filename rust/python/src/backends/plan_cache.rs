//! The caches of cuFFT's plans.

use interlock::backends::PlanCache;
use pyo3::prelude::*;

use super::convert::given;
use crate::accelerator::Device;
use crate::detach::detach;
use crate::errors::IntoPyResult;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(plan_cache_index, module)?)?;
    module.add_function(wrap_pyfunction!(current_plan_cache_index, module)?)?;
    module.add_function(wrap_pyfunction!(plan_cache_size, module)?)?;
    module.add_function(wrap_pyfunction!(plan_cache_max_size, module)?)?;
    module.add_function(wrap_pyfunction!(set_plan_cache_max_size, module)?)?;
    module.add_function(wrap_pyfunction!(clear_plan_cache, module)?)
}

/// The cache of the device that was named by an index, text or device. The first call starts the driver.
fn cache_of(device: &Bound<'_, PyAny>) -> PyResult<PlanCache> {
    let py = device.py();
    if let Ok(device) = device.cast::<Device>() {
        let device = device.get().core;
        return detach(py, || PlanCache::of(device)).into_py_result(py);
    }
    let named = given(device)?.into_owned();
    detach(py, || PlanCache::named(&named)).into_py_result(py)
}

/// The index of a cuda device that is there.
#[pyfunction]
fn plan_cache_index(device: &Bound<'_, PyAny>) -> PyResult<u8> {
    Ok(cache_of(device)?.index())
}

/// The index of the current cuda device.
#[pyfunction]
fn current_plan_cache_index(py: Python<'_>) -> PyResult<u8> {
    Ok(detach(py, PlanCache::current).into_py_result(py)?.index())
}

/// How many plans it holds.
#[pyfunction]
fn plan_cache_size(device: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(cache_of(device)?.size())
}

/// How many plans it keeps at most.
#[pyfunction]
fn plan_cache_max_size(device: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(cache_of(device)?.max_size())
}

/// Says how many plans it keeps at most.
#[pyfunction]
fn set_plan_cache_max_size(device: &Bound<'_, PyAny>, plans: &Bound<'_, PyAny>) -> PyResult<()> {
    cache_of(device)?.set_max_size(&given(plans)?).into_py_result(device.py())
}

/// Drops the plans that it holds.
#[pyfunction]
fn clear_plan_cache(device: &Bound<'_, PyAny>) -> PyResult<()> {
    cache_of(device)?.clear();
    Ok(())
}
