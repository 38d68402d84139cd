//! The measurement of the kernels of cuDNN that `cudnn.benchmark` requests.

use std::fmt;
use std::time::{Duration, Instant};

use interlock::accelerator::{Stream, current_stream};
use interlock::backends::flags::{CUDNN_BENCHMARK, CUDNN_BENCHMARK_LIMIT};
use interlock::dispatch::{Autotuner, Call, Composite, FlagRequirement, Outcome, Tuned};

use super::call::{ConvArgs, ConvCall};
use super::kernels::{CONV2D, CUDNN_KERNELS};
use crate::Result;

/// `cudnn.deterministic` turns the benchmark off.
static BENCHMARK: FlagRequirement = FlagRequirement::on(&CUDNN_BENCHMARK);

/// The reason for the kernel of a call that `cudnn.benchmark` affects.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tuning {
    /// A measurement has chosen the kernel.
    Measured(Tuned),
    /// Nothing was measured before, and a stream that captures runs no measurement.
    Capturing,
}

impl Tuning {
    /// Returns the kernel that a measurement has chosen.
    pub fn kept(&self) -> Option<&'static str> {
        match self {
            Tuning::Measured(tuned) => Some(tuned.kept),
            Tuning::Capturing => None,
        }
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tuning::Measured(tuned) => tuned.fmt(f),
            Tuning::Capturing => f.write_str("not measured: the stream captures a graph"),
        }
    }
}

/// A call and the names of the kernels that can run it.
type Key = (ConvCall, Vec<&'static str>);

static TUNER: Autotuner<Key> = Autotuner::new();

/// The calls that a measurement makes are part of this operation in records.
const COMPOSITE: Composite = Composite { name: "cudnn.benchmark", numerics: None };

/// Measures the kernels of cuDNN for a call, unless its stream captures. Returns `None` if the kernel is not chosen by
/// measurement: the flag is off, or the kernel is not one of cuDNN's.
pub(super) fn tune(call: &ConvCall, args: &ConvArgs<'_>) -> Result<Option<Tuning>> {
    if call.is_on_cpu() || BENCHMARK.refusal().is_some() {
        return Ok(None);
    }
    let candidates = candidates(&CONV2D.explain(call));
    if candidates.is_empty() {
        return Ok(None);
    }
    let (key, stream) = ((call.clone(), candidates), current_stream(Some(call.device()))?);
    if stream.is_capturing()? {
        return Ok(Some(TUNER.cached(&key).map_or(Tuning::Capturing, Tuning::Measured)));
    }
    let limit = CUDNN_BENCHMARK_LIMIT.get();
    let measured = TUNER.fastest(&key, &key.1, limit, |kernel| measure(call, args, kernel, &stream))?;
    Ok(measured.map(Tuning::Measured))
}

/// Returns the kernels of cuDNN that can run a call, if one of them is chosen.
fn candidates(explained: &Call) -> Vec<&'static str> {
    let is_cudnn = |kernel: &str| CUDNN_KERNELS.contains(&kernel);
    if !explained.kernel().is_some_and(is_cudnn) {
        return Vec::new();
    }
    let accepted = explained.considered.iter().filter(|it| !matches!(it.outcome, Outcome::Refused(_)));
    accepted.map(|considered| considered.kernel).filter(|kernel| is_cudnn(kernel)).collect()
}

/// Returns the duration of a kernel, whose results are dropped. It is run once before, because the first run allocates
/// memory.
fn measure(call: &ConvCall, args: &ConvArgs<'_>, kernel: &'static str, stream: &Stream) -> Result<Duration> {
    let run = || -> Result<()> {
        let _out = CONV2D.call(&call.preferring(kernel), Some(COMPOSITE), args)?;
        Ok(stream.synchronize()?)
    };
    run()?;
    let began = Instant::now();
    run()?;
    Ok(began.elapsed())
}
