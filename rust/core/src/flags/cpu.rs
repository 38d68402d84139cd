//! The vector instructions of this CPU, in the levels for which PyTorch compiles its kernels.

use crate::named_enum;
use once_cell::race::OnceBox;

use crate::base::env;
use crate::base::quote::quoted;
use crate::base::sync::RelaxedU64;

named_enum! {
    /// The widest vector instructions that kernels may use.
    ///
    /// ```
    /// use interlock_core::flags::CpuCapability;
    ///
    /// let vector_bytes = match CpuCapability::get() {
    ///     CpuCapability::Avx512 => 64,
    ///     CpuCapability::Avx2 | CpuCapability::Sve256 => 32,
    ///     _ => 16,
    /// };
    /// println!("{}: vectors of {vector_bytes} bytes", CpuCapability::get());
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CpuCapability {
        /// The baseline of the architecture.
        Default => "DEFAULT",
        /// POWER's VSX.
        Vsx => "VSX",
        /// The vector facility of IBM Z, from z14 on.
        ZVector => "Z VECTOR",
        /// AVX2 and FMA of x86.
        Avx2 => "AVX2",
        /// AVX-512 (F, VL, BW, DQ) of x86.
        Avx512 => "AVX512",
        /// Arm's SVE with vectors of 256 bits.
        Sve256 => "SVE256",
    }
}

impl CpuCapability {
    /// Returns the name that `ATEN_CPU_CAPABILITY` accepts: `zvector` for `Z VECTOR`.
    fn in_environment(self) -> String {
        self.name().replace(' ', "").to_lowercase()
    }

    /// Returns the capability that kernels of this process may use: that of the CPU, or a lower one that the
    /// environment sets. Detected once.
    pub fn get() -> Self {
        detected().capability
    }
}

/// Returns why the value of `ATEN_CPU_CAPABILITY` is ignored. Returns it once in a process, to the first caller.
pub fn cpu_capability_problem() -> Option<&'static str> {
    static UNREPORTED: RelaxedU64 = RelaxedU64::new(1);
    detected().problem.as_deref().filter(|_| UNREPORTED.take() == 1)
}

struct Detected {
    capability: CpuCapability,
    problem: Option<String>,
}

fn detected() -> &'static Detected {
    // Not a blocking cell: a fork while another thread fills it would block the child.
    static DETECTED: OnceBox<Detected> = OnceBox::new();
    DETECTED.get_or_init(|| Box::new(choose(env::read(env::CPU_CAPABILITY).as_deref(), this_cpu_has)))
}

/// The environment may lower the capability. A kernel that the CPU cannot execute would crash the process, so a higher
/// capability is ignored, as is an unknown name.
fn choose(wanted: Option<&str>, has: impl Fn(CpuCapability) -> bool) -> Detected {
    let available = CpuCapability::ALL.into_iter().filter(|capability| has(*capability));
    let available: Vec<_> = available.collect();
    let capability = available.last().copied().unwrap_or(CpuCapability::Default);
    let Some(wanted) = wanted else { return Detected { capability, problem: None } };
    match available.iter().find(|capability| capability.in_environment() == wanted) {
        Some(chosen) => Detected { capability: *chosen, problem: None },
        None => {
            let names: Vec<_> = available.iter().map(|capability| capability.in_environment()).collect();
            let problem = format!(
                "{} is ignored: it must be {} on this CPU, got {}",
                env::CPU_CAPABILITY,
                names.join(", "),
                quoted(wanted)
            );
            Detected { capability, problem: Some(problem) }
        }
    }
}

