//! Tensors on devices of the host driver: queued operations, their order and the lifetime of memory.

use std::sync::{Arc, Mutex, Once, mpsc};

use interlock::accelerator::{self, CaptureMode, Device, Graph, HostFn, Stream, host};
use interlock_tensor::{DType, Error, Placement, Result, Tensor, TensorOptions};

/// Returns one of two devices of 64 MiB, which the whole process shares.
fn device(index: u8) -> Device {
    static USED: Once = Once::new();
    USED.call_once(|| {
        let options = host::HostOptions { devices: 2, memory: 64 << 20, ..Default::default() };
        accelerator::use_driver(host::HostDriver::new(options).unwrap()).unwrap();
    });
    format!("host:{index}").parse().unwrap()
}

fn on(device: Device) -> TensorOptions {
    (DType::Float64, device).into()
}

fn numbers(values: &[f64], device: Device) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap().to((DType::Float64, device), false).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec().unwrap()
}

fn sum(tensor: &Tensor) -> Tensor {
    tensor.sum(None, false).unwrap()
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
fn operations_are_queued_and_run_in_stream_order() {
    let there = device(0);
    let x = numbers(&[1.0, 2.0], there);
    let closed = gate(&current(there));
    let y = x.mul(3.0).unwrap().add(&x).unwrap();
    x.fill_(0.0).unwrap();
    assert!(!current(there).query().unwrap());
    assert_eq!((y.device(), y.shape(), x.version()), (there, &[2][..], Ok(1)));
    drop(closed);
    assert_eq!((values(&y), values(&x)), (vec![4.0, 8.0], vec![0.0, 0.0]));
}

#[test]
fn queued_kernel_does_not_own_a_dropped_tensor() {
    let there = device(0);
    let x = numbers(&[1.0, 2.0], there);
    let closed = gate(&current(there));
    let y = x.exp().unwrap();
    let (dropped, sum) = (Arc::downgrade(&y.storage()), sum(&y));
    drop(y);
    assert!(dropped.upgrade().is_none());
    // Later work of the stream may reuse the memory: it is written after it was read.
    let later: Vec<Tensor> = (0..8).map(|_| Tensor::full(&[2], 9.0.into(), on(there)).unwrap()).collect();
    drop(closed);
    let (found, expected) = (values(&sum), 1f64.exp() + 2f64.exp());
    assert!(found.iter().all(|found| (found - expected).abs() < 1e-14), "{found:?}");
    later.iter().for_each(|tensor| assert_eq!(values(tensor), [9.0, 9.0]));
}

#[test]
fn operations_on_a_device_agree_with_the_cpu() {
    type Operation = fn(&Tensor) -> Result<Tensor>;
    let operations: [(&str, Operation); 14] = [
        ("strides", |x| x.t()?.exp()?.add(&x.t()?)),
        ("broadcast", |x| x.sub(&x.select(0, 0)?)?.div(2.0)),
        ("reductions", |x| {
            x.sum(Some(&[0]), true)?.add(&x.mean(Some(&[1]), true)?)?.add(&x.amax(None, false)?)
        }),
        ("positions", |x| x.argmax(Some(1), false)?.add(&x.argmin(Some(1), false)?)),
        ("products", |x| x.matmul(&x.t()?)?.matmul(&x.select(1, 0)?)),
        ("types", |x| x.greater(2.0)?.cast(DType::Int64)?.mul(3i64)?.logical_not()),
        ("softmax", |x| x.softmax(0)?.mul(&x.log_softmax(1)?)),
        ("powers", |x| x.pow(2i64)?.add(&x.abs()?.pow(0.5)?)?.add(&x.cast(DType::Int64)?.pow(2i64)?)),
        ("joining", |x| interlock_tensor::cat(&[x.clone(), x.neg()?], 1)),
        ("copies", |x| x.t()?.copy()?.reshape(&[-1])),
        ("positions in place", |x| {
            let y = x.copy()?;
            y.set_index(
                &[interlock_tensor::Index::Tensor(y.greater(1.0)?)],
                &Tensor::full(&[], 7.0.into(), DType::Float64)?,
            )?;
            y.add_(&x.index(&[interlock_tensor::Index::Tensor(Tensor::from_slice(&[1i64, 0], &[2])?)])?)?;
            Ok(y)
        }),
        ("in place", |x| {
            let y = x.copy()?;
            y.select(0, 1)?.mul_(&y.select(0, 0)?)?.sub_(1.0)?.div_(4i64)?;
            y.slice(1, Some(1), None, 1)?.add_(&y.slice(1, None, Some(-1), 1)?)?;
            Ok(y)
        }),
        ("strided", |x| x.as_strided(&[2, 2], &[1, 2], Some(1))?.copy()),
        ("empty", |x| x.slice(0, Some(2), None, 1)?.exp()?.sum(Some(&[0]), false)),
    ];
    let plain = Tensor::from_slice(&[0.5, -1.5, 3.0, 2.5, 4.0, -0.25], &[2, 3]).unwrap();
    let moved = plain.to(on(device(1)), false).unwrap();
    for (name, operation) in operations {
        let (here, there) = (operation(&plain).unwrap(), operation(&moved).unwrap());
        assert_eq!((there.device(), there.shape()), (device(1), here.shape()), "{name}");
        assert_eq!((there.dtype(), there.strides()), (here.dtype(), here.strides()), "{name}");
        assert_eq!(values(&there), values(&here), "{name}");
    }
}

#[test]
fn creation_on_a_device_agrees_with_the_cpu() {
    let seeded = |options: TensorOptions| {
        interlock_tensor::manual_seed(7);
        [
            Tensor::rand(&[3], options),
            Tensor::randn(&[2, 2], options),
            Tensor::ones(&[2], options),
            Tensor::arange(1.into(), 6.into(), 2.into(), options),
        ]
        .map(|result| values(&result.unwrap()))
    };
    assert_eq!(seeded(on(device(0))), seeded(DType::Float64.into()));
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
        assert!(matches!(error, Error::Devices { op: "add", .. }), "{error}");
        assert!(matches!(a.mul_(b), Err(Error::Devices { .. })));
        assert!(matches!(a.matmul(b), Err(Error::Devices { .. })));
        assert!(matches!(interlock_tensor::cat(&[a.clone(), b.clone()], 0), Err(Error::Devices { .. })));
    }
    assert!(matches!(number.mul_(&x.select(0, 0).unwrap()), Err(Error::Devices { .. })));
    assert_eq!((x.version(), pair.version()), (Ok(0), Ok(1)));
}

