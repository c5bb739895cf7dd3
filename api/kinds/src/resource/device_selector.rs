//! Device selectors: expressions in CEL about one device (KEP-4381).
//!
//! Invariants: an expression that does not compile, or may cost too much, is refused; what it may
//! cost follows from how large a device can be.

use std::sync::{Arc, OnceLock};

use quorate_cel::environment::{Environment, Library};
use quorate_cel::estimate::{SizeEstimator, estimate};
use quorate_cel::naming::in_profile;
use quorate_cel::overload::Range;
use quorate_cel::program::Program;
use quorate_cel::types::Type;
use quorate_cel::value::{Field as DeclaredField, ObjectShape, Shape};
use quorate_cel::{checker, parser};
use quorate_meta::{Cause, Names, Naming};

use crate::field::Field;

/// Bytes of an expression, at most.
const MAX_EXPRESSION_BYTES: usize = 10 * 1024;
/// What an expression may cost for one device.
const MAX_COST: u64 = 1_000_000;
/// Attributes and capacities of a device together, at most.
const MAX_ENTRIES: u64 = 32;
/// Bytes of the name of a driver or of a domain, at most.
const MAX_DOMAIN_BYTES: u64 = 63;
/// Bytes of the name of an attribute or capacity, at most.
const MAX_ID_BYTES: u64 = 32;
/// Bytes of the text of an attribute, at most.
const MAX_VALUE_BYTES: u64 = 64;

/// The check of selectors.
#[derive(Debug)]
pub(super) struct DeviceSelectors {
    /// Made when the first selector is written.
    environment: OnceLock<Environment>,
}

/// How large the parts of a device can be.
struct DeviceSizes;

impl DeviceSelectors {
    pub(super) const fn new() -> Self {
        Self { environment: OnceLock::new() }
    }

    /// Checks the expressions of a list of selectors.
    pub(super) fn check(&self, names: &Names, list: &Field<'_>, causes: &mut Vec<Cause>) {
        let expressions = list.items().map(|selector| selector.get("cel"));
        for cel in expressions.filter(Field::is_set) {
            self.check_expression(names, &cel.get("expression"), causes);
        }
    }

    /// Checks the selectors of the requests of a claim.
    pub(super) fn check_requests(
        &self,
        names: &Names,
        requests: &Field<'_>,
        causes: &mut Vec<Cause>,
    ) {
        for request in requests.items() {
            self.check(names, &request.get("exactly.selectors"), causes);
            for subrequest in request.get("firstAvailable").items() {
                self.check(names, &subrequest.get("selectors"), causes);
            }
        }
    }

    fn check_expression(&self, names: &Names, field: &Field<'_>, causes: &mut Vec<Cause>) {
        let source = field.text();
        if source.len() > MAX_EXPRESSION_BYTES {
            causes.push(Cause::too_long(field.path(), MAX_EXPRESSION_BYTES));
            return;
        }
        let environment = self.environment.get_or_init(|| environment(names.cel_prefix));
        match cost(environment, source, names.naming) {
            Err(text) => causes.push(field.invalid(&text)),
            Ok(cost) if cost > MAX_COST => {
                causes.push(field.forbidden("too complex, exceeds cost limit"));
            }
            Ok(_) => {}
        }
    }
}

/// What an expression costs at most; the error is why it does not compile.
fn cost(environment: &Environment, source: &str, naming: Naming) -> Result<u64, String> {
    let in_profile = |text: &str| in_profile(naming, text).into_owned();
    let failed = |text: &str| format!("compilation failed: {}", in_profile(text));
    let ast = parser::parse_with(source, environment.library().macros())
        .map_err(|issues| failed(&issues.to_string()))?;
    let checked = checker::check(environment, ast).map_err(|issues| failed(&issues.to_string()))?;
    let found = checked.result_type();
    // An attribute is known only while the expression runs.
    if !matches!(found, Type::Bool | Type::Dyn) {
        let found = in_profile(&found.to_string());
        return Err(format!("must evaluate to bool or the unknown type, not {found}"));
    }
    Program::plan(environment, &checked).map_err(|error| {
        format!("program instantiation failed: {}", in_profile(&error.to_string()))
    })?;
    Ok(estimate(&checked, &DeviceSizes).max)
}

