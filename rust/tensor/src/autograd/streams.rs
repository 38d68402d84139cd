//! The order between the streams of one backward pass.

use std::collections::HashMap;

use interlock::accelerator::{Stream, current_stream};
use interlock::state::ScopeGuard;

use super::node::{Edge, stream_beside};
use crate::room::out_of_memory;
use crate::{Result, Tensor};

/// Each node goes back on the stream of its operation. A gradient that comes from another stream is waited for
/// there, and at the end the streams that were current when the pass began wait for what was handed out.
#[derive(Default)]
pub(super) struct Streams {
    /// On which stream the gradients of a leaf are added up: that of the first, because the others follow it.
    of_leaves: HashMap<usize, Stream>,
    /// Streams on which something was done that the program will look at.
    ends: Vec<Stream>,
}

impl Streams {
    /// Makes the stream current on which a gradient is received, and has it wait for the one that made it.
    pub fn receive(&mut self, edge: &Edge, gradient: &Tensor) -> Result<Option<ScopeGuard>> {
        let Some(made_on) = stream_beside(gradient) else { return Ok(None) };
        let wanted = match edge {
            Edge::Leaf(leaf) => {
                let needed = self.of_leaves.len().saturating_add(1);
                self.of_leaves.try_reserve(1).map_err(|_| out_of_memory::<(usize, Stream)>(needed))?;
                let first = self.of_leaves.entry(leaf.identity()).or_insert_with(|| made_on.clone());
                note(&mut self.ends, first);
                Some(&*first)
            }
            Edge::Node(_) => edge.stream(),
        };
        let Some(wanted) = wanted.filter(|wanted| **wanted != made_on) else { return Ok(None) };
        wanted.wait_stream(&made_on)?;
        Ok(Some(wanted.guard()?))
    }

    /// The program will look at what the current stream of a gradient's device does with it.
    pub fn used_for(&mut self, gradient: &Tensor) {
        if let Some(stream) = stream_beside(gradient) {
            note(&mut self.ends, &stream);
        }
    }

    /// Has the streams that are current wait for the others; none of the pass may be by now.
    pub fn join(&self) -> Result<()> {
        for end in &self.ends {
            let own = current_stream(Some(end.device()))?;
            if own != *end {
                own.wait_stream(end)?;
            }
        }
        Ok(())
    }
}

fn note(streams: &mut Vec<Stream>, stream: &Stream) {
    if !streams.contains(stream) {
        streams.push(stream.clone());
    }
}
