//! What the tests share: the environment of the process, models that are built here, and an operator that notes the state of
//! the threads it runs on.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

pub mod onnx;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use interlock::autograd;
use interlock::backends::flags::CUDNN_BENCHMARK;
use interlock_ort::{Library, Session};
use ort::environment::Environment;
use ort::operator::{
    BoxedKernel, ComputeContext, KernelContext, Operator, OperatorDomain, OperatorInput, OperatorOutput,
};
use ort::value::{Tensor, TensorElementType};

/// The domain of the operator.
pub const DOMAIN: &str = "interlock.test";

/// The number of rows and columns of the matrices.
pub const SIZE: usize = 64;

/// Serializes the tests of a program: flags, threads and the environment belong to the process.
pub fn serial() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the environment of the process. `ORT_DYLIB_PATH` names the library or the folder of its package.
pub fn environment() -> &'static Environment {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    ENVIRONMENT
        .get_or_init(|| Library::from_env().unwrap().init().unwrap().with_telemetry(false).build().unwrap())
}

/// Returns a model that multiplies a matrix by one whose elements are all 2.
pub fn product() -> Vec<u8> {
    let weight = vec![2.0; SIZE * SIZE];
    onnx::model(&onnx::Node { domain: "", op: "MatMul", inputs: &["x", "weight"] }, SIZE, Some(&weight))
}

/// Returns a model that calls the operator [`Notes`].
pub fn notes_model() -> Vec<u8> {
    onnx::model(&onnx::Node { domain: DOMAIN, op: "Notes", inputs: &["x"] }, SIZE, None)
}

/// Runs a model on a matrix of ones, and returns the result.
pub fn run(session: &mut Session) -> ort::Result<Vec<f32>> {
    let ones = Tensor::from_array(([SIZE, SIZE], vec![1.0_f32; SIZE * SIZE]))?;
    let outputs = session.run(ort::inputs![ones])?;
    Ok(outputs["y"].try_extract_tensor::<f32>()?.1.to_vec())
}

/// What a thread saw: its name, whether gradients are recorded, and `cudnn.benchmark`.
pub type Seen = (Option<String>, bool, bool);

/// An operator that runs on a number of threads, and notes what each of them sees.
#[derive(Clone)]
pub struct Notes {
    seen: Arc<Mutex<BTreeMap<String, Seen>>>,
    threads: usize,
}

/// How long the operator waits for its threads.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Notes {
    /// Returns an operator that ends when `threads` threads have taken part.
    pub fn of(threads: usize) -> Self {
        Notes { seen: Arc::default(), threads }
    }

    /// Returns what the threads of the pool have seen, without the thread `caller` that called `run`.
    pub fn of_pool(&self, caller: ThreadId) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap();
        let caller = format!("{caller:?}");
        seen.iter().filter(|(thread, _)| **thread != caller).map(|(_, seen)| seen.clone()).collect()
    }

    /// Returns the domain that contains the operator.
    pub fn domain(&self) -> OperatorDomain {
        OperatorDomain::new(DOMAIN).unwrap().add(self.clone()).unwrap()
    }
}

impl Operator for Notes {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "Notes"
    }

    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        [OperatorInput::required(TensorElementType::Float32)]
    }

    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(TensorElementType::Float32)]
    }

    fn create_kernel<'attr>(&self, _: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
        let Notes { seen, threads } = self.clone();
        Ok(Box::new(move |context: &ComputeContext| {
            let deadline = Instant::now() + TIMEOUT;
            context.par_for(SIZE, SIZE, |_| {
                let here = (
                    thread::current().name().map(str::to_owned),
                    autograd::is_grad_enabled(),
                    CUDNN_BENCHMARK.get(),
                );
                seen.lock().unwrap().insert(format!("{:?}", thread::current().id()), here);
                // So that every thread gets a part.
                while seen.lock().unwrap().len() < threads && Instant::now() < deadline {
                    thread::sleep(Duration::from_millis(1));
                }
            })?;
            let input = context.input(0)?.unwrap();
            let (shape, data) = input.try_extract_tensor::<f32>()?;
            let mut output = context.output(0, shape.to_vec())?.unwrap();
            output.try_extract_tensor_mut::<f32>()?.1.copy_from_slice(data);
            Ok(())
        }))
    }
}
