//! Sizes of data, from the limits of its schema.

use quorate_schema::structural::NodeId;
use quorate_schema::structural::cel_types::{CelFieldType, CelType, MAX_REQUEST_BYTES};

use super::SchemaDeclarations;
use crate::estimate::SizeEstimator;
use crate::overload::Range;
use crate::types::Type;

/// Greatest size of a text without a limit of its own, in bytes.
const MAX_TEXT_BYTES: u64 = MAX_REQUEST_BYTES - 2;

/// The sizes for a rule at one place.
#[derive(Debug, Clone, Copy)]
pub struct SchemaSizes<'d> {
    declarations: &'d SchemaDeclarations,
    place: NodeId,
}

/// Where a path has come to.
#[derive(Debug, Clone, Copy)]
enum PathEnd {
    Place(NodeId),
    /// The metadata of a resource.
    Metadata,
    /// Text without a limit.
    Text,
    /// The key of an entry. Its size does not count.
    Key,
}

impl<'d> SchemaSizes<'d> {
    pub(super) fn new(declarations: &'d SchemaDeclarations, place: NodeId) -> Self {
        Self { declarations, place }
    }

    fn step(&self, from: PathEnd, name: &str) -> Option<PathEnd> {
        match from {
            PathEnd::Place(place) => match (&self.declarations.places.get(&place)?.content, name) {
                (CelType::List { element, .. }, "@items") => Some(PathEnd::Place(*element)),
                (CelType::Map { value, .. }, "@values") => Some(PathEnd::Place(*value)),
                (CelType::Map { .. }, "@keys") => Some(PathEnd::Key),
                (CelType::Object(fields), _) => {
                    let field = fields.iter().find(|field| field.escaped == name)?;
                    Some(match field.of {
                        CelFieldType::Node(place) => PathEnd::Place(place),
                        CelFieldType::Text => PathEnd::Text,
                        CelFieldType::Metadata => PathEnd::Metadata,
                    })
                }
                _ => None,
            },
            PathEnd::Metadata => matches!(name, "name" | "generateName").then_some(PathEnd::Text),
            PathEnd::Text | PathEnd::Key => None,
        }
    }

    fn max_size(&self, end: PathEnd) -> Option<u64> {
        Some(match end {
            PathEnd::Text => MAX_TEXT_BYTES,
            PathEnd::Key | PathEnd::Metadata => 0,
            PathEnd::Place(place) => match self.declarations.places.get(&place)?.content {
                CelType::Object(_) | CelType::Bool | CelType::Int | CelType::Double => 0,
                CelType::Map { max_entries, .. } => max_entries,
                CelType::List { max_elements, .. } => max_elements,
                CelType::String(max)
                | CelType::Bytes(max)
                | CelType::Date(max)
                | CelType::Timestamp(max)
                | CelType::Duration(max)
                | CelType::IntOrString(max) => max,
            },
        })
    }
}

impl SizeEstimator for SchemaSizes<'_> {
    fn size(&self, path: &[&str], _value_type: &Type) -> Option<Range> {
        let (_variable, steps) = path.split_first()?;
        let start = PathEnd::Place(self.place);
        let end = steps.iter().try_fold(start, |end, name| self.step(end, name))?;
        Some(Range { min: 0, max: self.max_size(end)? })
    }
}
