//! What is counted of every request: how many, how long, how large.
//!
//! Invariants: a request is counted once, when its answer has ended; the series of one kind of
//! request are found together, by one look-up. What a stream holds until then is one reference.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use quorate_access::request::{RequestInfo, Verb};
use quorate_metrics::{
    Counter, CounterSeries, Gauge, GaugeSeries, Histogram, HistogramSeries, PairedSeries, Registry,
    SeriesMap,
};
use quorate_registry::Resource;
use quorate_registry::release::Release;

use super::labels::{RequestLabels, is_long_running};

/// The part of the server that answers, as metrics name it.
const COMPONENT: &str = "apiserver";

/// The metrics of requests.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    total: Counter<9>,
    duration: Histogram<8>,
    sli: Histogram<7>,
    /// An old name of the same.
    slo: Histogram<7>,
    response_sizes: Histogram<7>,
    body_size: Histogram<3>,
    deprecated: Gauge<5>,
    long_running: Gauge<7>,
    terminations: Counter<8>,
    aborts: Counter<6>,
    own: Counter<4>,
    /// The series of each kind of request, by the labels of the first metric.
    kinds: SeriesMap<Arc<KindOfRequest>>,
}

/// The series of one kind of request.
#[derive(Debug)]
struct KindOfRequest {
    total: CounterSeries,
    duration: HistogramSeries,
    /// Not of a dry run, nor of what goes on as long as its client likes.
    indicators: Option<Indicators>,
    /// Of reads of resources.
    response_sizes: Option<HistogramSeries>,
    /// Of writes of resources.
    body_size: Option<HistogramSeries>,
    long_running: Option<GaugeSeries>,
}

/// The time of a request without what it has waited, under two names.
#[derive(Debug)]
struct Indicators {
    sli: HistogramSeries,
    slo: HistogramSeries,
    /// The time of the request and the first of them: most have not waited.
    at_once: Option<PairedSeries>,
}

/// What is known of a request when its answer begins.
#[derive(Debug)]
pub(crate) struct RequestEnd<'r> {
    pub(crate) info: &'r RequestInfo,
    pub(crate) headers: &'r HeaderMap,
    /// The resource that its path leads to, where that is served.
    pub(crate) resource: Option<&'r Resource>,
    pub(crate) status: StatusCode,
    pub(crate) request_bytes: usize,
    /// The release that removes the API version, where that is deprecated.
    pub(crate) deprecated: Option<Option<Release>>,
    /// Whether the server has ended it to protect itself.
    pub(crate) is_terminated: bool,
    /// Whether an API server has sent it.
    pub(crate) is_own: bool,
    /// The time that it waited, for a seat and for webhooks.
    pub(crate) waited: Duration,
}

/// A request whose answer is being sent; it is counted when this is told its end.
#[derive(Debug)]
pub(crate) struct RequestUnderWay {
    kind: Arc<KindOfRequest>,
    waited: Duration,
}

