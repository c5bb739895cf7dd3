//! The rules against one object.
//!
//! Invariants: rules are not asked about `null`; a rule with `oldSelf` runs only where the value replaces
//! one that can be told apart from its neighbours, or where the rule says that it need not; a rule
//! about the value alone that fails for what stays as it was is a warning (KEP-4008).
//!
//! Not here: whether the object is valid enough to ask the rules about it.

use std::ops::ControlFlow;
use std::sync::Arc;

use quorate_cel::eval::{Activation, EvalError};
use quorate_cel::naming::in_profile;
use quorate_cel::program::{Budget, Evaluation, Limits, OBJECT_COST_MAX, Program};
use quorate_cel::value::Value as CelValue;
use quorate_env::blocking;
use quorate_meta::{Cause, Naming, Path, Value};
use quorate_registry::Findings;
use quorate_schema::graph::MapKind;
use quorate_schema::structural::sameness::{by_keys, keys};
use quorate_schema::structural::{Additional, NodeId, Place, Rule, SchemaNode, Structural};

use super::compile::VARIABLES;
use super::message::{self, Computed};
use super::{CompiledRule, PlaceRules, Rules, type_name};

/// Cost of the evaluations for which other tasks wait: a millisecond or two.
const SHORT_COST: u64 = 20_000;
/// Field of a failure of the whole object.
const WHOLE: &str = "<nil>";
const NO_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Runs the rules of `schema` for an object; `old` is the one that it replaces.
#[must_use]
pub fn check(rules: &Rules, schema: &Structural, object: &Value, old: Option<&Value>) -> Findings {
    let subject = Subject { node: schema.root(), at: &Place::root(""), value: object, old };
    let place = schema.root();
    let nearest = old.map(|old| Change { place, old, new: object });
    run(rules, schema, subject, nearest, &mut Budget::new(OBJECT_COST_MAX))
}

/// Runs the rules of a place and of what is in it for its default, which replaces itself.
pub(super) fn check_default(
    rules: &Rules,
    schema: &Structural,
    (node, at): (NodeId, &Place<'_>),
    default: &Value,
    budget: &mut Budget,
) -> Vec<Cause> {
    let subject = Subject { node, at, value: default, old: Some(default) };
    run(rules, schema, subject, None, budget).causes
}

/// Evaluates a rule: one that is long is begun again where other tasks take another thread.
fn evaluate<'a>(program: &'a Program, activation: &'a Activation<'a>) -> Evaluation<'a> {
    let short = Limits { cost_max: SHORT_COST, ..Limits::default() };
    let evaluation = program.evaluate_within(activation, short);
    match evaluation.result {
        Err(EvalError::CostLimit) => {
            blocking(|| program.evaluate_within(activation, Limits::default()))
        }
        _ => evaluation,
    }
}

/// What the rules are asked about.
struct Subject<'v> {
    node: NodeId,
    at: &'v Place<'v>,
    value: &'v Value,
    old: Option<&'v Value>,
}

fn run(
    rules: &Rules,
    schema: &Structural,
    subject: Subject<'_>,
    nearest: Option<Change<'_>>,
    budget: &mut Budget,
) -> Findings {
    if rules.is_empty() {
        return Findings::default();
    }
    let naming = schema.graph().names().naming;
    let ratchets = nearest.is_some();
    let long_below = budget.left().saturating_sub(SHORT_COST);
    let findings = Findings::default();
    let mut check = RuleCheck { rules, schema, naming, ratchets, budget, long_below, findings };
    let old = Correlated { old: subject.old, is_visible: true, nearest };
    // Whether the walk came to its end is told by the findings.
    let _ = check.value(subject.node, subject.at, subject.value, old);
    check.findings
}

/// A value and the one that it replaces.
#[derive(Debug, Clone, Copy)]
struct Change<'v> {
    place: NodeId,
    old: &'v Value,
    new: &'v Value,
}

/// What is known of the value that a value replaces.
#[derive(Debug, Clone, Copy)]
struct Correlated<'v> {
    /// The value itself.
    old: Option<&'v Value>,
    /// Whether rules may see it as `oldSelf`: not in what is owned as a whole.
    is_visible: bool,
    /// The change of the value, or of the nearest value around it of which one is known.
    nearest: Option<Change<'v>>,
}

