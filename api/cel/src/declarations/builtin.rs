//! Shapes of the types of the API, as an OpenAPI document describes them.
//!
//! Invariants: an object type is named by its path from the kind, as in `Pod*.spec.containers.@idx`, so that two
//! places have two types; what the document gives no type (quantities, integers or text, schemas) is not declared; a type within
//! itself is an object without fields, and so is any JSON.

use std::collections::HashMap;
use std::sync::Arc;

use quorate_schema::graph::{self, ListKind, Scalar};
use quorate_schema::structural::Structural;
use quorate_schema::structural::cel_types::escape;
use quorate_schema::{Graph, TypeId};

use super::shapes::SchemaDeclarations;
use crate::ast::Name;
use crate::environment::{Environment, Library};
use crate::value::{Field, ListSemantics, ListShape, ObjectShape, Shape};

/// The metadata of every object.
const METADATA: &str = "meta/v1.ObjectMeta";

/// What expressions see of one type of the graph.
#[derive(Debug)]
pub struct TypeDeclarations {
    root: Shape,
    objects: Arc<HashMap<Name, Arc<ObjectShape>>>,
}

impl TypeDeclarations {
    /// Declares the type of a built-in kind and all that is in it.
    pub fn new(graph: &Graph, ty: TypeId, kind: &str) -> Self {
        let mut builder = TypeBuilder { graph, open: Vec::new(), objects: HashMap::new() };
        let root = builder.message(ty, &root_name(kind));
        Self { root: root.unwrap_or_default(), objects: Arc::new(builder.objects) }
    }

    /// Declares the schema of a custom kind, whose objects have the metadata of `base`.
    pub fn of_schema(schema: &Structural, base: &Graph, kind: &str) -> Self {
        let root = root_name(kind);
        let mut builder = TypeBuilder { graph: base, open: Vec::new(), objects: HashMap::new() };
        let metadata = base
            .type_named(METADATA)
            .and_then(|ty| builder.message(ty.id, &format!("{root}.metadata")));
        let declared = SchemaDeclarations::of_kind(schema, &root, metadata);
        let shape = declared.shape(schema.root()).cloned().unwrap_or_default();
        let mut objects = builder.objects;
        objects.extend(declared.objects().map(|shape| (shape.name.clone(), shape.clone())));
        Self { root: shape, objects: Arc::new(objects) }
    }

    /// How objects of the type are read.
    pub fn shape(&self) -> &Shape {
        &self.root
    }

    /// Every object type.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<ObjectShape>> {
        self.objects.values()
    }

    /// An environment that knows the object types.
    pub fn environment(&self, library: Arc<Library>) -> Environment {
        Environment::new(library).with_objects(self.objects.clone())
    }
}

/// The name of a kind's type; no expression can spell it.
fn root_name(kind: &str) -> String {
    format!("{kind}*")
}

struct TypeBuilder<'g> {
    graph: &'g Graph,
    /// The messages that are being declared, from the outermost on.
    open: Vec<TypeId>,
    objects: HashMap<Name, Arc<ObjectShape>>,
}

impl TypeBuilder<'_> {
    fn message(&mut self, ty: TypeId, name: &str) -> Option<Shape> {
        let definition = self.graph.ty(ty);
        if self.open.contains(&ty) {
            return Some(self.object(name, Vec::new()));
        }
        if definition.mixed.is_some() {
            return None;
        }
        self.open.push(ty);
        let mut fields = Vec::new();
        for field in &definition.properties {
            let Some(escaped) = escape(&field.name) else { continue };
            let path = format!("{name}.{escaped}");
            if let Some(shape) = self.value(&field.shape, field.list.as_ref(), &path) {
                let key = field.name.as_ref().into();
                fields.push(Field { name: escaped.as_ref().into(), key, shape });
            }
        }
        self.open.pop();
        Some(self.object(name, fields))
    }

    fn object(&mut self, name: &str, fields: Vec<Field>) -> Shape {
        let object = Arc::new(ObjectShape::new(name, fields));
        self.objects.insert(object.name.clone(), object.clone());
        Shape::Object(object)
    }

    fn value(
        &mut self,
        shape: &graph::Shape,
        list: Option<&ListKind>,
        name: &str,
    ) -> Option<Shape> {
        match shape {
            graph::Shape::Scalar(Scalar::Any) => Some(self.object(name, Vec::new())),
            graph::Shape::Scalar(scalar) => of_scalar(*scalar),
            graph::Shape::Message(ty) => self.message(*ty, name),
            graph::Shape::Map(value) => {
                let value = self.value(value, None, &format!("{name}.@elem"))?;
                Some(Shape::Map(Arc::new(value)))
            }
            graph::Shape::List(element) => {
                let element = self.value(element, None, &format!("{name}.@idx"))?;
                let semantics = semantics(list);
                Some(Shape::List(Arc::new(ListShape { element, semantics })))
            }
        }
    }
}

