//! The order between the streams of one backward pass.

use std::collections::HashMap;

use interlock::accelerator::{Stream, current_stream};
use interlock::state::ScopeGuard;

use super::node::{Edge, stream_of};
use crate::fallible_alloc::oom_error;
use crate::{Result, Tensor};

/// Each node goes back on the stream of its operation. A gradient that comes from another stream is waited for
/// there, and at the end the streams that were current when the pass began wait for what was handed out.
#[derive(Default)]
pub(super) struct StreamSync {
    /// On which stream the gradients of a leaf are added up: that of the first, because the others follow it.
    accumulation_streams: HashMap<usize, Stream>,
    /// StreamSync on which something was done that the program will look at.
    leaf_streams: Vec<Stream>,
}

impl StreamSync {
    /// Makes the stream current on which a gradient is received, and has it wait for the one that made it.
    pub fn enter_consumer_stream(&mut self, edge: &Edge, gradient: &Tensor) -> Result<Option<ScopeGuard>> {
        let Some(producer) = stream_of(gradient) else { return Ok(None) };
        let consumer = match edge {
            Edge::Leaf(leaf) => {
                let needed = self.accumulation_streams.len().saturating_add(1);
                self.accumulation_streams.try_reserve(1).map_err(|_| oom_error::<(usize, Stream)>(needed))?;
                let first =
                    self.accumulation_streams.entry(leaf.identity()).or_insert_with(|| producer.clone());
                push_unique(&mut self.leaf_streams, first);
                Some(&*first)
            }
            Edge::Node(_) => edge.stream(),
        };
        let Some(consumer) = consumer.filter(|consumer| **consumer != producer) else { return Ok(None) };
        consumer.wait_stream(&producer)?;
        Ok(Some(consumer.guard()?))
    }

    /// The program will look at what the current stream of a gradient's device does with it.
    pub fn record_use(&mut self, gradient: &Tensor) {
        if let Some(stream) = stream_of(gradient) {
            push_unique(&mut self.leaf_streams, &stream);
        }
    }

    /// Has the streams that are current wait for the others; none of the pass may be by now.
    pub fn sync_current_streams(&self) -> Result<()> {
        for end in &self.leaf_streams {
            let own = current_stream(Some(end.device()))?;
            if own != *end {
                own.wait_stream(end)?;
            }
        }
        Ok(())
    }
}

fn push_unique(streams: &mut Vec<Stream>, stream: &Stream) {
    if !streams.contains(stream) {
        streams.push(stream.clone());
    }
}
