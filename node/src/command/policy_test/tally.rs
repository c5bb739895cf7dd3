//! The tally of a rehearsal: findings by action, source, operation, resource, namespace and manager,
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
    manager: String,
}

/// The findings of one kind.
#[derive(Debug, Default)]
struct Findings {
    count: u64,
    /// Name and message.
    examples: Vec<(String, String)>,
}

/// All findings.
#[derive(Debug)]
pub(super) struct Tally {
    examples: usize,
    writes: i64,
    objects: i64,
    oldest: Option<String>,
    found: BTreeMap<FindingKind, Findings>,
}

impl Tally {
    /// Nothing yet; of each kind so many examples are kept.
    pub(super) fn new(examples: usize) -> Self {
        Self { examples, writes: 0, objects: 0, oldest: None, found: BTreeMap::new() }
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
                manager: text("manager"),
            };
            let findings = self.found.entry(kind).or_default();
            findings.count += 1;
            if findings.examples.len() < self.examples {
                findings.examples.push((text("name"), text("message")));
            }
        }
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
                let examples: Vec<_> = findings
                    .examples
                    .iter()
                    .map(|(name, message)| json!({"name": name, "message": message}))
                    .collect();
                json!({
                    "action": kind.action, "of": if kind.is_object { "object" } else { "write" },
                    "operation": kind.operation, "resource": kind.resource,
                    "namespace": kind.namespace, "manager": kind.manager,
                    "count": findings.count, "examples": examples,
                })
            })
            .collect();
        json!({
            "writes": self.writes, "objects": self.objects, "oldestWrite": self.oldest,
            "findings": findings,
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
        if self.found.is_empty() {
            lines.push("no finding".to_owned());
        }
        for (kind, findings) in &self.found {
            let FindingKind { action, is_object, operation, resource, namespace, manager } = kind;
            let what = if *is_object {
                format!("{resource} that are there")
            } else {
                format!("{operation} of {resource}")
            };
            let place =
                if namespace.is_empty() { String::new() } else { format!(" in {namespace}") };
            let by = if manager.is_empty() { String::new() } else { format!(" by {manager}") };
            lines.push(format!("{:>8}  {action:<6}  {what}{place}{by}", findings.count));
            let examples = findings.examples.iter();
            lines.extend(examples.map(|(name, message)| format!("{:>18}{name}: {message}", "")));
        }
        lines
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
                "       2  Deny    CREATE of pods in n by kubectl",
                "                  a: no",
                "       1  Deny    pods that are there in n by kubectl",
                "                  a: no",
            ]
        );
        assert_eq!(tally.record()["findings"][0]["count"], json!(2));
        assert_eq!(tally.progress(), "5 recorded writes and 3 objects looked at");
    }

    #[test]
    fn nothing_is_said_of_no_finding() {
        let mut tally = Tally::new(3);
        tally.add(&json!({"writes": 0, "verdicts": []}).into());
        assert_eq!(tally.lines()[1], "no finding");
    }
}
