//! Tests of contexts, sampling and recording.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, advance};

use crate::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[test]
fn a_header_is_read_or_ignored() {
    let check = |header: String, expect: Option<bool>| {
        let found = TraceContext::parse(header.as_bytes());
        assert_eq!(found.map(|context| context.is_sampled), expect, "{header}");
        if let Some(context) = found {
            assert_eq!(context.trace.to_string(), TRACE);
            assert_eq!(context.span.to_string(), "00f067aa0ba902b7");
            let flag = if context.is_sampled { "01" } else { "00" };
            assert_eq!(context.header(), format!("00-{TRACE}-00f067aa0ba902b7-{flag}"));
        }
    };
    check(format!("00-{TRACE}-00f067aa0ba902b7-01"), Some(true));
    check(format!("00-{TRACE}-00f067aa0ba902b7-00"), Some(false));
    check(format!("00-{TRACE}-00f067aa0ba902b7-03"), Some(true));
    check(format!("00-{TRACE}-00f067aa0ba902b7-fe"), Some(false));
    check(format!("cc-{TRACE}-00f067aa0ba902b7-01"), Some(true));
    check(format!("cc-{TRACE}-00f067aa0ba902b7-01-what.comes"), Some(true));
    check(format!("cc-{TRACE}-00f067aa0ba902b7-01.what"), None);
    check(format!("00-{TRACE}-00f067aa0ba902b7-01-what"), None);
    check(format!("ff-{TRACE}-00f067aa0ba902b7-01"), None);
    check(format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)), None);
    check(format!("00-{TRACE}-0000000000000000-01"), None);
    check(format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()), None);
    check(format!("00-{TRACE}-00f067aa0ba902b7-0x"), None);
    check(format!("00_{TRACE}-00f067aa0ba902b7-01"), None);
    check(format!("00-{TRACE}-00f067aa0ba902b7-1"), None);
    check(format!("00-{TRACE}é00f067aa0ba902b7-01"), None);
    check(String::new(), None);
}

fn parent(is_sampled: bool) -> TraceContext {
    TraceContext { trace: TraceId(7), span: SpanId(9), is_sampled }
}

#[tokio::test(start_paused = true)]
async fn the_rate_and_the_parent_decide() {
    use ParentSampling::{Honoured, Ignored};
    let check = |per_million, parents, of: Option<bool>, random, expect: Sampling| {
        let options = SamplerOptions { per_million, parents, ..SamplerOptions::default() };
        let found = Sampler::new(options).decide(of.map(parent).as_ref(), random);
        assert_eq!(found, expect, "{per_million} {parents:?} {of:?} {random}");
    };
    check(0, Honoured, None, 0, Sampling::No);
    check(1, Honoured, None, 0, Sampling::ByRate);
    check(1, Honoured, None, 1, Sampling::No);
    check(1000, Honoured, None, 1_000_999, Sampling::ByRate);
    check(1000, Honoured, None, 1_001_000, Sampling::No);
    check(1_000_000, Honoured, None, u64::MAX, Sampling::ByRate);
    check(0, Honoured, Some(true), 5, Sampling::ByParent);
    check(1_000_000, Honoured, Some(false), 5, Sampling::No);
    check(0, Ignored, Some(true), 5, Sampling::No);
    check(1_000_000, Ignored, Some(false), 5, Sampling::ByRate);
}

#[tokio::test(start_paused = true)]
async fn clients_have_so_many_requests_sampled_in_a_second() {
    let sampler = Sampler::new(SamplerOptions::default());
    let sampled = |count: u32| {
        let decide = || sampler.decide(Some(&parent(true)), 1);
        (0..count).filter(|_| decide() == Sampling::ByParent).count()
    };
    assert_eq!(sampled(MAX_PARENT_SAMPLED + 50), MAX_PARENT_SAMPLED as usize);
    advance(Duration::from_millis(999)).await;
    assert_eq!(sampled(1), 0);
    advance(Duration::from_millis(1)).await;
    assert_eq!(sampled(1000), MAX_PARENT_SAMPLED as usize);
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<FinishedTrace>>);

impl TraceSink for Kept {
    fn export(&self, trace: FinishedTrace) {
        self.0.lock().push(trace);
    }
}

/// Runs work in a trace, and gives what was kept of it.
async fn traced(of: Option<TraceContext>, work: impl Future<Output = ()>) -> FinishedTrace {
    let kept = Arc::new(Kept::default());
    let tracer = Tracer::new([3; 16], SamplerOptions::default(), kept.clone());
    let trace = tracer.begin(of.map(ParentSpan::from));
    let begin = Instant::now();
    scope(trace.span().clone(), work).await;
    let root = trace.part("request", begin, Instant::now());
    let parts = vec![trace.part("measured", begin, Instant::now())];
    trace.finish(root, parts);
    let mut traces = kept.0.lock();
    assert_eq!(traces.len(), 1);
    traces.remove(0)
}

