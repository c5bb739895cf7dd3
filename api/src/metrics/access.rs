//! What is counted of authentication and authorization.

use std::time::Duration;

use quorate_access::authentication::User;
use quorate_access::authorization::{Decision, Verdict};
use quorate_meta::Names;
use quorate_meta::well_known::USER_SERVICE_ACCOUNT_PREFIX;
use quorate_metrics::{CounterSeries, HistogramSeries, PairedSeries, Registry};

/// Users who are counted by their names.
const KNOWN_USERS: [&str; 4] = ["admin", "client", "kube_proxy", "kubelet"];
/// How a user is counted whose name looks like an address of electronic mail.
const MAIL: &str = "email_id";
/// How any other user is counted.
const OTHER: &str = "other";

/// The metrics of authentication and authorization.
#[derive(Debug)]
pub(crate) struct AccessMetrics {
    authentication: [Outcome; 3],
    authorization: [Outcome; 4],
    /// The filter of priority and fairness.
    admission: HistogramSeries,
    known: [CounterSeries; KNOWN_USERS.len()],
    default_account: (String, CounterSeries),
    mail: CounterSeries,
    other: CounterSeries,
    certificate_life: HistogramSeries,
}

/// One outcome.
#[derive(Debug)]
struct Outcome {
    count: CounterSeries,
    /// Its own time, and that of the filter.
    duration: PairedSeries,
}

impl Outcome {
    fn ended(&self, took: Duration) {
        self.count.inc();
        self.duration.observe_duration(took);
    }
}

impl AccessMetrics {
    pub(super) fn new(registry: &Registry, names: &Names) -> Self {
        let filters = registry.histogram("apiserver_request_filter_duration_seconds");
        let outcomes = |what: &str, counter: &str| {
            let filter = filters.with([what]);
            let count = registry.counter(counter);
            let duration = registry.histogram(&format!("{what}_duration_seconds"));
            move |result: &str| Outcome {
                count: count.with([result]),
                duration: duration.with([result]).paired_with(&filter),
            }
        };
        let authentication = outcomes("authentication", "authentication_attempts");
        let authorization = outcomes("authorization", "authorization_attempts_total");
        let users = registry.counter("authenticated_user_requests");
        let account = format!("{USER_SERVICE_ACCOUNT_PREFIX}{}:default", names.namespace_system);
        Self {
            authentication: ["success", "failure", "error"].map(authentication),
            authorization: ["allowed", "denied", "no-opinion", "error"].map(authorization),
            admission: filters.with(["priorityandfairness"]),
            known: KNOWN_USERS.map(|name| users.with([name])),
            default_account: (account.clone(), users.with([&account])),
            mail: users.with([MAIL]),
            other: users.with([OTHER]),
            certificate_life: registry
                .histogram("apiserver_client_certificate_expiration_seconds")
                .with([]),
        }
    }

    /// A request has been authenticated as this user.
    pub(crate) fn authenticated(&self, user: &User, took: Duration) {
        self.authentication[0].ended(took);
        let known = KNOWN_USERS.iter().position(|name| *name == user.name);
        match known {
            Some(place) => self.known[place].inc(),
            None if user.name == self.default_account.0 => self.default_account.1.inc(),
            None if user.name.contains('@') => self.mail.inc(),
            None => self.other.inc(),
        }
    }

    /// A request has been refused: for its credentials, or because they could not be checked.
    pub(crate) fn not_authenticated(&self, is_wrong: bool, took: Duration) {
        self.authentication[if is_wrong { 1 } else { 2 }].ended(took);
    }

    /// A certificate that is valid for so long has authenticated a request.
    pub(crate) fn by_certificate(&self, left: Duration) {
        self.certificate_life.observe_duration(left);
    }

    /// The authorizer has decided.
    pub(crate) fn authorized(&self, decision: &Decision, took: Duration) {
        let place = match (decision.outcome().0, decision.verdict) {
            (None, _) => 3,
            (Some(true), _) => 0,
            (Some(false), Verdict::Deny) => 1,
            (Some(false), _) => 2,
        };
        self.authorization[place].ended(took);
    }

    /// The request has its place among those in flight, after so long.
    pub(crate) fn admitted(&self, took: Duration) {
        self.admission.observe_duration(took);
    }
}
