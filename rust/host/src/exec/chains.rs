//! Which nodes of a graph share a stream when it is replayed.

use interlock_driver::DeviceIndex;

use crate::object::graph::Node;

/// A graph cut into chains: what is in one lane would run one after the other anyway, and what could run at
/// the same time is in different ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamAssignment {
    /// The lane of each node.
    pub(crate) of: Vec<usize>,
    /// For whose work each lane is: a device and a priority.
    pub(crate) kinds: Vec<(DeviceIndex, i32)>,
}

/// Assigns each node to a chain whose last node it comes after, or else to a new one.
pub(crate) fn assign(nodes: &[Node]) -> StreamAssignment {
    let mut lanes = StreamAssignment::default();
    // How long each lane is, and its last node.
    let mut ends: Vec<(usize, usize)> = Vec::new();
    // For each node, how much of each lane is over once it is.
    let mut over: Vec<Vec<usize>> = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        let mut before = vec![0; ends.len()];
        for counts in node.after.iter().filter_map(|place| over.get(*place)) {
            before.iter_mut().zip(counts).for_each(|(most, count)| *most = (*most).max(*count));
        }
        let kind = (node.device, node.priority);
        let fits = |lane: &usize| {
            lanes.kinds.get(*lane) == Some(&kind)
                && ends.get(*lane).map(|(length, _)| length) == before.get(*lane)
        };
        let follows = |lane: &usize| ends.get(*lane).is_some_and(|(_, last)| node.after.contains(last));
        let fitting = || (0..ends.len()).filter(fits);
        let lane = fitting().find(follows).or_else(|| fitting().next()).unwrap_or(ends.len());
        if lane == ends.len() {
            ends.push((0, place));
            before.push(0);
            lanes.kinds.push(kind);
        }
        if let (Some(end), Some(count)) = (ends.get_mut(lane), before.get_mut(lane)) {
            *end = (end.0 + 1, place);
            *count = end.0;
        }
        lanes.of.push(lane);
        over.push(before);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::command::Task;
    use interlock_driver::HostFn;

    fn node(device: DeviceIndex, after: &[usize]) -> Node {
        let task = Task::Launch(HostFn::new("nothing", || Ok(())));
        Node { task, device, priority: 0, after: after.to_vec() }
    }

    #[test]
    fn a_chain_is_one_lane() {
        let lanes = assign(&[node(0, &[]), node(0, &[0]), node(0, &[1])]);
        assert_eq!(lanes, StreamAssignment { of: vec![0, 0, 0], kinds: vec![(0, 0)] });
    }

    #[test]
    fn branches_are_lanes_of_their_own_and_what_follows_both_reuses_them() {
        let fork_and_join = [node(0, &[]), node(0, &[0]), node(0, &[0]), node(0, &[1, 2])];
        let again = [node(0, &[3]), node(0, &[3])];
        let lanes = assign(&[&fork_and_join[..], &again[..]].concat());
        assert_eq!(lanes.of[1..3], [0, 1]);
        assert_eq!(lanes.kinds.len(), 2);
        assert_ne!(lanes.of[4], lanes.of[5]);
    }

    #[test]
    fn a_lane_has_one_device() {
        let lanes = assign(&[node(0, &[]), node(1, &[0]), node(0, &[1])]);
        assert_eq!(lanes, StreamAssignment { of: vec![0, 1, 0], kinds: vec![(0, 0), (1, 0)] });
    }
}
