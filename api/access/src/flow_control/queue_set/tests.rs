//! Tests of the queue set: what becomes of single arrivals, fairness among flows, and that no
//! sequence of events loses a seat.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

use super::*;

const MS: u64 = 1_000_000;

fn queuing(queues: u32, hand_size: u32, queue_length_limit: u32) -> LimitResponse {
    LimitResponse::Queue(Queuing { queues, hand_size, queue_length_limit })
}

fn wide(seats: u32) -> WorkEstimate {
    WorkEstimate { initial_seats: seats, ..WorkEstimate::ONE_SEAT }
}

/// A generator of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn estimate(&mut self) -> WorkEstimate {
        WorkEstimate {
            initial_seats: 1 + self.below(6) as u32,
            final_seats: self.below(4) as u32,
            additional_latency: Duration::from_millis(self.below(4)),
        }
    }
}

#[test]
fn arrivals_execute_wait_or_are_rejected() {
    // `e`, `w`, `q` and `c` for executing, waiting, and rejected by a full queue or the limit.
    let check = |response, limit, widths: &[u32], expect: &str| {
        let mut set = QueueSet::<()>::new(response, limit, 0);
        let outcome = |seats: &u32| match set.arrive(0, 0, wide(*seats), || ()).0 {
            Arrival::Executing(_) => 'e',
            Arrival::Waiting(_) => 'w',
            Arrival::Rejected(RejectReason::QueueFull) => 'q',
            Arrival::Rejected(_) => 'c',
        };
        let outcomes: String = widths.iter().map(outcome).collect();
        assert_eq!(outcomes, expect, "{response:?} {limit} {widths:?}");
    };
    check(LimitResponse::Exempt, 0, &[1, 10, 1], "eee");
    check(LimitResponse::Reject, 2, &[1, 1, 1], "eec");
    check(LimitResponse::Reject, 3, &[2, 2, 1], "ece");
    check(LimitResponse::Reject, 0, &[1, 1], "ec");
    check(queuing(1, 1, 2), 2, &[1, 1, 1, 1, 1], "eewwq");
    check(queuing(4, 2, 1), 1, &[1, 1, 1, 1], "ewwq");
    // What is wider than the level executes alone.
    check(queuing(1, 1, 2), 2, &[5, 1], "ew");
    check(queuing(1, 1, 2), 2, &[1, 5, 1], "eww");
    check(queuing(1, 1, 2), 0, &[1, 1], "ew");
}

#[test]
fn a_wide_request_waits_for_its_seats_and_is_not_overtaken_for_ever() {
    let mut set = QueueSet::new(queuing(1, 1, 9), 3, 0);
    let arrive = |set: &mut QueueSet<u8>, name, seats| set.arrive(0, 0, wide(seats), || name).0;
    assert_eq!(arrive(&mut set, 0, 2), Arrival::Executing(Some(0)));
    assert!(matches!(arrive(&mut set, 1, 3), Arrival::Waiting(_)));
    assert!(matches!(arrive(&mut set, 2, 1), Arrival::Waiting(_)));
    set.finish(MS, Some(0), wide(2), 0);
    assert_eq!(set.release(MS, Some(0), wide(2)).as_slice(), [1]);
    set.finish(2 * MS, Some(0), wide(3), MS);
    assert_eq!(set.release(2 * MS, Some(0), wide(3)).as_slice(), [2]);
}

#[test]
fn what_leaves_its_queue_makes_room() {
    let mut set = QueueSet::new(queuing(1, 1, 9), 2, 0);
    set.arrive(0, 0, wide(1), || 0);
    let (Arrival::Waiting(first), _) = set.arrive(0, 0, wide(2), || 1) else { panic!() };
    let (Arrival::Waiting(second), _) = set.arrive(0, 0, wide(1), || 2) else { panic!() };
    // The one behind it fits.
    assert_eq!(set.cancel(0, first, false).unwrap().as_slice(), [2]);
    assert!(set.cancel(0, first, false).is_none() && set.cancel(0, second, false).is_none());
    for _ in 0..2 {
        set.finish(0, Some(0), wide(1), 0);
        assert!(set.release(0, Some(0), wide(1)).is_empty());
    }
    assert!(set.is_idle());
}

