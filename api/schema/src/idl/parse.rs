//! The parser of the IDL.
//!
//! Names are neutral and type references unresolved; `graph::build` resolves them.

/// A line that does not follow the format.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{file}:{line}: {problem}")]
pub struct IdlError {
    /// Name of the file.
    pub file: String,
    /// Line number, from 1; 0 for a problem of the graph as a whole.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

/// One parsed file.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kinds: Vec<KindDecl>,
    pub(crate) types: Vec<TypeDecl>,
}

/// A kind with its attribute lines: the first word and what follows it.
#[derive(Debug)]
pub(crate) struct KindDecl {
    pub(crate) line: usize,
    pub(crate) name: &'static str,
    pub(crate) type_name: &'static str,
    pub(crate) attributes: Vec<(&'static str, &'static str)>,
}

/// A message with its fields.
#[derive(Debug)]
pub(crate) struct TypeDecl {
    pub(crate) line: usize,
    pub(crate) name: &'static str,
    pub(crate) flags: Vec<&'static str>,
    pub(crate) doc: &'static str,
    pub(crate) fields: Vec<FieldDecl>,
}

/// A field line.
#[derive(Debug)]
pub(crate) struct FieldDecl {
    pub(crate) line: usize,
    pub(crate) tag: Option<u32>,
    pub(crate) name: &'static str,
    pub(crate) shape: &'static str,
    pub(crate) flags: Vec<&'static str>,
    pub(crate) doc: &'static str,
}

/// What the indented lines belong to.
enum Section {
    None,
    Kind,
    Type,
}

/// Parses the text of one file.
pub(crate) fn parse(name: &str, text: &'static str) -> Result<File, IdlError> {
    let mut file = File::default();
    let mut section = Section::None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let fail = |problem: &str| IdlError {
            file: name.to_owned(),
            line: number,
            problem: problem.to_owned(),
        };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(line) = line.strip_prefix("  ") {
            match section {
                Section::Kind => attribute(&mut file, line),
                Section::Type => {
                    field(&mut file, line, number).ok_or_else(|| fail("bad field line"))?
                }
                Section::None => return Err(fail("a line outside of kind and type")),
            }
        } else {
            section = header(&mut file, line, number)
                .ok_or_else(|| fail("expected group, kind or type"))?;
        }
    }
    Ok(file)
}

fn header(file: &mut File, line: &'static str, number: usize) -> Option<Section> {
    let (line, doc) = split_doc(line);
    let mut words = line.split_whitespace();
    match (words.next()?, words.next()?) {
        ("group", name) => {
            (file.group, file.version) = name.split_once('/')?;
            Some(Section::None)
        }
        ("kind", name) => {
            let type_name = if words.next() == Some("=") { words.next()? } else { name };
            file.kinds.push(KindDecl { line: number, name, type_name, attributes: Vec::new() });
            Some(Section::Kind)
        }
        ("type", name) => {
            file.types.push(TypeDecl {
                line: number,
                name,
                flags: words.collect(),
                doc,
                fields: Vec::new(),
            });
            Some(Section::Type)
        }
        _ => None,
    }
}

fn attribute(file: &mut File, line: &'static str) {
    if let Some(kind) = file.kinds.last_mut() {
        kind.attributes.push(line.split_once(' ').unwrap_or((line, "")));
    }
}

fn field(file: &mut File, line: &'static str, number: usize) -> Option<()> {
    let (line, doc) = split_doc(line);
    let mut words = line.split_whitespace();
    let tag = match words.next()? {
        "-" => None,
        number => Some(number.parse().ok()?),
    };
    let (name, shape) = (words.next()?, words.next()?);
    let field = FieldDecl { line: number, tag, name, shape, flags: words.collect(), doc };
    file.types.last_mut()?.fields.push(field);
    Some(())
}

/// Splits off the documentation after ` -- `.
pub(super) fn split_doc(line: &str) -> (&str, &str) {
    line.split_once(" -- ").unwrap_or((line, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kinds_and_types() {
        let text = "# comment\ngroup core/v1\n\nkind A = B\n  scope cluster\n\ntype B object -- Doc.\n  - x []string? required -- A field.\n";
        let file = parse("t", text).expect("parses");
        assert_eq!((file.group, file.version), ("core", "v1"));
        assert_eq!(file.kinds[0].attributes, [("scope", "cluster")]);
        assert_eq!((file.kinds[0].name, file.kinds[0].type_name), ("A", "B"));
        let field = &file.types[0].fields[0];
        assert_eq!(
            (field.tag, field.name, field.shape, field.doc),
            (None, "x", "[]string?", "A field.")
        );
        assert_eq!((file.types[0].doc, &field.flags[..]), ("Doc.", &["required"][..]));
    }

    #[test]
    fn says_where_a_line_is_wrong() {
        let check = |text, expect: &str| {
            assert_eq!(parse("f", text).err().map(|e| e.to_string()).as_deref(), Some(expect))
        };
        check("group core/v1\n  1 a string\n", "f:2: a line outside of kind and type");
        check("type A\n  one a string\n", "f:2: bad field line");
        check("thing A\n", "f:1: expected group, kind or type");
    }
}
