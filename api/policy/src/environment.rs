//! Environments: what the expressions of policies may use.
//!
//! Invariant: the variables of all expressions of a policy have the same slots, so that one
//! activation serves them all; a variable that an expression may not use has a name there that no
//! expression can spell.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use quorate_cel::declarations::TypeDeclarations;
use quorate_cel::environment::{Environment, Library, Release};
use quorate_cel::library::authorizer::{authorizer_type, request_resource_type};
use quorate_cel::types::Type;
use quorate_cel::value::{ObjectShape, Shape};
use quorate_meta::Names;

use crate::types::{Declarations, object_type};

/// The release whose libraries new expressions may use: the one before the current, so that every
/// node of a cluster that is being upgraded knows what is stored.
const NEW_EXPRESSIONS: Release = Release(34);

/// The slots of the variables.
pub(crate) mod slots {
    pub(crate) const OBJECT: usize = 0;
    pub(crate) const OLD_OBJECT: usize = 1;
    pub(crate) const REQUEST: usize = 2;
    pub(crate) const NAMESPACE: usize = 3;
    pub(crate) const PARAMS: usize = 4;
    pub(crate) const AUTHORIZER: usize = 5;
    pub(crate) const REQUEST_RESOURCE: usize = 6;
    pub(crate) const VARIABLES: usize = 7;
    /// The first variable of the policy's own.
    pub(crate) const FIRST_OWN: usize = 8;
}

/// Whether an expression is stored already: then it may use every library version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    New,
    Stored,
}

/// What an expression may use besides the objects and the request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Uses {
    pub(crate) params: bool,
    pub(crate) authorizer: bool,
    pub(crate) variables: bool,
    /// Whether it builds objects and patches.
    pub(crate) builds: bool,
}

impl Uses {
    /// Whatever an expression of a policy can use, but for objects and patches to build.
    pub(crate) const ALL: Self =
        Self { params: true, authorizer: true, variables: true, builds: false };
    /// The same and these.
    pub(crate) const OF_MUTATIONS: Self = Self { builds: true, ..Self::ALL };
    /// The same without the authorizer.
    pub(crate) const WITHOUT_AUTHORIZER: Self = Self { authorizer: false, ..Self::ALL };
}

/// Object types by their names.
type TypesByName = HashMap<Arc<str>, Arc<ObjectShape>>;

/// The environments of all policies of a cluster.
#[derive(Debug)]
pub struct Environments {
    names: &'static Names,
    plain: Libraries,
    /// Those of mutations.
    building: Libraries,
    /// The types of the request and the namespace.
    objects: Arc<TypesByName>,
    request: Shape,
    namespace: Shape,
}

/// The functions and types of expressions, by their age.
#[derive(Debug)]
struct Libraries {
    new: Arc<Library>,
    stored: Arc<Library>,
}

/// A variable of a policy's own, as later expressions see it.
#[derive(Debug, Clone)]
pub(crate) struct OwnVariable {
    pub(crate) name: String,
    pub(crate) value_type: Type,
}

/// The types of objects, where they are known, which they are only to warn of mistakes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ObjectTypes<'t> {
    /// Of `object` and `oldObject`.
    pub(crate) object: Option<&'t TypeDeclarations>,
    /// Of `params`.
    pub(crate) params: Option<&'t TypeDeclarations>,
}

impl ObjectTypes<'_> {
    /// The environment with these types and the common ones.
    fn declare(self, environment: Environment, common: &Arc<TypesByName>) -> Environment {
        let known: Vec<&TypeDeclarations> =
            [self.object, self.params].into_iter().flatten().collect();
        if known.is_empty() {
            return environment.with_objects(common.clone());
        }
        let mut all = TypesByName::clone(common);
        for declared in known {
            all.extend(declared.objects().map(|shape| (shape.name.clone(), shape.clone())));
        }
        environment.with_objects(Arc::new(all))
    }
}

impl Environments {
    /// The environments under the names of a profile.
    #[must_use]
    pub fn new(names: &'static Names) -> Self {
        let mut declarations = Declarations::new(names);
        let (request, namespace) = (declarations.request(), declarations.namespace());
        let types = declarations.into_types();
        let objects = types.into_iter().map(|shape| (shape.name.clone(), shape)).collect();
        Self {
            names,
            plain: Libraries {
                new: Arc::new(Library::at(NEW_EXPRESSIONS)),
                stored: Arc::new(Library::stored()),
            },
            building: Libraries {
                new: Arc::new(Library::at(NEW_EXPRESSIONS).with_mutation()),
                stored: Arc::new(Library::stored().with_mutation()),
            },
            objects: Arc::new(objects),
            request,
            namespace,
        }
    }

    /// The names of the profile.
    pub(crate) const fn names(&self) -> &'static Names {
        self.names
    }

    /// How `request` is read.
    pub(crate) const fn request(&self) -> &Shape {
        &self.request
    }

    /// How `namespaceObject` is read.
    pub(crate) const fn namespace(&self) -> &Shape {
        &self.namespace
    }

    /// The environment of an expression after these variables.
    pub(crate) fn environment(
        &self,
        age: Age,
        uses: Uses,
        own: &[OwnVariable],
        types: ObjectTypes<'_>,
    ) -> Environment {
        let Libraries { new, stored } = if uses.builds { &self.building } else { &self.plain };
        let library = match age {
            Age::New => new.clone(),
            Age::Stored => stored.clone(),
        };
        let mut environment = types.declare(Environment::new(library), &self.objects);
        let object = types.object.map_or(Type::Dyn, |declared| declared.shape().to_type());
        let params = types.params.map_or(Type::Dyn, |declared| declared.shape().to_type());
        let variables = if uses.variables { Some(self.variables_type(own)) } else { None };
        if let Some(shape) = &variables {
            environment = environment.with_object(shape.clone());
        }
        let variables = variables.map_or(Type::Dyn, |shape| Type::Object(shape.name.clone()));
        let usable = |name: &'static str, usable: bool| {
            if usable { name.to_owned() } else { format!("@{name}") }
        };
        let environment = environment
            .with_variable("object", object.clone())
            .with_variable("oldObject", object)
            .with_variable("request", self.request.to_type())
            .with_variable("namespaceObject", self.namespace.to_type())
            .with_variable(usable("params", uses.params), params)
            .with_variable(usable("authorizer", uses.authorizer), authorizer_type())
            .with_variable(
                usable("authorizer.requestResource", uses.authorizer),
                request_resource_type(),
            )
            .with_variable(usable("variables", uses.variables), variables);
        // Of two variables of one name later expressions see the second.
        let mut later = HashSet::new();
        let mut hidden: Vec<bool> = own
            .iter()
            .rev()
            .map(|variable| !later.insert(&variable.name) || !uses.variables)
            .collect();
        hidden.reverse();
        own.iter().zip(hidden).fold(environment, |environment, (variable, is_hidden)| {
            let prefix = if is_hidden { "@" } else { "" };
            let name = format!("{prefix}variables.{}", variable.name);
            environment.with_variable(name, variable.value_type.clone())
        })
    }

    /// The type of `variables`: what is not declared in it is refused.
    fn variables_type(&self, own: &[OwnVariable]) -> Arc<ObjectShape> {
        let fields: Vec<(&str, Shape)> =
            own.iter().map(|variable| (variable.name.as_str(), Shape::Dyn)).collect();
        object_type(self.names.cel_prefix, "variables", &fields)
    }
}