#[test]
fn a_change_of_the_configuration_keeps_what_waits() {
    let mut set = QueueSet::new(queuing(8, 1, 9), 1, 0);
    for hash in 0..8 {
        set.arrive(0, hash, wide(1), || hash);
    }
    assert_eq!((set.totals().executing, set.totals().waiting), (1, 7));
    assert_eq!(set.configure(0, LimitResponse::Reject, 3).len(), 2);
    let (arrival, _) = set.arrive(0, 9, wide(1), || 9);
    assert_eq!(arrival, Arrival::Rejected(RejectReason::ConcurrencyLimit));
    assert_eq!(set.configure(0, queuing(2, 1, 9), 4).len(), 1);
    assert_eq!(set.configure(0, LimitResponse::Exempt, 0).len(), 4);
    for queue in 0..8 {
        set.finish(MS, Some(queue), wide(1), 0);
        set.release(MS, Some(queue), wide(1));
    }
    assert!(set.is_idle());
    assert_eq!(set.queues.len(), 0, "those that are not wanted any more are gone");
}

#[test]
fn seats_stay_in_use_until_they_are_released() {
    let estimate = WorkEstimate {
        final_seats: 2,
        additional_latency: Duration::from_millis(5),
        ..WorkEstimate::ONE_SEAT
    };
    let mut set = QueueSet::new(queuing(1, 1, 9), 2, 0);
    assert_eq!(set.arrive(0, 0, estimate, || 0).0, Arrival::Executing(Some(0)));
    set.finish(MS, Some(0), estimate, 0);
    assert_eq!((set.totals().executing, set.totals().seats_in_use), (0, 2));
    assert!(matches!(set.arrive(MS, 0, wide(1), || 1).0, Arrival::Waiting(_)));
    assert_eq!(set.release(6 * MS, Some(0), estimate).as_slice(), [1]);
}

/// Flows that send their next request when the last one is answered.
struct Simulation {
    set: QueueSet<Request>,
    now_ns: u64,
    /// Requests that execute, by their end, with their queue.
    executing: BinaryHeap<Reverse<(u64, Request, Option<u32>)>>,
    /// The queue of each request that waits or has waited.
    queues: HashMap<u64, u32>,
    sent: u64,
    flows: Vec<FlowFigures>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    id: u64,
    flow: usize,
    seats: u32,
    came_ns: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct FlowFigures {
    served: u64,
    rejected: u64,
    longest_wait_ns: u64,
}

impl Simulation {
    const SERVICE: u64 = 10 * MS;

    fn new(response: LimitResponse, limit: u32, flows: usize) -> Self {
        Self {
            set: QueueSet::new(response, limit, 0),
            now_ns: 0,
            executing: BinaryHeap::new(),
            queues: HashMap::new(),
            sent: 0,
            flows: vec![FlowFigures::default(); flows],
        }
    }

