//! Loops of macros.

use super::context::settled;
use super::truth::{Truth, decide};
use super::{Context, EvalError, Evaluated, evaluate};
use crate::plan::node::{FoldKind, FoldNode, GeneralFold, Node};
use crate::value::{ListIter, MapIter, Value};

/// Elements that a loop goes through.
enum Elements<'v, 'a> {
    List(ListIter<'v, 'a>),
    Map(MapIter<'v, 'a>),
}

pub(super) fn fold<'a>(fold: &'a FoldNode, context: &mut Context<'a>) -> Evaluated<'a> {
    let range = evaluate(&fold.range, context)?;
    let elements = match &range {
        Value::List(list) => Elements::List(list.iter()),
        Value::Map(map) => Elements::Map(map.iter()),
        other => return Err(not_iterable(other, fold.second.is_some())),
    };
    match &fold.kind {
        FoldKind::Quantifier { predicate, exists } => {
            quantify(fold, predicate, *exists, elements, context)
        }
        FoldKind::One { predicate } => one(fold, predicate, elements, context),
        FoldKind::Collect { filter, element } => {
            collect(fold, filter.as_ref(), element, elements, context)
        }
        FoldKind::General(general) => run(fold, general, elements, context),
    }
}

fn run<'a>(
    fold: &'a FoldNode,
    general: &'a GeneralFold,
    mut elements: Elements<'_, 'a>,
    context: &mut Context<'a>,
) -> Evaluated<'a> {
    context.set_pending(fold.accumulator, &general.initial);
    let mut index = 0;
    while bind_next(fold, &mut elements, &mut index, context) {
        match evaluate(&general.condition, context) {
            Err(error) if error.is_final() => return Err(error),
            Ok(Value::Bool(false)) => break,
            _ => {}
        }
        let next = settled(evaluate(&general.step, context))?;
        context.set_local(fold.accumulator, next);
        context.iterate()?;
    }
    evaluate(&general.result, context)
}

/// `all` and `exists`, with the costs that their loops have in full.
fn quantify<'a>(
    fold: &'a FoldNode,
    predicate: &'a Node,
    exists: bool,
    mut elements: Elements<'_, 'a>,
    context: &mut Context<'a>,
) -> Evaluated<'a> {
    // Reading the accumulator, negating it for `exists`, and testing it.
    let condition_cost = if exists { 3 } else { 2 };
    let mut answer: Result<bool, EvalError> = Ok(!exists);
    let mut index = 0;
    while bind_next(fold, &mut elements, &mut index, context) {
        for _ in 0..condition_cost {
            context.charge(1)?;
        }
        if answer == Ok(exists) {
            break;
        }
        context.charge(1)?;
        match decide(predicate, context) {
            Truth::Failed => {
                let error = context.failure();
                if error.is_final() {
                    return Err(error);
                }
                answer = answer.and(Err(error));
            }
            truth if truth == Truth::from(exists) => answer = Ok(exists),
            _ => {}
        }
        context.iterate()?;
    }
    context.charge(1)?;
    answer.map(Value::Bool)
}

/// `exists_one`, with the costs that its loop has in full.
fn one<'a>(
    fold: &'a FoldNode,
    predicate: &'a Node,
    mut elements: Elements<'_, 'a>,
    context: &mut Context<'a>,
) -> Evaluated<'a> {
    let mut count: Result<u64, EvalError> = Ok(0);
    let mut index = 0;
    while bind_next(fold, &mut elements, &mut index, context) {
        match decide(predicate, context) {
            Truth::True => {
                // Reading the count, and adding to it.
                context.charge(1)?;
                context.charge(1)?;
                count = count.map(|count| count + 1);
            }
            Truth::False => {}
            Truth::Failed => {
                let error = context.failure();
                if error.is_final() {
                    return Err(error);
                }
                count = Err(error);
            }
        }
        context.iterate()?;
    }
    // Reading the count, and comparing it.
    context.charge(1)?;
    context.charge(1)?;
    count.map(|count| Value::Bool(count == 1))
}

/// Cost of a list of one element.
const LIST_COST: u64 = 10;

/// `map`, `filter` and `transformList`, with the costs that their loops have in full.
fn collect<'a>(
    fold: &'a FoldNode,
    filter: Option<&'a Node>,
    element: &'a Node,
    mut elements: Elements<'_, 'a>,
    context: &mut Context<'a>,
) -> Evaluated<'a> {
    let list_cost = if matches!(element, Node::Constant(_)) { 0 } else { LIST_COST };
    let mut collected: Result<Vec<Value<'a>>, EvalError> = Ok(Vec::new());
    let mut index = 0;
    while bind_next(fold, &mut elements, &mut index, context) {
        context.iterate()?;
        match filter.map_or(Truth::True, |filter| decide(filter, context)) {
            Truth::True => {}
            Truth::False => continue,
            Truth::Failed => {
                let error = context.failure();
                if error.is_final() {
                    return Err(error);
                }
                collected = Err(error);
                continue;
            }
        }
        // Reading what was collected, then the element, its list, and adding it.
        context.charge(1)?;
        let value = evaluate(element, context);
        if let Err(error) = &value
            && error.is_final()
        {
            return value;
        }
        context.charge(list_cost)?;
        context.charge(1)?;
        match (&mut collected, value) {
            (Ok(items), Ok(value)) => items.push(value),
            (Ok(_), Err(error)) => collected = Err(error),
            (Err(_), _) => {}
        }
    }
    context.charge(1)?;
    collected.map(Value::list)
}

/// Gives the loop's variables the next element; false when there is none.
fn bind_next<'a>(
    fold: &FoldNode,
    elements: &mut Elements<'_, 'a>,
    index: &mut i64,
    context: &mut Context<'a>,
) -> bool {
    let (key, value) = match elements {
        Elements::List(items) => match items.next() {
            Some(item) => (Value::Int(*index), item),
            None => return false,
        },
        Elements::Map(entries) => match entries.next() {
            Some(entry) => entry,
            None => return false,
        },
    };
    *index += 1;
    match (fold.second, &elements) {
        (Some(second), _) => {
            context.set_local(fold.variable, key);
            context.set_local(second, value);
        }
        (None, Elements::List(_)) => context.set_local(fold.variable, value),
        (None, Elements::Map(_)) => context.set_local(fold.variable, key),
    }
    true
}

/// The error of a range that cannot be gone through; it names the reference engine's type.
fn not_iterable(value: &Value<'_>, two_variables: bool) -> EvalError {
    let host = match value {
        Value::Null => "types.Null".to_owned(),
        Value::Bool(_) => "types.Bool".to_owned(),
        Value::Int(_) => "types.Int".to_owned(),
        Value::Uint(_) => "types.Uint".to_owned(),
        Value::Double(_) => "types.Double".to_owned(),
        Value::String(_) => "types.String".to_owned(),
        Value::Bytes(_) => "types.Bytes".to_owned(),
        Value::Timestamp(_) => "types.Timestamp".to_owned(),
        Value::Duration(_) => "types.Duration".to_owned(),
        Value::Type(_) => "*types.Type".to_owned(),
        Value::Optional(_) => "*types.Optional".to_owned(),
        other => format!("cel.{}", other.type_name().rsplit('.').next().unwrap_or_default()),
    };
    EvalError::new(if two_variables {
        format!("unsupported comprehension range type: {host}")
    } else {
        format!("got '{host}', expected iterable type")
    })
}
