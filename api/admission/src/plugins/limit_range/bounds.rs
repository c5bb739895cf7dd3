//! LimitRange bounds: what is wrong with the requests and limits of a pod or a claim.
//!
//! Invariants: a bound needs a value, so a container without one violates it. Containers are
//! checked one by one, a pod by the sum of its containers without its overhead; a claim has
//! requests only.
//!
//! Not here: the defaults, which are set before.

use quorate_meta::{Quantity, Value};

use super::items;
use crate::plugins::amounts::{self, Amounts};

/// Resources that a pod can set as a whole in place of its containers (KEP-2837).
const OF_PODS: [&str; 2] = ["cpu", "memory"];

/// The bounds for one type (`Container`, `Pod`, `PersistentVolumeClaim`).
struct Bounds<'v> {
    of: &'v str,
    min: Amounts,
    max: Amounts,
    ratio: Amounts,
}

/// The requests and limits of a container, a pod or a claim.
struct Asked {
    requests: Amounts,
    limits: Amounts,
}

/// What is wrong with a pod.
pub(super) fn of_pod(range: &Value, pod: &Value) -> Vec<String> {
    let Some(spec) = pod.get("spec") else {
        return Vec::new();
    };
    let containers =
        ["containers", "initContainers"].into_iter().filter_map(|list| spec.get(list)?.as_list());
    let containers: Vec<Asked> = containers.flatten().map(Asked::by_container).collect();
    let mut problems = Vec::new();
    for bounds in items(range).iter().map(Bounds::of) {
        match bounds.of {
            "Container" => {
                containers.iter().for_each(|asked| problems.extend(bounds.problems(asked)))
            }
            "Pod" => problems.extend(bounds.problems(&Asked::by_pod(spec))),
            _ => {}
        }
    }
    problems
}

/// What is wrong with a claim.
pub(super) fn of_claim(range: &Value, claim: &Value) -> Vec<String> {
    let requests = amounts::at(claim, &["spec", "resources", "requests"]);
    let asked = Asked { requests, limits: Amounts::new() };
    let mut problems = Vec::new();
    for bounds in
        items(range).iter().map(Bounds::of).filter(|bounds| bounds.of == "PersistentVolumeClaim")
    {
        problems.extend(
            bounds.min.iter().filter_map(|(name, least)| bounds.below(name, *least, &asked)),
        );
        problems.extend(
            bounds.max.iter().filter_map(|(name, most)| bounds.requests_above(name, *most, &asked)),
        );
    }
    problems
}

impl Asked {
    fn by_container(container: &Value) -> Self {
        let list = |field: &str| amounts::at(container, &["resources", field]);
        Self { requests: list("requests"), limits: list("limits") }
    }

    fn by_pod(spec: &Value) -> Self {
        let list = |field: &str| {
            let mut all = amounts::of_containers(spec, field);
            let own = amounts::at(spec, &["resources", field]).into_iter();
            all.extend(own.filter(|(name, _)| OF_PODS.contains(&name.as_str())));
            all
        };
        Self { requests: list("requests"), limits: list("limits") }
    }
}

impl<'v> Bounds<'v> {
    /// The bounds of an item of a LimitRange.
    fn of(item: &'v Value) -> Self {
        let list = |field: &str| amounts::at(item, &[field]);
        let of = item.str_at(&["type"]).unwrap_or_default();
        Self { of, min: list("min"), max: list("max"), ratio: list("maxLimitRequestRatio") }
    }

    /// What is wrong with the requests and limits of a container or a pod.
    fn problems(&self, asked: &Asked) -> Vec<String> {
        let below = self.min.iter().filter_map(|(name, least)| self.below(name, *least, asked));
        let above = self.max.iter().filter_map(|(name, most)| self.above(name, *most, asked));
        let apart = self.ratio.iter().filter_map(|(name, most)| self.apart(name, *most, asked));
        below.chain(above).chain(apart).collect()
    }

