//! One version of a definition, compiled when it is used and let go when it is not.
//!
//! Invariants: until a request needs its types, a version costs nothing but its stored schema, which
//! it shares with the stored definition, and so again once it was not used for long
//! ([`CompiledSchemas`]); reads do without its rules. Compiling again gives the same types. A stored
//! schema that does not compile keeps every field of the objects that are read, and no object is
//! written by it.
//!
//! Not here: what is valid in a definition (`quorate-controllers`, and its strategy).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use quorate_cel::declarations::pattern;
use quorate_meta::{Cause, Path};
use quorate_registry::TypeSource;
use quorate_schema::structural::{self, Options, Structural};
use quorate_schema::{Graph, TypeId};

use super::compiled_schemas::CompiledSchemas;
use super::definition::{DefinitionVersion, StoredSchema};
use super::rules::Rules;

/// Where the schema of a definition stands in messages.
const SCHEMA: &str = "spec.validation.openAPIV3Schema";

/// The schema of one version.
#[derive(Debug)]
pub struct CompiledVersion {
    base: Arc<Graph>,
    schemas: Arc<CompiledSchemas>,
    schema: Mutex<Option<StoredSchema>>,
    has_status: bool,
    compiled: ArcSwapOption<Compiled>,
    /// Held while it is compiled.
    compiling: Mutex<()>,
    used: AtomicU64,
}

/// A compiled schema.
#[derive(Debug)]
pub struct Compiled {
    schema: Option<StoredSchema>,
    structural: Structural,
    problems: Vec<Cause>,
    rules: OnceLock<Rules>,
}

impl CompiledVersion {
    /// A version over the schema of the built-in types; compiles nothing yet. What it compiles is
    /// kept as `schemas` has room for it.
    #[must_use]
    pub fn new(
        base: &Arc<Graph>,
        schemas: &Arc<CompiledSchemas>,
        version: &DefinitionVersion,
    ) -> Self {
        Self {
            base: base.clone(),
            schemas: schemas.clone(),
            schema: Mutex::new(version.schema.clone()),
            has_status: version.status,
            compiled: ArcSwapOption::empty(),
            compiling: Mutex::default(),
            used: AtomicU64::default(),
        }
    }

    /// The schema as the definition has it.
    #[must_use]
    pub fn schema(&self) -> Option<StoredSchema> {
        self.schema.lock().clone()
    }

    /// Takes the schema of a newer state of the definition that has the same one, so that the
    /// memory of the older state is not held for it.
    pub(super) fn adopt(&self, version: &DefinitionVersion) {
        let mut schema = self.schema.lock();
        debug_assert_eq!(*schema, version.schema, "it is the same schema");
        schema.clone_from(&version.schema);
    }

    /// The compiled schema; one that allows everything where the definition has none, or one that
    /// does not compile.
    #[must_use]
    pub fn compiled(self: &Arc<Self>) -> Arc<Compiled> {
        self.use_at(self.schemas.now());
        if let Some(compiled) = &*self.compiled.load() {
            return compiled.clone();
        }
        match self.schema() {
            Some(schema) => schema.work(|| self.compile(Some(schema.clone()))),
            None => self.compile(None),
        }
    }

    fn compile(self: &Arc<Self>, schema: Option<StoredSchema>) -> Arc<Compiled> {
        let _compiling = self.compiling.lock();
        if let Some(compiled) = self.compiled.load_full() {
            return compiled;
        }
        let bytes = schema.as_ref().map_or(0, |schema| schema.text().len());
        let compiled = Arc::new(Compiled::new(&self.base, schema, self.has_status));
        self.compiled.store(Some(compiled.clone()));
        self.schemas.add(self, bytes);
        compiled
    }

    /// Whether it is compiled.
    #[must_use]
    pub fn is_compiled(&self) -> bool {
        self.compiled.load().is_some()
    }

    /// Notes that it is used.
    pub(super) fn use_at(&self, now: u64) {
        self.used.store(now, Ordering::Relaxed);
    }

    /// When it was used last, as [`CompiledSchemas`] counts.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Lets the compiled schema go. Requests that use it keep it until they end.
    pub(super) fn forget(&self) {
        self.compiled.store(None);
    }
}

impl Compiled {
    fn new(base: &Arc<Graph>, schema: Option<StoredSchema>, has_status: bool) -> Self {
        let compiled = schema.as_ref().map(|schema| {
            let options = Options { base, patterns: &pattern, has_status };
            structural::compile(&schema.parse(), &Path::new(SCHEMA), options)
        });
        let (structural, problems) = match compiled {
            Some(Ok(structural)) => (structural, Vec::new()),
            Some(Err(problems)) => (Structural::open(base), problems),
            None => (Structural::open(base), Vec::new()),
        };
        Self { schema, structural, problems, rules: OnceLock::new() }
    }

    /// The types and constraints.
    #[must_use]
    pub fn structural(&self) -> &Structural {
        &self.structural
    }

    /// Why the stored schema does not compile; empty when it does.
    #[must_use]
    pub fn problems(&self) -> &[Cause] {
        &self.problems
    }

    /// The rules in CEL, compiled when they are first asked for; none in a schema that does not
    /// compile.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        self.rules.get_or_init(|| match &self.schema {
            Some(schema) if self.problems.is_empty() => {
                schema.work(|| Rules::compile(&self.structural, &schema.parse()))
            }
            _ => Rules::default(),
        })
    }
}

/// A version as the types of its objects.
#[derive(Debug)]
pub struct VersionTypes(pub Arc<CompiledVersion>);

impl TypeSource for VersionTypes {
    fn graph(&self) -> Arc<Graph> {
        self.0.compiled().structural.graph().clone()
    }

    fn ty(&self) -> TypeId {
        self.0.compiled().structural.ty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::crd::testing;

    #[test]
    fn a_version_is_compiled_on_first_use() {
        let version = testing::version(json!({"type": "object"}));
        assert!(!version.is_compiled());
        assert!(version.compiled().problems().is_empty() && version.is_compiled());
    }

    #[test]
    fn a_schema_that_does_not_compile_is_told() {
        let version = testing::version(json!({"type": "object", "properties": {"spec": {}}}));
        let compiled = version.compiled();
        assert!(!compiled.problems().is_empty());
        let structural = compiled.structural();
        assert!(structural.node(structural.root()).preserves);
    }

    #[test]
    fn what_was_let_go_is_compiled_again() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let version = testing::version(schema);
        let types = VersionTypes(version.clone());
        let (before, ty) = (types.graph(), types.ty());
        version.forget();
        assert!(!version.is_compiled());
        assert!(!Arc::ptr_eq(&before, &types.graph()));
        assert_eq!(types.ty(), ty);
    }
}
