//! A kernel of scaled-dot-product attention for a single query, as in the generation of text.

use interlock::dispatch::{Kernel, KernelError, Numerics, Reason};
use interlock_tensor::{ATTENTION, Attention, AttentionArgs, AttentionCall, AttentionOut, Error};

/// Registers the kernel. On devices it has the position of `OVERRIDEABLE` in `cuda.sdp_priority`.
pub fn register() -> interlock::Result<()> {
    ATTENTION.register(Kernel::<Attention>::new("one_query", one_query).condition(is_one_query))
}

fn is_one_query(call: &AttentionCall) -> Result<(), Reason> {
    match call.shapes() {
        _ if call.has_mask() || call.is_causal() || call.enable_gqa() => Err(Reason::from("needs no mask")),
        [[.., 1, _], ..] => Ok(()),
        [[.., rows, _], ..] => Err(Reason::from(format!("needs one query, got {rows}"))),
        _ => Err(Reason::from("needs two dimensions")),
    }
}

/// Multiplies rows instead of matrices. Its operations are recorded, so it needs no backward function of its own.
fn one_query(
    _: &AttentionCall,
    _: Numerics,
    args: &AttentionArgs<'_>,
) -> Result<AttentionOut, KernelError<Error>> {
    let scores = args.query.mul(args.key)?.sum(Some(&[-1]), true)?.mul(args.scale)?;
    let shares = scores.softmax(-2)?;
    Ok(shares.mul(args.value)?.sum(Some(&[-2]), true)?.into())
}