    /// A request of a flow comes.
    fn send(&mut self, flow: usize, seats: u32) {
        // Queues are dealt by what is hashed, in fact; numbers that are spread do the same.
        let hash = (flow as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.sent += 1;
        let request = Request { id: self.sent, flow, seats, came_ns: self.now_ns };
        let (arrival, dispatched) = self.set.arrive(self.now_ns, hash, wide(seats), || request);
        match arrival {
            Arrival::Executing(queue) => self.start(request, queue),
            Arrival::Waiting(ticket) => drop(self.queues.insert(request.id, ticket.queue)),
            Arrival::Rejected(_) => self.flows[flow].rejected += 1,
        }
        self.start_all(dispatched);
    }

    fn start_all(&mut self, dispatched: Dispatched<Request>) {
        for request in dispatched {
            self.start(request, self.queues.get(&request.id).copied());
        }
    }

    fn start(&mut self, request: Request, queue: Option<u32>) {
        let figures = &mut self.flows[request.flow];
        figures.longest_wait_ns = figures.longest_wait_ns.max(self.now_ns - request.came_ns);
        let end = self.now_ns + Self::SERVICE;
        self.executing.push(Reverse((end, request, queue)));
    }

    /// Lets the next request end; gives it.
    fn step(&mut self) -> Request {
        let Reverse((end, request, queue)) = self.executing.pop().expect("something executes");
        self.now_ns = end;
        let estimate = wide(request.seats);
        let dispatched = self.set.finish(end, queue, estimate, end - Self::SERVICE);
        self.start_all(dispatched);
        let dispatched = self.set.release(end, queue, estimate);
        self.flows[request.flow].served += 1;
        self.start_all(dispatched);
        request
    }
}

#[test]
fn a_greedy_flow_does_not_make_the_others_wait() {
    let check = |greedy: usize, greedy_seats: u32, limit: u32, longest_ms: u64| {
        let mut simulation = Simulation::new(queuing(128, 6, 50), limit, 40);
        (0..greedy).for_each(|_| simulation.send(0, greedy_seats));
        (1..40).for_each(|flow| simulation.send(flow, 1));
        while simulation.now_ns < 20_000 * MS {
            let done = simulation.step();
            simulation.send(done.flow, done.seats);
        }
        let others = &simulation.flows[1..];
        let fewest = others.iter().map(|flow| flow.served).min().unwrap();
        let most = others.iter().map(|flow| flow.served).max().unwrap();
        let longest = others.iter().map(|flow| flow.longest_wait_ns / MS).max().unwrap();
        assert!(others.iter().all(|flow| flow.rejected == 0));
        assert!(longest <= longest_ms, "{greedy} {greedy_seats}: {longest} ms");
        assert!(fewest * 3 >= most, "{greedy} {greedy_seats}: {fewest} to {most}");
    };
    // Alone they would wait for 30 ms: 39 requests of 10 ms, ten at a time.
    check(1, 1, 10, 60);
    check(200, 1, 10, 120);
    check(200, 5, 10, 400);
}

#[test]
fn two_flows_in_queues_of_their_own_are_served_alike() {
    let check = |seats: [u32; 2], counts: [usize; 2], expect: f64| {
        let mut simulation = Simulation::new(queuing(128, 1, 500), 6, 2);
        for flow in 0..2 {
            (0..counts[flow]).for_each(|_| simulation.send(flow, seats[flow]));
        }
        while simulation.now_ns < 30_000 * MS {
            let done = simulation.step();
            simulation.send(done.flow, done.seats);
        }
        let [first, second] = [simulation.flows[0].served, simulation.flows[1].served];
        let ratio = first as f64 / second as f64;
        assert!((ratio / expect - 1.0).abs() < 0.1, "{seats:?} {counts:?}: {ratio}");
    };
    check([1, 1], [20, 20], 1.0);
    check([1, 1], [200, 10], 1.0);
    // A flow is served by seats times time, not by requests.
    check([2, 1], [20, 20], 0.5);
    check([3, 1], [100, 20], 1.0 / 3.0);
}

/// What a model knows of the requests in a queue set.
#[derive(Default)]
struct Model {
    executing: Vec<(Option<u32>, WorkEstimate, u64)>,
    ended: Vec<(Option<u32>, WorkEstimate)>,
    waiting: VecDeque<(usize, Ticket, WorkEstimate)>,
}

impl Model {
    /// What waited executes now.
    fn start(&mut self, dispatched: Dispatched<usize>, now_ns: u64) {
        for name in dispatched {
            let at = self.waiting.iter().position(|waiting| waiting.0 == name).unwrap();
            let (_, ticket, estimate) = self.waiting.remove(at).unwrap();
            self.executing.push((Some(ticket.queue), estimate, now_ns));
        }
    }

