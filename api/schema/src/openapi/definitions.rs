//! Schemas of types, and of the types that they use.

use std::collections::{BTreeMap, BTreeSet};

use quorate_meta::{GroupVersion, Map, Value};

use super::{Dialect, naming};
use crate::graph::{Field, Graph, ListKind, MapKind, Scalar, Shape, TypeDef, TypeId};

/// Collects the definitions of a document.
#[derive(Debug)]
pub(super) struct Definitions<'g> {
    graph: &'g Graph,
    dialect: Dialect,
    /// Group versions in which kinds that exist everywhere are named.
    everywhere: Vec<GroupVersion>,
    wanted: Vec<TypeId>,
    seen: BTreeSet<TypeId>,
    done: BTreeMap<String, Value>,
}

impl<'g> Definitions<'g> {
    pub(super) fn new(graph: &'g Graph, dialect: Dialect, everywhere: Vec<GroupVersion>) -> Self {
        Self {
            graph,
            dialect,
            everywhere,
            wanted: Vec::new(),
            seen: BTreeSet::new(),
            done: BTreeMap::new(),
        }
    }

    /// The reference to a type, which the document then defines.
    pub(super) fn reference(&mut self, ty: TypeId) -> Value {
        if self.seen.insert(ty) {
            self.wanted.push(ty);
        }
        self.refer(&naming::definition(self.graph.names(), self.graph.ty(ty)))
    }

    /// The reference to the type with a neutral name.
    ///
    /// # Panics
    /// The graph has no such type; callers name types of the shared machinery only.
    pub(super) fn machinery(&mut self, neutral: &str) -> Value {
        let ty = self.graph.type_named(neutral).expect("machinery types are part of every graph");
        self.reference(ty.id)
    }

    /// The reference to a patch body of any format.
    pub(super) fn patch(&mut self) -> Value {
        let description = "A patch in the format that the content type names.";
        self.opaque("pkg.apis.meta.v1.Patch", Map::from([("type", "object")]), description)
    }

    /// All definitions, those they use included.
    pub(super) fn finish(mut self) -> Map {
        while let Some(ty) = self.wanted.pop() {
            let ty = self.graph.ty(ty);
            let schema = self.schema(ty);
            self.done.insert(naming::definition(self.graph.names(), ty), schema);
        }
        self.done.into_iter().collect()
    }

    /// The schema of a property of a type of the shared machinery; `None` when it has none.
    pub(super) fn machinery_property(&mut self, neutral: &str, name: &str) -> Option<Value> {
        let owner = self.graph.type_named(neutral)?;
        owner.property(name).map(|field| self.property(owner, field))
    }

    /// The reference to a definition of this document.
    pub(super) fn refer(&self, definition: &str) -> Value {
        Value::from([("$ref", self.dialect.reference(definition))])
    }

    /// The reference to a definition of the machinery that is no type of the graph.
    pub(super) fn opaque(&mut self, name: &str, mut schema: Map, description: &str) -> Value {
        let name = format!("{}.{name}", self.graph.names().openapi_machinery_prefix);
        if !self.done.contains_key(&name) {
            schema.insert("description", description);
            self.done.insert(name.clone(), Value::Map(schema));
        }
        self.refer(&name)
    }

    fn schema(&mut self, ty: &TypeDef) -> Value {
        let mut map = Map::new();
        if !ty.doc.is_empty() {
            map.insert("description", ty.doc.as_ref());
        }
        if ty.mixed.is_some() {
            return Value::Map(map);
        }
        map.insert("type", "object");
        let properties: Map =
            ty.properties.iter().map(|field| (&*field.name, self.property(ty, field))).collect();
        if !properties.is_empty() {
            map.insert("properties", properties);
        }
        let required: Vec<&str> = ty
            .properties
            .iter()
            .filter(|field| field.required)
            .map(|field| field.name.as_ref())
            .collect();
        if !required.is_empty() {
            map.insert("required", required);
        }
        self.type_extensions(ty, &mut map);
        Value::Map(map)
    }

