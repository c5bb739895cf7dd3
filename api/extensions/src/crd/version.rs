//! One version of a definition, compiled once and on first use.
//!
//! Invariants: until a request needs its types, a version costs only its JSON schema, which it
//! shares with the definition; reads do without its rules. A stored schema that does not compile keeps every field of the
//! objects that are read, and no object is written by it.
//!
//! Not here: what is valid in a definition (`quorate-controllers`, and its strategy).

use std::sync::{Arc, OnceLock};

use quorate_cel::declarations::pattern;
use quorate_meta::{Cause, Path, Value};
use quorate_registry::TypeSource;
use quorate_schema::structural::{self, Options, Structural};
use quorate_schema::{Graph, TypeId};

use super::definition::DefinitionVersion;
use super::rules::Rules;

/// Where the schema of a definition stands in messages.
const SCHEMA: &str = "spec.validation.openAPIV3Schema";

/// The schema of one version.
#[derive(Debug)]
pub struct CompiledVersion {
    base: Arc<Graph>,
    schema: Option<Arc<Value>>,
    has_status: bool,
    compiled: OnceLock<Compiled>,
    rules: OnceLock<Rules>,
}

#[derive(Debug)]
struct Compiled {
    structural: Structural,
    problems: Vec<Cause>,
}

impl CompiledVersion {
    /// A version over the schema of the built-in types; compiles nothing yet.
    #[must_use]
    pub fn new(base: &Arc<Graph>, version: &DefinitionVersion) -> Self {
        Self {
            base: base.clone(),
            schema: version.schema.clone(),
            has_status: version.status,
            compiled: OnceLock::new(),
            rules: OnceLock::new(),
        }
    }

    /// The schema as the definition has it.
    #[must_use]
    pub fn schema(&self) -> Option<&Arc<Value>> {
        self.schema.as_ref()
    }

    /// The compiled schema; one that allows everything where the definition has none, or one that
    /// does not compile.
    #[must_use]
    pub fn structural(&self) -> &Structural {
        &self.compiled().structural
    }

    /// The rules in CEL, compiled when they are first asked for; none in a schema that does not
    /// compile.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        self.rules.get_or_init(|| match &self.schema {
            Some(schema) if self.problems().is_empty() => Rules::compile(self.structural(), schema),
            _ => Rules::default(),
        })
    }

    /// Why the stored schema does not compile; empty when it does.
    #[must_use]
    pub fn problems(&self) -> &[Cause] {
        &self.compiled().problems
    }

    /// Whether it was compiled.
    #[must_use]
    pub fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let open = |problems| Compiled { structural: Structural::open(&self.base), problems };
            let Some(schema) = &self.schema else {
                return open(Vec::new());
            };
            let options =
                Options { base: &self.base, patterns: &pattern, has_status: self.has_status };
            match structural::compile(schema, &Path::new(SCHEMA), options) {
                Ok(structural) => Compiled { structural, problems: Vec::new() },
                Err(problems) => open(problems),
            }
        })
    }
}

impl TypeSource for CompiledVersion {
    fn graph(&self) -> &Arc<Graph> {
        self.structural().graph()
    }

    fn ty(&self) -> TypeId {
        self.structural().ty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::crd::testing;

    #[test]
    fn a_version_is_compiled_on_first_use() {
        let version = testing::version(json!({"type": "object"}));
        assert!(!version.is_compiled());
        assert!(version.problems().is_empty() && version.is_compiled());
    }

    #[test]
    fn a_schema_that_does_not_compile_is_told() {
        let version = testing::version(json!({"type": "object", "properties": {"spec": {}}}));
        assert!(!version.problems().is_empty());
        assert!(version.structural().node(version.structural().root()).preserves);
    }
}
