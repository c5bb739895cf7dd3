//! Fields, indices and `?:`.

use super::Planner;
use super::node::{Attribute, Base, Conditional, Node, Qualifier, QualifierKey};
use crate::ast::{Expr, Name};
use crate::eval::{EvalError, invalid_qualifier};
use crate::value::{Text, Value};

impl Planner<'_> {
    pub(super) fn select(
        &mut self,
        operand: &Expr,
        field: &Name,
        test_only: bool,
    ) -> Result<Node, EvalError> {
        let mut attribute = attribute_of(self.node(operand)?);
        attribute.push(Qualifier { optional: false, key: QualifierKey::Field(field.clone()) });
        Ok(if test_only {
            Node::Test(Box::new(attribute))
        } else {
            Node::Attribute(Box::new(attribute))
        })
    }

    /// `operand[index]`, `operand[?index]` and `operand.?index`.
    pub(super) fn index(
        &mut self,
        operand: &Expr,
        index: &Expr,
        optional: bool,
    ) -> Result<Node, EvalError> {
        let mut attribute = attribute_of(self.node(operand)?);
        let key = match self.node(index)? {
            Node::Constant(value) => match *value {
                Value::String(Text::Borrowed(text)) => QualifierKey::Field(text.into()),
                Value::String(Text::Shared(text)) => QualifierKey::Field(text),
                value if is_index(&value) => QualifierKey::Constant(Box::new(value)),
                value => return Err(invalid_qualifier(&value)),
            },
            index => QualifierKey::Attribute(Box::new(attribute_of(index))),
        };
        attribute.push(Qualifier { optional, key });
        Ok(Node::Attribute(Box::new(attribute)))
    }

    pub(super) fn conditional(&mut self, operands: &[Expr]) -> Result<Node, EvalError> {
        let [condition, truthy, falsy] = operands else {
            return Err(EvalError::no_such_overload());
        };
        let condition = self.node(condition)?;
        let truthy = attribute_of(self.node(truthy)?);
        let falsy = attribute_of(self.node(falsy)?);
        let base = Base::Conditional(Box::new(Conditional { condition, truthy, falsy }));
        Ok(Node::Attribute(Box::new(Attribute::new(base))))
    }
}

/// The attribute that a node is, or one that begins with its value.
fn attribute_of(node: Node) -> Attribute {
    match node {
        Node::Attribute(attribute) => *attribute,
        node => Attribute::new(Base::Relative(Box::new(node))),
    }
}

/// Whether a value can be an index or key.
pub(crate) fn is_index(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_)
    )
}
