//! The grammar as data: rules, their alternatives, and the labels of their parts.
//!
//! Invariants: alternatives stand in the order of the language's ANTLR grammar, since among several that fit the first is
//! taken. Not here: the automaton made of it (`automaton`), words (`lexer`).

use crate::parser::token::TokenKind as K;

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Rule {
    Start,
    Expr,
    Or,
    And,
    Relation,
    Calc,
    Unary,
    Member,
    Primary,
    ExprList,
    ListInit,
    FieldInit,
    OptField,
    MapInit,
    EscapeIdent,
    OptExpr,
    Literal,
}

/// How many rules there are.
pub(super) const RULES: usize = Rule::Literal as usize + 1;

impl Rule {
    /// All rules, in order.
    pub(super) const ALL: [Rule; RULES] = [
        Rule::Start,
        Rule::Expr,
        Rule::Or,
        Rule::And,
        Rule::Relation,
        Rule::Calc,
        Rule::Unary,
        Rule::Member,
        Rule::Primary,
        Rule::ExprList,
        Rule::ListInit,
        Rule::FieldInit,
        Rule::OptField,
        Rule::MapInit,
        Rule::EscapeIdent,
        Rule::OptExpr,
        Rule::Literal,
    ];
}

/// The name of a part within its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    None,
    First,
    Second,
    Third,
    Operator,
    Name,
    Optional,
    Open,
    LeadingDot,
    Colon,
    Value,
    Sign,
}