    #[track_caller]
    fn check(&self, set: &QueueSet<usize>) {
        let held = self.executing.iter().map(|request| request.1);
        let held = held.chain(self.ended.iter().map(|request| request.1));
        let totals = set.totals();
        let counts = (self.executing.len() as u32, self.waiting.len() as u32);
        assert_eq!((totals.executing, totals.waiting), counts);
        assert_eq!(totals.seats_in_use, held.map(WorkEstimate::max_seats).sum::<u32>());
        let waiting = self.waiting.iter().map(|request| request.2.max_seats()).sum::<u32>();
        assert_eq!(totals.seats_waiting, waiting);
        let active = set.queues.iter().filter(|queue| !queue.is_idle()).count();
        assert_eq!(set.active_queues() as usize, active);
        let in_queues: usize = set.queues.iter().map(|queue| queue.waiting.len()).sum();
        assert_eq!(in_queues, self.waiting.len());
        // Whatever is next does not fit: no seat is left idle.
        let next = set.next_queue().and_then(|at| set.queues[at as usize].waiting.front());
        assert!(next.is_none_or(|next| !set.has_room(next.estimate.max_seats())));
    }
}

#[test]
fn no_sequence_of_events_loses_a_seat() {
    for seed in 0..150 {
        let mut numbers = Numbers(seed);
        let mut set = QueueSet::new(queuing(8, 3, 4), 5, 0);
        let (mut model, mut now_ns) = (Model::default(), 0);
        for name in 0..400_usize {
            now_ns += numbers.below(2) * numbers.below(5 * MS);
            match numbers.below(8) {
                0..=2 => {
                    let estimate = numbers.estimate();
                    let (arrival, dispatched) =
                        set.arrive(now_ns, numbers.below(1 << 30), estimate, || name);
                    match arrival {
                        Arrival::Executing(queue) => {
                            model.executing.push((queue, estimate, now_ns))
                        }
                        Arrival::Waiting(ticket) => {
                            model.waiting.push_back((name, ticket, estimate))
                        }
                        Arrival::Rejected(_) => {}
                    }
                    model.start(dispatched, now_ns);
                }
                3 | 4 if !model.executing.is_empty() => {
                    let at = numbers.below(model.executing.len() as u64) as usize;
                    let (queue, estimate, started_ns) = model.executing.swap_remove(at);
                    let dispatched = set.finish(now_ns, queue, estimate, started_ns);
                    model.ended.push((queue, estimate));
                    model.start(dispatched, now_ns);
                }
                5 if !model.waiting.is_empty() => {
                    let at = numbers.below(model.waiting.len() as u64) as usize;
                    let (_, ticket, _) = model.waiting.remove(at).unwrap();
                    let dispatched = set.cancel(now_ns, ticket, true).expect("it waits");
                    model.start(dispatched, now_ns);
                }
                6 if numbers.below(6) == 0 => {
                    let (queues, limit) = (1 + numbers.below(12) as u32, numbers.below(9) as u32);
                    let response = match numbers.below(5) {
                        0 => LimitResponse::Reject,
                        1 => LimitResponse::Exempt,
                        _ => queuing(queues, queues.min(3), 4),
                    };
                    let dispatched = set.configure(now_ns, response, limit);
                    model.start(dispatched, now_ns);
                }
                _ if !model.ended.is_empty() => {
                    let (queue, estimate) = model.ended.pop().unwrap();
                    let dispatched = set.release(now_ns, queue, estimate);
                    model.start(dispatched, now_ns);
                }
                _ => {}
            }
            model.check(&set);
        }
        loop {
            let dispatched = if let Some((queue, estimate, started_ns)) = model.executing.pop() {
                model.ended.push((queue, estimate));
                set.finish(now_ns, queue, estimate, started_ns)
            } else if let Some((queue, estimate)) = model.ended.pop() {
                set.release(now_ns, queue, estimate)
            } else {
                break;
            };
            model.start(dispatched, now_ns);
        }
        assert!(model.waiting.is_empty() && set.is_idle(), "seed {seed}");
        assert_eq!(set.totals(), Totals::default(), "seed {seed}");
    }
}
