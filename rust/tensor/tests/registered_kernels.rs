//! Kernels of matrix products that another crate registers, and the flag that puts one of them in front. They stay
//! registered until the process exits, so no other test file has them.

// Clippy does not treat test helpers as tests; a panic is their intended way to fail.
#![allow(clippy::unwrap_used)]

use interlock::accelerator::{self, Device, host};
use interlock::backends::flags::CUDA_BLAS_LIBRARY;
use interlock::backends::{BlasLibrary, find};
use interlock::dispatch::{Kernel, Reason};
use interlock_tensor::{DType, MATMUL, Matmul, MatmulCall, Tensor};

fn is_on_device(call: &MatmulCall) -> Result<(), Reason> {
    if call.device() == Device::CPU { Err(Reason::from("needs a device, got cpu")) } else { Ok(()) }
}

#[test]
fn blas_library_ck_prefers_the_registered_kernel_of_this_name() {
    accelerator::use_driver(host::HostDriver::new(host::HostOptions::default()).unwrap()).unwrap();
    let there: Device = "host:0".parse().unwrap();
    let ones = |device| Tensor::ones(&[2, 2], DType::Float32).unwrap().to((DType::Float32, device), false);
    let x = ones(there).unwrap();
    let order = || -> Vec<&str> {
        let explained = x.explain_matmul(&x).unwrap();
        explained.considered.iter().map(|considered| considered.kernel).collect()
    };
    let preferred = CUDA_BLAS_LIBRARY.scope(BlasLibrary::Ck).unwrap();

    let guard = preferred.guard();
    assert_eq!(
        order(),
        ["cublas", "cublaslt", "mkldnn", "onednn", "mkl", "native"],
        "no kernel has the name"
    );
    drop(guard);

    // Their results differ from those of the other kernels.
    let first = Kernel::<Matmul>::new("first", |_, _, args| Ok(args.a.mul(10.0)?));
    MATMUL.register(first.condition(is_on_device)).unwrap();
    let ck = Kernel::<Matmul>::new("ck", |_, _, args| Ok(args.a.mul(20.0)?));
    MATMUL.register(ck.condition(is_on_device)).unwrap();
    let product = |x: &Tensor| x.matmul(x).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(order(), ["first", "ck", "cublas", "cublaslt", "mkldnn", "onednn", "mkl", "native"]);
    assert_eq!(product(&x), [10.0; 4]);
    let _guard = preferred.guard();
    assert_eq!(order(), ["ck", "first", "cublas", "cublaslt", "mkldnn", "onednn", "mkl", "native"]);
    assert_eq!(product(&x), [20.0; 4]);
    let on_cpu = ones(Device::CPU).unwrap();
    assert_eq!(product(&on_cpu), [2.0; 4], "the library is preferred on devices only");
    assert!(find("cuda.blas_library").unwrap().affects().ends_with(": obeyed by matmul"));
}
