//! Checks of a constant format string against the types of a list literal of arguments.

use super::clause::{Clause, Piece, Pieces};
use super::print::refused;
use crate::ast::{Expr, ExprId, ExprKind};
use crate::types::Type;

/// What is wrong with a format string and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormatFault {
    /// The argument that does not fit; `None` for the call as a whole.
    pub(crate) at: Option<ExprId>,
    /// What is said of it.
    pub(crate) text: String,
}

/// Checks the literal `format` against `arguments`, the elements of a list literal.
pub(crate) fn check<'t>(
    format: &str,
    arguments: &[Expr],
    type_of: &dyn Fn(ExprId) -> &'t Type,
) -> Result<(), FormatFault> {
    let of_call = |text: String| FormatFault { at: None, text };
    let mut seen = 0;
    for piece in Pieces::of(format) {
        if let Piece::Copied(_) = piece {
            continue;
        }
        let Piece::Clause(clause) = piece else {
            return Err(of_call("unexpected end of string".to_owned()));
        };
        let argument =
            arguments.get(seen).ok_or_else(|| of_call(format!("index {seen} out of range")))?;
        seen += 1;
        let clause = clause
            .map_err(|error| of_call(format!("could not parse formatting clause: {error}")))?;
        if let Some(wrong) = wrong_argument(clause, argument, type_of) {
            let text =
                format!("error during formatting: {}", refused(clause, &type_name(type_of(wrong))));
            return Err(FormatFault { at: Some(wrong), text });
        }
    }
    if arguments.len() > seen {
        let got = arguments.len();
        let text =
            format!("too many arguments supplied to string.format (expected {seen}, got {got})");
        return Err(of_call(text));
    }
    Ok(())
}

/// The argument, or the part of a literal in it, that a clause does not take.
fn wrong_argument<'t>(
    clause: Clause,
    argument: &Expr,
    type_of: &dyn Fn(ExprId) -> &'t Type,
) -> Option<ExprId> {
    let kind = type_of(argument.id);
    if !takes(clause, kind) {
        return Some(argument.id);
    }
    if clause != Clause::Text {
        return None;
    }
    match &argument.kind {
        ExprKind::List { elements, .. } => {
            elements.iter().find_map(|part| wrong_argument(clause, part, type_of))
        }
        ExprKind::Map(entries) => entries
            .iter()
            .flat_map(|entry| [&entry.key, &entry.value])
            .find_map(|part| wrong_argument(clause, part, type_of)),
        _ => None,
    }
}

fn takes(clause: Clause, kind: &Type) -> bool {
    use Type::{Bool, Bytes, Double, Duration, Dyn, Int, List, Map, Null, String, Timestamp, Uint};
    let kind = match kind {
        Type::Wrapper(inner) => inner,
        kind => kind,
    };
    match clause {
        _ if *kind == Dyn => true,
        Clause::Text => match kind {
            List(_) | Map(..) | Int | Uint | Double | Bool | String | Bytes | Timestamp
            | Duration | Null => true,
            kind => matches!(kind, Type::Type(_)),
        },
        Clause::Decimal | Clause::Octal => matches!(kind, Int | Uint),
        // Text may name infinity or what is no number.
        Clause::Fixed(_) | Clause::Scientific(_) => matches!(kind, Double | String),
        Clause::Binary => matches!(kind, Int | Uint | Bool),
        Clause::Hexadecimal { .. } => matches!(kind, Int | Uint | String | Bytes),
    }
}

/// Name of a type without its parameters.
fn type_name(kind: &Type) -> String {
    match kind {
        Type::Dyn => "dyn",
        Type::Error => "*error*",
        Type::Null => "null_type",
        Type::Bool => "bool",
        Type::Int => "int",
        Type::Uint => "uint",
        Type::Double => "double",
        Type::String => "string",
        Type::Bytes => "bytes",
        Type::Timestamp => "google.protobuf.Timestamp",
        Type::Duration => "google.protobuf.Duration",
        Type::Any => "google.protobuf.Any",
        Type::List(_) => "list",
        Type::Map(..) => "map",
        Type::Optional(_) => "optional_type",
        Type::Type(_) | Type::AnyType => "type",
        Type::Wrapper(inner) => return type_name(inner),
        Type::Object(name) | Type::Opaque(name) | Type::Param(name) => name,
        Type::Variable(_) => "dyn",
    }
    .to_owned()
}
