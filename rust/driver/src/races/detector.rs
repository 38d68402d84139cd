//! The state of a session: clocks, shadow memory and the races that were found.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::Point;
use super::access::{Access, AccessKind, Moment, Work};
use super::clock::{Actor, VectorClock};
use super::race::{Race, RaceKey, RacingAccess};
use super::shadow::{Allocation, Shadow};
use crate::StreamHandle;

/// The most races that are kept; further ones are counted only if they are like one of these.
const MAX_RACES: usize = 1000;

/// The state of a session.
pub(super) struct Detector {
    session: u64,
    observers: usize,
    /// What the program has done and waited for.
    program: VectorClock,
    streams: HashMap<StreamHandle, Timeline>,
    last_actor: Actor,
    shadow: Shadow,
    races: Vec<Race>,
    /// The positions of races, by what makes two of them alike.
    known: HashMap<RaceKey, usize>,
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
            last_actor: Actor::HOST,
            shadow: Shadow::default(),
            races: Vec::new(),
            known: HashMap::new(),
        }
    }

    pub fn session(&self) -> u64 {
        self.session
    }

    /// Adds an observer, to which earlier races may be reported again. Returns how many were found.
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

    pub fn races(&self) -> impl Iterator<Item = &Race> {
        self.races.iter()
    }

    /// Returns the order of a stream, which includes what the program did and waited for until now. What it does next
    /// comes after work that this orders.
    fn timeline(&mut self, stream: StreamHandle) -> &mut Timeline {
        let timeline = self.streams.entry(stream).or_insert_with(|| {
            self.last_actor = self.last_actor.next();
            Timeline { actor: self.last_actor, clock: VectorClock::default() }
        });
        timeline.clock.join(&self.program);
        self.program.tick(Actor::HOST);
        timeline
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

    pub fn wait_for_streams(&mut self, is_awaited: impl Fn(StreamHandle) -> bool) {
        for (_, timeline) in self.streams.iter().filter(|(stream, _)| is_awaited(**stream)) {
            self.program.join(&timeline.clock);
        }
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
        let position = self.races.len();
        let position = *self.known.entry(RaceKey::of(first, second)).or_insert(position);
        match self.races.get_mut(position) {
            Some(race) => race.repeat(second),
            None if position < MAX_RACES => self.races.push(Race::new(first, second, allocation)),
            None => (),
        }
    }
}

impl RacingAccess {
    /// Describes an access.
    pub(super) fn of(access: &Access) -> Self {
        RacingAccess { work: access.moment.work.clone(), kind: access.kind, bytes: access.bytes.clone() }
    }
}
