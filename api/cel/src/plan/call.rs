//! Operators and functions.

use std::collections::HashSet;
use std::sync::Arc;

use super::Planner;
use super::node::{
    Add, Arithmetic, ArithmeticOperator, CallNode, Member, Membership, Node, Relation,
    RelationOperator, Target, TextTest, TextTestKind,
};
use crate::ast::{Expr, Name};
use crate::eval::{EvalError, constant};
use crate::overload::{Overload, PreparedCall};
use crate::types::Type;
use crate::value::{List, Value, whole_int, whole_uint};

/// Functions of which a call with one constant is done while planning.
const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

impl Planner<'_> {
    pub(super) fn call(
        &mut self,
        expression: &Expr,
        function: &Name,
        target: Option<&Expr>,
        arguments: &[Expr],
    ) -> Result<Node, EvalError> {
        match (&**function, arguments) {
            ("_[_]", [operand, index]) => return self.index(operand, index, false),
            ("_[?_]" | "_?._", [operand, index]) => return self.index(operand, index, true),
            ("_?_:_", operands) => return self.conditional(operands),
            _ => {}
        }
        let arguments: Vec<Node> = target
            .into_iter()
            .chain(arguments)
            .map(|argument| self.node(argument))
            .collect::<Result<_, _>>()?;
        let chosen = match self.checked.overloads(expression.id) {
            [one] => Some(Arc::clone(one)),
            _ => None,
        };
        let arguments = match operator(function, chosen.as_deref(), arguments) {
            Ok(node) => return Ok(node),
            Err(arguments) => arguments,
        };
        if &**function == "@in" && chosen.as_ref().is_some_and(|overload| overload.id == "in_list")
        {
            return Ok(membership(arguments, chosen, self.overloads(function)?));
        }
        let prepared = self.prepared(function, chosen.as_deref(), &arguments)?;
        let convertible =
            CONVERSIONS.contains(&&**function) && matches!(arguments[..], [Node::Constant(_)]);
        let target = match chosen {
            Some(overload) => Target::One(overload),
            None => Target::Any(self.overloads(function)?),
        };
        let node = Node::Call(Box::new(CallNode { target, arguments, prepared }));
        if convertible { constant(&node).map(Node::constant) } else { Ok(node) }
    }

    fn overloads(&self, function: &str) -> Result<Arc<[Arc<Overload>]>, EvalError> {
        let overloads = self.environment.library().overloads(function);
        if overloads.is_empty() {
            return Err(EvalError::new(format!("no such overload: {function}")));
        }
        Ok(overloads.into())
    }

    /// What can be done now for a call with a constant argument.
    fn prepared(
        &self,
        function: &str,
        chosen: Option<&Overload>,
        arguments: &[Node],
    ) -> Result<Option<Box<dyn PreparedCall>>, EvalError> {
        let known = self
            .environment
            .library()
            .overloads(function)
            .iter()
            .find_map(|overload| overload.prepare);
        let Some(prepare) = chosen.map_or(known, |overload| overload.prepare) else {
            return Ok(None);
        };
        match arguments.get(prepare.argument) {
            Some(Node::Constant(value)) if value.as_str().is_some() => {
                (prepare.build)(value).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The node of its own that an operator has; the arguments again when it has none.
fn operator(
    function: &str,
    chosen: Option<&Overload>,
    arguments: Vec<Node>,
) -> Result<Node, Vec<Node>> {
    let sized = || {
        let first = chosen.and_then(|overload| overload.parameters.first());
        matches!(first, Some(Type::String | Type::Bytes))
    };
    let one =
        |arguments: Vec<Node>| <[Node; 1]>::try_from(arguments).map(|[operand]| Box::new(operand));
    let two = |arguments: Vec<Node>| <[Node; 2]>::try_from(arguments);
    let relation = |operator, arguments| {
        two(arguments).map(|operands| {
            Node::Relation(Box::new(Relation { operands, operator, sized: sized() }))
        })
    };
    let arithmetic = |operator, arguments| {
        two(arguments).map(|operands| Node::Arithmetic(Box::new(Arithmetic { operands, operator })))
    };
    match function {
        "!_" => one(arguments).map(Node::Not),
        "@not_strictly_false" => one(arguments).map(Node::NotStrictlyFalse),
        "_&&_" => two(arguments).map(Box::new).map(Node::And),
        "_||_" => two(arguments).map(Box::new).map(Node::Or),
        "_==_" => two(arguments)
            .map(|operands| Node::Equal { operands: Box::new(operands), negated: false }),
        "_!=_" => two(arguments)
            .map(|operands| Node::Equal { operands: Box::new(operands), negated: true }),
        "_<_" => relation(RelationOperator::Less, arguments),
        "_<=_" => relation(RelationOperator::LessEquals, arguments),
        "_>_" => relation(RelationOperator::Greater, arguments),
        "_>=_" => relation(RelationOperator::GreaterEquals, arguments),
        "_+_" => {
            two(arguments).map(|operands| Node::Add(Box::new(Add { operands, sized: sized() })))
        }
        "_-_" => arithmetic(ArithmeticOperator::Subtract, arguments),
        "_*_" => arithmetic(ArithmeticOperator::Multiply, arguments),
        "_/_" => arithmetic(ArithmeticOperator::Divide, arguments),
        "_%_" => arithmetic(ArithmeticOperator::Modulo, arguments),
        "size" => one(arguments).map(Node::Size),
        "contains" | "startsWith" | "endsWith" if arguments.len() == 2 => {
            let kind = match function {
                "contains" => TextTestKind::Contains,
                "startsWith" => TextTestKind::StartsWith,
                _ => TextTestKind::EndsWith,
            };
            two(arguments).map(|operands| Node::TextTest(Box::new(TextTest { operands, kind })))
        }
        "or" if chosen.is_none_or(|overload| overload.id == "optional_or_optional") => {
            two(arguments).map(Box::new).map(Node::OptionalOr)
        }
        "orValue" if chosen.is_none_or(|overload| overload.id == "optional_orValue_value") => {
            two(arguments).map(Box::new).map(Node::OptionalOrValue)
        }
        _ => Err(arguments),
    }
}

/// `item in list`; a constant list of simple values is looked up, and nothing is in an empty one.
fn membership(
    mut arguments: Vec<Node>,
    chosen: Option<Arc<Overload>>,
    all: Arc<[Arc<Overload>]>,
) -> Node {
    if let [_, Node::Constant(list)] = &arguments[..]
        && let Value::List(list) = &**list
    {
        if list.is_empty() {
            return Node::constant(Value::Bool(false));
        }
        if let Some((texts, others)) = members(list) {
            let item = arguments.swap_remove(0);
            return Node::Membership(Box::new(Membership { item, texts, others }));
        }
    }
    let target = chosen.map_or(Target::Any(all), Target::One);
    Node::Call(Box::new(CallNode { target, arguments, prepared: None }))
}

/// The members that a look-up in `list` finds: texts in order, and others, numbers in each type that they fit; `None` when
/// it holds values of other types.
fn members(list: &List<'static>) -> Option<(Vec<Name>, HashSet<Member>)> {
    let (mut texts, mut members) = (Vec::new(), HashSet::new());
    for item in list.iter() {
        match item {
            Value::Int(value) => {
                members.extend(u64::try_from(value).ok().map(Member::Uint));
                members.extend(Member::of(&Value::Double(rounded(value))));
            }
            Value::Uint(value) => {
                members.extend(i64::try_from(value).ok().map(Member::Int));
                members.extend(Member::of(&Value::Double(rounded_unsigned(value))));
            }
            Value::Double(value) => {
                members.extend(whole_int(value).map(Member::Int));
                members.extend(whole_uint(value).map(Member::Uint));
            }
            Value::Bool(_) => {}
            Value::String(ref text) => texts.push(Name::from(&**text)),
            _ => return None,
        }
        members.extend(Member::of(&item));
    }
    texts.sort_unstable();
    Some((texts, members))
}

#[expect(clippy::cast_precision_loss, reason = "the reference engine rounds")]
fn rounded(value: i64) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "the reference engine rounds")]
fn rounded_unsigned(value: u64) -> f64 {
    value as f64
}

impl Membership {
    /// Whether a value that is no text is among the members.
    pub(crate) fn contains_other(&self, item: &Value<'_>) -> bool {
        Member::of(item).is_some_and(|member| self.others.contains(&member))
    }
}

impl Member {
    /// The member that a value is; `None` for values of other types and for what is no number.
    pub(crate) fn of(value: &Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Uint(value) => Self::Uint(*value),
            Value::Double(value) if value.is_nan() => return None,
            Value::Double(value) => Self::Double((value + 0.0).to_bits()),
            _ => return None,
        })
    }
}
