//! Which vector instructions this CPU has, in the steps that PyTorch's kernels come in.

use crate::base::named_enum;
use once_cell::race::OnceBox;

use crate::base::env;
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
    /// println!("{}: vectors of {vector_bytes} bytes", CpuCapability::get().name());
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum CpuCapability {
        /// Those that every CPU of the architecture has.
        Default => "DEFAULT",
        /// POWER's VSX.
        Vsx => "VSX",
        /// Vectors of IBM Z, from z14 on.
        ZVector => "Z VECTOR",
        /// AVX2 and FMA of x86.
        Avx2 => "AVX2",
        /// AVX-512 of x86, as servers have it since Skylake.
        Avx512 => "AVX512",
        /// Arm's SVE with vectors of 256 bits.
        Sve256 => "SVE256",
    }
}

impl CpuCapability {
    /// The name as `ATEN_CPU_CAPABILITY` has it: `zvector` for `Z VECTOR`.
    fn in_environment(self) -> String {
        self.name().replace(' ', "").to_lowercase()
    }

    /// What kernels of this process may use: what the CPU has, or what the environment lowers it to.
    /// Asked once.
    pub fn get() -> Self {
        asked().capability
    }
}

/// Why the environment's value is ignored; answered once in a process, to whoever asks first.
pub fn cpu_capability_problem() -> Option<&'static str> {
    static UNTOLD: RelaxedU64 = RelaxedU64::new(1);
    asked().problem.as_deref().filter(|_| UNTOLD.take() == 1)
}

struct Asked {
    capability: CpuCapability,
    problem: Option<String>,
}

fn asked() -> &'static Asked {
    // Not a blocking cell: a fork while another thread fills it would leave the child waiting.
    static ASKED: OnceBox<Asked> = OnceBox::new();
    ASKED.get_or_init(|| Box::new(choose(env::read(env::CPU_CAPABILITY).as_deref(), this_cpu_has)))
}

/// The environment may lower what the CPU has. A kernel that the CPU can't run would end the process, so
/// what asks for more is ignored, as is what names nothing.
fn choose(wanted: Option<&str>, has: impl Fn(CpuCapability) -> bool) -> Asked {
    let available = CpuCapability::ALL.into_iter().filter(|capability| has(*capability));
    let available: Vec<_> = available.collect();
    let capability = available.last().copied().unwrap_or(CpuCapability::Default);
    let Some(wanted) = wanted else { return Asked { capability, problem: None } };
    match available.iter().find(|capability| capability.in_environment() == wanted) {
        Some(chosen) => Asked { capability: *chosen, problem: None },
        None => {
            let names: Vec<_> = available.iter().map(|capability| capability.in_environment()).collect();
            let problem = format!(
                "{} is ignored: it takes {} on this CPU, got {wanted:?}",
                env::CPU_CAPABILITY,
                names.join(", ")
            );
            Asked { capability, problem: Some(problem) }
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
        // SAFETY: reads what the kernel told the process when it started.
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
    fn without_a_wish_it_is_the_widest_that_the_cpu_has() {
        assert_eq!(choose(None, on_a_server).capability, Avx512);
        assert_eq!(choose(None, on_a_desktop).capability, Avx2);
        assert_eq!(choose(None, |_| false).capability, Default);
    }

    #[test]
    fn the_environment_lowers() {
        for (wish, capability) in [("avx2", Avx2), ("default", Default), ("avx512", Avx512)] {
            let asked = choose(Some(wish), on_a_server);
            assert_eq!((asked.capability, asked.problem), (capability, None));
        }
    }

    #[test]
    fn what_the_cpu_lacks_and_what_names_nothing_are_ignored_and_told() {
        for wish in ["avx512", "vsx", "AVX2", "bogus", ""] {
            let asked = choose(Some(wish), on_a_desktop);
            assert_eq!(asked.capability, Avx2, "{wish}");
            let problem = asked.problem.unwrap();
            assert!(problem.contains(&format!("{wish:?}")) && problem.contains("default, avx2"), "{problem}");
        }
    }

    #[test]
    fn names_are_as_pytorch_writes_them() {
        let names = CpuCapability::ALL.map(CpuCapability::name);
        assert_eq!(names, ["DEFAULT", "VSX", "Z VECTOR", "AVX2", "AVX512", "SVE256"]);
    }
}