    fn type_extensions(&self, ty: &TypeDef, map: &mut Map) {
        let names = self.graph.names();
        if ty.atomic {
            naming::extend(names, map, "map-type", &"atomic".into());
        }
        let unions = ty.unions.iter().map(|union| {
            let fields: Map = union
                .members
                .iter()
                .map(|(field, value)| (field.as_ref(), value.as_ref()))
                .collect();
            Value::from([
                ("discriminator", Value::from(union.discriminator.as_ref())),
                ("fields-to-discriminateBy", fields.into()),
            ])
        });
        let unions: Vec<Value> = unions.collect();
        if !unions.is_empty() {
            naming::extend(names, map, "unions", &Value::List(unions));
        }
        let mut kinds = Vec::new();
        for kind in
            self.graph.kinds().iter().filter(|kind| kind.ty == ty.id || kind.list_ty == Some(ty.id))
        {
            let name = if kind.ty == ty.id { Some(&kind.kind) } else { kind.list_kind.as_ref() };
            let Some(name) = name else { continue };
            if kind.everywhere {
                let every = self.everywhere.iter();
                kinds.extend(
                    every.map(|gv| naming::group_version_kind(&gv.group, &gv.version, name)),
                );
            } else {
                kinds.push(naming::group_version_kind(&kind.group, &kind.version, name));
            }
        }
        if !kinds.is_empty() {
            naming::extend(names, map, "group-version-kind", &Value::List(kinds));
        }
    }

    fn property(&mut self, owner: &TypeDef, field: &Field) -> Value {
        let mut map = self.value(owner, &field.shape);
        if let Some(default) = default_of(field) {
            map.insert("default", default);
        }
        if !field.allowed.is_empty() {
            let allowed: Vec<&str> = field.allowed.iter().map(AsRef::as_ref).collect();
            match map.get_mut("items").and_then(Value::as_map_mut) {
                Some(items) => items.insert("enum", allowed),
                None => map.insert("enum", allowed),
            };
        }
        if !field.doc.is_empty() {
            map.insert("description", field.doc.as_ref());
        }
        self.field_extensions(field, &mut map);
        self.with_reference(map)
    }

    fn field_extensions(&self, field: &Field, map: &mut Map) {
        let names = self.graph.names();
        let mut extend = |name: &str, value: Value| naming::extend(names, map, name, &value);
        match &field.list {
            None => {}
            Some(ListKind::Atomic) => extend("list-type", "atomic".into()),
            Some(ListKind::Set) => extend("list-type", "set".into()),
            Some(ListKind::Map(keys)) => {
                extend("list-type", "map".into());
                extend(
                    "list-map-keys",
                    keys.iter().map(AsRef::<str>::as_ref).collect::<Vec<_>>().into(),
                );
            }
        }
        match field.map {
            None => {}
            Some(MapKind::Atomic) => extend("map-type", "atomic".into()),
            Some(MapKind::Granular) => extend("map-type", "granular".into()),
        }
        if let Some(strategy) = field.patch.strategy() {
            extend("patch-strategy", strategy.into());
        }
        if let Some(key) = &field.patch.key {
            extend("patch-merge-key", key.as_ref().into());
        }
    }

    /// Version 3 allows nothing beside `$ref`, so a reference with company goes into `allOf`.
    fn with_reference(&self, mut map: Map) -> Value {
        let company = self.dialect == Dialect::V3 && map.len() > 1;
        if let Some(reference) = company.then(|| map.remove("$ref")).flatten() {
            map.insert("allOf", vec![Value::from([("$ref", reference)])]);
        }
        Value::Map(map)
    }

