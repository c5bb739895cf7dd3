//! Environments: which variables, types and functions an expression may use.
//!
//! Invariants: a [`Library`] is built once for a release and shared; an environment adds variables and object types to it. A
//! variable's slot is its place among the variables. Not here: the values of variables (an activation).

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::Name;
use crate::library;
use crate::overload::Overload;
use crate::parser::Macros;
use crate::types::Type;
use crate::value::ObjectShape;

/// A minor release: 35 for 1.35.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub u16);

impl Release {
    /// Before every release: what has always been there.
    pub const FIRST: Self = Self(0);
    /// The release whose answers this crate gives.
    pub const CURRENT: Self = Self(35);
}

/// The functions and the names of types that a release knows.
#[derive(Debug)]
pub struct Library {
    functions: HashMap<&'static str, Vec<Arc<Overload>>>,
    types: HashMap<Name, Type>,
    /// The macros.
    macros: Macros,
    /// Whether objects and patches can be built.
    mutation: bool,
}

/// A declared variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name; a qualified one has dots.
    pub name: Name,
    /// Its type.
    pub value_type: Type,
}

/// What an expression may use.
#[derive(Debug, Clone)]
pub struct Environment {
    library: Arc<Library>,
    variables: Vec<Variable>,
    objects: Arc<HashMap<Name, Arc<ObjectShape>>>,
    container: Name,
}

impl Library {
    /// For stored expressions: everything that is known.
    pub fn stored() -> Self {
        Self::of(library::overloads(), Macros::default())
    }

    /// For new expressions at `release`: what had appeared by then.
    pub fn at(release: Release) -> Self {
        let known =
            library::overloads().into_iter().filter(|overload| overload.since <= release).collect();
        Self::of(known, Macros::at(release))
    }

    fn of(overloads: Vec<Overload>, macros: Macros) -> Self {
        let mut functions: HashMap<&'static str, Vec<Arc<Overload>>> = HashMap::new();
        for overload in overloads {
            functions.entry(overload.function).or_default().push(Arc::new(overload));
        }
        let types = library::types()
            .into_iter()
            .map(|(name, value_type)| (Name::from(name), value_type))
            .collect();
        Self { functions, types, macros, mutation: false }
    }

    /// With what expressions of mutating policies have besides.
    #[must_use]
    pub fn with_mutation(mut self) -> Self {
        for overload in library::mutation::overloads() {
            self.functions.entry(overload.function).or_default().push(Arc::new(overload));
        }
        self.mutation = true;
        self
    }

    /// With the macro `cel.bind`, as the selectors of devices have it.
    #[must_use]
    pub fn with_bindings(mut self) -> Self {
        self.macros.bind = true;
        self
    }

    /// The type of objects and patches that `name` names.
    pub(crate) fn built_type(&self, name: &str) -> Option<Type> {
        if self.mutation { library::mutation::object_type(name) } else { None }
    }

    /// The type of a field of objects and patches; none when the type is not one of theirs, `Some(None)` when it has no such
    /// field.
    pub(crate) fn built_field(&self, of: &str, field: &str) -> Option<Option<Type>> {
        if self.mutation { library::mutation::field(of, field) } else { None }
    }

    /// The macros that expressions are parsed with.
    pub const fn macros(&self) -> Macros {
        self.macros
    }

    /// The overloads of `function`, in order of declaration.
    pub fn overloads(&self, function: &str) -> &[Arc<Overload>] {
        self.functions.get(function).map_or(&[], Vec::as_slice)
    }

    /// The type that `name` names, such as `int`.
    pub fn named_type(&self, name: &str) -> Option<&Type> {
        self.types.get(name)
    }
}

impl Environment {
    /// Without variables.
    pub fn new(library: Arc<Library>) -> Self {
        Self { library, variables: Vec::new(), objects: Arc::default(), container: Name::from("") }
    }

    /// With a further variable; its slot is the number of those before it.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<Name>, value_type: Type) -> Self {
        self.variables.push(Variable { name: name.into(), value_type });
        self
    }

    /// With an object type.
    #[must_use]
    pub fn with_object(mut self, shape: Arc<ObjectShape>) -> Self {
        Arc::make_mut(&mut self.objects).insert(shape.name.clone(), shape);
        self
    }

    /// With these object types, by their names, in place of those so far.
    #[must_use]
    pub fn with_objects(mut self, objects: Arc<HashMap<Name, Arc<ObjectShape>>>) -> Self {
        self.objects = objects;
        self
    }

    /// With a container, within which names are looked up first.
    #[must_use]
    pub fn in_container(mut self, container: impl Into<Name>) -> Self {
        self.container = container.into();
        self
    }

    /// The container.
    pub fn container(&self) -> &str {
        &self.container
    }

    /// The functions and types.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The variables, by slot.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Slot of the variable `name`.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|variable| &*variable.name == name)
    }

    /// The object type `name`.
    pub fn object(&self, name: &str) -> Option<&Arc<ObjectShape>> {
        self.objects.get(name)
    }
}
