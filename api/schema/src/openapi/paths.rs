//! The paths of a served resource and their operations.

use quorate_meta::{GroupVersionKind, Map, Value};

use super::definitions::Definitions;
use super::documents::Served;
use super::operation::PathOperation;
use super::{Style, naming, parameters};
use crate::graph::{KindDef, Subresource, TypeId};

/// Writes all paths of a resource into `paths`.
pub(super) fn of_resource<'g>(
    style: Style<'g>,
    served: &Served<'g>,
    definitions: &mut Definitions<'g>,
    paths: &mut Map,
) {
    let mut writer = PathWriter { style, kind: served.kind, definitions, paths };
    writer.collection();
    writer.object();
    writer.watches();
    for name in &served.subresources {
        if let Some(sub) = served.kind.subresource(name) {
            writer.subresource(sub);
        }
    }
}

struct PathWriter<'g, 'd, 'p> {
    style: Style<'g>,
    kind: &'g KindDef,
    definitions: &'d mut Definitions<'g>,
    paths: &'p mut Map,
}

impl<'g> PathWriter<'g, '_, '_> {
    fn collection(&mut self) {
        let kind = self.kind;
        let mut methods = Map::new();
        let list = kind.list_ty.filter(|_| kind.has_verb("list"));
        if let Some(list) = list {
            let answer = self.definitions.reference(list);
            let id = naming::operation_id("list", kind, false, kind.namespaced, "");
            let about = format!("List or watch {}.", kind.resource);
            methods.insert("get", self.operation("list", id, about, None, Some(answer)));
        }
        if kind.has_verb("create") {
            let ty = self.definitions.reference(kind.ty);
            let id = naming::operation_id("create", kind, false, kind.namespaced, "");
            methods.insert(
                "post",
                self.operation(
                    "post",
                    id,
                    format!("Create a {}.", kind.kind),
                    Some(ty.clone()),
                    Some(ty),
                ),
            );
        }
        if kind.has_verb("deletecollection") {
            let (options, status) = self.delete_types();
            let id = naming::operation_id("delete", kind, true, kind.namespaced, "");
            let about = format!("Delete {}.", kind.resource);
            methods.insert(
                "delete",
                self.operation("deletecollection", id, about, Some(options), Some(status)),
            );
        }
        self.add(&self.base(), methods, false);
        if let (true, Some(list)) = (kind.namespaced, list) {
            let answer = self.definitions.reference(list);
            let id = naming::operation_id("list", kind, false, false, "ForAllNamespaces");
            let about = format!("List or watch {} of all namespaces.", kind.resource);
            let methods =
                Map::from([("get", self.operation("list", id, about, None, Some(answer)))]);
            let path = format!("{}/{}", root(kind), kind.resource);
            let plain = self.parameters(false, false);
            self.insert(path, methods, plain);
        }
    }

    fn object(&mut self) {
        let kind = self.kind;
        let verbs: Vec<&str> = kind.verbs.iter().map(AsRef::as_ref).collect();
        let mut methods = self.body_methods(kind.ty, &verbs, "");
        if kind.has_verb("delete") {
            let (options, status) = self.delete_types();
            let answer = if kind.delete_documents_object {
                self.definitions.reference(kind.ty)
            } else {
                status
            };
            let id = naming::operation_id("delete", kind, false, kind.namespaced, "");
            let about = format!("Delete a {}.", kind.kind);
            methods
                .insert("delete", self.operation("delete", id, about, Some(options), Some(answer)));
        }
        self.add(&format!("{}/{{name}}", self.base()), methods, true);
    }

    /// The deprecated watch paths.
    fn watches(&mut self) {
        let kind = self.kind;
        if !kind.has_verb("watch") {
            return;
        }
        let answer = self.definitions.machinery("meta/v1.WatchEvent");
        let namespace = if kind.namespaced { "namespaces/{namespace}/" } else { "" };
        let one = format!("{namespace}{}/{{name}}", kind.resource);
        let collection = format!("{namespace}{}", kind.resource);
        let everywhere = kind
            .namespaced
            .then(|| (kind.resource.to_string(), "watchlist", false, "ListForAllNamespaces"));
        let forms = [
            (one, "watch", kind.namespaced, ""),
            (collection, "watchlist", kind.namespaced, "List"),
        ];
        for (path, action, namespaced, suffix) in forms.into_iter().chain(everywhere) {
            let id = naming::operation_id("watch", kind, false, namespaced, suffix);
            let about =
                format!("Watch {}; better list them with the parameter watch.", kind.resource);
            let methods =
                Map::from([("get", self.operation(action, id, about, None, Some(answer.clone())))]);
            let parameters = self.parameters(action == "watch", namespaced);
            self.insert(format!("{}/watch/{path}", root(kind)), methods, parameters);
        }
    }

