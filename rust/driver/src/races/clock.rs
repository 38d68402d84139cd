//! Vector clocks.

/// What makes accesses one after the other: the program's threads, which are one actor, or a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Actor(usize);

impl Actor {
    /// The threads of the program. What one of them does follows what another was observed to do before, because they
    /// order themselves by locks and queues that the detector does not see.
    pub const HOST: Actor = Actor(0);

    /// Returns the actor after this one.
    pub fn next(self) -> Actor {
        Actor(self.0 + 1)
    }
}

/// For each actor, how much of its work has happened before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VectorClock(Vec<u64>);

impl VectorClock {
    /// Returns the time of an actor.
    pub fn time_of(&self, actor: Actor) -> u64 {
        self.0.get(actor.0).copied().unwrap_or(0)
    }

    /// Advances an actor's time, and returns it.
    pub fn tick(&mut self, actor: Actor) -> u64 {
        if self.0.len() <= actor.0 {
            self.0.resize(actor.0 + 1, 0);
        }
        self.0.get_mut(actor.0).map_or(0, |time| {
            *time += 1;
            *time
        })
    }

    /// Includes everything that another clock includes.
    pub fn join(&mut self, other: &VectorClock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(time, other)| *time = (*time).max(*other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_includes_both_clocks() {
        let (first, second) = (Actor::HOST.next(), Actor::HOST.next().next());
        let (mut one, mut other) = (VectorClock::default(), VectorClock::default());
        assert_eq!((one.tick(first), one.tick(first), other.tick(second)), (1, 2, 1));
        one.join(&other);
        assert_eq!([Actor::HOST, first, second].map(|actor| one.time_of(actor)), [0, 2, 1]);
        other.join(&one);
        assert_eq!(one, other);
    }
}
