//! The priority levels and flow schemas that every cluster has.

use quorate_meta::{Map, Names, Value, well_known};

use super::object::{BootstrapObject, list, spec};
use quorate_meta::flow_control as mandatory;

/// A limited level: its name, shares, percent that others may borrow, and queues with the size of a
/// hand.
type PriorityLevel = (&'static str, i64, i64, (i64, i64));

/// All levels but the mandatory ones.
const LEVELS: [PriorityLevel; 6] = [
    ("global-default", 20, 50, (128, 6)),
    ("leader-election", 10, 0, (16, 4)),
    ("node-high", 40, 25, (64, 6)),
    ("system", 30, 33, (64, 6)),
    ("workload-high", 40, 50, (128, 6)),
    ("workload-low", 100, 90, (128, 6)),
];
/// Requests that wait in one queue.
const QUEUE_LENGTH: i64 = 50;

const USER: &str = "User";
const GROUP: &str = "Group";
const BY_USER: &str = "ByUser";

/// The requests that a schema matches: all, or those of these rules.
enum RequestMatch {
    Everything,
    Resources(Vec<Map>),
    Paths(&'static [&'static str]),
}

/// Every level and schema.
pub(super) fn objects(names: &Names) -> Vec<BootstrapObject> {
    let mut objects = Vec::new();
    for name in mandatory::NAMES {
        // How much the exempt level has and lends is up to its administrators.
        let creates_only = name == mandatory::EXEMPT;
        let own_level = mandatory::level(name)
            .map(|own| BootstrapObject { creates_only, ..level(names, name, own) });
        objects.extend(own_level);
        objects.extend(mandatory::schema(name).map(|own| flow_schema(names, name, own)));
    }
    objects.extend(LEVELS.iter().map(|(name, shares, lendable, queues)| {
        level(names, name, limited(*shares, *lendable, *queues))
    }));
    objects.extend(schemas(names));
    objects
}

fn wanted(names: &Names, plural: &'static str, name: &str, own: Map) -> BootstrapObject {
    let autoupdate = format!("apf.{}", names.domain_key("autoupdate-spec"));
    BootstrapObject {
        group: "flowcontrol.apiserver",
        plural,
        name: name.to_owned(),
        metadata: spec("annotations", one(&autoupdate, "true")),
        fields: spec("spec", own),
        // Of all but the mandatory ones, specs that users have taken over stay.
        autoupdate_annotation: (!mandatory::NAMES.contains(&name)).then_some(autoupdate),
        creates_only: false,
    }
}

fn one(key: &str, value: impl Into<Value>) -> Map {
    let mut map = Map::new();
    map.insert(key, value);
    map
}

fn level(names: &Names, name: &str, own: Map) -> BootstrapObject {
    wanted(names, "prioritylevelconfigurations", name, own)
}

fn flow_schema(names: &Names, name: &str, own: Map) -> BootstrapObject {
    wanted(names, "flowschemas", name, own)
}

fn limited(shares: i64, lendable: i64, (queues, hand): (i64, i64)) -> Map {
    let queuing =
        Map::from([("queues", queues), ("handSize", hand), ("queueLengthLimit", QUEUE_LENGTH)]);
    let response = Map::from([("type", Value::from("Queue")), ("queuing", queuing.into())]);
    let limited = Map::from([
        ("nominalConcurrencyShares", Value::from(shares)),
        ("lendablePercent", lendable.into()),
        ("limitResponse", response.into()),
    ]);
    Map::from([("type", Value::from("Limited")), ("limited", limited.into())])
}

fn schemas(names: &Names) -> Vec<BootstrapObject> {
    let mut schemas = schemas_of_all_users(names);
    schemas.extend(schemas_of_the_control_plane(names));
    schemas.extend(schemas_of_nodes(names));
    schemas
}

fn schemas_of_all_users(names: &Names) -> Vec<BootstrapObject> {
    let all_users = || {
        vec![
            subject(GROUP, well_known::GROUP_UNAUTHENTICATED),
            subject(GROUP, well_known::GROUP_AUTHENTICATED),
        ]
    };
    let accounts = vec![subject(GROUP, well_known::GROUP_SERVICE_ACCOUNTS)];
    let probes = RequestMatch::Paths(&["/healthz", "/readyz", "/livez"]);
    let any = || RequestMatch::Everything;
    let schema = |name, level, precedence, by, subjects, matched| {
        flow_schema(names, name, schema_spec(level, precedence, by, subjects, matched))
    };
    vec![
        schema("global-default", "global-default", 9900, BY_USER, all_users(), any()),
        schema("probes", "exempt", 2, "", all_users(), probes),
        schema("service-accounts", "workload-low", 9000, BY_USER, accounts, any()),
    ]
}

