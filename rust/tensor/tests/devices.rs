//! Tensors on devices of the host driver: operands that are read at the call.

use std::sync::{Mutex, mpsc};

use interlock::accelerator::{self, Device, HostFn, Stream};
use interlock_tensor::{DType, ErrorKind, Tensor};

use crate::device;

fn numbers(values: &[f64], device: Device) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap().to((DType::Float64, device), false).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec().unwrap()
}

/// Blocks a stream until the returned sender is dropped.
fn gate(stream: &Stream) -> mpsc::Sender<()> {
    let (held, dropped) = mpsc::channel();
    let dropped = Mutex::new(dropped);
    let wait = move || {
        // No message is sent: `recv` returns when the sender is dropped.
        let _ = dropped.lock().unwrap().recv();
        Ok(())
    };
    stream.launch(HostFn::new("gate", wait)).unwrap();
    held
}

fn current(device: Device) -> Stream {
    accelerator::current_stream(Some(device)).unwrap()
}

#[test]
fn cpu_scalar_operand_is_read_when_the_operation_is_called() {
    let there = device(0);
    let x = numbers(&[1.0, 2.0], there);
    let pair = Tensor::from_slice(&[10.0, 20.0], &[2]).unwrap();
    let number = pair.select(0, 1).unwrap();
    let closed = gate(&current(there));
    let y = x.mul(&number).unwrap();
    pair.zero_().unwrap();
    drop(closed);
    assert_eq!(values(&y), [20.0, 40.0]);
    let other = numbers(&[1.0, 2.0], device(1));
    for (a, b) in [(&x, &pair), (&pair, &x), (&x, &other)] {
        let error = a.add(b).unwrap_err();
        assert!(error.to_string().starts_with("add: "), "{error}");
        let joined = interlock_tensor::cat(&[a.clone(), b.clone()], 0).map(drop);
        for refused in [Err(error), a.mul_(b).map(drop), a.matmul(b).map(drop), joined] {
            assert_eq!(refused.unwrap_err().kind(), Some(ErrorKind::Device));
        }
    }
    let error = number.mul_(&x.select(0, 0).unwrap()).unwrap_err();
    assert_eq!(error.kind(), Some(ErrorKind::Device));
    assert_eq!((x.version(), pair.version()), (Ok(0), Ok(1)));
}

#[test]
fn to_preserves_strides_types_and_the_values_at_the_call() {
    let there = device(0);
    let matrix = Tensor::from_slice(&[1i64, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    let turned = matrix.t().unwrap();
    let moved = turned.to((DType::Int64, there), false).unwrap();
    assert_eq!(moved.strides(), [1, 3]);
    assert_eq!(values(&moved), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let column = turned.select(1, 1).unwrap();
    assert_eq!(values(&column.to((DType::Float32, there), false).unwrap()), [4.0, 5.0, 6.0]);
    let closed = gate(&current(there));
    let early = matrix.to((DType::Int64, there), true).unwrap();
    matrix.zero_().unwrap();
    let back = early.to(DType::Int64, true).unwrap();
    assert!(back.is_pinned() && !back.is_on_device() && !early.is_pinned());
    drop(closed);
    current(there).synchronize().unwrap();
    assert_eq!(values(&back), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert!(early.to((DType::Int64, there), false).unwrap().is(&early));
}
