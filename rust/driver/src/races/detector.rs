//! The state of a session: clocks, shadow memory and the races that were found.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use super::Point;
use super::access::{Access, AccessKind, Moment, Work};
use super::clock::{Actor, VectorClock};
use super::race::{Race, RaceKey, RacingAccess};
use super::running::PendingCount;
use super::shadow::{Allocation, Shadow};
use crate::{DeviceIndex, StreamHandle};

/// The most pairs of lines whose races are kept for an observer.
const MAX_RACES: usize = 1000;

/// The state of a session.
pub(super) struct Detector {
    session: u64,
    observers: usize,
    /// What the program has done and waited for.
    program: VectorClock,
    streams: HashMap<StreamHandle, Timeline>,
    /// The orders of destroyed streams, with their devices. Their actors are reused.
    ended: Vec<(DeviceIndex, Timeline)>,
    last_actor: Actor,
    shadow: Shadow,
    races: Vec<Race>,
    /// The positions of the races that were found since the last observer began, by what makes two of them alike.
    known: HashMap<RaceKey, usize>,
    pending: PendingCount,
}

/// The order of a stream.
struct Timeline {
    actor: Actor,
    /// What the next task of the stream comes after.
    clock: VectorClock,
}

impl Detector {
    pub fn new(session: u64) -> Self {
        let mut program = VectorClock::default();
        program.tick(Actor::HOST);
        Detector {
            session,
            observers: 0,
            program,
            streams: HashMap::new(),
            ended: Vec::new(),
            last_actor: Actor::HOST,
            shadow: Shadow::default(),
            races: Vec::new(),
            known: HashMap::new(),
            pending: PendingCount::default(),
        }
    }

    pub fn session(&self) -> u64 {
        self.session
    }

    /// Returns the count of the tasks that were queued in this session.
    pub fn pending(&self) -> &PendingCount {
        &self.pending
    }

    /// Adds an observer, to which races that were found before are reported if they occur again. Returns how many were
    /// found.
    pub fn add_observer(&mut self) -> usize {
        self.observers += 1;
        self.known.clear();
        self.races.len()
    }

    /// Removes an observer; returns whether it was the last one.
    pub fn remove_observer(&mut self) -> bool {
        self.observers = self.observers.saturating_sub(1);
        self.observers == 0
    }

    /// Returns the races from a position on, those of a pair of lines as one.
    pub fn races_since(&self, first: usize) -> Vec<Race> {
        let (mut races, mut known) = (Vec::<Race>::new(), HashMap::new());
        for race in self.races.iter().skip(first) {
            match known.entry(race.key()) {
                Entry::Vacant(entry) => {
                    entry.insert(races.len());
                    races.push(race.clone());
                }
                // Found again after another observer began.
                Entry::Occupied(entry) => {
                    if let Some(known) = races.get_mut(*entry.get()) {
                        known.count = known.count.saturating_add(race.count);
                    }
                }
            }
        }
        races
    }

    /// Returns the order of a stream, which includes what the program did and waited for until now. What it does next
    /// comes after work that this orders.
    fn timeline(&mut self, stream: StreamHandle) -> &mut Timeline {
        let timeline = self.streams.entry(stream).or_insert_with(|| {
            let actor = reused_actor(&mut self.ended, &self.program).unwrap_or_else(|| {
                self.last_actor = self.last_actor.next();
                self.last_actor
            });
            Timeline { actor, clock: VectorClock::default() }
        });
        timeline.clock.join(&self.program);
        self.program.tick(Actor::HOST);
        timeline
    }

    /// Ends a stream that is destroyed and whose work has completed.
    pub fn end_stream(&mut self, stream: StreamHandle) {
        self.ended.extend(self.streams.remove(&stream).map(|timeline| (stream.device, timeline)));
    }

    /// Adds work at the end of a stream.
    pub fn queue(&mut self, stream: StreamHandle, work: Work) -> Arc<Moment> {
        let session = self.session;
        let timeline = self.timeline(stream);
        let (actor, time) = (timeline.actor, timeline.clock.tick(timeline.actor));
        Arc::new(Moment { session, actor, time, seen: timeline.clock.clone(), work })
    }

    pub fn end_of(&mut self, stream: StreamHandle) -> VectorClock {
        self.timeline(stream).clock.clone()
    }

    pub fn end_of_device(&self, device: DeviceIndex) -> VectorClock {
        let mut end = VectorClock::default();
        let streams = self.streams.iter().map(|(stream, timeline)| (stream.device, timeline));
        let ended = self.ended.iter().map(|(device, timeline)| (*device, timeline));
        let of_device = streams.chain(ended).filter(|(other, _)| *other == device);
        of_device.for_each(|(_, timeline)| end.join(&timeline.clock));
        end
    }

    pub fn order_after(&mut self, stream: StreamHandle, point: &Point) {
        if let Some(clock) = self.clock_of(point) {
            self.timeline(stream).clock.join(clock);
        }
    }

    pub fn wait_for(&mut self, point: &Point) {
        if let Some(clock) = self.clock_of(point) {
            self.program.join(clock);
        }
    }

