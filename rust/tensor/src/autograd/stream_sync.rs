//! Synchronization of streams in backward passes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use interlock::accelerator::{Stream, StreamKind, current_stream};
use interlock::state::ScopeGuard;

use crate::error::warn;
use crate::storage::fallible_alloc::try_reserve_one;
use crate::tensor::{Edge, GradFn, Node, stream_of};
use crate::{Error, ErrorKind, Result, Tensor};

/// Whether gradients of a leaf from several streams cause a warning.
static WARNS_OF_MISMATCH: AtomicBool = AtomicBool::new(true);

/// Whether the warning was issued.
static HAS_WARNED: AtomicBool = AtomicBool::new(false);

/// Whether nodes run on the stream that is captured instead of one outside of the capture.
static OVERRIDES_STALE_STREAMS: AtomicBool = AtomicBool::new(false);

/// Sets whether a gradient of a leaf that was computed on another stream than the first one of the pass causes a warning,
/// once in the process: PyTorch's function of this name. The default is true.
pub fn set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) {
    WARNS_OF_MISMATCH.store(enabled, Ordering::Relaxed);
}

/// Returns whether [`set_warn_on_accumulate_grad_stream_mismatch`] has enabled the warning.
#[must_use]
pub fn warns_on_accumulate_grad_stream_mismatch() -> bool {
    WARNS_OF_MISMATCH.load(Ordering::Relaxed)
}

/// Sets what happens if a stream is captured into a graph and a gradient would be passed on to a stream that is not:
/// PyTorch's function of this name. If true, the node of the forward operation runs on the captured stream. If false, the
/// default, a default stream is an error, and others are used as they are.
pub fn set_override_stale_capture_stream(enabled: bool) {
    OVERRIDES_STALE_STREAMS.store(enabled, Ordering::Relaxed);
}

/// Returns what [`set_override_stale_capture_stream`] has set.
#[must_use]
pub fn overrides_stale_capture_stream() -> bool {
    OVERRIDES_STALE_STREAMS.load(Ordering::Relaxed)
}

/// Warns once that the gradients of a leaf were computed on several streams.
fn warn_of_mismatch() {
    if WARNS_OF_MISMATCH.load(Ordering::Relaxed) && !HAS_WARNED.swap(true, Ordering::Relaxed) {
        warn(
            "backward: the gradients of a leaf were computed on several streams, so one stream waits for another; use \
             the leaf on one stream, or call autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)",
        );
    }
}

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
    /// The streams of nodes that run in a capture which does not contain their own stream, by sequence number.
    overridden_streams: HashMap<u64, Stream>,
}

impl StreamSync {
    /// Makes the stream of the consumer current and makes it wait for the stream that computed the gradient.
    pub fn enter_consumer_stream(&mut self, edge: &Edge, gradient: &Tensor) -> Result<Option<ScopeGuard>> {
        let Some(producer) = stream_of(gradient) else { return Ok(None) };
        let consumer = match edge {
            Edge::Leaf(leaf) => {
                try_reserve_one(&mut self.accumulation_streams)?;
                let first =
                    self.accumulation_streams.entry(leaf.identity()).or_insert_with(|| producer.clone());
                push_unique(&mut self.leaf_streams, first);
                if *first != producer {
                    warn_of_mismatch();
                }
                Some(first.clone())
            }
            Edge::Node(grad_fn) => self.stream_of_result(grad_fn, &producer)?,
        };
        let Some(consumer) = consumer.filter(|consumer| *consumer != producer) else { return Ok(None) };
        consumer.wait_stream(&producer)?;
        Ok(Some(consumer.guard()?))
    }

    /// Returns the stream on which a node accumulates the gradient of a result that `producer` has computed.
    fn stream_of_result(&mut self, grad_fn: &GradFn, producer: &Stream) -> Result<Option<Stream>> {
        let Some(own) = self.stream_of_node(&grad_fn.node).cloned() else { return Ok(None) };
        if own == *producer || !producer.is_capturing()? || own.is_capturing()? {
            return Ok(Some(own));
        }
        if OVERRIDES_STALE_STREAMS.load(Ordering::Relaxed) {
            try_reserve_one(&mut self.overridden_streams)?;
            self.overridden_streams.insert(grad_fn.node.sequence, producer.clone());
            return Ok(Some(producer.clone()));
        }
        if own.kind() == StreamKind::Default {
            let message = "its stream is a default stream, which would invalidate the graph that is being captured; run the \
                           forward pass in the capture, or call autograd::set_override_stale_capture_stream(true)";
            return Err(Error::of(grad_fn.node.name(), ErrorKind::Capture, message));
        }
        Ok(Some(own))
    }

    /// Returns the stream on which a node runs: that of the forward operation, unless it was overridden.
    pub fn stream_of_node<'a>(&'a self, node: &'a Node) -> Option<&'a Stream> {
        self.overridden_streams.get(&node.sequence).or(node.stream.as_ref())
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
            if own == *end {
                continue;
            }
            // Work outside of a capture has no order with the work that is captured.
            let crosses_capture = own.is_capturing()? != end.is_capturing()?;
            if !(crosses_capture && OVERRIDES_STALE_STREAMS.load(Ordering::Relaxed)) {
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
