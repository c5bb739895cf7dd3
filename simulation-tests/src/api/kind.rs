//! The kinds of objects that simulated clients work with: names, groups and keys.
//!
//! Custom kinds have a definition only while clients have made one.

/// The kinds that clients work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ResourceKind {
    Namespaces,
    ConfigMaps,
    Secrets,
    Services,
    /// The definitions of the custom ones.
    Definitions,
    /// Validating admission policies.
    Policies,
    /// Their bindings.
    PolicyBindings,
    /// Custom, in namespaces.
    Widgets,
    /// Custom, in no namespace, of the same group.
    Gadgets,
}

/// The group of the custom kinds.
const CUSTOM_GROUP: &str = "sim.example";

impl ResourceKind {
    /// Those that exist while they have a definition.
    pub(crate) const CUSTOM: [Self; 2] = [Self::Widgets, Self::Gadgets];

    /// Plural, lower case.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::ConfigMaps => "configmaps",
            Self::Secrets => "secrets",
            Self::Services => "services",
            Self::Definitions => "customresourcedefinitions",
            Self::Policies => "validatingadmissionpolicies",
            Self::PolicyBindings => "validatingadmissionpolicybindings",
            Self::Widgets => "widgets",
            Self::Gadgets => "gadgets",
        }
    }

    /// As objects name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "Namespace",
            Self::ConfigMaps => "ConfigMap",
            Self::Secrets => "Secret",
            Self::Services => "Service",
            Self::Definitions => "CustomResourceDefinition",
            Self::Policies => "ValidatingAdmissionPolicy",
            Self::PolicyBindings => "ValidatingAdmissionPolicyBinding",
            Self::Widgets => "Widget",
            Self::Gadgets => "Gadget",
        }
    }

    /// Empty for the core group.
    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::Namespaces | Self::ConfigMaps | Self::Secrets | Self::Services => "",
            Self::Definitions => "apiextensions.svc.io",
            Self::Policies | Self::PolicyBindings => "admissionregistration.svc.io",
            Self::Widgets | Self::Gadgets => CUSTOM_GROUP,
        }
    }

    /// Whether it exists only while it has a definition.
    pub(crate) fn is_custom(self) -> bool {
        Self::CUSTOM.contains(&self)
    }

    /// Whether its objects are in namespaces.
    pub(crate) fn is_namespaced(self) -> bool {
        !matches!(
            self,
            Self::Namespaces
                | Self::Definitions
                | Self::Policies
                | Self::PolicyBindings
                | Self::Gadgets
        )
    }

    /// The name of the definition of a custom kind.
    pub(crate) fn definition(self) -> String {
        format!("{}.{}", self.plural(), self.group())
    }

    /// The key of an object in the store, or what the keys of a collection begin with when the name
    /// is empty.
    pub(crate) fn key(self, namespace: &str, name: &str) -> String {
        let plural = self.plural();
        let group = if self.group().is_empty() { "core" } else { self.group() };
        if namespace.is_empty() || !self.is_namespaced() {
            format!("o/{group}/{plural}/{name}")
        } else {
            format!("o/{group}/{plural}/{namespace}/{name}")
        }
    }

    /// The custom kind whose object has this key.
    pub(crate) fn custom_of_key(key: &str) -> Option<Self> {
        Self::CUSTOM.into_iter().find(|kind| key.starts_with(&kind.key("", "")))
    }
}