    /// Returns the clock of a point of this session.
    fn clock_of<'a>(&self, point: &'a Point) -> Option<&'a VectorClock> {
        point.0.as_deref().filter(|(session, _)| *session == self.session).map(|(_, clock)| clock)
    }

    /// Returns the present of the program's threads.
    pub fn program(&self, work: Work) -> Arc<Moment> {
        let seen = self.program.clone();
        Arc::new(Moment {
            session: self.session,
            actor: Actor::HOST,
            time: seen.time_of(Actor::HOST),
            seen,
            work,
        })
    }

    /// Adds an access of bytes, and the races with earlier ones.
    pub fn access(&mut self, moment: &Arc<Moment>, kind: AccessKind, bytes: Range<usize>) {
        if moment.session == self.session {
            let access = Arc::new(Access { moment: moment.clone(), kind, bytes });
            let mut found = Found { races: &mut self.races, known: &mut self.known, second: &access };
            self.shadow.access(&access, &mut |first, allocation| found.add(first, allocation));
        }
    }

    /// Adds an allocation for a stream, or for the program, and the races with the previous use of the memory.
    pub fn allocate(&mut self, stream: Option<StreamHandle>, work: Work, bytes: Range<usize>) {
        let program_time = self.program.time_of(Actor::HOST);
        let moment = match stream {
            Some(stream) => self.queue(stream, work),
            None => self.program(work),
        };
        let access = Arc::new(Access { moment, kind: AccessKind::Allocation, bytes });
        let mut found = Found { races: &mut self.races, known: &mut self.known, second: &access };
        let allocation = Allocation { access: access.clone(), program_time };
        self.shadow.allocate(&allocation, &mut |first, allocation| found.add(first, allocation));
    }

    /// Adds a release of memory.
    pub fn release(&mut self, work: Work, bytes: Range<usize>) {
        let moment = self.program(work);
        self.shadow.release(&Arc::new(Access { moment, kind: AccessKind::Release, bytes }));
    }

    /// Forgets the accesses of bytes.
    pub fn forget(&mut self, bytes: &Range<usize>) {
        self.shadow.remove(bytes);
    }
}

/// Removes and returns the actor of a stream that has ended and for which the program has waited: all later work follows
/// the work of the stream, as if it were queued on it. A clock has an element for each actor.
fn reused_actor(ended: &mut Vec<(DeviceIndex, Timeline)>, program: &VectorClock) -> Option<Actor> {
    let is_awaited =
        |(_, Timeline { actor, clock }): &(_, Timeline)| program.time_of(*actor) >= clock.time_of(*actor);
    let position = ended.iter().position(is_awaited)?;
    Some(ended.swap_remove(position).1.actor)
}

/// The races of an access.
struct Found<'a> {
    races: &'a mut Vec<Race>,
    known: &'a mut HashMap<RaceKey, usize>,
    second: &'a Access,
}

impl Found<'_> {
    /// Adds a race. The access that was queued first is the first one, whichever ran first.
    fn add(&mut self, first: &Access, allocation: Option<&Arc<Access>>) {
        let queued_at = |access: &Access| access.moment.seen.time_of(Actor::HOST);
        let (first, second) = match queued_at(self.second) < queued_at(first) {
            true => (self.second, first),
            false => (first, self.second),
        };
        let count = self.known.len();
        match self.known.entry(RaceKey::of(first, second)) {
            Entry::Occupied(entry) => {
                if let Some(race) = self.races.get_mut(*entry.get()) {
                    race.repeat(second);
                }
            }
            Entry::Vacant(entry) if count < MAX_RACES => {
                entry.insert(self.races.len());
                self.races.push(Race::new(first, second, allocation));
            }
            Entry::Vacant(_) => (),
        }
    }
}

impl RacingAccess {
    /// Describes an access.
    pub(super) fn of(access: &Access) -> Self {
        RacingAccess { work: access.moment.work.clone(), kind: access.kind, bytes: access.bytes.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queues a write of one byte on a new stream, which then ends, and returns the point after the write.
    fn write_and_end(detector: &mut Detector, raw: u64) -> Point {
        let stream = StreamHandle { device: 0, raw };
        let moment = detector.queue(stream, Work::new("write", Some(stream)));
        detector.access(&moment, AccessKind::Write, 0..1);
        let end = Point(Some(Arc::new((detector.session(), detector.end_of(stream)))));
        detector.end_stream(stream);
        end
    }

    #[test]
    fn streams_that_the_program_awaits_share_an_actor() {
        let mut detector = Detector::new(1);
        for raw in 1..100 {
            let end = write_and_end(&mut detector, raw);
            detector.wait_for(&end);
        }
        assert!(detector.races_since(0).is_empty());
        assert_eq!(detector.last_actor, Actor::HOST.next());
    }

    #[test]
    fn work_of_an_ended_stream_races_until_the_device_is_awaited() {
        let mut detector = Detector::new(1);
        write_and_end(&mut detector, 1);
        write_and_end(&mut detector, 2);
        assert_eq!(detector.races_since(0).len(), 1);
        let end = Point(Some(Arc::new((1, detector.end_of_device(0)))));
        detector.wait_for(&end);
        write_and_end(&mut detector, 3);
        let races = detector.races_since(0);
        assert_eq!(races.iter().map(|race| race.count).sum::<usize>(), 1);
    }
}
