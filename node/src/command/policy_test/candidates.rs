//! The candidates of a rehearsal: policies and bindings of files, as the server would store them.

use std::path::PathBuf;

use quorate_meta::Value;
use quorate_wire::yaml;
use serde_json::json;

use crate::command::api_client::ApiClient;
use crate::error::Error;
use crate::files::read_text;

/// The neutral name of their group.
const GROUP: &str = "admissionregistration";
/// The kinds of policies, each with that of its bindings.
const PAIRS: [(CandidateKind, CandidateKind); 2] = [
    (
        CandidateKind::new("ValidatingAdmissionPolicy", "v1", "validatingadmissionpolicies"),
        CandidateKind::new(
            "ValidatingAdmissionPolicyBinding",
            "v1",
            "validatingadmissionpolicybindings",
        ),
    ),
    (
        CandidateKind::new("MutatingAdmissionPolicy", "v1beta1", "mutatingadmissionpolicies"),
        CandidateKind::new(
            "MutatingAdmissionPolicyBinding",
            "v1beta1",
            "mutatingadmissionpolicybindings",
        ),
    ),
];

/// A kind that can be rehearsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CandidateKind {
    kind: &'static str,
    version: &'static str,
    plural: &'static str,
}

impl CandidateKind {
    const fn new(kind: &'static str, version: &'static str, plural: &'static str) -> Self {
        Self { kind, version, plural }
    }

    /// The kind of an object.
    fn of(object: &Value) -> Option<Self> {
        let kind = object.str_at(&["kind"])?;
        PAIRS.into_iter().flat_map(|(policy, binding)| [policy, binding]).find(|k| k.kind == kind)
    }
}

/// Policies and bindings.
#[derive(Debug, Default)]
pub(super) struct Candidates(Vec<Value>);

impl Candidates {
    /// Reads files of YAML documents or JSON.
    pub(super) fn read<'f>(files: impl Iterator<Item = &'f PathBuf>) -> Result<Self, Error> {
        let mut all = Self::default();
        for file in files {
            let told = |error: String| Error::failed(format_args!("{}: {error}", file.display()));
            all.add_text(&read_text(file)?).map_err(told)?;
        }
        Ok(all)
    }

    /// Adds the documents of a text.
    fn add_text(&mut self, text: &str) -> Result<(), String> {
        for document in documents(text) {
            let (object, _) =
                yaml::parse(document.as_bytes()).map_err(|error| error.to_string())?;
            match object.str_at(&["kind"]) {
                None if object.is_null() => {}
                Some("List") => {
                    let items = object.get("items").and_then(Value::as_list).unwrap_or_default();
                    self.0.extend(items.iter().cloned());
                }
                _ => self.0.push(object),
            }
        }
        let stranger = self.0.iter().find(|object| CandidateKind::of(object).is_none());
        stranger.map_or(Ok(()), |object| {
            let kind = object.str_at(&["kind"]).unwrap_or("an object without a kind");
            Err(format!(
                "{kind} cannot be rehearsed: only admission policies and their bindings can"
            ))
        })
    }

    /// The candidates as the server would store them, each policy with a binding.
    pub(super) async fn check(self, client: &mut ApiClient) -> Result<Vec<Value>, Error> {
        let mut checked = Vec::new();
        for object in self.bound() {
            let Some(kind) = CandidateKind::of(&object) else { continue };
            let version = format!("{}/{}", client.names.group(GROUP), kind.version);
            let path = format!("/apis/{version}/{}", kind.plural);
            let name = object.str_at(&["metadata", "name"]).unwrap_or_default().to_owned();
            let existing = match name.as_str() {
                "" => None,
                name => client.find(&format!("{path}/{name}")).await?,
            };
            let mut object = object;
            object.set_at(&["apiVersion"], version);
            checked.push(match existing {
                None => client.post(&format!("{path}?dryRun=All"), &object).await?,
                Some(existing) => {
                    let version = existing.str_at(&["metadata", "resourceVersion"]);
                    object.set_at(&["metadata", "resourceVersion"], version.unwrap_or_default());
                    client.put(&format!("{path}/{name}?dryRun=All"), &object).await?
                }
            });
        }
        Ok(checked)
    }

    /// All of them, and a binding to everything for each policy that has none.
    fn bound(self) -> Vec<Value> {
        let mut all = self.0;
        for (policy, binding) in PAIRS {
            let of =
                |kind| all.iter().filter(move |object| CandidateKind::of(object) == Some(kind));
            let bound: Vec<String> = of(binding).filter_map(policy_of).collect();
            let names = of(policy).filter_map(|policy| policy.str_at(&["metadata", "name"]));
            let unbound = names.filter(|name| !bound.iter().any(|bound| bound == name));
            let bindings: Vec<Value> = unbound.map(|name| binding_of(binding.kind, name)).collect();
            all.extend(bindings);
        }
        all
    }
}

/// A binding of a policy to everything.
fn binding_of(kind: &str, name: &str) -> Value {
    let mut spec = json!({"policyName": name});
    if kind == PAIRS[0].1.kind {
        spec["validationActions"] = json!(["Deny"]);
    }
    json!({"kind": kind, "metadata": {"name": name}, "spec": spec}).into()
}

/// The policy that a binding names.
fn policy_of(binding: &Value) -> Option<String> {
    binding.str_at(&["spec", "policyName"]).map(str::to_owned)
}

/// The documents of a YAML stream.
fn documents(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            all.push(String::new());
        } else if let Some(last) = all.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    all.retain(|document| !document.trim().is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "kind: ValidatingAdmissionPolicy\nmetadata:\n  name: a\n";
    const BINDING: &str =
        "kind: ValidatingAdmissionPolicyBinding\nmetadata:\n  name: b\nspec:\n  policyName: a\n";

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let mut all = Candidates::default();
        all.add_text(text).unwrap();
        let names = all.bound().into_iter().map(|object| {
            let text = |path: &[&str]| object.str_at(path).unwrap_or_default().to_owned();
            format!("{} {}", text(&["metadata", "name"]), text(&["spec", "policyName"]))
        });
        assert_eq!(names.collect::<Vec<_>>(), expect, "{text}");
    }

    #[test]
    fn policies_have_bindings() {
        check(POLICY, &["a ", "a a"]);
        check(&format!("---\n{POLICY}---\n{BINDING}---\n"), &["a ", "b a"]);
        check("# nothing\n", &[]);
        let mutating = POLICY.replace("Validating", "Mutating");
        check(&format!("{mutating}---\n{BINDING}"), &["a ", "b a", "a a"]);
        let list = r#"{"kind": "List", "items": [{"kind": "ValidatingAdmissionPolicy", "metadata": {"name": "x"}}]}"#;
        check(list, &["x ", "x x"]);
    }

    #[test]
    fn other_objects_are_refused() {
        let check = |text: &str, expect: &str| {
            let refused = Candidates::default().add_text(text).unwrap_err();
            assert!(refused.contains(expect), "{refused}");
        };
        check("kind: ConfigMap\n", "ConfigMap cannot be rehearsed");
        check("a: b\n", "an object without a kind cannot be rehearsed");
        check("kind: [\n", "line");
    }
}
