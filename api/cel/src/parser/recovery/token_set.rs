//! Sets of tokens, and their names in errors.

use crate::parser::token::TokenKind;

/// A set of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tokens(pub(super) u64);

impl Tokens {
    /// Marks that the end of the rule can be reached without a token.
    pub(super) const EPSILON: Tokens = Tokens(1 << 63);

    pub(super) fn of(kind: TokenKind) -> Tokens {
        Tokens(1 << kind as u8)
    }

    pub(super) fn has(self, kind: TokenKind) -> bool {
        self.0 & Tokens::of(kind).0 != 0
    }

    pub(super) fn has_epsilon(self) -> bool {
        self.0 & Tokens::EPSILON.0 != 0
    }

    pub(super) fn without_epsilon(self) -> Tokens {
        Tokens(self.0 & !Tokens::EPSILON.0)
    }

    pub(super) fn and(self, other: Tokens) -> Tokens {
        Tokens(self.0 | other.0)
    }

    /// `'x'` or `{'x', IDENTIFIER}`.
    pub(super) fn names(self) -> String {
        let names: Vec<_> = TOKEN_NAMES
            .iter()
            .enumerate()
            .filter(|(index, _)| self.0 >> index & 1 == 1)
            .map(|(_, name)| *name)
            .collect();
        if names.len() == 1 { names[0].to_owned() } else { format!("{{{}}}", names.join(", ")) }
    }
}

/// Names of tokens in errors, by kind.
pub(super) const TOKEN_NAMES: [&str; 36] = [
    "<EOF>",
    "'=='",
    "'!='",
    "'in'",
    "'<'",
    "'<='",
    "'>='",
    "'>'",
    "'&&'",
    "'||'",
    "'['",
    "']'",
    "'{'",
    "'}'",
    "'('",
    "')'",
    "'.'",
    "','",
    "'-'",
    "'!'",
    "'?'",
    "':'",
    "'+'",
    "'*'",
    "'/'",
    "'%'",
    "'true'",
    "'false'",
    "'null'",
    "NUM_FLOAT",
    "NUM_INT",
    "NUM_UINT",
    "STRING",
    "BYTES",
    "IDENTIFIER",
    "ESC_IDENTIFIER",
];