fn names(trace: &FinishedTrace) -> Vec<&str> {
    trace.spans.iter().map(|span| &*span.name).collect()
}

#[tokio::test(start_paused = true)]
async fn spans_know_what_they_are_a_part_of() {
    let work = async {
        let inner = std::pin::pin!(async {
            measure("code", || record("past", Instant::now(), Instant::now()));
            tokio::time::sleep(Duration::from_millis(5)).await;
        });
        in_span("step", inner).await;
    };
    let trace = traced(Some(parent(true)), work).await;
    assert_eq!(names(&trace), ["past", "code", "step", "request"]);
    let [past, code, step, request] = &trace.spans[..] else { panic!("{trace:?}") };
    assert_eq!((trace.trace, request.parent), (TraceId(7), Some(SpanId(9))));
    assert!(trace.has_remote_parent);
    assert_eq!(step.parent, Some(request.span));
    assert_eq!(code.parent, Some(step.span));
    assert_eq!(past.parent, Some(code.span));
    assert_eq!(step.end - step.begin, Duration::from_millis(5));
}

#[tokio::test(start_paused = true)]
async fn the_state_of_a_trace_stays_with_it() {
    let state = TraceState::parse([&b"rojo=1"[..]]);
    for is_sampled in [true, false] {
        let kept = Arc::new(Kept::default());
        let tracer = Tracer::new([3; 16], SamplerOptions::default(), kept.clone());
        let (context, state) = (parent(is_sampled), state.clone());
        let trace = tracer.begin(Some(ParentSpan { context, state: state.clone() }));
        trace.span().enter(|| {
            measure("step", || assert_eq!(current().state(), state.as_ref()));
            let recorded = is_sampled.then_some(state.clone());
            assert_eq!(current().recorded().map(|parent| parent.state), recorded);
        });
        drop(trace.late("send"));
        let now = Instant::now();
        let root = trace.part("request", now, now);
        trace.finish(root, Vec::new());
        let traces = kept.0.lock();
        assert!(traces.iter().all(|trace| trace.state == state), "{traces:?}");
        assert_eq!(traces.len(), 2);
    }
}

#[test]
fn no_id_comes_twice() {
    let tracer = Tracer::new([7; 16], SamplerOptions::default(), Arc::new(Kept::default()));
    let mut spans = std::collections::BTreeSet::new();
    for _ in 0..1000 {
        let trace = tracer.begin(None);
        let context = trace.span().context().unwrap();
        let now = Instant::now();
        assert!(spans.insert(context.span.0) && spans.insert(trace.part("p", now, now).span.0));
        assert!(
            spans.insert(context.trace.0 as u64) && spans.insert((context.trace.0 >> 64) as u64)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_sampled_has_the_parts_that_were_measured() {
    let work = async {
        assert!(start("step").is_none());
        assert!(current().context().is_some_and(|context| !context.is_sampled));
    };
    for of in [None, Some(parent(false))] {
        let trace = traced(of, std::pin::pin!(async {})).await;
        assert_eq!(names(&trace), ["measured", "request"]);
    }
    let trace = traced(None, work).await;
    assert_eq!(trace.spans[0].parent, Some(trace.spans[1].span));
    assert_eq!((trace.spans[1].parent, trace.has_remote_parent), (None, false));
}

#[tokio::test(start_paused = true)]
async fn spans_beyond_the_limit_are_counted() {
    let work = async { (0..MAX_SPANS + 3).for_each(|_| measure("one", || ())) };
    let trace = traced(Some(parent(true)), work).await;
    assert_eq!((trace.spans.len(), trace.dropped), (MAX_SPANS + 1, 3));
}

#[test]
fn outside_of_requests_nothing_is_recorded() {
    assert!(start("step").is_none());
    record("past", Instant::now(), Instant::now());
    assert_eq!(current().context(), None);
}

#[test]
fn long_texts_are_cut_between_characters() {
    let check = |text: &str, expect: usize| {
        let AttributeValue::Text(found) = text.into() else { panic!("{text}") };
        assert_eq!(found.len(), expect);
    };
    check("short", 5);
    check(&"x".repeat(300), TRACE_TEXT_BYTES);
    check(&"é".repeat(300), TRACE_TEXT_BYTES);
    check(&format!("x{}", "é".repeat(300)), TRACE_TEXT_BYTES - 1);
}
