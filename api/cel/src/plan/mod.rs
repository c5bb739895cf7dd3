//! The planner: a checked tree to executable nodes.
//!
//! Invariants: constants are folded exactly where the reference engine folds them, since costs and errors of this stage depend
//! on it: lists and maps of constants, conversions of a constant, membership in a constant list, calls whose pattern is
//! constant. Not here: evaluation.

mod attribute;
mod call;
mod fold;
pub(crate) mod node;

pub(crate) use attribute::is_index;

use crate::ast::{Entry, Expr, ExprKind, Name};
use crate::checker::{Checked, Reference};
use crate::environment::Environment;
use crate::eval::{EvalError, constant};
use crate::types::Type;
use crate::value::{Text, Value};
use node::{Attribute, Base, EntryNode, FieldNode, ListNode, MessageNode, Node};

/// A plan.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The root.
    pub(crate) root: Node,
    /// How many places the variables of folds need.
    pub(crate) locals: u32,
}

/// Plans a checked tree.
pub(crate) fn plan(environment: &Environment, checked: &Checked) -> Result<Plan, EvalError> {
    let mut planner = Planner { environment, checked, scope: Vec::new(), locals: 0, taken: None };
    let root = planner.node(&checked.ast.root)?;
    Ok(Plan { root, locals: planner.locals })
}

struct Planner<'p> {
    environment: &'p Environment,
    checked: &'p Checked,
    /// Variables of the folds around, innermost last, with their places.
    scope: Vec<(Name, u32)>,
    locals: u32,
    /// The accumulator that the step being planned may take instead of copying.
    taken: Option<u32>,
}

impl Planner<'_> {
    fn node(&mut self, expression: &Expr) -> Result<Node, EvalError> {
        match &expression.kind {
            ExprKind::Literal(literal) => Ok(Node::constant(Value::from(literal))),
            ExprKind::Ident(name) => self.identifier(expression, name),
            ExprKind::Select { operand, field, test_only } => {
                self.select(operand, field, *test_only)
            }
            ExprKind::Call { function, target, arguments } => {
                self.call(expression, function, target.as_deref(), arguments)
            }
            ExprKind::List { elements, optional } => self.list(elements, optional),
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Message { type_name, fields } => {
                let planned: Result<_, EvalError> = fields
                    .iter()
                    .map(|field| {
                        let value = self.node(&field.value)?;
                        Ok(FieldNode { name: field.name.clone(), value, optional: field.optional })
                    })
                    .collect();
                Ok(Node::Message(Box::new(MessageNode {
                    type_name: type_name.clone(),
                    fields: planned?,
                })))
            }
            ExprKind::Comprehension(fold) => self.fold(fold),
        }
    }

    fn identifier(&mut self, expression: &Expr, name: &Name) -> Result<Node, EvalError> {
        let variable = match self.checked.reference(expression.id) {
            Some(Reference::Constant(value)) => return Ok(Node::constant(Value::from(value))),
            // Well-known messages can be built, but their names are no values.
            Some(Reference::Type(named)) if is_message(name, named) => {
                return Err(EvalError::new(format!("reference to undefined type: {name}")));
            }
            Some(Reference::Type(named)) => {
                return Ok(Node::constant(Value::Type(Text::Shared(runtime_name(named)))));
            }
            Some(Reference::Variable(variable)) => variable,
            _ => name,
        };
        // The reference engine takes what has the type of a type for the name of one.
        if matches!(self.checked.type_of(expression.id), Type::Type(_)) {
            return Err(EvalError::new(format!("reference to undefined type: {variable}")));
        }
        let base = self.base(variable)?;
        Ok(Node::Attribute(Box::new(Attribute::new(base))))
    }

    fn base(&self, name: &str) -> Result<Base, EvalError> {
        if let Some((_, place)) = self.scope.iter().rev().find(|(known, _)| **known == *name) {
            return Ok(if self.taken == Some(*place) {
                Base::Taken(*place)
            } else {
                Base::Local(*place)
            });
        }
        let slot = self.environment.slot(name).and_then(|slot| u32::try_from(slot).ok());
        slot.map(Base::Variable)
            .ok_or_else(|| EvalError::new(format!("no such attribute(s): {name}")))
    }

    fn list(&mut self, elements: &[Expr], optional: &[u32]) -> Result<Node, EvalError> {
        let elements: Vec<Node> =
            elements.iter().map(|element| self.node(element)).collect::<Result<_, _>>()?;
        let constants = elements.iter().all(|element| matches!(element, Node::Constant(_)));
        let node = Node::List(Box::new(ListNode { elements, optional: optional.to_vec() }));
        if constants { constant(&node).map(Node::constant) } else { Ok(node) }
    }

    fn map(&mut self, entries: &[Entry]) -> Result<Node, EvalError> {
        let planned: Result<Vec<EntryNode>, EvalError> = entries
            .iter()
            .map(|entry| {
                let (key, value) = (self.node(&entry.key)?, self.node(&entry.value)?);
                Ok(EntryNode { key, value, optional: entry.optional })
            })
            .collect();
        let planned = planned?;
        let is_constant = |node: &Node| matches!(node, Node::Constant(_));
        let constants =
            planned.iter().all(|entry| is_constant(&entry.key) && is_constant(&entry.value));
        let node = Node::Map(planned.into());
        if constants { constant(&node).map(Node::constant) } else { Ok(node) }
    }
}

fn is_message(name: &str, named: &Type) -> bool {
    name.starts_with("google.protobuf.") && !matches!(named, Type::Timestamp | Type::Duration)
}

/// Name of a type at run time.
fn runtime_name(named: &Type) -> Name {
    match named {
        Type::Dyn | Type::Param(_) | Type::Variable(_) => "dyn".into(),
        Type::Error => "error".into(),
        Type::Null => "null_type".into(),
        Type::Bool => "bool".into(),
        Type::Int => "int".into(),
        Type::Uint => "uint".into(),
        Type::Double => "double".into(),
        Type::String => "string".into(),
        Type::Bytes => "bytes".into(),
        Type::Timestamp => "google.protobuf.Timestamp".into(),
        Type::Duration => "google.protobuf.Duration".into(),
        Type::Any => "google.protobuf.Any".into(),
        Type::Wrapper(wrapped) => wrapper_name(wrapped).into(),
        Type::List(_) => "list".into(),
        Type::Map(..) => "map".into(),
        Type::Optional(_) => "optional_type".into(),
        Type::Type(_) | Type::AnyType => "type".into(),
        Type::Object(name) | Type::Opaque(name) => name.clone(),
    }
}

fn wrapper_name(wrapped: &Type) -> &'static str {
    match wrapped {
        Type::Bool => "google.protobuf.BoolValue",
        Type::Bytes => "google.protobuf.BytesValue",
        Type::Double => "google.protobuf.DoubleValue",
        Type::String => "google.protobuf.StringValue",
        Type::Uint => "google.protobuf.UInt64Value",
        _ => "google.protobuf.Int64Value",
    }
}
