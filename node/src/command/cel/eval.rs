//! `quorate cel eval`: one expression, for people who write rules.

use quorate_cel::answer::answer_within;
use quorate_cel::environment::Environment;
use quorate_cel::eval::Activation;
use quorate_cel::types::Type;
use quorate_cel::value::Shape;

use super::{library, notation};
use crate::cli::Eval;
use crate::error::Error;
use crate::terminal::print_line;

/// Evaluates the expression and prints what was asked for.
pub(super) fn run(options: &Eval) -> Result<(), Error> {
    let environment = options
        .variables
        .iter()
        .fold(Environment::new(library(&options.environment)), |environment, variable| {
            environment.with_variable(variable.name.as_str(), Type::Dyn)
        });
    let mut activation = Activation::new(&environment);
    for (slot, variable) in options.variables.iter().enumerate() {
        activation.bind(slot, Shape::DYN.read(&variable.value));
    }
    let naming = options.environment.naming;
    let answer = answer_within(&environment, &activation, &options.source, naming);
    if let Ok(value) = &answer.result {
        print_line(notation::text(value));
    }
    if let Some(result_type) = answer.result_type.filter(|_| options.result_type) {
        print_line(format_args!("type: {result_type}"));
    }
    if let Some(cost) = answer.cost.filter(|_| options.cost) {
        print_line(format_args!("cost: {cost}"));
    }
    if let Some(range) = answer.estimate.filter(|_| options.cost) {
        match range.max {
            u64::MAX => print_line(format_args!("estimate: at least {}", range.min)),
            max => print_line(format_args!("estimate: {} to {max}", range.min)),
        }
    }
    match answer.result {
        Ok(_) => Ok(()),
        Err(failure) if failure.stage == "eval" => Err(Error::failed(failure.text)),
        Err(failure) => Err(Error::config(failure.text)),
    }
}
