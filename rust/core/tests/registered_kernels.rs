//! Flags of libraries for which interlock has no kernel: they are requirements that a kernel of another crate obeys.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use interlock_core::device::Device;
use interlock_core::dispatch::{FlagRequirement, Kernel, NoKernel, Op, Operation, Reason};
use interlock_core::flags::flags::{
    CUDA_LINALG_LIBRARY, CUDA_MATMUL_PREFER_CUBLASLT_GROUPED_GEMM, CUDA_ROCM_FA_LIBRARY, MIOPEN_IMMEDIATE,
    MKLDNN_ALLOW_TF32, NNPACK_ENABLED,
};
use interlock_core::flags::{LinalgLibrary, RocmFaLibrary, find};

/// Declares operations whose choice depends on the device, and whose result is the name of the kernel.
macro_rules! operations {
    ($($operation:ident = $name:literal;)+) => {$(
        struct $operation;

        impl Operation for $operation {
            const NAME: &'static str = $name;
            type Call = Device;
            type Args<'a> = ();
            type Out = &'static str;
            type Error = NoKernel;
        }
    )+};
}

operations! {
    Convolution = "convolution";
    Attention = "attention";
    Cholesky = "cholesky";
    GroupedProduct = "grouped_mm";
}

fn device(name: &str) -> Device {
    name.parse().unwrap()
}

