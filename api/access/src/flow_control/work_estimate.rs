//! The work of a request, estimated before it runs: how many seats it takes while it runs, and what
//! its watchers cost after it (KEP-1040).
//!
//! Pure. Not here: how many objects and watchers there are; the filters of requests count them.

use std::time::Duration;

/// The most seats that one request takes.
pub const MAX_REQUEST_SEATS: u32 = 10;
/// Objects that a list looks at for each of its seats.
pub const OBJECTS_PER_SEAT: u32 = 100;
/// Watchers that are told of a write, for each seat that it takes afterwards.
const WATCHERS_PER_SEAT: u32 = 10;
/// How long telling those takes.
const TELLING: Duration = Duration::from_millis(5);

/// The estimated work of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkEstimate {
    /// Seats while it runs.
    pub initial_seats: u32,
    /// Seats after it, for as long as `additional_latency` says.
    pub final_seats: u32,
    /// How long its seats stay occupied after it.
    pub additional_latency: Duration,
}

impl WorkEstimate {
    /// A request that takes one seat while it runs.
    pub const ONE_SEAT: Self =
        Self { initial_seats: 1, final_seats: 0, additional_latency: Duration::ZERO };

    /// A list, or the start of a watch, that looks at so many objects.
    #[must_use]
    pub fn of_list(objects: usize, widest: u32) -> Self {
        let objects = u32::try_from(objects).unwrap_or(u32::MAX);
        let seats = objects.div_ceil(OBJECTS_PER_SEAT).clamp(1, widest.max(1));
        Self { initial_seats: seats, ..Self::ONE_SEAT }
    }

    /// A write of which so many watchers are told. What telling them costs may be narrower and
    /// longer than it is in fact, but is as much.
    #[must_use]
    pub fn of_write(watchers: usize, widest: u32) -> Self {
        let watchers = u32::try_from(watchers).unwrap_or(u32::MAX);
        if watchers < WATCHERS_PER_SEAT {
            return Self::ONE_SEAT;
        }
        let seats = watchers.div_ceil(WATCHERS_PER_SEAT);
        let final_seats = seats.min(widest.max(1));
        Self {
            final_seats,
            additional_latency: TELLING.saturating_mul(seats) / final_seats,
            ..Self::ONE_SEAT
        }
    }

    /// Seats that have to be free for it.
    #[must_use]
    pub fn max_seats(self) -> u32 {
        self.initial_seats.max(self.final_seats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_takes_a_seat_for_each_hundred_objects() {
        let check = |objects, widest, expect| {
            let estimate = WorkEstimate::of_list(objects, widest);
            assert_eq!(estimate, WorkEstimate { initial_seats: expect, ..WorkEstimate::ONE_SEAT });
        };
        check(0, 10, 1);
        check(100, 10, 1);
        check(101, 10, 2);
        check(1000, 10, 10);
        check(usize::MAX, 10, 10);
        check(1000, 3, 3);
        check(1000, 0, 1);
    }

    #[test]
    fn a_write_takes_seats_for_its_watchers() {
        let check = |watchers, widest, (seats, millis): (u32, u64)| {
            let estimate = WorkEstimate::of_write(watchers, widest);
            let expect = (1, seats, Duration::from_millis(millis));
            let WorkEstimate { initial_seats, final_seats, additional_latency } = estimate;
            assert_eq!((initial_seats, final_seats, additional_latency), expect, "{watchers}");
        };
        check(0, 10, (0, 0));
        check(9, 10, (0, 0));
        check(10, 10, (1, 5));
        check(11, 10, (2, 5));
        check(100, 10, (10, 5));
        check(1000, 10, (10, 50));
        check(100, 1, (1, 50));
    }
}
