//! Options of `quorate cel`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use quorate_meta::{Naming, Value};

use super::node::naming;

/// The API releases whose expressions are known: `1.MIN` to `1.MAX`.
const MINOR_RELEASES: std::ops::RangeInclusive<u16> = 23..=35;

/// `quorate cel`
#[derive(Debug, Subcommand)]
pub(crate) enum Cel {
    /// Answer records, one JSON object a line: {"id", "expr", "vars": {NAME: {"type", "value"}}}.
    ///
    /// Prints one line a record: {"id", "result" or "error": {"stage", "text"}, "type", "cost", "estimate"}.
    Run(Run),
    /// Evaluate an expression and print its result in the notation of the language.
    Eval(Eval),
}

/// `quorate cel run`
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The file with the records; `-` for standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) environment: CelEnvironment,
}

/// `quorate cel eval`
#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// The expression.
    #[arg(value_name = "EXPR")]
    pub(crate) source: String,
    /// A variable of type `dyn`; may be repeated.
    #[arg(long = "var", value_name = "NAME=JSON", value_parser = variable)]
    pub(crate) variables: Vec<Variable>,
    /// Print what the evaluation has cost, and what it can cost for variables of any size.
    #[arg(long)]
    pub(crate) cost: bool,
    /// Print the static type.
    #[arg(long = "type")]
    pub(crate) result_type: bool,
    #[command(flatten)]
    pub(crate) environment: CelEnvironment,
}

/// What expressions may use.
#[derive(Debug, Clone, Args)]
pub(crate) struct CelEnvironment {
    /// The names that types of the libraries have: `svc` or `kubernetes`.
    #[arg(long, default_value_t, value_parser = naming)]
    pub(crate) naming: Naming,
    /// Check expressions as a server of this release checks new ones: with the libraries of the release before it [default:
    /// every library, as for stored expressions].
    #[arg(long, value_name = "1.MINOR", value_parser = minor_release)]
    pub(crate) emulated_version: Option<u16>,
}

/// A variable and its value.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: Value,
}

fn variable(text: &str) -> Result<Variable, String> {
    let (name, json) = text.split_once('=').ok_or("must be NAME=JSON")?;
    let is_name = |part: &str| {
        !part.is_empty()
            && !part.starts_with(|first: char| first.is_ascii_digit())
            && part.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    if !name.split('.').all(is_name) {
        return Err(format!("'{name}' is not the name of a variable"));
    }
    let value = serde_json::from_str(json).map_err(|error| format!("not JSON: {error}"))?;
    Ok(Variable { name: name.to_owned(), value })
}

fn minor_release(text: &str) -> Result<u16, String> {
    let minor = text.strip_prefix("1.").and_then(|minor| minor.parse().ok());
    minor.filter(|minor| MINOR_RELEASES.contains(minor)).ok_or_else(|| {
        format!("must be '1.{}' to '1.{}'", MINOR_RELEASES.start(), MINOR_RELEASES.end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read() {
        let check = |text: &str, expect: Result<(&str, Value), &str>| match (variable(text), expect)
        {
            (Ok(found), Ok((name, value))) => {
                assert_eq!((found.name.as_str(), found.value), (name, value), "{text}");
            }
            (found, expect) => {
                assert!(found.unwrap_err().contains(expect.unwrap_err()), "{text}");
            }
        };
        check("self={\"a\":1}", Ok(("self", serde_json::from_str("{\"a\":1}").unwrap())));
        check("a.b=\"x=y\"", Ok(("a.b", Value::String("x=y".to_owned()))));
        check("self", Err("must be NAME=JSON"));
        check("1a=1", Err("'1a' is not the name"));
        check("=1", Err("'' is not the name"));
        check("a=x", Err("not JSON"));
    }

    #[test]
    fn releases_are_read() {
        let check = |text: &str, expect: Option<u16>| assert_eq!(minor_release(text).ok(), expect);
        check("1.35", Some(35));
        check("1.23", Some(23));
        check("1.36", None);
        check("35", None);
        check("2.35", None);
    }
}
