//! Rules in CEL (`x-…-validations`): what a definition demands of its objects beyond their form
//! (KEP-2876), transition rules with `oldSelf`, and the ratcheting of unchanged values (KEP-4008).
//!
//! The rules of a version are compiled once, on the first write of an object; [`check`] runs them. A
//! definition's own rules are held against the limits of cost when it is written (`written`).
//!
//! Invariants: a place's rules come before those of what is in it; all rules of an object share one
//! budget, so that no definition makes a write slow.
//!
//! Not here: the language and its costs (`quorate-cel`), and the form of rules (`quorate-schema`).

mod check;
mod compile;
mod cost;
mod message;
#[cfg(test)]
mod tests;
mod walk;
pub(super) mod written;

use std::collections::HashMap;

use quorate_cel::program::Program;
use quorate_cel::value::Shape;
use quorate_meta::{Map, Path, Value};
use quorate_schema::structural::{NodeId, Rule, SchemaNode, Structural, field_path};

pub use check::check;

use compile::{CheckedRule, RuleCompiler};

/// The compiled rules of one version.
#[derive(Debug, Default)]
pub struct Rules {
    places: HashMap<NodeId, PlaceRules>,
    /// By index of the node: whether the place, or one in it, has rules.
    reaches: Box<[bool]>,
}

/// The rules of one place.
#[derive(Debug)]
struct PlaceRules {
    /// How values are read; `None` when expressions do not see the place.
    shape: Option<Shape>,
    /// Whether one of the rules uses `oldSelf`.
    use_old_self: bool,
    rules: Box<[CompiledRule]>,
}

#[derive(Debug)]
struct CompiledRule {
    /// A text is why it does not compile.
    program: Result<Program, String>,
    uses_old_self: bool,
    /// `None` too when its expression does not compile.
    message: Option<Program>,
    /// Path of the field that answers name, from the value on.
    field_path: Option<Path>,
}

impl Rules {
    /// Compiles the rules of a schema, which was compiled from `source`.
    #[must_use]
    pub fn compile(schema: &Structural, source: &Value) -> Self {
        let reaches = walk::reaches(schema);
        if !reaches[schema.root().index()] {
            return Self { places: HashMap::new(), reaches };
        }
        let compiler = RuleCompiler::stored(schema);
        let mut places = HashMap::new();
        walk::each_place(schema, source, &reaches, &mut |place, source| {
            let rules = &schema.node(place).rules;
            if !rules.is_empty() {
                places.insert(place, PlaceRules::compile(&compiler, place, rules, source));
            }
        });
        Self { places, reaches }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn of(&self, place: NodeId) -> Option<&PlaceRules> {
        self.places.get(&place)
    }

    fn reaches(&self, place: NodeId) -> bool {
        self.reaches.get(place.index()).copied().unwrap_or_default()
    }
}

impl PlaceRules {
    fn compile(compiler: &RuleCompiler<'_>, place: NodeId, rules: &[Rule], source: &Map) -> Self {
        let shape = compiler.declarations().shape(place).cloned();
        let compile = |rule: &Rule| {
            Some(CompiledRule::new(compiler.compile(place, rule)?, &rule.field_path, source))
        };
        let rules: Box<[CompiledRule]> = rules.iter().filter_map(compile).collect();
        Self { shape, use_old_self: rules.iter().any(|rule| rule.uses_old_self), rules }
    }
}

impl CompiledRule {
    fn new(rule: CheckedRule, path: &str, source: &Map) -> Self {
        let field_path = match path {
            "" => None,
            path => field_path::find(source, path, true).ok().map(|found| found.path),
        };
        Self {
            uses_old_self: rule.uses_old_self(),
            program: rule.rule.map(|rule| rule.program),
            message: rule.message.and_then(Result::ok).map(|message| message.program),
            field_path,
        }
    }
}

/// The type that run-time errors name in place of the value.
fn type_name(node: &SchemaNode) -> &str {
    use quorate_schema::structural::ValueType;
    match &node.ty {
        ValueType::IntOrString => "",
        ty => ty.as_str(),
    }
}
