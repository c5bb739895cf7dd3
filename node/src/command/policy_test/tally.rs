//! The tally of a rehearsal: findings by action, source, operation, resource, namespace, user and manager,
//! with examples.
//!
//! Invariant: what is counted is complete, what is kept of it is bounded by the number of different
//! kinds of findings and of examples for each.

use std::collections::BTreeMap;

use quorate_meta::Value;
use serde_json::json;

/// What findings have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FindingKind {
    action: String,
    /// Whether it is about an object that is there, not about a recorded write.
    is_object: bool,
    operation: String,
    resource: String,
    namespace: String,
    user: String,
    manager: String,
}

/// The findings of one kind.
#[derive(Debug, Default)]
struct Findings {
    count: u64,
    examples: Vec<Example>,
}

/// One of them.
#[derive(Debug)]
struct Example {
    name: String,
    message: String,
    /// Of a recorded write.
    revision: String,
    time: String,
}

/// All findings.
#[derive(Debug)]
pub(super) struct Tally {
    examples: usize,
    writes: i64,
    objects: i64,
    oldest: Option<String>,
    missing: i64,
    found: BTreeMap<FindingKind, Findings>,
}

impl Tally {
    /// Nothing yet; of each kind so many examples are kept.
    pub(super) fn new(examples: usize) -> Self {
        let found = BTreeMap::new();
        Self { examples, writes: 0, objects: 0, oldest: None, missing: 0, found }
    }

    /// Adds what a step has found.
    pub(super) fn add(&mut self, step: &Value) {
        let verdicts = step.get("verdicts").and_then(Value::as_list).unwrap_or_default();
        for verdict in verdicts {
            let text = |field: &str| verdict.str_at(&[field]).unwrap_or_default().to_owned();
            let kind = FindingKind {
                action: text("action"),
                is_object: verdict.get("resourceVersion").is_none(),
                operation: text("operation"),
                resource: text("resource"),
                namespace: text("namespace"),
                user: text("user"),
                manager: text("manager"),
            };
            let findings = self.found.entry(kind).or_default();
            findings.count += 1;
            if findings.examples.len() < self.examples {
                let (revision, time) = (text("resourceVersion"), text("time"));
                let (name, message) = (text("name"), text("message"));
                findings.examples.push(Example { name, message, revision, time });
            }
        }
        self.missing += step.get("missing").and_then(Value::as_i64).unwrap_or_default();
        let seen = step.get("writes").and_then(Value::as_i64).unwrap_or_default();
        // Changes have a time, objects have none.
        let is_objects = step.get("oldest").is_none();
        *(if is_objects { &mut self.objects } else { &mut self.writes }) += seen;
        if self.oldest.is_none() {
            self.oldest = step.str_at(&["oldest"]).map(str::to_owned);
        }
    }

    /// How far the rehearsal is.
    pub(super) fn progress(&self) -> String {
        format!("{} recorded writes and {} objects looked at", self.writes, self.objects)
    }

    /// The findings for programs.
    pub(super) fn record(&self) -> serde_json::Value {
        let findings: Vec<_> = self
            .found
            .iter()
            .map(|(kind, findings)| {
                let examples: Vec<_> = findings.examples.iter().map(Example::record).collect();
                json!({
                    "action": kind.action, "of": if kind.is_object { "object" } else { "write" },
                    "operation": kind.operation, "resource": kind.resource,
                    "namespace": kind.namespace, "user": kind.user, "manager": kind.manager,
                    "count": findings.count, "examples": examples,
                })
            })
            .collect();
        json!({
            "writes": self.writes, "objects": self.objects, "oldestWrite": self.oldest,
            "missing": self.missing, "findings": findings,
        })
    }

    /// The findings for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let from = match &self.oldest {
            Some(oldest) => format!(" since {oldest}"),
            None => String::new(),
        };
        let mut lines = vec![format!(
            "{} recorded writes{from} and {} objects looked at; nothing was enforced",
            self.writes, self.objects
        )];
        if self.missing > 0 {
            lines.push(format!(
                "{} transactions in between are not in the archive of this node",
                self.missing
            ));
        }
        if self.found.is_empty() {
            lines.push("no finding".to_owned());
        }
        for (kind, findings) in &self.found {
            let FindingKind { action, is_object, operation, resource, namespace, .. } = kind;
            let what = if *is_object {
                format!("{resource} that are there")
            } else {
                format!("{operation} of {resource}")
            };
            let place =
                if namespace.is_empty() { String::new() } else { format!(" in {namespace}") };
            let by = match (kind.user.as_str(), kind.manager.as_str()) {
                ("", "") => String::new(),
                (user, "") => format!(" by {user}"),
                ("", manager) => format!(" by manager {manager}"),
                (user, manager) => format!(" by {user} (manager {manager})"),
            };
            lines.push(format!("{:>8}  {action:<6}  {what}{place}{by}", findings.count));
            let examples = findings.examples.iter();
            lines.extend(examples.map(Example::line));
        }
        lines
    }
}

impl Example {
    fn record(&self) -> serde_json::Value {
        let mut record = json!({"name": self.name, "message": self.message});
        if !self.revision.is_empty() {
            record["revision"] = json!(self.revision);
            record["time"] = json!(self.time);
        }
        record
    }

    fn line(&self) -> String {
        let Self { name, message, revision, time } = self;
        let when = match revision.as_str() {
            "" => String::new(),
            revision => format!(" at {time}, revision {revision}"),
        };
        format!("{:>18}{name}{when}: {message}", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_counted_by_kind() {
        let mut tally = Tally::new(1);
        let verdict = |name: &str, version: Option<&str>| {
            let mut verdict = json!({
                "action": "Deny", "message": "no", "operation": "CREATE", "resource": "pods",
                "namespace": "n", "name": name, "manager": "kubectl",
            });
            if let Some(version) = version {
                verdict["resourceVersion"] = json!(version);
                verdict["time"] = json!("2026-01-01T00:00:07Z");
                verdict["user"] = json!("ann");
            }
            verdict
        };
        let changes = [verdict("a", Some("7")), verdict("b", Some("8"))];
        tally.add(
            &json!({"writes": 5, "oldest": "2026-01-01T00:00:00Z", "verdicts": changes}).into(),
        );
        tally.add(&json!({"writes": 3, "verdicts": [verdict("a", None)]}).into());
        assert_eq!(
            tally.lines(),
            [
                "5 recorded writes since 2026-01-01T00:00:00Z and 3 objects looked at; nothing was enforced",
                "       2  Deny    CREATE of pods in n by ann (manager kubectl)",
                "                  a at 2026-01-01T00:00:07Z, revision 7: no",
                "       1  Deny    pods that are there in n by manager kubectl",
                "                  a: no",
            ]
        );
        let finding = &tally.record()["findings"][0];
        assert_eq!((&finding["count"], &finding["user"]), (&json!(2), &json!("ann")));
        assert_eq!(finding["examples"][0]["revision"], "7");
        assert_eq!(tally.progress(), "5 recorded writes and 3 objects looked at");
    }

    #[test]
    fn nothing_is_said_of_no_finding() {
        let mut tally = Tally::new(3);
        tally.add(&json!({"writes": 0, "verdicts": []}).into());
        assert_eq!(tally.lines()[1], "no finding");
    }
}
