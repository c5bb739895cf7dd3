//! The mandatory FlowSchemas and PriorityLevelConfigurations of API Priority and Fairness. Every
//! cluster has them with these specifications.

use crate::naming::well_known;
use crate::value::{Map, Value};

/// The name of the priority level that is never queued.
pub const EXEMPT: &str = "exempt";
/// The name of the flow schema that matches every request.
pub const CATCH_ALL: &str = "catch-all";

/// The names; each is that of a priority level and of a flow schema.
pub const NAMES: [&str; 2] = [CATCH_ALL, EXEMPT];

/// The specification of the priority level with this name.
pub fn level(name: &str) -> Option<Map> {
    match name {
        EXEMPT => {
            let exempt = Map::from([("nominalConcurrencyShares", 0), ("lendablePercent", 0)]);
            Some(Map::from([("type", Value::from("Exempt")), ("exempt", exempt.into())]))
        }
        CATCH_ALL => {
            let limited = Map::from([
                ("nominalConcurrencyShares", Value::from(5)),
                ("lendablePercent", 0.into()),
                ("limitResponse", Map::from([("type", "Reject")]).into()),
            ]);
            Some(Map::from([("type", Value::from("Limited")), ("limited", limited.into())]))
        }
        _ => None,
    }
}

/// The specification of the flow schema with this name.
pub fn schema(name: &str) -> Option<Map> {
    let (precedence, groups) = match name {
        EXEMPT => (1, vec![well_known::GROUP_MASTERS]),
        CATCH_ALL => {
            (10_000, vec![well_known::GROUP_UNAUTHENTICATED, well_known::GROUP_AUTHENTICATED])
        }
        _ => return None,
    };
    let subject = |group: &&str| {
        let group = Map::from([("name", *group)]);
        Value::from([("kind", Value::from("Group")), ("group", group.into())])
    };
    let rule = everything(Value::List(groups.iter().map(subject).collect()));
    let mut spec = Map::from([
        ("priorityLevelConfiguration", Value::from([("name", name)])),
        ("matchingPrecedence", precedence.into()),
        ("rules", Value::List(vec![rule.into()])),
    ]);
    if name == CATCH_ALL {
        spec.insert("distinguisherMethod", Map::from([("type", "ByUser")]));
    }
    Some(spec)
}

/// The rule that matches all requests of these subjects.
pub fn everything(subjects: Value) -> Map {
    let all = || Value::List(vec!["*".into()]);
    let resources = Map::from([
        ("verbs", all()),
        ("apiGroups", all()),
        ("resources", all()),
        ("clusterScope", true.into()),
        ("namespaces", all()),
    ]);
    let paths = Map::from([("verbs", all()), ("nonResourceURLs", all())]);
    Map::from([
        ("subjects", subjects),
        ("resourceRules", Value::List(vec![resources.into()])),
        ("nonResourceRules", Value::List(vec![paths.into()])),
    ])
}