    fn value(&mut self, owner: &TypeDef, shape: &Shape) -> Map {
        match shape {
            Shape::Message(id) => into_map(self.reference(*id)),
            Shape::List(inner) => {
                let items = self.element(owner, inner);
                Map::from([("items", items), ("type", "array".into())])
            }
            Shape::Map(inner) => {
                let entries = self.element(owner, inner);
                Map::from([("additionalProperties", entries), ("type", "object".into())])
            }
            Shape::Scalar(scalar) => self.scalar(owner, *scalar),
        }
    }

    /// An element or entry; like a field that is always written, it has its zero value as default.
    fn element(&mut self, owner: &TypeDef, shape: &Shape) -> Value {
        let mut map = self.value(owner, shape);
        if let Some(zero) = zero_of(shape) {
            map.insert("default", zero);
        }
        self.with_reference(map)
    }

    fn scalar(&mut self, owner: &TypeDef, scalar: Scalar) -> Map {
        let plain = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<Map>();
        match scalar {
            Scalar::Bool => plain(&[("type", "boolean")]),
            Scalar::Int32 => plain(&[("format", "int32"), ("type", "integer")]),
            Scalar::Int64 => plain(&[("format", "int64"), ("type", "integer")]),
            Scalar::Double => plain(&[("format", "double"), ("type", "number")]),
            Scalar::String => plain(&[("type", "string")]),
            Scalar::Bytes => plain(&[("format", "byte"), ("type", "string")]),
            Scalar::Any if owner.group == "apiextensions" => Map::new(),
            Scalar::Any => plain(&[("type", "object")]),
            Scalar::Time => into_map(self.opaque(
                "pkg.apis.meta.v1.Time",
                Map::from([("format", "date-time"), ("type", "string")]),
                "A time with whole seconds, RFC 3339.",
            )),
            Scalar::MicroTime => into_map(self.opaque(
                "pkg.apis.meta.v1.MicroTime",
                Map::from([("format", "date-time"), ("type", "string")]),
                "A time with microseconds, RFC 3339.",
            )),
            Scalar::Quantity => into_map(self.number_or_text(
                "pkg.api.resource.Quantity",
                "",
                "number",
                "An amount such as 100m or 2Gi.",
            )),
            Scalar::IntOrString => into_map(self.number_or_text(
                "pkg.util.intstr.IntOrString",
                "int-or-string",
                "integer",
                "A number or a text.",
            )),
        }
    }

    fn number_or_text(
        &mut self,
        name: &str,
        format: &str,
        number: &str,
        description: &str,
    ) -> Value {
        let pairs: &[(&str, &str)] = match (self.dialect, format.is_empty()) {
            (Dialect::V2, true) => &[("type", "string")],
            (Dialect::V2, false) => &[("format", format), ("type", "string")],
            (Dialect::V3, true) => &[],
            (Dialect::V3, false) => &[("format", format)],
        };
        let reference = self.opaque(name, pairs.iter().copied().collect(), description);
        if self.dialect == Dialect::V3 {
            let name = format!("{}.{name}", self.graph.names().openapi_machinery_prefix);
            if let Some(Value::Map(map)) = self.done.get_mut(&name) {
                map.insert(
                    "oneOf",
                    vec![Value::from([("type", "string")]), Value::from([("type", number)])],
                );
            }
        }
        reference
    }
}

/// The default of the IDL, or the zero value of a field that is always written.
fn default_of(field: &Field) -> Option<Value> {
    if field.default.is_some() {
        return field.default.clone();
    }
    if field.always && !field.pointer { zero_of(&field.shape) } else { None }
}

fn zero_of(shape: &Shape) -> Option<Value> {
    Some(match shape {
        Shape::Message(_) => Value::Map(Map::new()),
        Shape::Scalar(Scalar::Bool) => Value::Bool(false),
        Shape::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Double) => Value::Int(0),
        Shape::Scalar(Scalar::String) => Value::from(""),
        _ => return None,
    })
}

fn into_map(value: Value) -> Map {
    match value {
        Value::Map(map) => map,
        _ => Map::new(),
    }
}
