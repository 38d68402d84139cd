//! The assignment of graph nodes to the streams that replay them.

use interlock_driver::DeviceIndex;

use crate::object::graph::Node;

/// A graph as chains of nodes, each replayed on its own stream. The nodes of a chain depend on each other in order;
/// independent nodes are in different chains.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamAssignment {
    /// The chain of each node.
    pub(crate) chain_of: Vec<usize>,
    /// The device and the priority of the stream of each chain.
    pub(crate) streams: Vec<(DeviceIndex, i32)>,
}

/// Assigns each node to a chain whose last node it depends on, or else to a new chain.
pub(crate) fn assign(nodes: &[Node]) -> StreamAssignment {
    let mut assignment = StreamAssignment::default();
    // The length and the last node of each chain.
    let mut ends: Vec<(usize, usize)> = Vec::new();
    // For each node, the number of nodes of each chain that are complete when it is.
    let mut completed: Vec<Vec<usize>> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let mut before = vec![0; ends.len()];
        for counts in node.after.iter().filter_map(|index| completed.get(*index)) {
            before.iter_mut().zip(counts).for_each(|(most, count)| *most = (*most).max(*count));
        }
        let stream = (node.device, node.priority);
        let fits = |chain: &usize| {
            assignment.streams.get(*chain) == Some(&stream)
                && ends.get(*chain).map(|(length, _)| length) == before.get(*chain)
        };
        let follows = |chain: &usize| ends.get(*chain).is_some_and(|(_, last)| node.after.contains(last));
        let fitting = || (0..ends.len()).filter(fits);
        let chain = fitting().find(follows).or_else(|| fitting().next()).unwrap_or(ends.len());
        if chain == ends.len() {
            ends.push((0, index));
            before.push(0);
            assignment.streams.push(stream);
        }
        if let (Some(end), Some(count)) = (ends.get_mut(chain), before.get_mut(chain)) {
            *end = (end.0 + 1, index);
            *count = end.0;
        }
        assignment.chain_of.push(chain);
        completed.push(before);
    }
    assignment
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::command::Task;
    use interlock_driver::HostFn;

    fn node(device: DeviceIndex, after: &[usize]) -> Node {
        let task = Task::HostFn(HostFn::new("nothing", || Ok(())));
        Node { task, device, priority: 0, after: after.to_vec(), stack: None }
    }

    #[test]
    fn assign_uses_one_stream_for_nodes_in_sequence() {
        let assignment = assign(&[node(0, &[]), node(0, &[0]), node(0, &[1])]);
        assert_eq!(assignment, StreamAssignment { chain_of: vec![0, 0, 0], streams: vec![(0, 0)] });
    }

    #[test]
    fn assign_separates_branches_and_reuses_their_streams_after_a_join() {
        let fork_and_join = [node(0, &[]), node(0, &[0]), node(0, &[0]), node(0, &[1, 2])];
        let again = [node(0, &[3]), node(0, &[3])];
        let assignment = assign(&[&fork_and_join[..], &again[..]].concat());
        assert_eq!(assignment.chain_of[1..3], [0, 1]);
        assert_eq!(assignment.streams.len(), 2);
        assert_ne!(assignment.chain_of[4], assignment.chain_of[5]);
    }

    #[test]
    fn assign_separates_devices() {
        let assignment = assign(&[node(0, &[]), node(1, &[0]), node(0, &[1])]);
        assert_eq!(assignment, StreamAssignment { chain_of: vec![0, 1, 0], streams: vec![(0, 0), (1, 0)] });
    }
}
