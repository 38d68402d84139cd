//! The precision tree: the float32 precision of each backend's operations. Nine nodes are stored in one 64-bit word, so
//! a read is one load and sees all nodes at one moment.

use super::environment;
use super::flag_spec::qualified;
use super::kind::literal;
use super::scope::FlagScope;
use super::write::{SlotWrite, Writes, commit};
use super::{Level, SourceLocation};
use crate::base::invariant::UnwrapOrAssert;
use crate::base::quote::one_of;
use crate::base::sync::RelaxedU64;
use crate::named_enum;
use crate::thread::{self, FlagSlots, Masked, NodeMask, Slot};
use crate::{Error, Result};

named_enum! {
    /// The precision of float32 operations, as a [`Node`] stores or reads it.
    ///
    /// ```
    /// use interlock_core::flags::{Node, Precision};
    ///
    /// Node::Generic.set(Precision::Tf32)?;
    /// assert_eq!(Node::MkldnnConv.get(), Precision::Tf32);
    /// // cuDNN and cuBLAS have no bfloat16 mode for float32 operands.
    /// assert!(Node::CudaMatmul.set(Precision::Bf16).is_err());
    /// // Only matrix products of NVIDIA's libraries emulate float32.
    /// assert!(Node::CudaMatmul.set(Precision::Bfx9).is_ok());
    /// assert!(Node::CudaConv.set(Precision::Bfx9).is_err());
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub enum Precision {
        /// No precision is requested.
        None = 1 => "none",
        /// IEEE 754 single precision.
        Ieee = 2 => "ieee",
        /// TensorFloat-32: a mantissa of 10 bits.
        Tf32 = 3 => "tf32",
        /// bfloat16: a mantissa of 7 bits.
        Bf16 = 4 => "bf16",
        /// Single precision, emulated by nine products of bfloat16 parts of the inputs.
        Bfx9 = 5 => "bfx9",
    }
}

impl Precision {
    /// Returns the precision of a payload; `None` if the node is empty.
    pub(super) fn from_payload(payload: u64) -> Option<Self> {
        debug_assert!(payload <= Precision::Bfx9 as u64, "{payload} is not the payload of a node");
        Self::ALL.into_iter().find(|precision| *precision as u64 == payload)
    }
}

named_enum! {
    /// A node of the precision tree: operations that have a float32 precision of their own.
    ///
    /// ```
    /// use interlock_core::flags::{Node, Precision};
    ///
    /// let guard = Node::CudaMatmul.scope(Precision::Tf32)?.guard();
    /// assert_eq!(Node::CudaMatmul.get(), Precision::Tf32);
    /// drop(guard);
    /// assert_eq!(Node::CudaMatmul.get(), Precision::None);
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub enum Node {
        /// `fp32_precision`
        Generic => "fp32_precision",
        /// `cudnn.fp32_precision`: all operations on NVIDIA devices
        Cuda => "cudnn.fp32_precision",
        /// `mkldnn.fp32_precision`
        Mkldnn => "mkldnn.fp32_precision",
        /// `cuda.matmul.fp32_precision`
        CudaMatmul => "cuda.matmul.fp32_precision",
        /// `cudnn.conv.fp32_precision`
        CudaConv => "cudnn.conv.fp32_precision",
        /// `cudnn.rnn.fp32_precision`
        CudaRnn => "cudnn.rnn.fp32_precision",
        /// `mkldnn.matmul.fp32_precision`
        MkldnnMatmul => "mkldnn.matmul.fp32_precision",
        /// `mkldnn.conv.fp32_precision`
        MkldnnConv => "mkldnn.conv.fp32_precision",
        /// `mkldnn.rnn.fp32_precision`
        MkldnnRnn => "mkldnn.rnn.fp32_precision",
    }
}

/// A node has four bits: three for its payload, and one that is set if the process assigned it.
const NODE_BITS: u64 = 4;
const PAYLOAD_BITS: u64 = 0b0111;
const ASSIGNED: u64 = 0b1000;
/// Set once the environment has been read into the word.
const RESOLVED: u64 = 1 << 63;

static TREE: RelaxedU64 = RelaxedU64::new(0);

impl Node {
    const fn backend(self) -> Node {
        match self {
            Node::Generic => Node::Generic,
            Node::Cuda | Node::CudaMatmul | Node::CudaConv | Node::CudaRnn => Node::Cuda,
            Node::Mkldnn | Node::MkldnnMatmul | Node::MkldnnConv | Node::MkldnnRnn => Node::Mkldnn,
        }
    }

    /// Returns whether this node reads the value of `other` while the nodes between them are empty, or is `other`.
    pub(super) fn inherits_from(self, other: Node) -> bool {
        [self, self.backend(), Node::Generic].contains(&other)
    }

    pub(super) const fn is_of_cuda(self) -> bool {
        matches!(self.backend(), Node::Cuda)
    }