/// What an expression may use: everything that policies may, `cel.bind` and `device`. New and stored
/// expressions have the same libraries in this release.
fn environment(prefix: &str) -> Environment {
    let map = |value| Shape::Map(Arc::new(value));
    let fields = [
        ("driver", Shape::String),
        ("attributes", map(map(Shape::Dyn))),
        ("capacity", map(map(Shape::Quantity))),
    ];
    let fields =
        fields.map(|(name, shape)| DeclaredField { name: name.into(), key: name.into(), shape });
    let device = Arc::new(ObjectShape::new(format!("{prefix}DRADevice"), fields.into()));
    Environment::new(Arc::new(Library::stored().with_bindings()))
        .with_variable("device", Type::Object(device.name.clone()))
        .with_object(device)
}

impl SizeEstimator for DeviceSizes {
    fn size(&self, path: &[&str], _: &Type) -> Option<Range> {
        let max = match path {
            ["device"] => 0,
            ["device", "driver"] | ["device", "attributes" | "capacity", "@keys"] => {
                MAX_DOMAIN_BYTES
            }
            ["device", "attributes" | "capacity"] | ["device", "attributes" | "capacity", _] => {
                MAX_ENTRIES
            }
            ["device", "attributes" | "capacity", _, "@keys"] => MAX_ID_BYTES,
            ["device", "attributes", _, _] => MAX_VALUE_BYTES,
            _ => return None,
        };
        Some(Range { min: 0, max })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(expression: &str, expect: &str) {
        let object = json!({"selectors": [{"cel": {"expression": expression}}]}).into();
        let mut causes = Vec::new();
        let names = Naming::Kubernetes.names();
        let list = Field::root(&object).get("selectors");
        DeviceSelectors::new().check(names, &list, &mut causes);
        let told: Vec<String> = causes
            .iter()
            .map(|cause| {
                let text = cause.text();
                text.lines().next().unwrap_or_default().to_owned()
            })
            .collect();
        let expect: Vec<String> = match expect {
            "" => Vec::new(),
            text => vec![format!("selectors[0].cel.expression: {text}")],
        };
        assert_eq!(told, expect, "{expression}");
    }

    #[test]
    fn what_selectors_can_say() {
        check("device.driver == 'gpu.example.com'", "");
        check("device.attributes['gpu.example.com'].family == 'x'", "");
        check("device.attributes['gpu.example.com'].healthy", "");
        check("device.attributes['gpu.example.com'].version.isGreaterThan(semver('1.0.0'))", "");
        check("device.capacity['gpu.example.com'].memory.compareTo(quantity('10Gi')) >= 0", "");
        check("cel.bind(gpu, device.attributes['gpu.example.com'], gpu.a && gpu.b == 3)", "");
        check(
            "'gpu.example.com' in device.attributes && device.attributes['gpu.example.com'].exists(k, k == 'a')",
            "",
        );
    }

    #[test]
    fn what_does_not_compile() {
        let failed = |source: &str, why: &str| {
            format!("Invalid value: \"{source}\": compilation failed: ERROR: <input>:{why}")
        };
        check(
            "noSuchVar",
            &failed("noSuchVar", "1:1: undeclared reference to 'noSuchVar' (in container '')"),
        );
        check(
            "device.vendor == 'x'",
            &failed("device.vendor == 'x'", "1:7: undefined field 'vendor'"),
        );
        check(
            "device.driver",
            "Invalid value: \"device.driver\": must evaluate to bool or the unknown type, not string",
        );
        check(
            "device.capacity['a'].b > 1",
            &failed(
                "device.capacity['a'].b > 1",
                "1:24: found no matching overload for '_>_' applied to '(kubernetes.Quantity, int)'",
            ),
        );
        check(
            "object.x",
            &failed("object.x", "1:1: undeclared reference to 'object' (in container '')"),
        );
    }

    #[test]
    fn what_is_too_much() {
        let all = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a + b != c + d))))";
        check(all, "Forbidden: too complex, exceeds cost limit");
        let long = format!("device.driver == '{}'", "x".repeat(MAX_EXPRESSION_BYTES));
        check(&long, "Too long: may not be more than 10240 bytes");
    }
}
