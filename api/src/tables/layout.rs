//! The layout of a kind's table: its columns, and the row of each object.
//!
//! Invariants: a layout is made once per request; rows are written as JSON one by one, so that a
//! table of any length streams like a list.

use quorate_meta::{GroupVersionKind, Map, Names, Value};
use quorate_schema::{Column, Graph, KindDef};
use quorate_wire::json::{self, Parts};

use super::cell::Cell;
use super::parts;
use super::printer::PrinterColumns;
use super::row::{self, Conditions, Rank};
use super::special::Special;
use quorate_registry::Resource;
use quorate_registry::error::Error;

/// How much of its object a row carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    /// Only metadata: the default.
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    None,
}

impl Include {
    /// The `includeObject` parameter.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::None),
            other => Err(Error::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }
}

/// The columns of a kind.
#[derive(Debug)]
pub(crate) struct Layout {
    /// `columnDefinitions` as JSON.
    pub(crate) columns: Vec<u8>,
    cells: Vec<Cell>,
    /// What the rows of a built-in kind read of an object as it is stored.
    parts: Parts,
    /// The columns that the definition of a custom resource adds.
    printer: Option<PrinterColumns>,
    further_cell: Option<Special>,
    conditions: Option<Conditions>,
    rank: Option<Rank>,
}

impl Layout {
    /// The layout of a resource's objects; `graph` knows the built-in kinds. Those that the schema
    /// has no columns for get name and creation time.
    pub(crate) fn new(graph: &Graph, resource: &Resource) -> Result<Self, Error> {
        let columns = resource.strategy.printer_columns();
        if !columns.is_empty() {
            return Ok(Self::of_printer_columns(PrinterColumns::new(columns)));
        }
        let Resource { group, version, kind, .. } = resource;
        let kind = GroupVersionKind::new(&**group, &**version, &**kind);
        let def = graph
            .kind(&kind)
            .ok_or_else(|| Error::internal(format!("the schema does not know {kind}")))?;
        Ok(Self::of_kind(graph.names(), def))
    }

    /// The layout of a built-in kind's objects.
    pub(super) fn of_kind(names: &Names, def: &KindDef) -> Self {
        let defaults = default_columns();
        let columns = if def.columns.is_empty() { &defaults } else { &def.columns };
        let definitions = Value::List(columns.iter().map(definition).collect());
        let cells: Vec<Cell> = columns.iter().map(|column| Cell::new(names, def, column)).collect();
        let mut parts = parts::of(&def.kind);
        cells.iter().for_each(|cell| cell.add_parts(&mut parts));
        Self {
            columns: json::to_vec(&definitions),
            cells,
            parts,
            printer: None,
            further_cell: row::further_cell(&def.kind),
            conditions: row::conditions(&def.kind),
            rank: row::rank(&def.kind),
        }
    }

    fn of_printer_columns(mut printer: PrinterColumns) -> Self {
        let mut definitions = vec![definition(&name_column())];
        definitions.append(&mut printer.definitions);
        Self {
            columns: json::to_vec(&Value::List(definitions)),
            cells: Vec::new(),
            parts: Parts::default(),
            printer: Some(printer),
            further_cell: None,
            conditions: None,
            rank: None,
        }
    }

    /// What rows read of an object as it is stored; not where cells show what is served.
    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Whether cells show the version that is served, not the one that is stored.
    pub(crate) fn shows_served(&self) -> bool {
        self.printer.is_some()
    }

    /// Writes the cells of an object as a JSON array.
    pub(crate) fn cells(&self, object: &Value, now_ms: u64, out: &mut Vec<u8>) {
        if let Some(printer) = &self.printer {
            let name = object.str_at(&["metadata", "name"]).unwrap_or_default().into();
            let cells = std::iter::once(name).chain(printer.cells(object, now_ms)).collect();
            return json::write(&Value::List(cells), out);
        }
        let further = self.further_cell.map(|cell| cell(object, now_ms));
        let cells =
            self.cells.iter().map(|cell| cell.evaluate(object, now_ms)).chain(further).collect();
        json::write(&Value::List(cells), out);
    }

    /// The conditions of an object's row; `None` when it has none.
    pub(crate) fn conditions(&self, object: &Value) -> Option<Value> {
        self.conditions.and_then(|conditions| conditions(object))
    }

    /// Whether the rows of a list come in another order than its objects.
    pub(crate) fn is_ranked(&self) -> bool {
        self.rank.is_some()
    }

    /// Where an object's row belongs in that order; those of the same rank come in the order of the
    /// objects.
    pub(crate) fn rank(&self, object: &Value) -> i64 {
        self.rank.map_or(0, |rank| rank(object))
    }
}

fn definition(column: &Column) -> Value {
    Value::Map(Map::from([
        ("name", Value::from(column.name.as_ref())),
        ("type", Value::from(column.kind.as_ref())),
        ("format", Value::from(column.format.as_ref())),
        ("description", Value::from(column.doc.as_ref())),
        ("priority", Value::from(i64::from(column.priority))),
    ]))
}

fn column(
    name: &'static str,
    kind: &'static str,
    format: &'static str,
    value: &'static str,
    doc: &'static str,
) -> Column {
    Column {
        name: name.into(),
        kind: kind.into(),
        format: format.into(),
        priority: 0,
        cell: "".into(),
        value: value.into(),
        doc: doc.into(),
    }
}

fn name_column() -> Column {
    let doc = "Unique name of the object within its kind and namespace.";
    column("Name", "string", "name", ".metadata.name", doc)
}

fn default_columns() -> Vec<Column> {
    let value = "rfc3339(.metadata.creationTimestamp)";
    vec![name_column(), column("Created At", "date", "", value, "When the object was created.")]
}