/// Returns the record of a call, after checking that the kernel of the record runs the call.
fn record<O>(operation: &'static Op<O>, on: &str) -> String
where
    O: for<'a> Operation<Call = Device, Args<'a> = (), Out = &'static str, Error = NoKernel>,
{
    let explained = operation.explain(&device(on));
    assert_eq!(operation.call(&device(on), None, &()).ok(), explained.kernel());
    explained.to_string()
}

fn affects(flag: &str) -> String {
    find(flag).unwrap().affects()
}

fn is_on_hip(call: &Device) -> Result<(), Reason> {
    if call.kind().name() == "hip" { Ok(()) } else { Err(Reason::from(format!("needs hip, got {call}"))) }
}

#[test]
fn miopen_immediate_is_obeyed_by_a_registered_convolution() {
    static REQUIREMENTS: [FlagRequirement; 1] = [FlagRequirement::on(&MIOPEN_IMMEDIATE)];
    static OPERATION: Op<Convolution> = Op::new(&[Kernel::new("native", |_, _, ()| Ok("native"))]);
    let without = "convolutions on ROCm: no effect here, no kernel that obeys it is registered";
    assert_eq!(affects("miopen.immediate"), without);
    let kernel = Kernel::new("miopen", |_, _, ()| Ok("miopen")).requires(&REQUIREMENTS).condition(is_on_hip);
    OPERATION.register(kernel).unwrap();
    assert_eq!(affects("miopen.immediate"), "convolutions on ROCm: obeyed by convolution");
    let refused = "convolution hip:0 -> native | miopen: backends.miopen.immediate is False";
    assert_eq!(record(&OPERATION, "hip:0"), refused);
    let guard = MIOPEN_IMMEDIATE.scope(true).unwrap().guard();
    assert_eq!(record(&OPERATION, "hip:0"), "convolution hip:0 -> miopen | native: behind miopen");
    assert_eq!(record(&OPERATION, "cpu"), "convolution cpu -> native | miopen: needs hip, got cpu");
    drop(guard);
    assert_eq!(record(&OPERATION, "hip:0"), refused);
}

#[test]
fn nnpack_enabled_is_obeyed_by_a_registered_convolution() {
    static REQUIREMENTS: [FlagRequirement; 1] = [FlagRequirement::on(&NNPACK_ENABLED)];
    static OPERATION: Op<Convolution> = Op::new(&[Kernel::new("native", |_, _, ()| Ok("native"))]);
    OPERATION.register(Kernel::new("nnpack", |_, _, ()| Ok("nnpack")).requires(&REQUIREMENTS)).unwrap();
    assert_eq!(affects("nnpack.enabled"), "convolutions on cpu: obeyed by convolution");
    assert_eq!(record(&OPERATION, "cpu"), "convolution cpu -> nnpack | native: behind nnpack");
    let _guard = NNPACK_ENABLED.scope(false).unwrap().guard();
    let refused = "convolution cpu -> native | nnpack: backends.nnpack.enabled is False";
    assert_eq!(record(&OPERATION, "cpu"), refused);
}

#[test]
fn prefer_cublaslt_grouped_gemm_is_obeyed_by_a_registered_product() {
    static REQUIREMENTS: [FlagRequirement; 1] =
        [FlagRequirement::on(&CUDA_MATMUL_PREFER_CUBLASLT_GROUPED_GEMM)];
    static OPERATION: Op<GroupedProduct> = Op::new(&[Kernel::new("native", |_, _, ()| Ok("native"))]);
    OPERATION.register(Kernel::new("cublaslt", |_, _, ()| Ok("cublaslt")).requires(&REQUIREMENTS)).unwrap();
    let flag = "cuda.matmul.prefer_cublaslt_grouped_gemm";
    assert_eq!(affects(flag), "grouped matrix products on cuda: obeyed by grouped_mm");
    let refused = format!("grouped_mm cuda:0 -> native | cublaslt: backends.{flag} is False");
    assert_eq!(record(&OPERATION, "cuda:0"), refused);
    let _guard = CUDA_MATMUL_PREFER_CUBLASLT_GROUPED_GEMM.scope(true).unwrap().guard();
    assert_eq!(record(&OPERATION, "cuda:0"), "grouped_mm cuda:0 -> cublaslt | native: behind cublaslt");
}

#[test]
fn mkldnn_allow_tf32_is_obeyed_by_registered_convolutions() {
    static ON: [FlagRequirement; 1] = [FlagRequirement::on(&MKLDNN_ALLOW_TF32)];
    static OFF: [FlagRequirement; 1] = [FlagRequirement::off(&MKLDNN_ALLOW_TF32)];
    static OPERATION: Op<Convolution> = Op::new(&[Kernel::new("native", |_, _, ()| Ok("native"))]);
    OPERATION.register(Kernel::new("tf32", |_, _, ()| Ok("tf32")).requires(&ON)).unwrap();
    OPERATION.register(Kernel::new("exact", |_, _, ()| Ok("exact")).requires(&OFF)).unwrap();
    assert_eq!(
        affects("mkldnn.allow_tf32"),
        "matrix products and convolutions on xpu: obeyed by convolution"
    );
    let unspecified = "convolution xpu:0 -> native | tf32: backends.mkldnn.allow_tf32 is None, not True | \
                       exact: backends.mkldnn.allow_tf32 is None, not False";
    assert_eq!(record(&OPERATION, "xpu:0"), unspecified);
    let on = MKLDNN_ALLOW_TF32.scope(Some(true)).unwrap().guard();
    let expected =
        "convolution xpu:0 -> tf32 | exact: backends.mkldnn.allow_tf32 is True | native: behind tf32";
    assert_eq!(record(&OPERATION, "xpu:0"), expected);
    drop(on);
    let _off = MKLDNN_ALLOW_TF32.scope(Some(false)).unwrap().guard();
    let expected =
        "convolution xpu:0 -> exact | tf32: backends.mkldnn.allow_tf32 is False | native: behind exact";
    assert_eq!(record(&OPERATION, "xpu:0"), expected);
}

#[test]
fn rocm_fa_library_is_obeyed_by_a_registered_attention() {
    static REQUIREMENTS: [FlagRequirement; 1] = [FlagRequirement::is(&CUDA_ROCM_FA_LIBRARY, "ck")];
    static OPERATION: Op<Attention> = Op::new(&[Kernel::new("math", |_, _, ()| Ok("math"))]);
    let kernel = Kernel::new("ck", |_, _, ()| Ok("ck")).requires(&REQUIREMENTS).condition(is_on_hip);
    OPERATION.register(kernel).unwrap();
    assert!(affects("cuda.rocm_fa_library").ends_with(" on ROCm: obeyed by attention"));
    for library in [RocmFaLibrary::Default, RocmFaLibrary::AOTriton] {
        let _guard = CUDA_ROCM_FA_LIBRARY.scope(library).unwrap().guard();
        let reason = format!("backends.cuda.rocm_fa_library is '{library}', not 'ck'");
        assert_eq!(record(&OPERATION, "hip:0"), format!("attention hip:0 -> math | ck: {reason}"));
    }
    let _guard = CUDA_ROCM_FA_LIBRARY.scope(RocmFaLibrary::Ck).unwrap().guard();
    assert_eq!(record(&OPERATION, "hip:0"), "attention hip:0 -> ck | math: behind ck");
}

#[test]
fn linalg_library_magma_is_obeyed_by_a_registered_decomposition() {
    static REQUIREMENTS: [FlagRequirement; 1] = [FlagRequirement::is(&CUDA_LINALG_LIBRARY, "magma")];
    static OPERATION: Op<Cholesky> = Op::new(&[Kernel::new("native", |_, _, ()| Ok("native"))]);
    OPERATION.register(Kernel::new("magma", |_, _, ()| Ok("magma")).requires(&REQUIREMENTS)).unwrap();
    assert!(affects("cuda.linalg_library").ends_with(" on cuda: obeyed by cholesky"));
    let refused = "cholesky cuda:0 -> native | magma: backends.cuda.linalg_library is 'default', not 'magma'";
    assert_eq!(record(&OPERATION, "cuda:0"), refused);
    let _guard = CUDA_LINALG_LIBRARY.scope(LinalgLibrary::Magma).unwrap().guard();
    assert_eq!(record(&OPERATION, "cuda:0"), "cholesky cuda:0 -> magma | native: behind magma");
}
