//! An operation whose kernel obeys a flag of Python. interlock itself has no kernel that obeys it.

use interlock::backends::flags::MIOPEN_IMMEDIATE;
use interlock::dispatch::{Call, FlagRequirement, Kernel, NoKernel, Op, Operation};

/// Returns the name of the kernel instead of a result.
struct Convolution;

impl Operation for Convolution {
    const NAME: &'static str = "convolution";
    type Call = String;
    type Args<'a> = ();
    type Out = &'static str;
    type Error = NoKernel;
}

static REQUIREMENTS: [FlagRequirement; 1] = [FlagRequirement::on(&MIOPEN_IMMEDIATE)];
static CONVOLUTION: Op<Convolution> = Op::new(&[Kernel::new("native", |_, _, ()| Ok("native"))]);

/// Registers a kernel that runs while `miopen.immediate` is on.
pub(crate) fn register() -> interlock::Result<()> {
    CONVOLUTION.register(Kernel::new("miopen", |_, _, ()| Ok("miopen")).requires(&REQUIREMENTS))
}

/// Returns the choice for a call on this thread now.
pub(crate) fn explain() -> Call {
    CONVOLUTION.explain(&"float32".to_owned())
}