    fn subresource(&mut self, sub: &Subresource) {
        let Some(kind) = self.style.graph.kind(&sub.kind) else {
            return;
        };
        let suffix = naming::capital(&sub.name);
        let verbs: Vec<&str> = sub.verbs.iter().map(AsRef::as_ref).collect();
        let mut methods = self.body_methods(kind.ty, &verbs, &suffix);
        if verbs.contains(&"create") {
            let ty = self.definitions.reference(kind.ty);
            let id =
                naming::operation_id("create", self.kind, false, self.kind.namespaced, &suffix);
            let about = format!("Create {} of a {}.", sub.name, self.kind.kind);
            methods.insert("post", self.operation("post", id, about, Some(ty.clone()), Some(ty)));
        }
        let gvk = gvk_value(&sub.kind);
        for operation in methods.values_mut().filter_map(Value::as_map_mut) {
            naming::extend(self.style.graph.names(), operation, "group-version-kind", &gvk);
        }
        self.add(&format!("{}/{{name}}/{}", self.base(), sub.name), methods, true);
    }

    /// The operations get, put and patch of an object or of a subresource.
    fn body_methods(&mut self, ty: TypeId, verbs: &[&str], suffix: &str) -> Map {
        let kind = self.kind;
        let part = if suffix.is_empty() {
            String::new()
        } else {
            format!("{} of a ", suffix.to_lowercase())
        };
        let mut methods = Map::new();
        for (verb, action, method, word) in [
            ("get", "get", "read", "Read"),
            ("update", "put", "replace", "Replace"),
            ("patch", "patch", "patch", "Patch"),
        ] {
            if !verbs.contains(&verb) {
                continue;
            }
            let answer = self.definitions.reference(ty);
            let body = match action {
                "put" => Some(answer.clone()),
                "patch" => Some(self.definitions.patch()),
                _ => None,
            };
            let id = naming::operation_id(method, kind, false, kind.namespaced, suffix);
            let about = if part.is_empty() {
                format!("{word} a {}.", kind.kind)
            } else {
                format!("{word} {part}{}.", kind.kind)
            };
            methods.insert(action, self.operation(action, id, about, body, Some(answer)));
        }
        methods
    }

    fn delete_types(&mut self) -> (Value, Value) {
        (
            self.definitions.machinery("meta/v1.DeleteOptions"),
            self.definitions.machinery("meta/v1.Status"),
        )
    }

    fn operation(
        &self,
        action: &'static str,
        id: String,
        description: String,
        body: Option<Value>,
        answer: Option<Value>,
    ) -> Value {
        let kind = Some(gvk_value(&self.kind.gvk()));
        PathOperation {
            action,
            id,
            tag: naming::tag(self.kind),
            description,
            kind,
            body,
            answer,
            media: None,
        }
        .write(self.style)
    }

    /// The path of the collection, with its namespace.
    fn base(&self) -> String {
        let namespace = if self.kind.namespaced { "namespaces/{namespace}/" } else { "" };
        format!("{}/{namespace}{}", root(self.kind), self.kind.resource)
    }

    fn add(&mut self, path: &str, methods: Map, named: bool) {
        let parameters = self.parameters(named, self.kind.namespaced);
        self.insert(path.to_owned(), methods, parameters);
    }

    fn insert(&mut self, path: String, mut methods: Map, parameters: Vec<Value>) {
        if !methods.is_empty() {
            methods.insert("parameters", parameters);
            self.paths.insert(path, methods);
        }
    }

    fn parameters(&self, named: bool, namespaced: bool) -> Vec<Value> {
        let mut list = Vec::new();
        if named {
            list.push(parameters::path(
                self.style.dialect,
                "name",
                &format!("Name of the {}.", self.kind.kind),
            ));
        }
        if namespaced {
            list.push(parameters::path(
                self.style.dialect,
                "namespace",
                "Namespace of the objects.",
            ));
        }
        list.extend(
            parameters::PRETTY.map(|parameter| parameters::query(self.style.dialect, parameter)),
        );
        list
    }
}

/// `/api/v1`, `/apis/apps/v1`.
pub(super) fn root(kind: &KindDef) -> String {
    if kind.group.is_empty() {
        format!("/api/{}", kind.version)
    } else {
        format!("/apis/{}/{}", kind.group, kind.version)
    }
}

fn gvk_value(kind: &GroupVersionKind) -> Value {
    naming::group_version_kind(&kind.group, &kind.version, &kind.kind)
}
