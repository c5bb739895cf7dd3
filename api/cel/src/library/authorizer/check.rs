//! Questions to an authorizer and its answers.

/// Who is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Who sent the request that is being decided.
    Requester,
    /// A service account.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// What is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CheckTarget {
    /// A path that is no resource.
    Path(String),
    /// A resource.
    Resource(ResourceTarget),
}

/// A resource, in any version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ResourceTarget {
    /// Its API group, empty for the core group.
    pub group: String,
    /// Its name, plural.
    pub resource: String,
    /// The subresource, empty for the resource itself.
    pub subresource: String,
    /// The namespace, empty for all or none.
    pub namespace: String,
    /// The name of the object, empty for all.
    pub name: String,
    /// A field selector as it was written, empty for none; one that cannot be read selects nothing less.
    pub field_selector: String,
    /// A label selector as it was written, empty for none; one that cannot be read selects nothing less.
    pub label_selector: String,
}

/// A question: may this subject do this.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Check {
    /// Who.
    pub subject: Subject,
    /// To what.
    pub target: CheckTarget,
    /// The verb, of HTTP for a path.
    pub verb: String,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why, in the authorizer's words.
    pub reason: String,
    /// What went wrong while deciding.
    pub error: Option<String>,
}
