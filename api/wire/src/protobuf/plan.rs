//! The types of a graph in the form that the transcoder reads: properties by their JSON name, and
//! what is written of a message in the order of its bytes.
//!
//! Invariant: the plan of a type is made when it is first asked for, and never changes.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use quorate_schema::{Field, Graph, Mixed, Scalar, Shape, Text, TypeDef, TypeId};

use super::encode::{by_tag, zero_field};

/// The plans of all types of a graph.
pub(super) struct Plans {
    pub(super) graph: Arc<Graph>,
    /// By the places of the types.
    messages: Box<[OnceLock<MessagePlan>]>,
}

/// A message.
pub(super) struct MessagePlan {
    /// The properties, sorted by their JSON name.
    pub(super) properties: Box<[Property]>,
    /// What is written, in ascending field numbers; the steps of an inline message follow its own.
    pub(super) steps: Box<[Step]>,
    /// What is written for steps without a value.
    pub(super) zeros: Zeros,
    /// Whether a step is an inline message.
    pub(super) has_inline: bool,
    /// A special JSON form.
    pub(super) mixed: Option<Mixed>,
}

/// What the steps of a message write where nothing is there, one after another.
pub(super) struct Zeros {
    bytes: Box<[u8]>,
    /// By step: where its part ends.
    ends: Box<[usize]>,
}

/// A property in JSON.
pub(super) struct Property {
    pub(super) name: Text,
    /// What its name begins with, as [`prefix`] has it.
    pub(super) prefix: u64,
    /// The step that writes it; `None` where it has no protobuf form.
    pub(super) step: Option<u16>,
}

/// A part of a message.
pub(super) enum Step {
    /// The field of a property.
    Field(FieldPlan),
    /// An inline message, whose parts are the next `steps` steps.
    Inline { tag: u32, steps: usize },
}

/// A field.
pub(super) struct FieldPlan {
    pub(super) tag: u32,
    pub(super) shape: ShapePlan,
}

/// The shape of a value.
pub(super) enum ShapePlan {
    Scalar(Scalar),
    Message(TypeId),
    /// An element each.
    List(Box<ShapePlan>),
    /// A message around a list of strings.
    Wrapped,
    /// An entry each.
    Map(Box<ShapePlan>),
    /// The encoder refuses every value.
    Unwritable,
}

impl Plans {
    pub(super) fn new(graph: Arc<Graph>) -> Self {
        let messages = graph.types().iter().map(|_| OnceLock::new()).collect();
        Self { graph, messages }
    }

    /// The plan of a type; `None` for types of another graph's layer.
    pub(super) fn message(&self, id: TypeId) -> Option<&MessagePlan> {
        let plan = self.messages.get(id.index())?;
        Some(plan.get_or_init(|| MessagePlan::of(&self.graph, self.graph.ty(id))))
    }
}

impl MessagePlan {
    fn of(graph: &Graph, ty: &TypeDef) -> Self {
        let (mut steps, mut written) = (Vec::new(), Vec::new());
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        add_steps(graph, ty, &mut steps, &mut written);
        let steps: Box<[Step]> = steps
            .into_iter()
            .map(|(step, zero)| {
                bytes.extend(zero);
                ends.push(bytes.len());
                step
            })
            .collect();
        let property = |field: &Arc<Field>| {
            let step = written.iter().find(|(name, _)| **name == field.name).map(|(_, step)| *step);
            Property { name: field.name.clone(), prefix: prefix(field.name.as_bytes()), step }
        };
        let properties = ty.properties.iter().map(property).collect();
        let has_inline = steps.iter().any(|step| matches!(step, Step::Inline { .. }));
        let zeros = Zeros { bytes: bytes.into(), ends: ends.into() };
        Self { properties, steps, zeros, has_inline, mixed: ty.mixed }
    }
}

impl Zeros {
    /// What the steps in a range write.
    pub(super) fn of(&self, steps: Range<usize>) -> &[u8] {
        let end = |steps: usize| steps.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.bytes[end(steps.start)..end(steps.end)]
    }

    /// How many bytes those are.
    pub(super) fn len_of(&self, steps: Range<usize>) -> usize {
        self.of(steps).len()
    }
}

/// The first eight bytes of a name as a number: of two names whose numbers differ, the one with the
/// lower number comes first.
pub(super) fn prefix(name: &[u8]) -> u64 {
    if let Some(first) = name.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut bytes = [0; 8];
    bytes[..name.len()].copy_from_slice(name);
    u64::from_be_bytes(bytes)
}

/// Appends what is written of a message, each step with what it writes of nothing, and which step
/// writes which property.
fn add_steps<'g>(
    graph: &'g Graph,
    ty: &'g TypeDef,
    steps: &mut Vec<(Step, Vec<u8>)>,
    written: &mut Vec<(&'g Text, u16)>,
) {
    for (tag, field) in by_tag(ty) {
        let at = steps.len();
        match field.shape {
            Shape::Message(id) if field.inline => {
                steps.push((Step::Inline { tag, steps: 0 }, Vec::new()));
                add_steps(graph, graph.ty(id), steps, written);
                steps[at].0 = Step::Inline { tag, steps: steps.len() - at - 1 };
            }
            _ => {
                written.push((&field.name, u16::try_from(at).expect("a message is no table")));
                let (plan, zero) = field_plan(graph, tag, field);
                steps.push((Step::Field(plan), zero));
            }
        }
    }
}

/// A field, and what is written when it is absent.
fn field_plan(graph: &Graph, tag: u32, field: &Field) -> (FieldPlan, Vec<u8>) {
    let shape = match &field.shape {
        Shape::List(_) if field.wrapped => ShapePlan::Wrapped,
        Shape::List(inner) => ShapePlan::List(Box::new(element_plan(inner))),
        Shape::Map(inner) => ShapePlan::Map(Box::new(element_plan(inner))),
        single => element_plan(single),
    };
    // A zero that cannot be written leaves the refusal to the encoder.
    match zero_field(graph, tag, field) {
        Ok(zero) => (FieldPlan { tag, shape }, zero),
        Err(_) => (FieldPlan { tag, shape: ShapePlan::Unwritable }, Vec::new()),
    }
}

/// A single value, a list element or a map value.
fn element_plan(shape: &Shape) -> ShapePlan {
    match shape {
        Shape::Scalar(kind) => ShapePlan::Scalar(*kind),
        Shape::Message(id) => ShapePlan::Message(*id),
        Shape::List(_) => ShapePlan::Wrapped,
        Shape::Map(_) => ShapePlan::Unwritable,
    }
}