    const fn supports(self, precision: Precision) -> bool {
        match precision {
            Precision::None | Precision::Ieee | Precision::Tf32 => true,
            Precision::Bf16 => !self.is_of_cuda(),
            Precision::Bfx9 => matches!(self, Node::CudaMatmul),
        }
    }

    const fn shift(self) -> u64 {
        self as u64 * NODE_BITS
    }

    /// Returns the bits of the word that belong to this node.
    const fn mask(self) -> u64 {
        (PAYLOAD_BITS | ASSIGNED) << self.shift()
    }

    /// Returns the slot in which layers store this node.
    pub(super) const fn slot(self) -> Slot {
        Slot::Node(NodeMask(self.mask()))
    }

    /// Returns the node of a slot.
    pub(super) fn from_slot(mask: NodeMask) -> Node {
        let node = Node::ALL.into_iter().find(|node| node.mask() == mask.0);
        node.unwrap_or_assert(Node::Generic, "every mask comes from `Node::slot`")
    }

    /// Returns the bits of a word in which this node has this payload.
    pub(super) const fn word_bits(self, payload: u64) -> u64 {
        (payload & PAYLOAD_BITS) << self.shift()
    }

    /// Returns the payload of this node in a word.
    const fn payload_in(self, word: u64) -> u64 {
        (word >> self.shift()) & PAYLOAD_BITS
    }

    /// Returns the active precision on this thread: that of the first non-empty node of this node, its backend and the
    /// generic node.
    #[inline]
    pub fn get(self) -> Precision {
        self.resolved_in(word()).0
    }

    /// Returns whether all of these nodes read `precision`, at one moment.
    #[inline]
    pub(super) fn all_read(nodes: &[Node], precision: Precision) -> bool {
        let word = word();
        if word == RESOLVED {
            // Every node is empty.
            return nodes.iter().all(|node| node.default() == precision);
        }
        nodes.iter().all(|node| node.resolved_in(word).0 == precision)
    }

    /// Assigns a precision to this node only.
    #[track_caller]
    pub fn set(self, precision: Precision) -> Result<()> {
        let new = SlotWrite::Set(self.checked(precision)? as u64);
        commit(&[(self.name(), self.slot(), new)], Some(SourceLocation::caller()))
    }

    /// Returns a scope that sets this node for the thread that enters it. Fails for a precision that the node does not
    /// accept.
    #[track_caller]
    pub fn scope(self, precision: Precision) -> Result<FlagScope> {
        let mut flags = FlagSlots::default();
        flags.add(self.name(), self.slot(), SlotWrite::Set(self.checked(precision)? as u64));
        Ok(FlagScope::from_slots(flags, Some(SourceLocation::caller())))
    }

    fn checked(self, precision: Precision) -> Result<Precision> {
        if self.supports(precision) {
            return Ok(precision);
        }
        let given = format!("'{precision}'");
        Err(Error::FlagValue { name: qualified(self.name()), given, allowed: self.accepted() })
    }

    /// Returns the precision of this node in a word, and the node from which it is inherited.
    pub(super) fn resolved_in(self, word: u64) -> (Precision, Option<Node>) {
        for node in [self, self.backend(), Node::Generic] {
            match Precision::from_payload(node.payload_in(word)) {
                None | Some(Precision::None) => {}
                Some(found) if self.supports(found) => return (found, Some(node)),
                Some(_) => return (Precision::None, Some(node)),
            }
        }
        match self.payload_in(word) {
            0 => (self.default(), None),
            _ => (Precision::None, Some(self)),
        }
    }

    /// Returns the precision of a node if it and the nodes above it are empty.
    pub(super) const fn default(self) -> Precision {
        match self {
            Node::CudaConv | Node::CudaRnn => Precision::Tf32,
            _ => Precision::None,
        }
    }

    /// Returns the node from which this one inherits its precision, or itself; `None` if the default applies.
    pub(super) fn inherited_from(self) -> Option<Node> {
        self.resolved_in(word()).1
    }

    /// Returns the precision with this name, if the node accepts it.
    pub(super) fn precision_named(self, name: &str) -> Option<Precision> {
        name.parse().ok().filter(|precision| self.supports(*precision))
    }

