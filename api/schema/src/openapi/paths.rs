//! The paths of a served resource and their operations.

use quorate_meta::{Map, Value};

use super::definitions::Definitions;
use super::operation::{PathOperation, Produced};
use super::path_kind::{PathKind, SubresourcePath};
use super::{Style, connections, naming, parameters};

/// Writes all paths of a resource into `paths`.
pub(super) fn of_resource<'g>(
    style: Style<'g>,
    kind: &PathKind<'_>,
    subresources: &[SubresourcePath<'_>],
    definitions: &mut Definitions<'g>,
    paths: &mut Map,
) {
    let mut writer = PathWriter { style, kind, definitions, paths };
    writer.collection();
    writer.object();
    if !kind.is_custom {
        writer.watches();
    }
    subresources.iter().for_each(|sub| writer.subresource(sub));
}

struct PathWriter<'g, 'w> {
    style: Style<'g>,
    kind: &'w PathKind<'w>,
    definitions: &'w mut Definitions<'g>,
    paths: &'w mut Map,
}

impl PathWriter<'_, '_> {
    fn collection(&mut self) {
        let kind = self.kind;
        let mut methods = Map::new();
        let list = kind.list.as_ref().filter(|_| kind.has_verb("list"));
        if let Some(list) = list {
            let id = kind.operation_id("list", false, kind.namespaced, "");
            let about = format!("List or watch {}.", kind.resource);
            methods.insert("get", self.operation("list", id, about, None, Some(list.clone())));
        }
        if kind.has_verb("create") {
            let ty = kind.object.clone();
            let id = kind.operation_id("create", false, kind.namespaced, "");
            let about = format!("Create a {}.", kind.kind);
            methods.insert("post", self.operation("post", id, about, Some(ty.clone()), Some(ty)));
        }
        if kind.has_verb("deletecollection") {
            let (options, status) = self.delete_types();
            let id = kind.operation_id("delete", true, kind.namespaced, "");
            let about = format!("Delete {}.", kind.resource);
            methods.insert(
                "delete",
                self.operation("deletecollection", id, about, Some(options), Some(status)),
            );
        }
        self.add(&self.base(), methods, false);
        if let (true, Some(list)) = (kind.namespaced, list) {
            let id = kind.operation_id("list", false, false, "ForAllNamespaces");
            let about = format!("List or watch {} of all namespaces.", kind.resource);
            let methods =
                Map::from([("get", self.operation("list", id, about, None, Some(list.clone())))]);
            let path = format!("{}/{}", kind.root(), kind.resource);
            let plain = self.parameters(false, false);
            self.insert(path, methods, plain);
        }
    }

    fn object(&mut self) {
        let kind = self.kind;
        let mut methods = self.body_methods(&kind.object, &kind.verbs, "");
        if kind.has_verb("delete") {
            let (options, status) = self.delete_types();
            let answer = if kind.delete_documents_object { kind.object.clone() } else { status };
            let id = kind.operation_id("delete", false, kind.namespaced, "");
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
            .then(|| (kind.resource.to_owned(), "watchlist", false, "ListForAllNamespaces"));
        let forms = [
            (one, "watch", kind.namespaced, ""),
            (collection, "watchlist", kind.namespaced, "List"),
        ];
        for (path, action, namespaced, suffix) in forms.into_iter().chain(everywhere) {
            let id = kind.operation_id("watch", false, namespaced, suffix);
            let about =
                format!("Watch {}; better list them with the parameter watch.", kind.resource);
            let methods =
                Map::from([("get", self.operation(action, id, about, None, Some(answer.clone())))]);
            let parameters = self.parameters(action == "watch", namespaced);
            self.insert(format!("{}/watch/{path}", kind.root()), methods, parameters);
        }
    }

    fn subresource(&mut self, sub: &SubresourcePath<'_>) {
        let kind = self.kind;
        let suffix = naming::capital(sub.name);
        if let Some(methods) = connections::methods(sub.name) {
            self.connection(sub, methods, &suffix);
            if sub.name == "proxy" {
                self.connection(sub, methods, "ProxyWithPath");
            }
            return;
        }
        let mut methods = self.body_methods(&sub.body, &sub.verbs, &suffix);
        if sub.verbs.contains(&"create") {
            let ty = sub.body.clone();
            let id = kind.operation_id("create", false, kind.namespaced, &suffix);
            let about = format!("Create {} of a {}.", sub.name, kind.kind);
            methods.insert("post", self.operation("post", id, about, Some(ty.clone()), Some(ty)));
        }
        for operation in methods.values_mut().filter_map(Value::as_map_mut) {
            let names = self.style.graph.names();
            naming::extend(names, operation, "group-version-kind", &sub.gvk);
        }
        self.add(&format!("{}/{{name}}/{}", self.base(), sub.name), methods, true);
    }

    /// A path that leads to another server; that of a proxy also with what comes after it.
    fn connection(&mut self, sub: &SubresourcePath<'_>, allowed: &[&'static str], suffix: &str) {
        let (kind, has_path) = (self.kind, suffix.ends_with("WithPath"));
        let is_log = sub.name == "log";
        let mut methods = Map::new();
        for method in allowed {
            let (action, id) = match is_log {
                true => ("get", kind.operation_id("read", false, kind.namespaced, suffix)),
                false => ("connect", kind.connection_id(method, suffix)),
            };
            let about = format!(
                "Connect {} requests to {} of a {}.",
                method.to_uppercase(),
                sub.name,
                kind.kind
            );
            let operation = PathOperation {
                action,
                id,
                tag: kind.tag(),
                description: if is_log {
                    format!("Read the log of a {}.", kind.kind)
                } else {
                    about
                },
                kind: Some(sub.gvk.clone()),
                body: None,
                answer: Some(sub.body.clone()),
                media: if is_log { Produced::Text } else { Produced::Only("*/*") },
            };
            methods.insert(*method, operation.write(self.style));
        }
        let dialect = self.style.dialect;
        let mut parameters = self.parameters(true, kind.namespaced);
        let queries = connections::parameters(sub.name).into_iter();
        parameters.extend(queries.map(|parameter| parameters::query(dialect, parameter)));
        let mut path = format!("{}/{{name}}/{}", self.base(), sub.name);
        if has_path {
            path += "/{path}";
            parameters.push(parameters::path(dialect, "path", "The path at the other server."));
        }
        self.insert(path, methods, parameters);
    }

    /// The operations get, put and patch of an object or of a subresource.
    fn body_methods(&mut self, ty: &Value, verbs: &[&str], suffix: &str) -> Map {
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
            let answer = ty.clone();
            let body = match action {
                "put" => Some(answer.clone()),
                "patch" => Some(self.definitions.patch()),
                _ => None,
            };
            let id = kind.operation_id(method, false, kind.namespaced, suffix);
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
        PathOperation {
            action,
            id,
            tag: self.kind.tag(),
            description,
            kind: Some(self.kind.gvk()),
            body,
            answer,
            media: if self.kind.is_custom { Produced::Custom } else { Produced::Objects },
        }
        .write(self.style)
    }

    /// The path of the collection, with its namespace.
    fn base(&self) -> String {
        let namespace = if self.kind.namespaced { "namespaces/{namespace}/" } else { "" };
        format!("{}/{namespace}{}", self.kind.root(), self.kind.resource)
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