    fn below(&self, name: &str, least: Quantity, asked: &Asked) -> Option<String> {
        let why = match (asked.requests.get(name), asked.limits.get(name)) {
            (None, _) => ".  No request is specified".to_owned(),
            (Some(request), _) if *request < least => format!(", but request is {request}"),
            (_, Some(limit)) if *limit < least => format!(", but limit is {limit}"),
            _ => return None,
        };
        Some(format!("minimum {name} usage per {} is {least}{why}", self.of))
    }

    fn above(&self, name: &str, most: Quantity, asked: &Asked) -> Option<String> {
        let why = match (asked.requests.get(name), asked.limits.get(name)) {
            (_, None) => ".  No limit is specified".to_owned(),
            (_, Some(limit)) if *limit > most => format!(", but limit is {limit}"),
            (Some(request), _) if *request > most => format!(", but request is {request}"),
            _ => return None,
        };
        Some(format!("maximum {name} usage per {} is {most}{why}", self.of))
    }

    /// What is wrong with the requests of a claim, which has no limits.
    fn requests_above(&self, name: &str, most: Quantity, asked: &Asked) -> Option<String> {
        let why = match asked.requests.get(name) {
            None => ".  No request is specified".to_owned(),
            Some(request) if *request > most => format!(", but request is {request}"),
            Some(_) => return None,
        };
        Some(format!("maximum {name} usage per {} is {most}{why}", self.of))
    }

    /// Whether the limit is too many times the request (`maxLimitRequestRatio`).
    fn apart(&self, name: &str, most: Quantity, asked: &Asked) -> Option<String> {
        let some = |amounts: &Amounts| {
            amounts.get(name).filter(|amount| !amount.is_zero()).copied().map(thousandths)
        };
        let why = match (some(&asked.requests), some(&asked.limits)) {
            (None, _) => "no request is specified or request is 0".to_owned(),
            (_, None) => "no limit is specified or limit is 0".to_owned(),
            (Some(request), Some(limit)) if limit / request * 1000.0 > thousandths(most) => {
                format!("provided ratio is {:.6}", limit / request)
            }
            _ => return None,
        };
        Some(format!("{name} max limit to request ratio per {} is {most}, but {why}", self.of))
    }
}

