//! API verbs, and the verb of an HTTP request.
//!
//! Invariant: the verb depends on method, path and the `watch` parameter only. Not here: whether
//! the resource has the verb, which the registry knows.

use http::Method;

/// What a request wants to do; the name is what authorization rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// GET of one object, or of a path that is no resource.
    Get,
    /// GET of a collection.
    List,
    /// GET of a collection with `watch`.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
    /// HEAD; no resource has it.
    Head,
    /// OPTIONS; no resource has it.
    Options,
    /// Any other method; no resource has it.
    Other,
}

impl Verb {
    /// The verb of a method on a resource path, `named` when the path names one object.
    #[must_use]
    pub fn of_resource(method: &Method, named: bool, watch: bool) -> Self {
        match (method, named) {
            (&Method::GET, true) => Self::Get,
            (&Method::GET, false) if watch => Self::Watch,
            (&Method::GET, false) => Self::List,
            (&Method::DELETE, false) => Self::DeleteCollection,
            _ => Self::of_method(method),
        }
    }

    /// The verb of a method on any other path.
    #[must_use]
    pub fn of_method(method: &Method) -> Self {
        match *method {
            Method::GET => Self::Get,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            Method::HEAD => Self::Head,
            Method::OPTIONS => Self::Options,
            _ => Self::Other,
        }
    }

    /// Its name in rules and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Head => "head",
            Self::Options => "options",
            Self::Other => "other",
        }
    }

    /// The lower-case HTTP method, which is the verb that rules for non-resource paths hold.
    #[must_use]
    pub const fn method_name(self) -> &'static str {
        match self {
            Self::Get | Self::List | Self::Watch => "get",
            Self::Create => "post",
            Self::Update => "put",
            Self::Delete | Self::DeleteCollection => "delete",
            other => other.name(),
        }
    }

    /// Whether the request may change something.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Update | Self::Patch | Self::Delete | Self::DeleteCollection
        )
    }
}
