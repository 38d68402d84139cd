//! Tensors on devices of the host driver: what is queued, in which order, and what becomes of memory.

// Helpers of tests are not tests to the lint, though a panic is what they should end in.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::mpsc;
use std::sync::{Arc, Mutex, Once};

use interlock::accelerator::{self, CaptureMode, Device, Graph, Stream, Work, host};
use interlock_tensor::{DType, Error, Operand, Options, Place, Result, Tensor};

/// Two devices of 64 MiB, for the whole process.
fn device(index: u8) -> Device {
    static USED: Once = Once::new();
    USED.call_once(|| {
        let options = host::HostOptions { devices: 2, memory: 64 << 20, ..Default::default() };
        accelerator::use_driver(Arc::new(host::HostDriver::new(options).unwrap())).unwrap();
    });
    format!("host:{index}").parse().unwrap()
}

fn on(device: Device) -> Options {
    (DType::Float64, device).into()
}

fn numbers(values: &[f64], device: Device) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap().to((DType::Float64, device), false).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec().unwrap()
}

/// Holds a stream back until it is dropped.
struct Latch(Option<mpsc::Sender<()>>);

impl Latch {
    fn on(stream: &Stream) -> Self {
        let (open, opened) = mpsc::channel();
        let opened = Mutex::new(opened);
        let wait = move || opened.lock().unwrap().recv().map_err(|_| String::new()).or(Ok(()));
        stream.launch(Work::new("latch", wait)).unwrap();
        Latch(Some(open))
    }
}
