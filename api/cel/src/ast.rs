//! The syntax tree of an expression, macros already expanded.
//!
//! Invariants: every expression has an id that is unique in its tree, given in the order in which the parser meets it; the
//! checker's types and references and the source positions are looked up by it. Not here: how text becomes a tree.

use std::sync::Arc;

/// Identifies an expression within one [`Ast`]; from 1.
pub type ExprId = u32;

/// A name or a piece of text that several nodes share.
pub type Name = Arc<str>;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Ast {
    /// The root.
    pub root: Expr,
    /// Byte offset into the source of each expression, by id; index 0 is unused.
    pub positions: Vec<u32>,
    /// Source text, for messages.
    pub source: Arc<str>,
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// Its id.
    pub id: ExprId,
    /// What it is.
    pub kind: ExprKind,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// A variable, a type, or the first part of a qualified name; a leading dot is kept in the name.
    Ident(Name),
    /// `operand.field`, or `has(operand.field)` when `test_only`.
    Select {
        /// What has the field.
        operand: Box<Expr>,
        /// Name of the field as written.
        field: Name,
        /// Whether only its presence is asked for.
        test_only: bool,
    },
    /// A function, with a receiver when it is called as a member. Operators are functions named as in the language's
    /// definition: `_&&_`, `_?_:_`, `_+_`, `_[_]`, `_[?_]`, `_?._`, `@in`, `-_`, `!_`, ...
    Call {
        /// The function.
        function: Name,
        /// The receiver.
        target: Option<Box<Expr>>,
        /// The arguments.
        arguments: Vec<Expr>,
    },
    /// `[a, ?b]`.
    List {
        /// The elements.
        elements: Vec<Expr>,
        /// Indices of the elements marked with `?`.
        optional: Vec<u32>,
    },
    /// `{a: b, ?c: d}`.
    Map(Vec<Entry>),
    /// `Type{field: value}`.
    Message {
        /// Name of the type as written.
        type_name: Name,
        /// Fields; the keys are field names.
        fields: Vec<FieldEntry>,
    },
    /// A fold over a list or map, which macros become.
    Comprehension(Box<Comprehension>),
}

/// An entry of a map literal.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its id.
    pub id: ExprId,
    /// The key.
    pub key: Expr,
    /// The value.
    pub value: Expr,
    /// Whether it is marked with `?`.
    pub optional: bool,
}

/// A field of a message literal.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldEntry {
    /// Its id.
    pub id: ExprId,
    /// The field.
    pub name: Name,
    /// The value.
    pub value: Expr,
    /// Whether it is marked with `?`.
    pub optional: bool,
}

/// A fold.
#[derive(Debug, Clone, PartialEq)]
pub struct Comprehension {
    /// What is gone through.
    pub range: Expr,
    /// Name of the element (or, with a second variable, of the index or key).
    pub variable: Name,
    /// Name of the element or value in two-variable forms.
    pub second_variable: Option<Name>,
    /// Name of the accumulator.
    pub accumulator: Name,
    /// Its first value.
    pub initial: Expr,
    /// Goes on while this is true.
    pub condition: Expr,
    /// The accumulator's next value.
    pub step: Expr,
    /// The answer.
    pub result: Expr,
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer, `1u`.
    Uint(u64),
    /// A floating-point number.
    Double(f64),
    /// Text.
    String(Name),
    /// Bytes, `b"..."`.
    Bytes(Arc<[u8]>),
}
