//! The rules of a definition that a client writes: expressions that compile, cost what they may, and
//! use `oldSelf` only where an old value is known.
//!
//! Expressions of the definition that is replaced may use whatever they did; a schema that stays the
//! same is not asked again what a rule of it costs.
//!
//! Not here: the form of rules (`quorate-schema`).

use std::collections::HashSet;

use quorate_cel::estimate::estimate;
use quorate_cel::program::{Budget, OBJECT_COST_MAX, RULE_ESTIMATE_MAX};
use quorate_meta::{Cause, CauseReason, Path, Value};
use quorate_schema::graph::{ListKind, MapKind};
use quorate_schema::structural::cel_types::Declarations;
use quorate_schema::structural::{NodeId, Place, Rule, Structural};

use super::Rules;
use super::check::check_default;
use super::compile::{CheckedRule, Expression, RuleCompiler};
use super::cost::{self, Cardinality, TotalCost};
use super::walk::{SchemaStep, children, reaches};

/// What is known of the definition that is replaced.
#[derive(Debug, Clone, Copy)]
pub(in crate::crd) struct Stored<'a> {
    /// Its expressions.
    pub(in crate::crd) expressions: &'a HashSet<&'a str>,
    /// Whether it has the same schema.
    pub(in crate::crd) is_same_schema: bool,
}

/// What is wrong with the rules of a schema that was compiled from `source` and stands at `path`.
pub(in crate::crd) fn check(
    schema: &Structural,
    source: &Value,
    path: &Path,
    stored: Stored<'_>,
) -> Vec<Cause> {
    let reaches = reaches(schema);
    if !reaches[schema.root().index()] {
        return Vec::new();
    }
    let place = Place::root(path.as_str());
    let broken = defaults(schema, source, &place);
    if !broken.is_empty() {
        return broken;
    }
    let validations = schema.graph().names().extension("validations");
    let mut check = WrittenRules {
        schema,
        reaches: &reaches,
        compiler: RuleCompiler::written(schema, stored.expressions),
        declarations: Declarations::new(schema),
        validations: &validations,
        is_same_schema: stored.is_same_schema,
        total: TotalCost::default(),
        causes: Vec::new(),
    };
    check.place(schema.root(), &place, Cardinality::ONE, None);
    let WrittenRules { total, mut causes, .. } = check;
    total.check(path, &validations, &mut causes);
    causes
}

/// Defaults fulfil the rules.
fn defaults(schema: &Structural, source: &Value, place: &Place<'_>) -> Vec<Cause> {
    if !schema.has_defaults() {
        return Vec::new();
    }
    let rules = Rules::compile(schema, source);
    let mut walk = DefaultRules {
        schema,
        rules: &rules,
        budget: Budget::new(OBJECT_COST_MAX),
        causes: Vec::new(),
    };
    walk.node(schema.root(), place);
    walk.causes
}

struct DefaultRules<'r> {
    schema: &'r Structural,
    rules: &'r Rules,
    budget: Budget,
    causes: Vec<Cause>,
}

impl DefaultRules<'_> {
    fn node(&mut self, id: NodeId, place: &Place<'_>) {
        let node = self.schema.node(id);
        if let Some(default) = &node.default {
            let at = place.child("default");
            let (at, budget) = ((id, &at), &mut self.budget);
            let found = check_default(self.rules, self.schema, at, default, budget);
            self.causes.extend(found);
        }
        for (step, child) in children(node) {
            match step {
                SchemaStep::Property(name) => {
                    self.node(child, &place.child("properties").key(name));
                }
                SchemaStep::Items => self.node(child, &place.child("items")),
                SchemaStep::Entries => {}
            }
        }
    }
}

struct WrittenRules<'w> {
    schema: &'w Structural,
    reaches: &'w [bool],
    compiler: RuleCompiler<'w>,
    declarations: Declarations<'w>,
    validations: &'w str,
    is_same_schema: bool,
    total: TotalCost,
    causes: Vec<Cause>,
}