/// The ratio, with the precision that messages show.
fn thousandths(amount: Quantity) -> f64 {
    amount.millis() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn range(items: serde_json::Value) -> Value {
        json!({"spec": {"limits": items}}).into()
    }

    #[test]
    fn bounds_of_containers() {
        let check = |mut item: serde_json::Value, resources: serde_json::Value, expect: &[&str]| {
            item["type"] = json!("Container");
            let pod = Value::from(
                json!({"spec": {"containers": [{"name": "c", "resources": resources}]}}),
            );
            assert_eq!(of_pod(&range(json!([item])), &pod), expect);
        };
        let both = |request: &str, limit: &str| json!({"requests": {"cpu": request}, "limits": {"cpu": limit}});
        let min = || json!({"min": {"cpu": "50m"}});
        check(min(), both("50m", "1"), &[]);
        check(min(), json!({"requests": {"cpu": "1"}}), &[]);
        check(
            min(),
            both("10m", "20m"),
            &["minimum cpu usage per Container is 50m, but request is 10m"],
        );
        check(
            min(),
            both("50m", "20m"),
            &["minimum cpu usage per Container is 50m, but limit is 20m"],
        );
        check(
            min(),
            json!({"limits": {"cpu": "1"}}),
            &["minimum cpu usage per Container is 50m.  No request is specified"],
        );
        let max = || json!({"max": {"cpu": "1"}});
        check(max(), both("1000m", "1"), &[]);
        check(max(), json!({"limits": {"cpu": "1"}}), &[]);
        check(max(), both("2", "2"), &["maximum cpu usage per Container is 1, but limit is 2"]);
        check(max(), both("2", "1"), &["maximum cpu usage per Container is 1, but request is 2"]);
        check(
            max(),
            json!({"requests": {"cpu": "1"}}),
            &["maximum cpu usage per Container is 1.  No limit is specified"],
        );
        let all = json!({"min": {"cpu": "1", "memory": "1Gi"}, "max": {"memory": "2Gi"}});
        let expect = [
            "minimum cpu usage per Container is 1.  No request is specified",
            "minimum memory usage per Container is 1Gi, but request is 1Mi",
            "maximum memory usage per Container is 2Gi, but limit is 3Gi",
        ];
        check(all, json!({"requests": {"memory": "1Mi"}, "limits": {"memory": "3Gi"}}), &expect);
    }

    #[test]
    fn ratios() {
        let check = |most: &str, request: &str, limit: &str, expect: Option<&str>| {
            let items = json!([{"type": "Container", "maxLimitRequestRatio": {"cpu": most}}]);
            let resources = json!({"requests": {"cpu": request}, "limits": {"cpu": limit}});
            let pod = Value::from(
                json!({"spec": {"initContainers": [{"name": "c", "resources": resources}]}}),
            );
            let said = format!("cpu max limit to request ratio per Container is {most}, but ");
            let expect: Vec<String> = expect.iter().map(|why| format!("{said}{why}")).collect();
            assert_eq!(of_pod(&range(items), &pod), expect);
        };
        check("2", "1", "2", None);
        check("2500m", "2", "5", None);
        check("2", "100m", "1", Some("provided ratio is 10.000000"));
        check("2", "300m", "700m", Some("provided ratio is 2.333333"));
        check("2", "0", "1", Some("no request is specified or request is 0"));
        check("2", "1", "0", Some("no limit is specified or limit is 0"));
        check("2", "", "1", Some("no request is specified or request is 0"));
        check("1", "8Ei", "8Ei", None);
    }

    #[test]
    fn bounds_of_pods() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let items = json!([{"type": "Pod", "max": {"cpu": "3"}}]);
            assert_eq!(of_pod(&range(items), &json!({ "spec": spec }).into()), expect);
        };
        let container = |limit: &str| json!({"name": "c", "resources": {"limits": {"cpu": limit}}});
        check(json!({"containers": [container("1"), container("2")]}), &[]);
        let told = ["maximum cpu usage per Pod is 3, but limit is 4"];
        check(json!({"containers": [container("1"), container("3")]}), &told);
        check(json!({"initContainers": [container("4")], "containers": [container("1")]}), &told);
        check(json!({"containers": [container("3")], "overhead": {"cpu": "1"}}), &[]);
        check(json!({"containers": [container("9")], "resources": {"limits": {"cpu": "2"}}}), &[]);
        check(json!({"containers": [{"name": "c"}], "resources": {"limits": {"cpu": "4"}}}), &told);
        let silent = "maximum cpu usage per Pod is 3.  No limit is specified";
        check(json!({"containers": [{"name": "c"}]}), &[silent]);
    }

    #[test]
    fn bounds_of_claims() {
        let check = |requests: serde_json::Value, expect: &[&str]| {
            let items = json!([{"type": "Pod", "max": {"storage": "1"}},
                {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}]);
            let claim = Value::from(json!({"spec": {"resources": {"requests": requests}}}));
            assert_eq!(of_claim(&range(items), &claim), expect);
        };
        check(json!({"storage": "1Gi"}), &[]);
        check(json!({"storage": "2Gi"}), &[]);
        check(
            json!({"storage": "1Mi"}),
            &["minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"],
        );
        check(
            json!({"storage": "3Gi"}),
            &["maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"],
        );
        let silent = [
            "minimum storage usage per PersistentVolumeClaim is 1Gi.  No request is specified",
            "maximum storage usage per PersistentVolumeClaim is 2Gi.  No request is specified",
        ];
        check(json!({}), &silent);
    }
}