impl RequestMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            total: registry.counter("apiserver_request_total"),
            duration: registry.histogram("apiserver_request_duration_seconds"),
            sli: registry.histogram("apiserver_request_sli_duration_seconds"),
            slo: registry.histogram("apiserver_request_slo_duration_seconds"),
            response_sizes: registry.histogram("apiserver_response_sizes"),
            body_size: registry.histogram("apiserver_request_body_size_bytes"),
            deprecated: registry.gauge("apiserver_requested_deprecated_apis"),
            long_running: registry.gauge("apiserver_longrunning_requests"),
            terminations: registry.counter("apiserver_request_terminations_total"),
            aborts: registry.counter("apiserver_request_aborts_total"),
            own: registry.counter("apiserver_selfrequest_total"),
            kinds: SeriesMap::default(),
        }
    }

    /// A request has its whole answer, of so many bytes.
    pub(crate) fn ended(&self, end: &RequestEnd<'_>, took: Duration, bytes: u64) {
        let labels = RequestLabels::of(end.info, end.headers, end.resource);
        self.count_rest(end, &labels);
        let key = self.key(end, &labels);
        match self.kinds.get_or_insert(&key, || Arc::new(self.kind(end, &labels, true))) {
            Some(kind) => kind.ended(took, end.waited, bytes, end.request_bytes),
            None => {
                self.kind(end, &labels, false).ended(took, end.waited, bytes, end.request_bytes)
            }
        }
    }

    /// A request has the begin of its answer.
    pub(crate) fn answering(&self, end: &RequestEnd<'_>) -> RequestUnderWay {
        let labels = RequestLabels::of(end.info, end.headers, end.resource);
        self.count_rest(end, &labels);
        let key = self.key(end, &labels);
        let kind = self.kinds.get_or_insert(&key, || Arc::new(self.kind(end, &labels, true)));
        let kind = kind.cloned().unwrap_or_else(|| Arc::new(self.kind(end, &labels, false)));
        if let Some(gauge) = &kind.long_running {
            gauge.add(1.0);
        }
        RequestUnderWay { kind, waited: end.waited }
    }

    /// The client of a request has left before there was an answer.
    pub(crate) fn aborted(
        &self,
        info: &RequestInfo,
        headers: &HeaderMap,
        resource: Option<&Resource>,
    ) {
        let RequestLabels { verb, group, version, resource, subresource, scope, .. } =
            RequestLabels::of(info, headers, resource);
        self.aborts.inc([verb, group, version, resource, subresource, scope]);
    }

    fn key<'k>(&self, end: &'k RequestEnd<'_>, labels: &RequestLabels<'k>) -> [&'k str; 8] {
        let RequestLabels { verb, dry_run, group, version, resource, subresource, scope } = *labels;
        [verb, dry_run, group, version, resource, subresource, scope, end.status.as_str()]
    }

    /// What is counted of few requests.
    fn count_rest(&self, end: &RequestEnd<'_>, labels: &RequestLabels<'_>) {
        let RequestLabels { verb, group, version, resource, subresource, scope, .. } = *labels;
        if let (Some(removed), Some(_)) = (end.deprecated, end.resource) {
            let removed = removed.map(|release| release.to_string());
            let removed = removed.as_deref().unwrap_or_default();
            self.deprecated.set([group, version, resource, subresource, removed], 1.0);
        }
        if end.is_own {
            self.own.inc([verb, group, resource, subresource]);
        }
        if end.is_terminated {
            let code = end.status.as_str();
            let labels = [verb, group, version, resource, subresource, scope, COMPONENT, code];
            self.terminations.inc(labels);
        }
    }

    /// The series of a kind of request; `is_kept` when they are found again for the next one.
    fn kind(
        &self,
        end: &RequestEnd<'_>,
        labels: &RequestLabels<'_>,
        is_kept: bool,
    ) -> KindOfRequest {
        let RequestLabels { verb, dry_run, group, version, resource, subresource, scope } = *labels;
        let seven = [verb, group, version, resource, subresource, scope, COMPONENT];
        let is_resource = end.resource.is_some();
        let is_long = is_resource && is_long_running(end.info);
        let is_read = is_resource && matches!(verb, "GET" | "LIST");
        let body_verb = body_verb(end.info.verb).filter(|_| is_resource);
        let eight = [verb, dry_run, group, version, resource, subresource, scope, COMPONENT];
        let duration = self.duration.with(eight);
        KindOfRequest {
            total: self.total.with([
                verb,
                dry_run,
                group,
                version,
                resource,
                subresource,
                scope,
                COMPONENT,
                end.status.as_str(),
            ]),
            indicators: (dry_run.is_empty() && !is_long).then(|| {
                let (sli, slo) = (self.sli.with(seven), self.slo.with(seven));
                let at_once = is_kept.then(|| duration.paired_with(&sli));
                Indicators { sli, slo, at_once }
            }),
            duration,
            response_sizes: is_read.then(|| self.response_sizes.with(seven)),
            body_size: body_verb.map(|verb| self.body_size.with([group, resource, verb])),
            long_running: is_long.then(|| self.long_running.with(seven)),
        }
    }
}

/// The verb of a request that has a body, as the metric of its size names it.
fn body_verb(verb: Verb) -> Option<&'static str> {
    match verb {
        Verb::Create | Verb::Update | Verb::Patch => Some(verb.name()),
        _ => None,
    }
}

impl KindOfRequest {
    #[expect(clippy::cast_precision_loss, reason = "histograms sum floating-point numbers")]
    fn ended(&self, took: Duration, waited: Duration, bytes: u64, request_bytes: usize) {
        self.total.inc();
        match &self.indicators {
            Some(Indicators { slo, at_once: Some(at_once), .. }) if waited.is_zero() => {
                at_once.observe_duration(took);
                slo.observe_duration(took);
            }
            Some(Indicators { sli, slo, .. }) => {
                let own = took.saturating_sub(waited);
                self.duration.observe_duration(took);
                sli.observe_duration(own);
                slo.observe_duration(own);
            }
            None => self.duration.observe_duration(took),
        }
        if let Some(sizes) = &self.response_sizes {
            sizes.observe(bytes as f64);
        }
        if let Some(sizes) = self.body_size.as_ref().filter(|_| request_bytes > 0) {
            sizes.observe(request_bytes as f64);
        }
    }
}

impl RequestUnderWay {
    /// The answer has ended, after so many bytes.
    pub(crate) fn ended(&self, took: Duration, bytes: u64, request_bytes: usize) {
        if let Some(gauge) = &self.kind.long_running {
            gauge.add(-1.0);
        }
        self.kind.ended(took, self.waited, bytes, request_bytes);
    }
}
