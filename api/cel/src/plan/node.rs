//! Nodes: what an expression becomes to be evaluated.
//!
//! Invariant: every variable, function and constant is resolved; nothing is looked up by name but fields of data.

use std::collections::HashSet;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::ast::Name;
use crate::overload::{Overload, PreparedCall};
use crate::value::Value;

/// One step of an evaluation.
#[derive(Debug)]
pub(crate) enum Node {
    /// A constant, or what was folded to one.
    Constant(Box<Value<'static>>),
    /// A variable or value with the fields and indices that are read of it.
    Attribute(Box<Attribute>),
    /// `has(operand.field)`: an attribute of which the last qualifier is only tested.
    Test(Box<Attribute>),
    /// `a && b`.
    And(Box<[Node; 2]>),
    /// `a || b`.
    Or(Box<[Node; 2]>),
    /// `!a`.
    Not(Box<Node>),
    /// Whether an operand is anything but `false`.
    NotStrictlyFalse(Box<Node>),
    /// `a == b` or, when `negated`, `a != b`.
    Equal {
        /// `a` and `b`.
        operands: Box<[Node; 2]>,
        /// Whether it is `!=`.
        negated: bool,
    },
    /// `<`, `<=`, `>`, `>=`.
    Relation(Box<Relation>),
    /// `a + b`.
    Add(Box<Add>),
    /// `-`, `*`, `/`, `%` of two operands.
    Arithmetic(Box<Arithmetic>),
    /// `size(a)`.
    Size(Box<Node>),
    /// `contains`, `startsWith`, `endsWith` of text.
    TextTest(Box<TextTest>),
    /// A function.
    Call(Box<CallNode>),
    /// `x in [constants]`.
    Membership(Box<Membership>),
    /// `a.or(b)` of optionals.
    OptionalOr(Box<[Node; 2]>),
    /// `a.orValue(b)` of an optional.
    OptionalOrValue(Box<[Node; 2]>),
    /// `[a, ?b]`.
    List(Box<ListNode>),
    /// `{a: b, ?c: d}`.
    Map(Box<[EntryNode]>),
    /// `google.protobuf.Int64Value{value: a}`.
    Message(Box<MessageNode>),
    /// A macro's loop.
    Fold(Box<FoldNode>),
}

/// A value with the fields and indices that are read of it.
#[derive(Debug)]
pub(crate) struct Attribute {
    /// Where it begins.
    pub(crate) base: Base,
    /// What is read of it, in order.
    pub(crate) qualifiers: SmallVec<[Qualifier; 2]>,
    /// Whether it is a variable of which only fields are read, none optional.
    pub(crate) is_path: bool,
}

impl Node {
    /// A constant.
    pub(crate) fn constant(value: Value<'static>) -> Self {
        Self::Constant(Box::new(value))
    }
}

impl Attribute {
    /// Without qualifiers.
    pub(crate) fn new(base: Base) -> Self {
        let is_path = matches!(base, Base::Variable(_) | Base::Local(_));
        Self { base, qualifiers: SmallVec::new(), is_path }
    }

    /// With one more qualifier.
    pub(crate) fn push(&mut self, qualifier: Qualifier) {
        self.is_path &= !qualifier.optional && matches!(qualifier.key, QualifierKey::Field(_));
        self.qualifiers.push(qualifier);
    }
}

/// Where an attribute begins.
#[derive(Debug)]
pub(crate) enum Base {
    /// A variable of the environment, by slot.
    Variable(u32),
    /// A variable of a fold, by place.
    Local(u32),
    /// A fold's accumulator, which the step that reads it replaces.
    Taken(u32),
    /// Any other expression.
    Relative(Box<Node>),
    /// `c ? a : b`.
    Conditional(Box<Conditional>),
}

/// `c ? a : b`.
#[derive(Debug)]
pub(crate) struct Conditional {
    /// `c`.
    pub(crate) condition: Node,
    /// `a`.
    pub(crate) truthy: Attribute,
    /// `b`.
    pub(crate) falsy: Attribute,
}

/// A field or index.
#[derive(Debug)]
pub(crate) struct Qualifier {
    /// Whether its absence gives `optional.none()`.
    pub(crate) optional: bool,
    /// Which.
    pub(crate) key: QualifierKey,
}

/// Which field or index.
#[derive(Debug)]
pub(crate) enum QualifierKey {
    /// A field or constant text.
    Field(Name),
    /// Another constant.
    Constant(Box<Value<'static>>),
    /// What another attribute says.
    Attribute(Box<Attribute>),
}

/// A test of text.
#[derive(Debug)]
pub(crate) struct TextTest {
    /// The text and the part.
    pub(crate) operands: [Node; 2],
    /// Which test.
    pub(crate) kind: TextTestKind,
}

/// Where a text is searched for a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextTestKind {
    Contains,
    StartsWith,
    EndsWith,
}

/// A relation.
#[derive(Debug)]
pub(crate) struct Relation {
    /// Both sides.
    pub(crate) operands: [Node; 2],
    /// Which relation.
    pub(crate) operator: RelationOperator,
    /// Whether the operands are text or bytes, so that their size counts as cost.
    pub(crate) sized: bool,
}

/// A relation's operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelationOperator {
    Less,
    LessEquals,
    Greater,
    GreaterEquals,
}

