//! Synchronization of streams in backward passes.

use std::collections::HashMap;

use interlock::accelerator::{Stream, current_stream};
use interlock::state::ScopeGuard;

use super::edge::Edge;
use super::node::stream_of;
use crate::fallible_alloc::oom_error;
use crate::{Result, Tensor};

/// The streams of one backward pass, with the semantics of PyTorch: the backward function of each node runs on the
/// stream of its forward operation. A consumer waits for the stream on which its gradient was computed. At the end
/// the streams that were current when the pass began wait for the streams of the results.
#[derive(Default)]
pub(super) struct StreamSync {
    /// The stream on which the gradients of each leaf are accumulated, by the id of the leaf: the stream of its first
    /// gradient.
    accumulation_streams: HashMap<usize, Stream>,
    /// Streams whose results the program can access.
    leaf_streams: Vec<Stream>,
}

impl StreamSync {
    /// Makes the stream of the consumer current and makes it wait for the stream that computed the gradient.
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

    /// Makes the stream on which the gradients of a leaf were summed current.
    pub fn enter_leaf_stream(&self, leaf: &Tensor) -> Result<Option<ScopeGuard>> {
        Ok(self.accumulation_streams.get(&leaf.identity()).map(Stream::guard).transpose()?)
    }

    /// Adds the current stream of the device of a gradient that the program can access.
    pub fn record_use(&mut self, gradient: &Tensor) {
        if let Some(stream) = stream_of(gradient) {
            push_unique(&mut self.leaf_streams, &stream);
        }
    }

    /// Makes the current streams wait for the leaf streams. All stream guards of the pass must have been dropped.
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

/// Appends a stream unless it is in the list.
fn push_unique(streams: &mut Vec<Stream>, stream: &Stream) {
    if !streams.contains(stream) {
        streams.push(stream.clone());
    }
}