    fn accepted_names(self) -> Vec<&'static str> {
        Precision::ALL.iter().filter(|precision| self.supports(**precision)).map(|one| one.name()).collect()
    }

    /// Returns the accepted values, as a message describes them.
    pub(super) fn accepted(self) -> String {
        one_of(&self.accepted_names())
    }

    /// Returns the type of the value as a Python annotation.
    pub(super) fn annotation(self) -> String {
        literal(&self.accepted_names())
    }

    /// Returns the precision of the innermost layer of this thread that names the node, else the assigned one; `None`
    /// if the node is empty.
    pub(super) fn set_value(self) -> Option<Precision> {
        if let Some(stored) = self.named_in(thread::scoped_tree()) {
            return stored;
        }
        let (stored, level) = self.in_process();
        stored.filter(|_| level == Level::Process)
    }

    /// Returns the precision of the node in layers: `None` if no layer names the node, `Some(None)` if a layer makes it
    /// empty.
    pub(super) fn named_in(self, tree: Masked<u64>) -> Option<Option<Precision>> {
        (tree.mask & self.mask() != 0).then(|| Precision::from_payload(self.payload_in(tree.value)))
    }

    /// Returns the precision in the process and its level.
    pub(super) fn in_process(self) -> (Option<Precision>, Level) {
        let word = process_word();
        let stored = Precision::from_payload(self.payload_in(word));
        let assigned = word & (ASSIGNED << self.shift()) != 0;
        let level = match stored {
            _ if assigned => Level::Process,
            Some(_) => Level::Environment,
            None => Level::Default,
        };
        (stored, level)
    }

    /// Writes the node of the process. The caller holds the lock of [`STORE`](super::store::STORE).
    pub(super) fn set_in_process(self, new: SlotWrite) {
        let bits = match new {
            SlotWrite::Set(payload) => self.word_bits(payload) | ASSIGNED << self.shift(),
            SlotWrite::Clear | SlotWrite::Mask => environment::tree() & self.mask(),
        };
        TREE.set((process_word() & !self.mask()) | bits);
    }

    /// Returns the payload that a layer stores for an unset node: that of the environment.
    pub(super) fn fallback_payload(self) -> u64 {
        self.payload_in(environment::tree())
    }
}

/// Returns the word of all nodes on this thread.
#[inline]
pub(super) fn word() -> u64 {
    let process = process_word();
    if thread::any_flag_layer() { thread::scoped_tree().applied_to(process) } else { process }
}

/// Returns all nodes of the process, as a layer stores them.
pub(super) fn process_tree() -> Masked<u64> {
    let word = process_word();
    Node::ALL.into_iter().fold(Masked::default(), |tree, node| {
        Masked::new(node.mask(), node.word_bits(node.payload_in(word))).over(tree)
    })
}

#[inline]
fn process_word() -> u64 {
    let word = TREE.get();
    if word == 0 { resolve() } else { word }
}

#[cold]
fn resolve() -> u64 {
    TREE.compare_set(0, RESOLVED | environment::tree())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(stored: &[(Node, Precision)]) -> u64 {
        stored.iter().fold(RESOLVED, |word, (node, precision)| word | node.word_bits(*precision as u64))
    }

    #[test]
    fn resolved_in_an_empty_word_returns_the_defaults() {
        for node in Node::ALL {
            let expected = match node {
                Node::CudaConv | Node::CudaRnn => Precision::Tf32,
                _ => Precision::None,
            };
            assert_eq!(node.resolved_in(RESOLVED), (expected, None), "{node:?}");
        }
    }

    #[test]
    fn resolved_in_prefers_the_node_then_its_backend_then_the_generic_node() {
        let word = tree(&[
            (Node::Generic, Precision::Tf32),
            (Node::Mkldnn, Precision::Bf16),
            (Node::MkldnnConv, Precision::Ieee),
        ]);
        assert_eq!(Node::MkldnnConv.resolved_in(word), (Precision::Ieee, Some(Node::MkldnnConv)));
        assert_eq!(Node::MkldnnRnn.resolved_in(word), (Precision::Bf16, Some(Node::Mkldnn)));
        assert_eq!(Node::CudaConv.resolved_in(word), (Precision::Tf32, Some(Node::Generic)));
    }

    #[test]
    fn resolved_in_stops_at_a_precision_that_the_backend_lacks() {
        let word = tree(&[(Node::Generic, Precision::Bf16)]);
        assert_eq!(Node::CudaConv.resolved_in(word).0, Precision::None);
        assert_eq!(Node::Mkldnn.resolved_in(word).0, Precision::Bf16);
    }

    #[test]
    fn bfx9_is_a_value_of_products_on_cuda_only() {
        for node in Node::ALL {
            let scope = node.scope(Precision::Bfx9);
            assert_eq!(scope.is_ok(), node == Node::CudaMatmul, "{node:?}");
            assert_eq!(node.precision_named("bfx9").is_some(), node == Node::CudaMatmul, "{node:?}");
        }
        let word = tree(&[(Node::Generic, Precision::Tf32), (Node::CudaMatmul, Precision::Bfx9)]);
        assert_eq!(Node::CudaMatmul.resolved_in(word), (Precision::Bfx9, Some(Node::CudaMatmul)));
        assert_eq!(Node::CudaConv.resolved_in(word), (Precision::Tf32, Some(Node::Generic)));
    }

    #[test]
    fn resolved_in_with_none_assigned_disables_the_default() {
        let word = tree(&[(Node::CudaConv, Precision::None)]);
        assert_eq!(Node::CudaConv.resolved_in(word).0, Precision::None);
        assert_eq!(Node::CudaRnn.resolved_in(word).0, Precision::Tf32);
    }
}
