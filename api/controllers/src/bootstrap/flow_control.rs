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
    let all_users = || {
        vec![
            subject(GROUP, well_known::GROUP_UNAUTHENTICATED),
            subject(GROUP, well_known::GROUP_AUTHENTICATED),
        ]
    };
    let (manager, scheduler) = ("kube-controller-manager", "kube-scheduler");
    let system = |name: &str| subject(USER, &format!("system:{name}"));
    let accounts = || account(names.namespace_system);
    let leases = || vec![resources(&["coordination"], names, &["leases"], &["*"], false)];
    let node_rules =
        vec![resources(&[""], names, &["nodes", "nodes/status"], &["*"], true), leases().remove(0)];
    let mut election = leases();
    election[0].insert("verbs", list(&["get", "create", "update"]));
    let nodes = || vec![subject(GROUP, well_known::GROUP_NODES)];
    let own_accounts = format!("{}-service-accounts", names.namespace_system);
    let schema = |name: &str,
                  level: &str,
                  precedence: i64,
                  by: &str,
                  subjects: Vec<Map>,
                  matched: RequestMatch| {
        flow_schema(names, name, schema_spec(level, precedence, by, subjects, matched))
    };
    let (by_user, by_namespace) = ("ByUser", "ByNamespace");
    vec![
        schema(
            "global-default",
            "global-default",
            9900,
            by_user,
            all_users(),
            RequestMatch::Everything,
        ),
        schema(
            manager,
            "workload-high",
            800,
            by_namespace,
            vec![system(manager)],
            RequestMatch::Everything,
        ),
        schema(
            scheduler,
            "workload-high",
            800,
            by_namespace,
            vec![system(scheduler)],
            RequestMatch::Everything,
        ),
        schema(
            &own_accounts,
            "workload-high",
            900,
            by_namespace,
            vec![accounts()],
            RequestMatch::Everything,
        ),
        schema(
            "probes",
            "exempt",
            2,
            "",
            all_users(),
            RequestMatch::Paths(&["/healthz", "/readyz", "/livez"]),
        ),
        schema(
            "service-accounts",
            "workload-low",
            9000,
            by_user,
            vec![subject(GROUP, well_known::GROUP_SERVICE_ACCOUNTS)],
            RequestMatch::Everything,
        ),
        schema(
            "system-leader-election",
            "leader-election",
            100,
            by_user,
            vec![system(manager), system(scheduler), accounts()],
            RequestMatch::Resources(election),
        ),
        schema(
            "system-node-high",
            "node-high",
            400,
            by_user,
            nodes(),
            RequestMatch::Resources(node_rules),
        ),
        schema("system-nodes", "system", 500, by_user, nodes(), RequestMatch::Everything),
    ]
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
