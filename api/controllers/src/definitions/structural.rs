//! The condition `NonStructuralSchema`: what keeps the schemas of a definition from being
//! structural. Only a definition that was stored before its rules can have it.
//!
//! Invariant: a definition whose schemas are all structural has no such condition.

use std::sync::Arc;

use quorate_extensions::crd::definition::Definition;
use quorate_meta::{Cause, Path};
use quorate_schema::Graph;
use quorate_schema::structural::{Matcher, Options, violations};

use super::joined;
use crate::conditions::Condition;

/// The type of the condition.
pub(super) const NON_STRUCTURAL: &str = "NonStructuralSchema";

/// Stands for every pattern: whether one compiles is checked when a definition is written.
#[derive(Debug)]
struct Anything;

impl Matcher for Anything {
    fn is_match(&self, _: &str) -> bool {
        true
    }
}

/// The condition; `None` where every schema is structural.
pub(super) fn decide(graph: &Arc<Graph>, definition: &Definition) -> Option<Condition> {
    let mut causes = Vec::new();
    if definition.preserves_unknown_fields {
        causes.push(Cause::invalid("spec.preserveUnknownFields", true, "must be false"));
    }
    for (at, version) in definition.versions.iter().enumerate() {
        let Some(schema) = &version.schema else {
            continue;
        };
        let path = Path::new(format!("spec.versions[{at}].schema.openAPIV3Schema"));
        let anything = |_: &str| Ok(Arc::new(Anything) as Arc<dyn Matcher>);
        let options = Options { base: graph, patterns: &anything, has_status: version.status };
        causes.extend(violations(&schema.parse(), &path, options));
    }
    let mut texts: Vec<String> = causes.iter().map(Cause::text).collect();
    texts.sort_unstable();
    texts.dedup();
    (!texts.is_empty()).then(|| (NON_STRUCTURAL, true, "Violations", joined(texts)))
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    use super::*;

    fn check(preserves: bool, schemas: &[Json], expect: Option<&str>) {
        let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
        let version = |schema: &Json| json!({"name": "v1", "schema": {"openAPIV3Schema": schema}});
        let versions: Vec<Json> = schemas.iter().map(version).collect();
        let names = json!({"plural": "as", "kind": "A"});
        let spec = json!({"group": "g", "names": names, "versions": versions, "preserveUnknownFields": preserves});
        let definition = Definition::read(&json!({"spec": spec}).to_string().into()).unwrap();
        let found = decide(&graph, &definition);
        assert_eq!(found.as_ref().map(|(.., why)| &**why), expect);
    }

    #[test]
    fn what_is_not_structural_is_told() {
        let fine = || json!({"type": "object"});
        check(false, &[], None);
        check(false, &[fine(), fine(), Json::Null], None);
        let kept = "spec.preserveUnknownFields: Invalid value: true: must be false";
        check(true, &[fine()], Some(kept));
        let at = "spec.versions[1].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields";
        let wrong = || json!({"type": "object", "properties": {"a": {"description": "x"}}});
        check(false, &[fine(), wrong()], Some(at));
        check(true, &[fine(), wrong()], Some(&format!("[{kept}, {at}]")));
        // What else is wrong with a schema is no violation.
        check(
            false,
            &[json!({"type": "object", "properties": {"a": {"type": "string", "default": 1}}})],
            None,
        );
    }
}