fn this_cpu_has(capability: CpuCapability) -> bool {
    capability == CpuCapability::Default || architecture::has(capability)
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
mod architecture {
    use std::arch::is_x86_feature_detected;

    use super::CpuCapability;

    pub(super) fn has(capability: CpuCapability) -> bool {
        let has_fma = is_x86_feature_detected!("fma");
        match capability {
            CpuCapability::Avx2 => has_fma && is_x86_feature_detected!("avx2"),
            CpuCapability::Avx512 => {
                has_fma
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
            }
            _ => false,
        }
    }
}

#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
mod architecture {
    use std::arch::is_aarch64_feature_detected;

    use super::CpuCapability;

    /// From `linux/prctl.h`: the length of this thread's vectors in bytes is in the low 16 bits.
    const PR_SVE_GET_VL: libc::c_int = 51;
    const PR_SVE_VL_LEN_MASK: libc::c_int = 0xffff;

    pub(super) fn has(capability: CpuCapability) -> bool {
        capability == CpuCapability::Sve256
            && is_aarch64_feature_detected!("sve")
            && is_aarch64_feature_detected!("bf16")
            && vector_bytes() == Some(32)
    }

    fn vector_bytes() -> Option<libc::c_int> {
        // SAFETY: this request takes no argument and changes nothing.
        let answer = unsafe { libc::prctl(PR_SVE_GET_VL) };
        (answer >= 0).then_some(answer & PR_SVE_VL_LEN_MASK)
    }
}

#[cfg(all(any(target_arch = "powerpc64", target_arch = "s390x"), target_os = "linux"))]
mod architecture {
    use super::CpuCapability;

    /// From `asm/cputable.h`.
    const PPC_FEATURE_HAS_VSX: libc::c_ulong = 0x80;
    /// From `asm/elf.h`: the second generation of vectors, which has float32.
    const HWCAP_S390_VXE: libc::c_ulong = 0x2000;

    pub(super) fn has(capability: CpuCapability) -> bool {
        let bit = match capability {
            CpuCapability::Vsx if cfg!(target_arch = "powerpc64") => PPC_FEATURE_HAS_VSX,
            CpuCapability::ZVector if cfg!(target_arch = "s390x") => HWCAP_S390_VXE,
            _ => return false,
        };
        // SAFETY: reads the auxiliary vector of the process.
        unsafe { libc::getauxval(libc::AT_HWCAP) & bit != 0 }
    }
}

#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "x86",
    all(any(target_arch = "aarch64", target_arch = "powerpc64", target_arch = "s390x"), target_os = "linux")
)))]
mod architecture {
    pub(super) fn has(_: super::CpuCapability) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::CpuCapability::{Avx2, Avx512, Default};
    use super::*;

    fn on_a_server(capability: CpuCapability) -> bool {
        matches!(capability, Default | Avx2 | Avx512)
    }

    fn on_a_desktop(capability: CpuCapability) -> bool {
        matches!(capability, Default | Avx2)
    }

    #[test]
    fn choose_without_a_variable_returns_the_widest() {
        assert_eq!(choose(None, on_a_server).capability, Avx512);
        assert_eq!(choose(None, on_a_desktop).capability, Avx2);
        assert_eq!(choose(None, |_| false).capability, Default);
    }

    #[test]
    fn choose_lowers_the_capability() {
        for (name, capability) in [("avx2", Avx2), ("default", Default), ("avx512", Avx512)] {
            let detected = choose(Some(name), on_a_server);
            assert_eq!((detected.capability, detected.problem), (capability, None));
        }
    }

    #[test]
    fn choose_ignores_and_reports_unsupported_and_unknown_names() {
        for name in ["avx512", "vsx", "AVX2", "bogus", ""] {
            let detected = choose(Some(name), on_a_desktop);
            assert_eq!(detected.capability, Avx2, "{name}");
            let problem = detected.problem.unwrap();
            assert!(problem.contains(&format!("{name:?}")) && problem.contains("default, avx2"), "{problem}");
        }
    }

    #[test]
    fn cpu_capability_names_are_those_of_pytorch() {
        let names = CpuCapability::ALL.map(CpuCapability::name);
        assert_eq!(names, ["DEFAULT", "VSX", "Z VECTOR", "AVX2", "AVX512", "SVE256"]);
    }
}
