//! An operation of one's own: a dot product with two kernels that obey flags, with records and explanations.
//!
//! It uses neither tensors nor devices, so the crate without default features is enough.

use std::error::Error;

use interlock::backends::flags::MKLDNN_ENABLED;
use interlock::backends::{Node, Precision};
use interlock::dispatch::{
    FlagRequirement, Kernel, KernelError, NoKernel, Numerics, Op, Operation, Reason, Recording,
};

/// The dot product of two slices.
struct Dot;

impl Operation for Dot {
    const NAME: &'static str = "dot";
    /// The choice depends on the length.
    type Call = usize;
    type Args<'a> = (&'a [f32], &'a [f32]);
    type Out = f32;
    type Error = NoKernel;
}

/// The first kernel that accepts a call runs it.
static DOT: Op<Dot> = Op::new(&[
    Kernel::<Dot>::new("blocks", blocks)
        .requires(&[FlagRequirement::on(&MKLDNN_ENABLED)])
        .node(Node::MkldnnMatmul)
        .condition(|length| match length % 4 {
            0 => Ok(()),
            _ => Err(Reason::from(format!("needs a multiple of 4 elements, got {length}"))),
        }),
    Kernel::<Dot>::new("native", native),
]);

/// Rounds the inputs as the node of the kernel requests, and adds four products at a time. It reads no flag.
fn blocks(_: &usize, numerics: Numerics, (a, b): &(&[f32], &[f32])) -> Result<f32, KernelError<NoKernel>> {
    let product = |(x, y): (&f32, &f32)| numerics.inputs.round(*x) * numerics.inputs.round(*y);
    let sum = |(a, b): (&[f32], &[f32])| a.iter().zip(b).map(product).sum::<f32>();
    Ok(a.chunks(4).zip(b.chunks(4)).map(sum).sum())
}

fn native(_: &usize, _: Numerics, (a, b): &(&[f32], &[f32])) -> Result<f32, KernelError<NoKernel>> {
    Ok(a.iter().zip(*b).map(|(x, y)| x * y).sum())
}

fn dot(a: &[f32], b: &[f32]) -> Result<f32, NoKernel> {
    DOT.call(&a.len(), None, &(a, b))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (a, ones) = ([1.0 + 1.0 / 4096.0; 8], [1.0; 8]);
    let recording = Recording::default();
    let guard = recording.guard();
    println!("{}", dot(&a, &ones)?);
    {
        let _precision = Node::MkldnnMatmul.scope(Precision::Bf16)?.guard();
        println!("{}", dot(&a, &ones)?);
        let _enabled = MKLDNN_ENABLED.scope(false)?.guard();
        println!("{}", dot(&a, &ones)?);
    }
    drop(guard);
    recording.calls().iter().for_each(|call| println!("{call}"));
    println!("{}", DOT.explain(&6));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_obeys_the_flags_of_its_first_kernel() -> Result<(), Box<dyn Error>> {
        let (a, ones) = ([1.0 + 1.0 / 4096.0; 4], [1.0; 4]);
        let exact = 4.0 + 4.0 / 4096.0;
        assert_eq!(dot(&a, &ones)?.to_bits(), f32::to_bits(exact));
        let _precision = Node::MkldnnMatmul.scope(Precision::Bf16)?.guard();
        assert_eq!(dot(&a, &ones)?.to_bits(), f32::to_bits(4.0));
        let _enabled = MKLDNN_ENABLED.scope(false)?.guard();
        assert_eq!(dot(&a, &ones)?.to_bits(), f32::to_bits(exact));
        Ok(())
    }
}
