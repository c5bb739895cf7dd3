//! Shapes of the types of the API, built-in ones above all, from the type graph.
//!
//! Quantities, integers or text, schemas and any JSON are `dyn`, and so is a type within itself.

use std::collections::HashMap;
use std::sync::Arc;

use quorate_schema::graph::{self, ListKind, Mixed, Scalar};
use quorate_schema::structural::cel_types::escape;
use quorate_schema::{Graph, TypeId};

use crate::ast::Name;
use crate::environment::{Environment, Library};
use crate::value::{Field, ListSemantics, ListShape, ObjectShape, Shape};

/// What expressions see of one type of the graph.
#[derive(Debug)]
pub struct TypeDeclarations {
    root: Shape,
    objects: Arc<HashMap<Name, Arc<ObjectShape>>>,
}

impl TypeDeclarations {
    /// Declares a type and all that is in it.
    pub fn new(graph: &Graph, ty: TypeId) -> Self {
        let mut builder = TypeBuilder { graph, known: HashMap::new(), objects: HashMap::new() };
        let root = builder.message(ty);
        Self { root, objects: Arc::new(builder.objects) }
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

struct TypeBuilder<'g> {
    graph: &'g Graph,
    /// Shapes of messages; `None` while one is being declared.
    known: HashMap<TypeId, Option<Shape>>,
    objects: HashMap<Name, Arc<ObjectShape>>,
}

impl TypeBuilder<'_> {
    fn message(&mut self, ty: TypeId) -> Shape {
        match self.known.get(&ty) {
            Some(Some(shape)) => return shape.clone(),
            Some(None) => return Shape::Dyn,
            None => {}
        }
        let definition = self.graph.ty(ty);
        if matches!(
            definition.mixed,
            Some(Mixed::SchemaOrList | Mixed::SchemaOrBool | Mixed::SchemaOrStrings)
        ) {
            return Shape::Dyn;
        }
        self.known.insert(ty, None);
        let fields = definition.properties.iter().filter_map(|field| {
            let name = escape(&field.name)?.as_ref().into();
            let key = field.name.as_ref().into();
            Some(Field { name, key, shape: self.value(&field.shape, field.list.as_ref()) })
        });
        let fields = fields.collect();
        // No expression can spell the name.
        let object = Arc::new(ObjectShape::new(format!("@{}", definition.full_name()), fields));
        self.objects.insert(object.name.clone(), object.clone());
        let shape = Shape::Object(object);
        self.known.insert(ty, Some(shape.clone()));
        shape
    }

    fn value(&mut self, shape: &graph::Shape, list: Option<&ListKind>) -> Shape {
        match shape {
            graph::Shape::Scalar(scalar) => of_scalar(*scalar),
            graph::Shape::Message(ty) => self.message(*ty),
            graph::Shape::Map(value) => Shape::Map(Arc::new(self.value(value, None))),
            graph::Shape::List(element) => {
                let element = self.value(element, None);
                Shape::List(Arc::new(ListShape { element, semantics: semantics(list) }))
            }
        }
    }
}

fn of_scalar(scalar: Scalar) -> Shape {
    match scalar {
        Scalar::Bool => Shape::Bool,
        Scalar::Int32 | Scalar::Int64 => Shape::Int,
        Scalar::Double => Shape::Double,
        Scalar::String => Shape::String,
        Scalar::Bytes => Shape::Bytes,
        Scalar::Time | Scalar::MicroTime => Shape::Timestamp,
        Scalar::IntOrString => Shape::IntOrString,
        Scalar::Quantity | Scalar::Any => Shape::Dyn,
    }
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
            let declarations = TypeDeclarations::new(&graph, graph.type_named(ty).unwrap().id);
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
        check("core/v1.Service", "object.spec.ports[0].targetPort", "dyn");
        let definition = "apiextensions/v1.CustomResourceDefinition";
        let schema = "object.spec.versions[0].schema.openAPIV3Schema";
        check(definition, &format!("{schema}.type"), "string");
        check(definition, &format!("{schema}.properties['a'].type"), "dyn");
    }
}