/// What the document gives no type is `None`.
fn of_scalar(scalar: Scalar) -> Option<Shape> {
    Some(match scalar {
        Scalar::Bool => Shape::Bool,
        Scalar::Int32 | Scalar::Int64 => Shape::Int,
        Scalar::Double => Shape::Double,
        Scalar::String => Shape::String,
        Scalar::Bytes => Shape::Bytes,
        Scalar::Time | Scalar::MicroTime => Shape::Timestamp,
        Scalar::IntOrString | Scalar::Quantity | Scalar::Any => return None,
    })
}

fn semantics(list: Option<&ListKind>) -> ListSemantics {
    match list {
        None | Some(ListKind::Atomic) => ListSemantics::Atomic,
        Some(ListKind::Set) => ListSemantics::Set,
        Some(ListKind::Map(keys)) => {
            ListSemantics::Map(keys.iter().map(|key| Name::from(key.as_ref())).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;

    use super::*;
    use crate::program::Program;

    #[test]
    fn kinds_have_their_fields() {
        let graph = Graph::builtin(Naming::Kubernetes.names());
        let check = |ty: &str, source: &str, expect: &str| {
            let declarations =
                TypeDeclarations::new(&graph, graph.type_named(ty).unwrap().id, "Kind");
            let environment = declarations
                .environment(Arc::new(Library::stored()))
                .with_variable("object", declarations.shape().to_type());
            let found = match Program::compile(&environment, source) {
                Ok(program) => program.result_type().to_string(),
                Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
            };
            assert_eq!(found, expect, "{source}");
        };
        let deployment = "apps/v1.Deployment";
        check(deployment, "object.spec.replicas > 1", "bool");
        check(deployment, "object.metadata.labels['a']", "string");
        check(deployment, "object.metadata.creationTimestamp", "google.protobuf.Timestamp");
        check(deployment, "object.spec.template.spec.containers.map(c, c.image)", "list(string)");
        check(deployment, "object.spec.replica", "ERROR: <input>:1:12: undefined field 'replica'");
        check(deployment, "object.metadata.__namespace__", "string");
        check("core/v1.Secret", "object.data['a']", "bytes");
        let undefined = |column: usize, field: &str| {
            format!("ERROR: <input>:1:{column}: undefined field '{field}'")
        };
        check("core/v1.Service", "object.spec.ports[0].targetPort", &undefined(21, "targetPort"));
        let pod = "core/v1.Pod";
        check(pod, "object.spec.containers[0].resources", "Kind*.spec.containers.@idx.resources");
        check(pod, "object.spec.containers[0].resources.limits", &undefined(36, "limits"));
        check(
            pod,
            "object.spec.containers + object.spec.initContainers",
            "ERROR: <input>:1:24: found no matching overload for '_+_' applied to '(list(Kind*.spec.containers.@idx), list(Kind*.spec.initContainers.@idx))'",
        );
        let definition = "apiextensions/v1.CustomResourceDefinition";
        let schema = "object.spec.versions[0].schema.openAPIV3Schema";
        check(definition, &format!("{schema}.type"), "string");
        let within = format!("{schema}.properties['a'].type");
        check(definition, &within, &undefined(within.len() - 4, "type"));
        check("apps/v1.ControllerRevision", "object.data", "Kind*.data");
    }
}
