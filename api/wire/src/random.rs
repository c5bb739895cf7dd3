//! Random objects of any type of a graph, from a seed.

use quorate_meta::{Map, Time, Value};
use quorate_schema::{Field, Graph, Mixed, Scalar, Shape, TypeId};

/// Levels below which optional messages are left out.
const DEPTH: usize = 7;

/// Makes values; equal seeds make equal values.
pub(crate) struct Random<'g> {
    graph: &'g Graph,
    state: u64,
}

impl<'g> Random<'g> {
    pub(crate) fn new(graph: &'g Graph, seed: u64) -> Self {
        Self { graph, state: seed }
    }

    /// A value of a message type with some of its fields, in canonical form.
    pub(crate) fn object(&mut self, id: TypeId) -> Value {
        let mut value = self.message(id, 0);
        let unknown = quorate_schema::decode(self.graph, id, &mut value).expect("types are right");
        assert_eq!(unknown.paths, Vec::<String>::new());
        value
    }

    /// Yes or no.
    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn message(&mut self, id: TypeId, depth: usize) -> Value {
        let ty = self.graph.ty(id);
        if let Some(mixed) = ty.mixed {
            return self.mixed(
                mixed,
                ty.fields.iter().find_map(|field| field.shape.message()),
                depth,
            );
        }
        let mut map = Map::new();
        for field in &ty.properties {
            let type_meta = field.tag.is_none();
            let skip = if depth < DEPTH { self.below(3) == 0 } else { true };
            if !type_meta && !skip {
                let value = self.field(field, depth);
                map.insert(field.name.as_ref(), value);
            }
        }
        Value::Map(map)
    }

    fn field(&mut self, field: &Field, depth: usize) -> Value {
        if let Some(allowed) = field.allowed.first()
            && matches!(field.shape, Shape::Scalar(Scalar::String))
        {
            return Value::from(allowed.as_ref());
        }
        self.shape(&field.shape, depth)
    }

    fn shape(&mut self, shape: &Shape, depth: usize) -> Value {
        // Empty lists and maps are absent in protobuf.
        let count = 1 + self.below(2);
        match shape {
            Shape::Scalar(kind) => self.scalar(*kind),
            Shape::Message(id) => self.message(*id, depth + 1),
            Shape::List(inner) => {
                Value::List((0..count).map(|_| self.shape(inner, depth + 1)).collect())
            }
            Shape::Map(inner) => Value::Map(
                (0..count).map(|_| (self.text(), self.shape(inner, depth + 1))).collect(),
            ),
        }
    }

    fn mixed(&mut self, mixed: Mixed, schema: Option<TypeId>, depth: usize) -> Value {
        let list = self.coin();
        match (mixed, schema) {
            (Mixed::SchemaOrBool, _) if list => Value::Bool(self.coin()),
            (Mixed::SchemaOrStrings, _) if list => Value::List(vec![Value::from(self.text())]),
            (Mixed::SchemaOrList, Some(id)) if list => {
                Value::List(vec![self.message(id, depth + 1)])
            }
            (_, Some(id)) => self.message(id, depth + 1),
            (_, None) => Value::Bool(true),
        }
    }

    fn scalar(&mut self, kind: Scalar) -> Value {
        match kind {
            Scalar::Bool => Value::Bool(self.coin()),
            Scalar::Int32 => Value::from(self.int32()),
            Scalar::Int64 => Value::Int(self.next().cast_signed() >> self.below(64)),
            Scalar::Double => match self.below(3) {
                0 => Value::from(self.int32()),
                _ => Value::Float(f64::from(self.int32()) + 0.5),
            },
            Scalar::String => Value::from(self.text()),
            Scalar::Bytes => Value::from(["", "AA==", "AAE=", "//79"][self.index(4)]),
            Scalar::Time => Value::from(self.time().seconds()),
            Scalar::MicroTime => Value::from(self.time().microseconds()),
            Scalar::Quantity => Value::from(["0", "1", "100m", "1.5Gi", "-3e7"][self.index(5)]),
            Scalar::IntOrString if self.coin() => Value::from(self.int32()),
            Scalar::IntOrString => Value::from(self.text()),
            Scalar::Any => self.free(),
        }
    }

    fn free(&mut self) -> Value {
        match self.below(6) {
            0 => Value::Bool(true),
            1 => Value::Int(self.next().cast_signed()),
            2 => Value::from(self.text()),
            3 => Value::Float(0.25),
            4 => Value::List(vec![Value::Null, Value::from(self.text())]),
            _ => Value::Map(Map::from([
                (self.text(), Value::from(1)),
                (self.text(), Value::Map(Map::new())),
            ])),
        }
    }

    /// An index below an end.
    pub(crate) fn index(&mut self, end: u64) -> usize {
        usize::try_from(self.below(end)).unwrap_or_default()
    }

    fn int32(&mut self) -> i32 {
        let [a, b, c, d, ..] = self.next().to_le_bytes();
        i32::from_le_bytes([a, b, c, d]) >> self.below(32)
    }

    fn text(&mut self) -> String {
        const TEXTS: [&str; 10] = [
            "",
            "a",
            "name-1",
            "Stra\u{df}e \u{1f600}",
            "line\nbreak \"quoted\"",
            "x/y.z",
            "yes",
            "0x1f",
            "- a: b #c\n\n",
            " \ttab\r\n",
        ];
        TEXTS[self.index(10)].to_owned()
    }

    fn time(&mut self) -> Time {
        Time::from_unix(
            i64::from(self.int32()) * 20,
            u32::try_from(self.below(1_000_000)).unwrap_or_default(),
        )
        .expect("within the known years")
    }
}
