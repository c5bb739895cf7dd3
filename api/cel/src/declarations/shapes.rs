//! The shape of each place of a schema.

use std::collections::HashMap;
use std::sync::Arc;

use quorate_schema::structural::cel_types::{
    CelField, CelFieldType, CelList, CelType, Declarations,
};
use quorate_schema::structural::{NodeId, Structural};

use super::sizes::SchemaSizes;
use crate::ast::Name;
use crate::environment::{Environment, Library};
use crate::value::{Field, ListSemantics, ListShape, ObjectShape, Shape};

/// Name of the type of the root; no expression can spell it.
const ROOT: &str = "@self";

/// What expressions see of a schema.
#[derive(Debug)]
pub struct SchemaDeclarations {
    pub(super) places: HashMap<NodeId, DeclaredPlace>,
    objects: Arc<HashMap<Name, Arc<ObjectShape>>>,
}

/// A place that expressions see.
#[derive(Debug)]
pub(super) struct DeclaredPlace {
    /// What is in it.
    pub(super) content: CelType,
    shape: Shape,
}

impl SchemaDeclarations {
    /// Declares every place of a schema once.
    pub fn new(schema: &Structural) -> Self {
        Self::of_kind(schema, ROOT, None)
    }

    /// The same with a name of the root, and with the metadata that objects have there; otherwise expressions see only
    /// their names.
    pub(super) fn of_kind(schema: &Structural, root: &str, metadata: Option<Shape>) -> Self {
        let mut builder = SchemaBuilder {
            declarations: Declarations::new(schema),
            metadata: metadata.map(|shape| (format!("{root}.metadata"), shape)),
            places: HashMap::new(),
            objects: HashMap::new(),
        };
        builder.declare(schema.root(), root);
        Self { places: builder.places, objects: Arc::new(builder.objects) }
    }

    /// Every object type.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Arc<ObjectShape>> {
        self.objects.values()
    }

    /// How data of a place is read; `None` when expressions do not see it.
    pub fn shape(&self, place: NodeId) -> Option<&Shape> {
        self.places.get(&place).map(|declared| &declared.shape)
    }

    /// An environment that knows the object types of the schema.
    pub fn environment(&self, library: Arc<Library>) -> Environment {
        Environment::new(library).with_objects(self.objects.clone())
    }

    /// The sizes of data for a rule at `place`: every variable of the rule has data of that place.
    pub fn sizes(&self, place: NodeId) -> SchemaSizes<'_> {
        SchemaSizes::new(self, place)
    }
}

/// Declares the places from the root on.
struct SchemaBuilder<'s> {
    declarations: Declarations<'s>,
    /// The metadata of the root: its name and its shape.
    metadata: Option<(String, Shape)>,
    places: HashMap<NodeId, DeclaredPlace>,
    objects: HashMap<Name, Arc<ObjectShape>>,
}

impl SchemaBuilder<'_> {
    fn declare(&mut self, place: NodeId, name: &str) -> Option<Shape> {
        let content = self.declarations.of(place)?;
        let shape = match &content {
            CelType::Bool => Shape::Bool,
            CelType::Int => Shape::Int,
            CelType::Double => Shape::Double,
            CelType::String(_) => Shape::String,
            CelType::Bytes(_) => Shape::Bytes,
            CelType::Date(_) => Shape::Date,
            CelType::Timestamp(_) => Shape::Timestamp,
            CelType::Duration(_) => Shape::Duration,
            CelType::IntOrString(_) => Shape::IntOrString,
            CelType::Map { value, .. } => {
                Shape::Map(Arc::new(self.declare(*value, &format!("{name}.@elem"))?))
            }
            CelType::List { element, kind, .. } => {
                let element = self.declare(*element, &format!("{name}.@idx"))?;
                Shape::List(Arc::new(ListShape { element, semantics: semantics(kind) }))
            }
            CelType::Object(fields) => {
                let fields = fields.iter().filter_map(|field| self.field(field, name)).collect();
                self.object(name, fields)
            }
        };
        self.places.insert(place, DeclaredPlace { content, shape: shape.clone() });
        Some(shape)
    }

    fn field(&mut self, field: &CelField, object: &str) -> Option<Field> {
        let name = format!("{object}.{}", field.name);
        let shape = match field.of {
            CelFieldType::Node(place) => self.declare(place, &name)?,
            CelFieldType::Text => Shape::String,
            CelFieldType::Metadata
                if self.metadata.as_ref().is_some_and(|(own, _)| *own == name) =>
            {
                self.metadata.as_ref().map(|(_, shape)| shape.clone())?
            }
            CelFieldType::Metadata => {
                let text = |name: &str| Field {
                    name: name.into(),
                    key: name.into(),
                    shape: Shape::String,
                };
                self.object(&name, vec![text("generateName"), text("name")])
            }
        };
        Some(Field { name: field.escaped.as_str().into(), key: field.name.as_str().into(), shape })
    }

    fn object(&mut self, name: &str, fields: Vec<Field>) -> Shape {
        let object = Arc::new(ObjectShape::new(name, fields));
        self.objects.insert(object.name.clone(), object.clone());
        Shape::Object(object)
    }
}

fn semantics(kind: &CelList) -> ListSemantics {
    match kind {
        CelList::Plain => ListSemantics::Atomic,
        CelList::Set => ListSemantics::Set,
        CelList::Map(keys) => {
            ListSemantics::Map(keys.iter().map(|key| Name::from(key.as_str())).collect())
        }
    }
}