impl WrittenRules<'_> {
    /// Checks the rules of a place and of what is in it. Old values are not known within
    /// `uncorrelatable`, the outermost such schema.
    fn place(
        &mut self,
        id: NodeId,
        at: &Place<'_>,
        cardinality: Cardinality,
        uncorrelatable: Option<&Path>,
    ) {
        if !self.reaches[id.index()] {
            return;
        }
        let node = self.schema.node(id);
        self.rules(&RulePlace { id, at, cardinality, uncorrelatable });
        for (step, child) in children(node) {
            let hides = match step {
                SchemaStep::Items => !matches!(node.list, Some(ListKind::Map(_))),
                _ => node.map == Some(MapKind::Atomic),
            };
            let here = (hides && uncorrelatable.is_none()).then(|| at.text());
            let uncorrelatable = uncorrelatable.or(here.as_ref());
            let bounds = node.constraints.as_deref();
            match step {
                SchemaStep::Property(name) => {
                    let properties = at.child("properties");
                    self.place(child, &properties.key(name), cardinality, uncorrelatable);
                }
                SchemaStep::Entries => {
                    let most = cardinality.times(bounds.and_then(|bounds| bounds.max_properties));
                    self.place(child, &at.child("additionalProperties"), most, uncorrelatable);
                }
                SchemaStep::Items => {
                    let most = cardinality.times(bounds.and_then(|bounds| bounds.max_items));
                    self.place(child, &at.child("items"), most, uncorrelatable);
                }
            }
        }
    }

    /// Checks the rules of one place.
    fn rules(&mut self, at: &RulePlace<'_>) {
        let all = at.at.child(self.validations);
        for (index, rule) in self.schema.node(at.id).rules.iter().enumerate() {
            let Some(compiled) = self.compiler.compile(at.id, rule) else {
                return self.not_typed(&all);
            };
            self.rule(rule, &compiled, &RulePlace { at: &all.index(index), ..*at });
        }
    }

    fn not_typed(&mut self, all: &Place<'_>) {
        let why = format!(
            "Internal error: internal error: failed to retrieve type information for {}",
            self.validations
        );
        self.causes.push(Cause::new(CauseReason::InternalError, all.text(), why));
    }

    fn rule(&mut self, rule: &Rule, compiled: &CheckedRule, at: &RulePlace<'_>) {
        let field = |name: &str| at.at.child(name).text();
        let invalid = |name: &str, why: &str| {
            let message = format!("Invalid value: {}: {why}", shown(rule));
            Cause::new(CauseReason::FieldValueInvalid, field(name), message)
        };
        match &compiled.rule {
            Ok(expression) => {
                let cost = at.cardinality.cost(
                    self.cost(at.id, expression),
                    self.declarations.min_bytes(at.id).unwrap_or_default(),
                );
                self.count(cost, "estimated rule cost", || field("rule"));
            }
            Err(why) => self.causes.push(invalid("rule", why)),
        }
        match &compiled.message {
            Some(Ok(expression)) => {
                let cost = self.cost(at.id, expression);
                self.count(cost, "estimated messageExpression cost", || field("messageExpression"));
            }
            Some(Err(why)) => self.causes.push(invalid("messageExpression", why)),
            None => {}
        }
        if compiled.uses_old_self() {
            if let Some(path) = at.uncorrelatable {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {}",
                    path.as_str()
                );
                self.causes.push(Cause::invalid(field("rule"), rule.rule.as_str(), &why));
            }
        } else if let Some(optional) = rule.optional_old_self {
            let why = "may not be set if oldSelf is not used in rule";
            self.causes.push(Cause::invalid(field("optionalOldSelf"), optional, why));
        }
    }

    fn cost(&self, place: NodeId, expression: &Expression) -> u64 {
        estimate(&expression.checked, &self.compiler.declarations().sizes(place)).max
    }

    fn count(&mut self, cost: u64, what: &str, field: impl Fn() -> Path) {
        if !self.is_same_schema && cost::is_over(cost) {
            self.causes.push(cost::excess(field(), what, cost, RULE_ESTIMATE_MAX));
        }
        self.total.add(field, cost);
    }
}

/// Where a rule, or all rules of a place, stand.
#[derive(Clone, Copy)]
struct RulePlace<'p> {
    id: NodeId,
    at: &'p Place<'p>,
    cardinality: Cardinality,
    uncorrelatable: Option<&'p Path>,
}

/// A rule as errors show it.
fn shown(rule: &Rule) -> String {
    let text = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let reason = match rule.reason.as_str() {
        "" => "null".to_owned(),
        reason => text(reason),
    };
    let optional = rule.optional_old_self.map_or("null".to_owned(), |is| is.to_string());
    format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{reason},"FieldPath":{},"OptionalOldSelf":{optional}}}"#,
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        text(&rule.field_path),
    )
}