#[test]
fn operations_on_two_streams_are_ordered_only_by_wait_stream() {
    let there = device(0);
    let (first, second) = (Stream::new(Some(there), 0).unwrap(), Stream::new(Some(there), 0).unwrap());
    let closed = gate(&first);
    let x = {
        let _current = first.guard().unwrap();
        Tensor::full(&[2], 3.0.into(), on(there)).unwrap()
    };
    let y = {
        let _current = second.guard().unwrap();
        Tensor::ones(&[2], on(there)).unwrap().mul(2.0).unwrap()
    };
    second.synchronize().unwrap();
    assert!(!first.query().unwrap());
    second.wait_stream(&first).unwrap();
    let _current = second.guard().unwrap();
    let z = x.add(&y).unwrap();
    assert!(!second.query().unwrap());
    drop(closed);
    assert_eq!(values(&z), [5.0, 5.0]);
}

#[test]
fn backward_runs_on_forward_streams_and_the_caller_waits() {
    let there = device(0);
    let (own, side) = (current(there), Stream::new(Some(there), 0).unwrap());
    let x = numbers(&[1.0, 2.0], there);
    x.set_requires_grad(true).unwrap();
    let direct = x.mul(5.0).unwrap();
    side.wait_stream(&own).unwrap();
    let y = {
        let _current = side.guard().unwrap();
        x.mul(&x).unwrap()
    };
    own.wait_stream(&side).unwrap();
    let total = sum(&y.add(&direct).unwrap());
    own.synchronize().unwrap();
    let closed = gate(&side);
    total.backward().unwrap();
    assert!(!own.query().unwrap());
    drop(closed);
    assert_eq!(values(&x.grad().unwrap()), [7.0, 9.0]);
    let twice = sum(&x.grad().unwrap().mul(2.0).unwrap());
    assert_eq!(values(&twice), [32.0]);
}

#[test]
fn backward_moves_gradients_between_devices() {
    let x = Tensor::from_slice(&[1.0, 2.0], &[2]).unwrap();
    x.set_requires_grad(true).unwrap();
    let scale = Tensor::full(&[], 3.0.into(), DType::Float64).unwrap();
    scale.set_requires_grad(true).unwrap();
    let first = x.to(on(device(0)), false).unwrap();
    let second = first.mul(&scale).unwrap().to(on(device(1)), false).unwrap();
    assert_eq!(second.grad_fn().unwrap().unwrap().name(), "ToCopyBackward0");
    sum(&second.mul(&second).unwrap()).to(DType::Float64, false).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().device(), Device::CPU);
    assert_eq!((values(&x.grad().unwrap()), values(&scale.grad().unwrap())), (vec![18.0, 36.0], vec![30.0]));
    let wrong = numbers(&[1.0, 1.0], device(0));
    assert!(matches!(x.set_grad(Some(wrong)), Err(Error::Devices { op: "Tensor.grad", .. })));
}