fn schemas_of_the_control_plane(names: &Names) -> Vec<BootstrapObject> {
    let (manager, scheduler) = ("kube-controller-manager", "kube-scheduler");
    let system = |name: &str| subject(USER, &format!("system:{name}"));
    let accounts = || account(names.namespace_system);
    let own_accounts = format!("{}-service-accounts", names.namespace_system);
    let mut election = leases(names);
    election.insert("verbs", list(&["get", "create", "update"]));
    let workload = |name: &str, precedence, subjects| {
        let any = RequestMatch::Everything;
        let spec = schema_spec("workload-high", precedence, "ByNamespace", subjects, any);
        flow_schema(names, name, spec)
    };
    let electors = vec![system(manager), system(scheduler), accounts()];
    let election = RequestMatch::Resources(vec![election]);
    let election = schema_spec("leader-election", 100, BY_USER, electors, election);
    vec![
        workload(manager, 800, vec![system(manager)]),
        workload(scheduler, 800, vec![system(scheduler)]),
        workload(&own_accounts, 900, vec![accounts()]),
        flow_schema(names, "system-leader-election", election),
    ]
}

fn schemas_of_nodes(names: &Names) -> Vec<BootstrapObject> {
    let nodes = || vec![subject(GROUP, well_known::GROUP_NODES)];
    let status = resources(&[""], names, &["nodes", "nodes/status"], &["*"], true);
    let heartbeats = RequestMatch::Resources(vec![status, leases(names)]);
    let high = schema_spec("node-high", 400, BY_USER, nodes(), heartbeats);
    let rest = schema_spec("system", 500, BY_USER, nodes(), RequestMatch::Everything);
    vec![flow_schema(names, "system-node-high", high), flow_schema(names, "system-nodes", rest)]
}

fn leases(names: &Names) -> Map {
    resources(&["coordination"], names, &["leases"], &["*"], false)
}

fn schema_spec(
    level: &str,
    precedence: i64,
    by: &str,
    subjects: Vec<Map>,
    matched: RequestMatch,
) -> Map {
    let subjects = Value::List(subjects.into_iter().map(Value::Map).collect());
    let rule = match matched {
        RequestMatch::Everything => mandatory::everything(subjects),
        RequestMatch::Resources(rules) => {
            let rules = Value::List(rules.into_iter().map(Value::Map).collect());
            Map::from([("subjects", subjects), ("resourceRules", rules)])
        }
        RequestMatch::Paths(urls) => {
            let paths = Value::from([("verbs", list(&["get"])), ("nonResourceURLs", list(urls))]);
            Map::from([("subjects", subjects), ("nonResourceRules", Value::List(vec![paths]))])
        }
    };
    let mut own = Map::from([
        ("priorityLevelConfiguration", Value::Map(one("name", level))),
        ("matchingPrecedence", precedence.into()),
        ("rules", Value::List(vec![rule.into()])),
    ]);
    if !by.is_empty() {
        own.insert("distinguisherMethod", one("type", by));
    }
    own
}

fn resources(
    groups: &[&str],
    names: &Names,
    resources: &[&str],
    verbs: &[&str],
    cluster: bool,
) -> Map {
    let groups: Vec<String> = groups.iter().map(|group| names.group(group)).collect();
    let mut rule = Map::from([
        ("verbs", list(verbs)),
        ("apiGroups", list(&groups)),
        ("resources", list(resources)),
        ("namespaces", list(&["*"])),
    ]);
    if cluster {
        rule.insert("clusterScope", true);
    }
    rule
}

fn subject(kind: &str, name: &str) -> Map {
    let mut subject = one("kind", kind);
    subject.insert(kind.to_lowercase(), one("name", name));
    subject
}

fn account(namespace: &str) -> Map {
    let account = Map::from([("namespace", namespace), ("name", "*")]);
    Map::from([("kind", Value::from("ServiceAccount")), ("serviceAccount", account.into())])
}
