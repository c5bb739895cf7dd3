//! Overloads: declaration, implementation, run-time cost and static estimate of one function signature.
//!
//! Invariant: the receiver of a member is its first parameter and its first argument. Not here: how an overload is chosen (the
//! checker for static types, the planner's dispatch for dynamic ones).

use crate::ast::Literal;
use crate::environment::Release;
use crate::eval::EvalError;
use crate::types::Type;
use crate::value::Value;

/// Implementation: the arguments have the types of the parameters.
pub type Call = for<'a> fn(&[Value<'a>]) -> Result<Value<'a>, EvalError>;

/// Run-time cost of a call, from its arguments and, unless it failed, its result.
pub type CostOf = fn(&[Value<'_>], Option<&Value<'_>>) -> u64;

/// One signature of a function.
#[derive(Debug, Clone)]
pub struct Overload {
    /// Name of the function.
    pub function: &'static str,
    /// Name of the overload.
    pub id: &'static str,
    /// Whether it is called on a receiver.
    pub member: bool,
    /// Types of the arguments, the receiver's first.
    pub parameters: Vec<Type>,
    /// Type of the result.
    pub result: Type,
    /// The release in which it appeared.
    pub since: Release,
    /// What it does.
    pub call: Call,
    /// What a call costs.
    pub cost: Cost,
    /// What a call may cost at least and at most.
    pub estimate: Estimate,
    /// How a call is found when the checker did not choose one overload.
    pub dispatch: Dispatch,
    /// What can be done while planning, when an argument is constant.
    pub prepare: Option<Prepare>,
}

/// How an overload is found at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispatch {
    /// It is called only with arguments of its parameters' types.
    Guarded,
    /// All overloads of the function have one implementation, which looks at its arguments itself.
    Singleton,
}

/// Run-time cost.
#[derive(Debug, Clone, Copy)]
pub enum Cost {
    /// A fixed amount, whichever way the overload was chosen.
    Fixed(u64),
    /// Counted when the checker chose this overload; a call that is dispatched at run time costs 1.
    Static(CostOf),
    /// Counted whichever way the overload was chosen: the cost belongs to the function's name.
    Always(CostOf),
    /// `chosen` when the checker chose this overload, `dispatched` when the call is dispatched at run time.
    ByOverload {
        /// The overload's own cost.
        chosen: CostOf,
        /// The cost that belongs to the function's name.
        dispatched: CostOf,
    },
}

/// A range of sizes or costs, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

/// What is known of an argument before the expression runs.
#[derive(Debug, Clone)]
pub struct ArgumentEstimate<'e> {
    /// Its type.
    pub value_type: &'e Type,
    /// Its size (code points, bytes, elements).
    pub size: Range,
    /// Size of its elements, and of theirs, outermost first.
    pub element_sizes: Vec<Range>,
    /// The constant that it is.
    pub literal: Option<&'e Literal>,
}

/// What a call costs and how large its result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallEstimate {
    /// Cost.
    pub cost: Range,
    /// Size of the result, when the overload says more than its type does.
    pub size: Option<Range>,
}

/// Static estimate.
#[derive(Debug, Clone, Copy)]
pub enum Estimate {
    /// A fixed amount.
    Fixed(u64),
    /// Counted from the arguments.
    Of(fn(&[ArgumentEstimate<'_>]) -> CallEstimate),
}

/// Work that is done while planning when one argument is a constant, such as compiling a pattern.
#[derive(Debug, Clone, Copy)]
pub struct Prepare {
    /// Which argument.
    pub argument: usize,
    /// Does it; an error is one of planning.
    pub build: fn(&Value<'static>) -> Result<Box<dyn PreparedCall>, EvalError>,
}

/// A call of which a part was done while planning.
pub trait PreparedCall: std::fmt::Debug + Send + Sync {
    /// The result, for all arguments, the constant one included.
    ///
    /// # Errors
    /// As the overload's own call.
    fn call<'a>(&self, arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError>;
}

impl Overload {
    /// A global function's signature, of cost 1, there since the first release.
    pub fn global(
        function: &'static str,
        id: &'static str,
        parameters: impl Into<Vec<Type>>,
        result: Type,
        call: Call,
    ) -> Self {
        let (parameters, since) = (parameters.into(), Release::FIRST);
        let (cost, estimate) = (Cost::Fixed(1), Estimate::Fixed(1));
        Self {
            function,
            id,
            member: false,
            parameters,
            result,
            since,
            call,
            cost,
            estimate,
            dispatch: Dispatch::Guarded,
            prepare: None,
        }
    }

    /// A member function's signature, of cost 1, there since the first release; the receiver's type comes first.
    pub fn member(
        function: &'static str,
        id: &'static str,
        parameters: impl Into<Vec<Type>>,
        result: Type,
        call: Call,
    ) -> Self {
        Self { member: true, ..Self::global(function, id, parameters, result, call) }
    }

    /// With another cost and estimate.
    #[must_use]
    pub fn costs(self, cost: Cost, estimate: Estimate) -> Self {
        Self { cost, estimate, ..self }
    }

    /// With the release in which it appeared.
    #[must_use]
    pub fn since(self, since: Release) -> Self {
        Self { since, ..self }
    }

    /// With an implementation that all overloads of the function share.
    #[must_use]
    pub fn singleton(self) -> Self {
        Self { dispatch: Dispatch::Singleton, ..self }
    }

    /// With work that is done while planning.
    #[must_use]
    pub fn prepared(
        self,
        argument: usize,
        build: fn(&Value<'static>) -> Result<Box<dyn PreparedCall>, EvalError>,
    ) -> Self {
        Self { prepare: Some(Prepare { argument, build }), ..self }
    }
}

impl Range {
    /// Both ends times `factor`, rounded up; what is beyond the largest number is the largest number.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { min: scaled(self.min, factor), max: scaled(self.max, factor) }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the reference engine counts in doubles"
)]
fn scaled(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).ceil() as u64
}