#[test]
fn kernel_error_is_reported_by_the_synchronizing_call() {
    // A wait of another test for a shared stream would report the error.
    let stream = Stream::dedicated(Some(device(0)), 0).unwrap();
    let _current = stream.guard().unwrap();
    let scores = numbers(&[0.0; 6], device(0)).reshape(&[2, 3]).unwrap();
    let classes = Tensor::from_slice(&[0i64, 7], &[2]).unwrap().to((DType::Int64, device(0)), false).unwrap();
    let loss = scores.cross_entropy(&classes, &interlock_tensor::ClassLossOptions::default(), 0.0).unwrap();
    let error = loss.item().unwrap_err().to_string();
    let (operation, reason) =
        ("cross_entropy failed", "target must contain class indices of range(3), got 7");
    assert!(error.starts_with(operation) && error.ends_with(reason), "{error}");
    assert_eq!(values(&scores.add(1.0).unwrap()), [1.0; 6]);
}

#[test]
fn out_of_memory_on_a_device_is_an_error_without_effect() {
    let x = numbers(&[1.0], device(0));
    let error = Tensor::zeros(&[16 << 20], on(device(0))).unwrap_err();
    assert!(matches!(error, Error::Accelerator(interlock::accelerator::Error::OutOfMemory(_))), "{error}");
    let wide = x.expand(&[16 << 20]).unwrap();
    assert!(matches!(
        wide.add(&wide),
        Err(Error::Accelerator(interlock::accelerator::Error::OutOfMemory(_)))
    ));
    assert_eq!((x.version(), values(&x)), (Ok(0), vec![1.0]));
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

#[test]
fn copy_inplace_between_all_placements() {
    let source = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3]).unwrap();
    let placements: [Placement; 4] = [Placement::Cpu, Placement::Pinned, device(0).into(), device(1).into()];
    for from in placements {
        for to in placements {
            let source = source.to((DType::Float32, from), false).unwrap();
            let target = Tensor::zeros(&[2, 3], (DType::Float64, to)).unwrap();
            target.copy_(&source).unwrap();
            assert_eq!(values(&target), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], "{from:?} to {to:?}");
            target.select(0, 0).unwrap().copy_(&source.neg().unwrap()).unwrap();
            let column = target.select(1, 2).unwrap();
            column.copy_(&source.slice(0, None, Some(2), 1).unwrap()).unwrap();
            assert_eq!(values(&target), [-1.0, -2.0, 1.0, 1.0, 2.0, 2.0], "{from:?} to {to:?}");
            assert_eq!(target.version(), Ok(3));
        }
    }
}

#[test]
fn graph_replay_recomputes_in_place() {
    let there = device(0);
    let x = numbers(&[1.0, 2.0], there);
    let stream = Stream::new(Some(there), 0).unwrap();
    stream.wait_stream(&current(there)).unwrap();
    let graph = Graph::new(false).unwrap();
    let _current = stream.guard().unwrap();
    graph.capture_begin(None, CaptureMode::Global).unwrap();
    let y = x.mul(&x).unwrap().add(1.0).unwrap();
    let refused = y.item().or_else(|_| y.sum(None, false)?.item());
    assert!(matches!(refused, Err(Error::Capturing { .. })), "{refused:?}");
    graph.capture_end().unwrap();
    for value in [3.0, 4.0] {
        x.fill_(value).unwrap();
        graph.replay().unwrap();
        assert_eq!(values(&y), [value * value + 1.0; 2]);
    }
}

#[test]
fn pin_memory_returns_a_cpu_tensor() {
    let there = device(0);
    let plain = Tensor::ones(&[2], DType::Float64).unwrap();
    let copy = plain.pin_memory().unwrap();
    assert!(copy.is_pinned() && !plain.is_pinned() && copy.pin_memory().unwrap().is(&copy));
    assert!(matches!(numbers(&[1.0], there).pin_memory(), Err(Error::OnDevice { .. })));
    assert_eq!(values(&copy.add(2.0).unwrap()), [3.0, 3.0]);
}
