//! Declarations from schemas: how data of each place is read, and for structural schemas how large it can be.
//!
//! Invariants: a place has one shape, shared by all rules; an object type is named by its path from the root, so names are
//! unique in a schema. Not here: which places have rules, what rules may cost.
//!
//! ```
//! use std::sync::Arc;
//!
//! use quorate_cel::declarations::{SchemaDeclarations, pattern};
//! use quorate_cel::environment::Library;
//! use quorate_cel::{checker, estimate::estimate, parser};
//! use quorate_meta::{Naming, Path, Value};
//! use quorate_schema::{Graph, structural};
//!
//! let schema: Value = serde_json::from_str(r#"{"type": "object", "properties": {
//!     "hosts": {"type": "array", "maxItems": 4, "items": {"type": "string", "maxLength": 10}}}}"#).unwrap();
//! let base = Arc::new(Graph::builtin(Naming::Svc.names()));
//! let options = structural::Options { base: &base, patterns: &pattern, has_status: false };
//! let schema = structural::compile(&schema, &Path::new("schema"), options).unwrap();
//!
//! let declarations = SchemaDeclarations::new(&schema);
//! let root = declarations.shape(schema.root()).unwrap().to_type();
//! let environment = declarations.environment(Arc::new(Library::stored())).with_variable("self", root);
//! let ast = parser::parse("self.hosts.all(host, host.size() <= 8)").unwrap();
//! let checked = checker::check(&environment, ast).unwrap();
//! let sizes = declarations.sizes(schema.root());
//! assert_eq!(estimate(&checked, &sizes).max, 27);
//! ```

mod builtin;
mod pattern;
mod shapes;
mod sizes;
#[cfg(test)]
mod tests;

pub use builtin::TypeDeclarations;
pub use pattern::pattern;
pub use shapes::SchemaDeclarations;
pub use sizes::SchemaSizes;
