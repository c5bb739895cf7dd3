//! The priority levels and flow schemas that every cluster has.

use quorate_meta::{Map, Names, Value, well_known};

use super::{Wanted, list, spec};

/// A limited level: its name, shares, percent that others may borrow, and queues with the size of a hand; none rejects.
type Level = (&'static str, i64, i64, Option<(i64, i64)>);

/// All levels but the one for what is exempt.
const LEVELS: [Level; 7] = [
    ("catch-all", 5, 0, None),
    ("global-default", 20, 50, Some((128, 6))),
    ("leader-election", 10, 0, Some((16, 4))),
    ("node-high", 40, 25, Some((64, 6))),
    ("system", 30, 33, Some((64, 6))),
    ("workload-high", 40, 50, Some((128, 6))),
    ("workload-low", 100, 90, Some((128, 6))),
];
/// Requests that wait in one queue.
const QUEUE_LENGTH: i64 = 50;
/// What is always as it is here; of the rest, specs that users have taken over stay.
const MANDATORY: [&str; 2] = ["catch-all", "exempt"];

const USER: &str = "User";
const GROUP: &str = "Group";

/// What a schema lets through: everything, or what these rules say.
enum Asked {
    Everything,
    Resources(Vec<Map>),
    Paths(&'static [&'static str]),
}

/// Every level and schema.
pub(super) fn objects(names: &Names) -> Vec<Wanted> {
    let mut objects = vec![level(names, "exempt", exempt_level())];
    objects.extend(
        LEVELS.iter().map(|(name, shares, lendable, queues)| level(names, name, limited(*shares, *lendable, *queues))),
    );
    objects.extend(schemas(names));
    objects
}

fn wanted(names: &Names, plural: &'static str, name: &str, own: Map) -> Wanted {
    let autoupdate = format!("apf.{}", names.domain_key("autoupdate-spec"));
    Wanted {
        group: "flowcontrol.apiserver",
        plural,
        name: name.to_owned(),
        metadata: spec("annotations", one(&autoupdate, "true")),
        fields: spec("spec", own),
        kept_while: (!MANDATORY.contains(&name)).then_some(autoupdate),
        creates_only: false,
    }
}

fn one(key: &str, value: impl Into<Value>) -> Map {
    let mut map = Map::new();
    map.insert(key, value);
    map
}

fn level(names: &Names, name: &str, own: Map) -> Wanted {
    wanted(names, "prioritylevelconfigurations", name, own)
}

fn exempt_level() -> Map {
    let exempt = Map::from([("nominalConcurrencyShares", 0), ("lendablePercent", 0)]);
    Map::from([("type", Value::from("Exempt")), ("exempt", exempt.into())])
}

fn limited(shares: i64, lendable: i64, queues: Option<(i64, i64)>) -> Map {
    let response = match queues {
        None => Map::from([("type", Value::from("Reject"))]),
        Some((queues, hand)) => {
            let queuing = Map::from([("queues", queues), ("handSize", hand), ("queueLengthLimit", QUEUE_LENGTH)]);
            Map::from([("type", Value::from("Queue")), ("queuing", queuing.into())])
        }
    };
    let limited = Map::from([
        ("nominalConcurrencyShares", Value::from(shares)),
        ("lendablePercent", lendable.into()),
        ("limitResponse", response.into()),
    ]);
    Map::from([("type", Value::from("Limited")), ("limited", limited.into())])
}

fn schemas(names: &Names) -> Vec<Wanted> {
    let everybody =
        || vec![subject(GROUP, well_known::GROUP_UNAUTHENTICATED), subject(GROUP, well_known::GROUP_AUTHENTICATED)];
    let (manager, scheduler) = ("kube-controller-manager", "kube-scheduler");
    let system = |name: &str| subject(USER, &format!("system:{name}"));
    let accounts = || account(names.namespace_system);
    let leases = || vec![resources(&["coordination"], names, &["leases"], &["*"], false)];
    let node_rules = vec![resources(&[""], names, &["nodes", "nodes/status"], &["*"], true), leases().remove(0)];
    let mut election = leases();
    election[0].insert("verbs", list(&["get", "create", "update"]));
    let nodes = || vec![subject(GROUP, well_known::GROUP_NODES)];
    let own_accounts = format!("{}-service-accounts", names.namespace_system);
    let schema = |name: &str, level: &str, precedence: i64, by: &str, subjects: Vec<Map>, asked: Asked| {
        wanted(names, "flowschemas", name, schema_spec(level, precedence, by, subjects, asked))
    };
    let (by_user, by_namespace) = ("ByUser", "ByNamespace");
    vec![
        schema("catch-all", "catch-all", 10_000, by_user, everybody(), Asked::Everything),
        schema("exempt", "exempt", 1, "", vec![subject(GROUP, well_known::GROUP_MASTERS)], Asked::Everything),
        schema("global-default", "global-default", 9900, by_user, everybody(), Asked::Everything),
        schema(manager, "workload-high", 800, by_namespace, vec![system(manager)], Asked::Everything),
        schema(scheduler, "workload-high", 800, by_namespace, vec![system(scheduler)], Asked::Everything),
        schema(&own_accounts, "workload-high", 900, by_namespace, vec![accounts()], Asked::Everything),
        schema("probes", "exempt", 2, "", everybody(), Asked::Paths(&["/healthz", "/readyz", "/livez"])),
        schema(
            "service-accounts",
            "workload-low",
            9000,
            by_user,
            vec![subject(GROUP, well_known::GROUP_SERVICE_ACCOUNTS)],
            Asked::Everything,
        ),
        schema(
            "system-leader-election",
            "leader-election",
            100,
            by_user,
            vec![system(manager), system(scheduler), accounts()],
            Asked::Resources(election),
        ),
        schema("system-node-high", "node-high", 400, by_user, nodes(), Asked::Resources(node_rules)),
        schema("system-nodes", "system", 500, by_user, nodes(), Asked::Everything),
    ]
}

fn schema_spec(level: &str, precedence: i64, by: &str, subjects: Vec<Map>, asked: Asked) -> Map {
    let subjects = Value::List(subjects.into_iter().map(Value::Map).collect());
    let mut rule = Map::from([("subjects", subjects)]);
    let paths = |verbs: &[&str], urls: &[&str]| {
        Value::List(vec![Map::from([("verbs", list(verbs)), ("nonResourceURLs", list(urls))]).into()])
    };
    match asked {
        Asked::Everything => {
            let all = Map::from([
                ("verbs", list(&["*"])),
                ("apiGroups", list(&["*"])),
                ("resources", list(&["*"])),
                ("clusterScope", true.into()),
                ("namespaces", list(&["*"])),
            ]);
            rule.insert("resourceRules", Value::List(vec![all.into()]));
            rule.insert("nonResourceRules", paths(&["*"], &["*"]));
        }
        Asked::Resources(rules) => {
            rule.insert("resourceRules", Value::List(rules.into_iter().map(Value::Map).collect()));
        }
        Asked::Paths(urls) => {
            rule.insert("nonResourceRules", paths(&["get"], urls));
        }
    }
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

fn resources(groups: &[&str], names: &Names, resources: &[&str], verbs: &[&str], cluster: bool) -> Map {
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
