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
    let began = Instant::now();
    let measured =
        fastest(&TUNER, &key, &|| began.elapsed(), &mut |kernel| run(call, args, kernel, &stream))?;
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

/// Runs a kernel and waits for it. The result is dropped.
fn run(call: &ConvCall, args: &ConvArgs<'_>, kernel: &'static str, stream: &Stream) -> Result<()> {
    let out = CONV2D.call(&call.preferring(kernel), Some(COMPOSITE), args)?;
    stream.synchronize()?;
    drop(out);
    Ok(())
}

/// Returns the fastest kernel of a key by a clock. Each is run once before it is measured, because the first run
/// allocates memory.
fn fastest(
    tuner: &Autotuner<Key>,
    key: &Key,
    clock: &dyn Fn() -> Duration,
    run: &mut dyn FnMut(&'static str) -> Result<()>,
) -> Result<Option<Tuned>> {
    tuner.fastest(key, &key.1, CUDNN_BENCHMARK_LIMIT.get(), |kernel| {
        run(kernel)?;
        let before = clock();
        run(kernel)?;
        Ok(clock().saturating_sub(before))
    })
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::ops::convolution::{ConvOptions, shape};
    use crate::products::ConvPass;
    use crate::{DType, Tensor};

    #[test]
    fn benchmark_limit_and_a_clock_decide_the_kernel_that_is_kept() {
        let ones = |shape: &[usize]| Tensor::ones(shape, DType::Float32).unwrap();
        let (x, w) = (ones(&[1, 2, 4, 4]), ones(&[3, 2, 3, 3]));
        let geometry = shape::geometry(&x, &w, &ConvOptions::default()).unwrap();
        let key = |groups: usize| {
            let geometry = crate::products::ConvGeometry { groups, ..geometry };
            let call = ConvCall::new(ConvPass::WeightGradient, geometry, &ConvArgs::new(&x, &w, None));
            (call, CUDNN_KERNELS.to_vec())
        };
        let (now, runs, tuner) = (Cell::new(Duration::ZERO), RefCell::new(Vec::new()), Autotuner::new());
        let clock = || now.get();
        let mut run = |kernel: &'static str| {
            runs.borrow_mut().push(kernel);
            let takes = match kernel {
                "cudnn_atomic" => 3,
                "cudnn" => 2,
                _ => 1,
            };
            now.set(now.get() + Duration::from_millis(takes));
            Ok(())
        };
        let all = fastest(&tuner, &key(1), &clock, &mut run).unwrap().unwrap();
        assert_eq!(all.to_string(), "tried 3 of 3, kept direct");
        let _limit = CUDNN_BENCHMARK_LIMIT.scope(2).unwrap().guard();
        let two = fastest(&tuner, &key(2), &clock, &mut run).unwrap().unwrap();
        assert_eq!(two.to_string(), "tried 2 of 3, kept cudnn");
        runs.borrow_mut().clear();
        let again = fastest(&tuner, &key(1), &clock, &mut run).unwrap().unwrap();
        assert_eq!(again.to_string(), "tried 3 of 3, kept direct, cached");
        assert_eq!(tuner.cached(&key(2)).map(|tuned| tuned.kept), Some("cudnn"));
        assert!(runs.borrow().is_empty(), "a second call measures nothing");
    }
}