impl<'v> Correlated<'v> {
    /// What is known of a value in this one.
    fn within(
        self,
        place: NodeId,
        old: Option<&'v Value>,
        new: &'v Value,
        is_correlatable: bool,
    ) -> Self {
        let nearest = old.map_or(self.nearest, |old| Some(Change { place, old, new }));
        Self { old, is_visible: self.is_visible && is_correlatable, nearest }
    }

    fn old_self(self) -> Option<&'v Value> {
        self.old.filter(|_| self.is_visible)
    }

    fn is_unchanged(self, schema: &Structural) -> bool {
        self.nearest.is_some_and(|Change { place, old, new }| schema.is_same(place, old, new))
    }
}

/// `Break` when no further rule may run.
type Walk = ControlFlow<()>;

struct RuleCheck<'r> {
    rules: &'r Rules,
    schema: &'r Structural,
    naming: Naming,
    /// Whether a failure about what stays as it was is a warning.
    ratchets: bool,
    budget: &'r mut Budget,
    /// With less left of the budget, other tasks take another thread.
    long_below: u64,
    findings: Findings,
}

impl RuleCheck<'_> {
    /// Runs the rules of a value and of what is in it.
    fn value(&mut self, id: NodeId, at: &Place<'_>, value: &Value, old: Correlated<'_>) -> Walk {
        if self.budget.left() >= self.long_below {
            return self.value_at_once(id, at, value, old);
        }
        self.long_below = self.budget.left().saturating_sub(SHORT_COST);
        blocking(|| self.value_at_once(id, at, value, old))
    }

    fn value_at_once(
        &mut self,
        id: NodeId,
        at: &Place<'_>,
        value: &Value,
        old: Correlated<'_>,
    ) -> Walk {
        if value.is_null() || !self.rules.reaches(id) {
            return Walk::Continue(());
        }
        let node = self.schema.node(id);
        if let Some(rules) = self.rules.of(id) {
            self.place(rules, node, at, value, old)?;
        }
        match value {
            Value::List(items) => self.items(node, at, items, old),
            Value::Map(_) => self.entries(node, at, value, old),
            _ => Walk::Continue(()),
        }
    }

    fn items(
        &mut self,
        node: &SchemaNode,
        at: &Place<'_>,
        items: &[Value],
        old: Correlated<'_>,
    ) -> Walk {
        let Some(id) = node.items.filter(|id| self.rules.reaches(*id)) else {
            return Walk::Continue(());
        };
        let known = by_keys(node, old.old.and_then(Value::as_list).unwrap_or_default());
        for (index, item) in items.iter().enumerate() {
            let before = if known.is_empty() {
                None
            } else {
                keys(node, item).and_then(|keys| known.get(&keys).copied())
            };
            self.value(id, &at.index(index), item, old.within(id, before, item, true))?;
        }
        Walk::Continue(())
    }

    fn entries(
        &mut self,
        node: &SchemaNode,
        at: &Place<'_>,
        value: &Value,
        old: Correlated<'_>,
    ) -> Walk {
        let is_correlatable = node.map != Some(MapKind::Atomic);
        for (name, entry) in value.as_map().into_iter().flat_map(|map| map.iter()) {
            let (id, place) = match (node.property(name), node.additional) {
                (Some(id), _) => (id, at.child(name)),
                (None, Additional::Schema(id)) => (id, at.key(name)),
                _ => continue,
            };
            let before = old.old.and_then(|old| old.get(name)).filter(|old| !old.is_null());
            self.value(id, &place, entry, old.within(id, before, entry, is_correlatable))?;
        }
        Walk::Continue(())
    }

    /// Runs the rules of one place.
    fn place(
        &mut self,
        rules: &PlaceRules,
        node: &SchemaNode,
        at: &Place<'_>,
        value: &Value,
        old: Correlated<'_>,
    ) -> Walk {
        let Some(shape) = &rules.shape else {
            return Walk::Continue(());
        };
        if self.budget.left() == 0 {
            return self.end(node, at, NO_BUDGET);
        }
        let plain = Activation::named(&VARIABLES).with(0, shape.read(value));
        let before = old.old_self().filter(|_| rules.use_old_self).map(|old| shape.read(old));
        let transition = before.clone().map(|before| plain.clone().with(1, before));
        let optional = CelValue::Optional(before.map(Arc::new));
        for (rule, written) in rules.rules.iter().zip(&node.rules) {
            let may_be_first = written.optional_old_self == Some(true);
            let change;
            let activation = match (&transition, rule.uses_old_self) {
                (_, false) => &plain,
                (_, true) if may_be_first => {
                    change = plain.clone().with(1, optional.clone());
                    &change
                }
                (Some(transition), true) => transition,
                (None, true) => continue,
            };
            self.rule(rule, written, node, at, (value, activation, old))?;
        }
        Walk::Continue(())
    }

    fn rule(
        &mut self,
        rule: &CompiledRule,
        written: &Rule,
        node: &SchemaNode,
        at: &Place<'_>,
        (value, activation, old): (&Value, &Activation<'_>, Correlated<'_>),
    ) -> Walk {
        let program = match &rule.program {
            Ok(program) => program,
            Err(why) => {
                self.tell(node, at, &format!("rule compile error: {why}"));
                return Walk::Continue(());
            }
        };
        let evaluation = evaluate(program, activation);
        if !self.budget.spend(evaluation.cost) {
            return self.end(node, at, NO_BUDGET);
        }
        match evaluation.result {
            Ok(CelValue::Bool(true)) => Walk::Continue(()),
            Ok(_) => self.failure(rule, written, node, at, (value, activation, old)),
            Err(error) => self.error(&error, written, node, at),
        }
    }

    /// A rule has no result.
    fn error(
        &mut self,
        error: &EvalError,
        written: &Rule,
        node: &SchemaNode,
        at: &Place<'_>,
    ) -> Walk {
        let (text, rule) = (error.to_string(), message::name(written));
        let text = in_profile(self.naming, &text);
        if *error == EvalError::CostLimit {
            let why = format!(
                "'{text}': no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
            );
            return self.end(node, at, &why);
        }
        if text.starts_with("no such overload") {
            let why = format!(
                "'{text}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
            );
            self.tell(node, at, &why);
        } else {
            self.tell(node, at, &format!("{text} evaluating rule: {rule}"));
        }
        Walk::Continue(())
    }

    /// A rule does not hold.
    fn failure(
        &mut self,
        rule: &CompiledRule,
        written: &Rule,
        node: &SchemaNode,
        at: &Place<'_>,
        (value, activation, old): (&Value, &Activation<'_>, Correlated<'_>),
    ) -> Walk {
        let mut field = at.text();
        if let Some(below) = &rule.field_path {
            field = field.child(below.as_str());
        }
        if field.as_str().is_empty() {
            field = Path::new(WHOLE);
        }
        let source = written.message_expression.as_str();
        let computed = rule
            .message
            .as_ref()
            .map(|program| message::compute(program, source, activation, self.budget));
        let (cause, walk) = match computed {
            Some(Computed::Text(text)) => {
                (message::failure(written, field, value, &text), Walk::Continue(()))
            }
            Some(Computed::Exhausted(why)) => {
                (Cause::invalid(field, type_name(node), &why), Walk::Break(()))
            }
            Some(Computed::Unusable) | None => {
                let text = message::of_rule(written);
                (message::failure(written, field, value, &text), Walk::Continue(()))
            }
        };
        if self.ratchets && !rule.uses_old_self && old.is_unchanged(self.schema) {
            self.findings.warnings.push(cause.text());
        } else {
            self.findings.causes.push(cause);
        }
        walk
    }

    /// Tells of an error at a place; the value is not shown.
    fn tell(&mut self, node: &SchemaNode, at: &Place<'_>, why: &str) {
        let field = match at.text() {
            field if field.as_str().is_empty() => Path::new(WHOLE),
            field => field,
        };
        self.findings.causes.push(Cause::invalid(field, type_name(node), why));
    }

    /// Tells of an error after which no further rule may run.
    fn end(&mut self, node: &SchemaNode, at: &Place<'_>, why: &str) -> Walk {
        self.tell(node, at, why);
        Walk::Break(())
    }
}
