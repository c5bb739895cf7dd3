//! Lists of named CEL expressions: match conditions and variables.
//!
//! Only presence, numbers and names are checked here; what compiles is checked for a whole policy.

use std::collections::HashSet;

use quorate_meta::{Cause, name};
use quorate_schema::structural::cel_types::escape_keyword;

use crate::field::Field;
use crate::rules;

/// Match conditions of one webhook or policy, at most.
const MAX_CONDITIONS: usize = 64;

/// Checks match conditions, whose names are unique.
pub(super) fn match_conditions(list: &Field<'_>, causes: &mut Vec<Cause>) {
    if list.items().len() > MAX_CONDITIONS {
        causes.push(Cause::too_many(list.path(), list.items().len(), MAX_CONDITIONS));
    }
    let mut seen = HashSet::new();
    for condition in list.items() {
        expression(&condition.get("expression"), causes);
        let own = condition.get("name");
        rules::name(&own, name::qualified_name, causes);
        if !own.is_empty() && !seen.insert(own.text()) {
            causes.push(own.duplicate());
        }
    }
}

/// Checks variables, of which there are at most so many and whose names are identifiers of CEL; of
/// two of one name later expressions see the second.
pub(super) fn variables(list: &Field<'_>, max: usize, causes: &mut Vec<Cause>) {
    if list.items().len() > max {
        causes.push(Cause::too_many(list.path(), list.items().len(), max));
    }
    for variable in list.items() {
        rules::name(&variable.get("name"), identifier, causes);
        expression(&variable.get("expression"), causes);
    }
}

/// Checks that an expression is not empty.
pub(super) fn expression(field: &Field<'_>, causes: &mut Vec<Cause>) {
    if field.text().trim().is_empty() {
        causes.push(field.required(""));
    }
}

fn identifier(text: &str) -> Vec<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_word = escape_keyword(text).is_some();
    let fits = !is_word
        && text.bytes().all(plain)
        && !text.starts_with(|char: char| char.is_ascii_digit());
    if fits { Vec::new() } else { vec!["name is not a valid CEL identifier".to_owned()] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::{Value as Json, json};

    fn check(run: fn(&Field<'_>, &mut Vec<Cause>), list: Json, expect: &[&str]) {
        let object = json!({"l": list}).into();
        let mut causes = Vec::new();
        run(&Field::root(&object).get("l"), &mut causes);
        assert_eq!(shown(&causes), expect);
    }

    #[test]
    fn conditions() {
        let one = |name: &str, expression: &str| json!({"name": name, "expression": expression});
        check(match_conditions, json!([one("a", "true"), one("example.com/b", "true")]), &[]);
        check(
            match_conditions,
            json!([one("", "")]),
            &["Required l[0].expression", "Required l[0].name"],
        );
        check(
            match_conditions,
            json!([one("a", "true"), one("a", "true")]),
            &["Duplicate l[1].name"],
        );
        check(match_conditions, json!([one("a b", "true")]), &["Invalid l[0].name"]);
        let many: Vec<Json> = (0..65).map(|number| one(&format!("n{number}"), "true")).collect();
        check(match_conditions, json!(many), &["TooMany l"]);
    }

    #[test]
    fn names_of_variables_are_identifiers() {
        let one = |name: &str| json!([{"name": name, "expression": "1"}]);
        let variables = |list: &Field<'_>, causes: &mut Vec<Cause>| variables(list, 2, causes);
        check(variables, one("a_1"), &[]);
        for bad in ["1a", "a-b", "a.b", "namespace"] {
            check(variables, one(bad), &["Invalid l[0].name"]);
        }
        check(variables, json!([{"name": "a", "expression": ""}]), &["Required l[0].expression"]);
        let two = json!([{"name": "a", "expression": "1"}, {"name": "a", "expression": "2"}]);
        check(variables, two, &[]);
        let three = json!(vec![json!({"name": "a", "expression": "1"}); 3]);
        check(variables, three, &["TooMany l"]);
    }
}