/// A sum.
#[derive(Debug)]
pub(crate) struct Add {
    /// Both sides.
    pub(crate) operands: [Node; 2],
    /// Whether the operands are text or bytes, so that their size counts as cost.
    pub(crate) sized: bool,
}

/// A difference, product, quotient or remainder.
#[derive(Debug)]
pub(crate) struct Arithmetic {
    /// Both sides.
    pub(crate) operands: [Node; 2],
    /// Which of them.
    pub(crate) operator: ArithmeticOperator,
}

/// An operator of arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArithmeticOperator {
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A call of a function.
#[derive(Debug)]
pub(crate) struct CallNode {
    /// What is called.
    pub(crate) target: Target,
    /// The arguments, the receiver first.
    pub(crate) arguments: Vec<Node>,
    /// What was done while planning, for a constant argument.
    pub(crate) prepared: Option<Box<dyn PreparedCall>>,
}

/// What is called.
#[derive(Debug)]
pub(crate) enum Target {
    /// The overload that the checker chose.
    One(Arc<Overload>),
    /// The first of a function's overloads that takes the arguments.
    Any(Arc<[Arc<Overload>]>),
}

/// Membership in a constant list.
#[derive(Debug)]
pub(crate) struct Membership {
    /// What is looked for.
    pub(crate) item: Node,
    /// The texts, in order.
    pub(crate) texts: Vec<Name>,
    /// The other elements.
    pub(crate) others: HashSet<Member>,
}

/// An element of a constant list that is no text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Member {
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// Bits of a double; zero has one form and `NaN` is none.
    Double(u64),
}

/// A list literal.
#[derive(Debug)]
pub(crate) struct ListNode {
    /// The elements.
    pub(crate) elements: Vec<Node>,
    /// Places of the elements that are left out when they are `optional.none()`.
    pub(crate) optional: Vec<u32>,
}

/// An entry of a map literal.
#[derive(Debug)]
pub(crate) struct EntryNode {
    /// The key.
    pub(crate) key: Node,
    /// The value.
    pub(crate) value: Node,
    /// Whether it is left out when its value is `optional.none()`.
    pub(crate) optional: bool,
}

/// A message literal.
#[derive(Debug)]
pub(crate) struct MessageNode {
    /// Full name of the type.
    pub(crate) type_name: Name,
    /// Fields.
    pub(crate) fields: Vec<FieldNode>,
}

/// A field of a message literal.
#[derive(Debug)]
pub(crate) struct FieldNode {
    /// Its name.
    pub(crate) name: Name,
    /// The value.
    pub(crate) value: Node,
    /// Whether it is left out when its value is `optional.none()`.
    pub(crate) optional: bool,
}

/// A macro's loop.
#[derive(Debug)]
pub(crate) struct FoldNode {
    /// What is gone through.
    pub(crate) range: Node,
    /// Place of the element (or of the index or key, when there is a second).
    pub(crate) variable: u32,
    /// Place of the element or value.
    pub(crate) second: Option<u32>,
    /// Place of the accumulator.
    pub(crate) accumulator: u32,
    /// What it does.
    pub(crate) kind: FoldKind,
}

/// What a loop does.
#[derive(Debug)]
pub(crate) enum FoldKind {
    /// `all` and, when `negated`, `exists`: ends at the first that is false, or true.
    Quantifier {
        /// The predicate.
        predicate: Node,
        /// Whether it is `exists`.
        exists: bool,
    },
    /// `exists_one`.
    One {
        /// The predicate.
        predicate: Node,
    },
    /// `map`, `filter` and `transformList`.
    Collect {
        /// Which elements are taken; all, when there is none.
        filter: Option<Node>,
        /// What becomes of an element.
        element: Node,
    },
    /// Any other.
    General(Box<GeneralFold>),
}

/// A loop in full.
#[derive(Debug)]
pub(crate) struct GeneralFold {
    /// The accumulator's first value, evaluated when it is first read.
    pub(crate) initial: Node,
    /// Goes on while this is true.
    pub(crate) condition: Node,
    /// The accumulator's next value.
    pub(crate) step: Node,
    /// The answer.
    pub(crate) result: Node,
}