/// A part of an alternative.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Token(Label, K),
    Set(Label, &'static [K]),
    Rule(Label, Rule, u8),
    Optional(&'static [Part]),
    Star(&'static [Part]),
    Plus(&'static [Part]),
}

/// What a rule is made of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    /// One or several alternatives.
    Alternatives(&'static [&'static [Part]]),
    /// An alternative, then any number of the others, each allowed up to its precedence.
    LeftRecursive(&'static [Part], &'static [(u8, &'static [Part])]),
}

use Part::{Optional, Plus, Set, Star, Token};

const fn rule(label: Label, of: Rule) -> Part {
    Part::Rule(label, of, 0)
}

const COMMA: Part = Token(Label::None, K::Comma);
const OPTIONAL_COMMA: Part = Optional(&[COMMA]);
const OPTIONAL_MARK: Part = Optional(&[Token(Label::Optional, K::Question)]);
const OPTIONAL_DOT: Part = Optional(&[Token(Label::LeadingDot, K::Dot)]);
const ARGUMENTS: Part = Optional(&[rule(Label::First, Rule::ExprList)]);
const NAME: Part = Token(Label::Name, K::Identifier);
const CLOSE: Part = Token(Label::None, K::RightParen);

/// What a rule is made of.
pub(super) fn body(of: Rule) -> Body {
    BODIES[of as usize]
}

/// The rules, in order.
const BODIES: [Body; RULES] = [
    Body::Alternatives(&[&[rule(Label::First, Rule::Expr), Token(Label::None, K::End)]]),
    Body::Alternatives(&[&[
        rule(Label::First, Rule::Or),
        Optional(&[
            Token(Label::Operator, K::Question),
            rule(Label::Second, Rule::Or),
            Token(Label::None, K::Colon),
            rule(Label::Third, Rule::Expr),
        ]),
    ]]),
    Body::Alternatives(&[&[
        rule(Label::First, Rule::And),
        Star(&[Token(Label::Operator, K::Or), rule(Label::Second, Rule::And)]),
    ]]),
    Body::Alternatives(&[&[
        rule(Label::First, Rule::Relation),
        Star(&[Token(Label::Operator, K::And), rule(Label::Second, Rule::Relation)]),
    ]]),
    RELATION,
    CALC,
    Body::Alternatives(&[
        &[rule(Label::First, Rule::Member)],
        &[Plus(&[Token(Label::Operator, K::Exclamation)]), rule(Label::First, Rule::Member)],
        &[Plus(&[Token(Label::Operator, K::Minus)]), rule(Label::First, Rule::Member)],
    ]),
    MEMBER,
    Body::Alternatives(PRIMARY),
    Body::Alternatives(&[&[
        rule(Label::First, Rule::Expr),
        Star(&[COMMA, rule(Label::First, Rule::Expr)]),
    ]]),
    Body::Alternatives(&[&[
        rule(Label::First, Rule::OptExpr),
        Star(&[COMMA, rule(Label::First, Rule::OptExpr)]),
    ]]),
    Body::Alternatives(&[&[
        rule(Label::First, Rule::OptField),
        COLON,
        ENTRY_VALUE,
        Star(&[COMMA, rule(Label::First, Rule::OptField), COLON, ENTRY_VALUE]),
    ]]),
    Body::Alternatives(&[&[OPTIONAL_MARK, rule(Label::First, Rule::EscapeIdent)]]),
    Body::Alternatives(&[&[
        rule(Label::First, Rule::OptExpr),
        COLON,
        ENTRY_VALUE,
        Star(&[COMMA, rule(Label::First, Rule::OptExpr), COLON, ENTRY_VALUE]),
    ]]),
    Body::Alternatives(&[&[NAME], &[Token(Label::Name, K::EscapedIdentifier)]]),
    Body::Alternatives(&[&[OPTIONAL_MARK, rule(Label::First, Rule::Expr)]]),
    Body::Alternatives(LITERAL),
];

const COLON: Part = Token(Label::Colon, K::Colon);
const ENTRY_VALUE: Part = rule(Label::Value, Rule::Expr);

const RELATION: Body = Body::LeftRecursive(
    &[rule(Label::First, Rule::Calc)],
    &[(
        1,
        &[
            Set(
                Label::Operator,
                &[
                    K::Less,
                    K::LessEquals,
                    K::GreaterEquals,
                    K::Greater,
                    K::Equals,
                    K::NotEquals,
                    K::In,
                ],
            ),
            Part::Rule(Label::Second, Rule::Relation, 2),
        ],
    )],
);

const CALC: Body = Body::LeftRecursive(
    &[rule(Label::First, Rule::Unary)],
    &[
        (
            2,
            &[
                Set(Label::Operator, &[K::Star, K::Slash, K::Percent]),
                Part::Rule(Label::Second, Rule::Calc, 3),
            ],
        ),
        (
            1,
            &[Set(Label::Operator, &[K::Plus, K::Minus]), Part::Rule(Label::Second, Rule::Calc, 2)],
        ),
    ],
);

const MEMBER: Body = Body::LeftRecursive(
    &[rule(Label::First, Rule::Primary)],
    &[
        (3, &[Token(Label::Operator, K::Dot), OPTIONAL_MARK, rule(Label::Name, Rule::EscapeIdent)]),
        (
            2,
            &[
                Token(Label::Operator, K::Dot),
                NAME,
                Token(Label::Open, K::LeftParen),
                ARGUMENTS_OF_MEMBER,
                CLOSE,
            ],
        ),
        (
            1,
            &[
                Token(Label::Operator, K::LeftBracket),
                OPTIONAL_MARK,
                rule(Label::Second, Rule::Expr),
                Token(Label::None, K::RightBracket),
            ],
        ),
    ],
);

const ARGUMENTS_OF_MEMBER: Part = Optional(&[rule(Label::Second, Rule::ExprList)]);

const PRIMARY: &[&[Part]] = &[
    &[OPTIONAL_DOT, NAME],
    &[OPTIONAL_DOT, NAME, Token(Label::Operator, K::LeftParen), ARGUMENTS, CLOSE],
    &[Token(Label::None, K::LeftParen), rule(Label::First, Rule::Expr), CLOSE],
    &[
        Token(Label::Operator, K::LeftBracket),
        Optional(&[rule(Label::First, Rule::ListInit)]),
        OPTIONAL_COMMA,
        Token(Label::None, K::RightBracket),
    ],
    &[
        Token(Label::Operator, K::LeftBrace),
        Optional(&[rule(Label::First, Rule::MapInit)]),
        OPTIONAL_COMMA,
        Token(Label::None, K::RightBrace),
    ],
    &[
        OPTIONAL_DOT,
        NAME,
        Star(&[Token(Label::None, K::Dot), NAME]),
        Token(Label::Operator, K::LeftBrace),
        Optional(&[rule(Label::First, Rule::FieldInit)]),
        OPTIONAL_COMMA,
        Token(Label::None, K::RightBrace),
    ],
    &[rule(Label::First, Rule::Literal)],
];

const SIGN: Part = Optional(&[Token(Label::Sign, K::Minus)]);

const LITERAL: &[&[Part]] = &[
    &[SIGN, Token(Label::Value, K::Int)],
    &[Token(Label::Value, K::Uint)],
    &[SIGN, Token(Label::Value, K::Float)],
    &[Token(Label::Value, K::String)],
    &[Token(Label::Value, K::Bytes)],
    &[Token(Label::Value, K::True)],
    &[Token(Label::Value, K::False)],
    &[Token(Label::Value, K::Null)],
];

/// The alternatives of rules whose alternatives have names, from 1; 0 is a rule in which none was chosen.
pub(super) mod alternative {
    pub(in crate::parser) const SELECT: u8 = 2;
    pub(in crate::parser) const MEMBER_CALL: u8 = 3;
    pub(in crate::parser) const INDEX: u8 = 4;
    pub(in crate::parser) const IDENT: u8 = 1;
    pub(in crate::parser) const CALL: u8 = 2;
    pub(in crate::parser) const NESTED: u8 = 3;
    pub(in crate::parser) const LIST: u8 = 4;
    pub(in crate::parser) const MAP: u8 = 5;
    pub(in crate::parser) const MESSAGE: u8 = 6;
    pub(in crate::parser) const LITERAL: u8 = 7;
}
