//! What of a selection narrows a watch: a label or a field with one of some values.
//!
//! The store wakes a narrowed watch only by changes of objects that have, or had, one of these.
//!
//! Invariant: whatever matches a selection has one of the terms that are taken from it. What is given
//! to the watch is checked against the whole selection all the same.
//!
//! Not here: what `notin`, `exists`, `!=` and an empty field say, which objects without the label or
//! field may match.

use std::sync::Arc;

use bytes::Bytes;
use quorate_meta::{LabelOperator, LabelRequirement};
use quorate_registry::{Resource, stored_codec};
use quorate_store::{Narrowing, Term, TermSource, Watch};
use quorate_wire::stored::HeaderRef;

use super::options::{NAME, NAMESPACE, Selection};

/// Values of an `in` beyond which it narrows nothing.
const MAX_VALUES: usize = 64;
/// The first part of the term of a label, and of that of a field.
const LABEL: &str = "label";
const FIELD: &str = "field";

/// The terms of stored objects: their labels, selectable fields, names and namespaces.
#[derive(Debug)]
struct ObjectTerms {
    /// The resource, where its own fields are asked for that objects of an older schema may lack in
    /// their headers: their terms are not known then.
    custom: Option<Arc<Resource>>,
}

impl TermSource for ObjectTerms {
    fn identity(&self) -> usize {
        self.custom.as_ref().map_or(0, |resource| Arc::as_ptr(resource).addr())
    }

    fn terms(&self, value: &Bytes, found: &mut dyn FnMut(Term)) -> bool {
        // A watch that selects ends at an object that cannot be read.
        let Ok(header) = HeaderRef::parse(value) else { return false };
        let lacks_fields =
            |resource: &Arc<Resource>| !stored_codec::has_served_fields(resource, &header);
        if self.custom.as_ref().is_some_and(lacks_fields) {
            return false;
        }
        for (key, value) in header.labels() {
            found(label(key, value));
        }
        for field in [NAME, NAMESPACE] {
            found(Term::of(&[FIELD, field, header.field(field).unwrap_or_default()]));
        }
        for (name, value) in header.fields() {
            found(Term::of(&[FIELD, name, value]));
        }
        true
    }
}

fn label(key: &str, value: &str) -> Term {
    Term::of(&[LABEL, key, value])
}

/// The watch, narrowed by what the selection says, if it says anything that narrows.
pub(super) fn narrowed(watch: Watch, resource: &Resource, selection: &Selection) -> Watch {
    // What another server converts is selected by what that makes of it.
    match narrowing(selection).filter(|_| resource.remote.is_none()) {
        Some(narrowing) => watch.narrowed(narrowing),
        None => watch,
    }
}

/// What few objects can be expected to have comes first: a name, another field, the label with the
/// fewest values, a namespace.
fn narrowing(selection: &Selection) -> Option<Narrowing> {
    let common = || Arc::new(ObjectTerms { custom: None });
    let fields =
        selection.fields.terms().iter().filter(|term| term.equal && !term.value.is_empty());
    let term = |field: &str, value: &str| Term::of(&[FIELD, field, value]);
    let exactly = |field: &str| Some(term(field, selection.fields.requires_exact(field)?));
    if let Some(name) = exactly(NAME) {
        return Some(Narrowing::new(common(), [name]));
    }
    if let Some(own) = fields.clone().find(|term| ![NAME, NAMESPACE].contains(&&*term.field)) {
        let source = Arc::new(ObjectTerms { custom: selection.custom.clone() });
        return Some(Narrowing::new(source, [term(&own.field, &own.value)]));
    }
    let requirements = selection.labels.requirements().iter();
    let listed = requirements.filter(|label| label.operator() == LabelOperator::In);
    let fewest = listed.min_by_key(|label| label.values().len());
    if let Some(fewest) = fewest.filter(|label| label.values().len() <= MAX_VALUES) {
        return Some(Narrowing::new(common(), terms(fewest)));
    }
    Some(Narrowing::new(common(), [exactly(NAMESPACE)?]))
}

fn terms(requirement: &LabelRequirement) -> impl Iterator<Item = Term> {
    requirement.values().iter().map(|value| label(requirement.key(), value))
}

#[cfg(test)]
mod tests {
    use quorate_meta::{FieldSelector, LabelSelector, Value};
    use quorate_wire::stored;
    use serde_json::json;

    use super::*;

    fn selection(labels: &str, fields: &str) -> Selection {
        Selection {
            labels: LabelSelector::parse(labels).expect(labels),
            fields: FieldSelector::parse(fields).expect(fields),
            custom: None,
        }
    }

    #[test]
    fn a_selection_narrows_by_what_few_objects_have() {
        let check = |labels: &str, fields: &str, expect: &[[&str; 3]]| {
            let expect = expect.iter().map(|parts| Term::of(parts));
            let expect = Narrowing::new(Arc::new(ObjectTerms { custom: None }), expect);
            let terms = narrowing(&selection(labels, fields)).map(|found| found.terms().to_vec());
            let expect = Some(expect.terms().to_vec()).filter(|terms| !terms.is_empty());
            assert_eq!(terms, expect, "{labels:?} {fields:?}");
        };
        check("a=1", "", &[[LABEL, "a", "1"]]);
        check("a==1", "", &[[LABEL, "a", "1"]]);
        check("a in (1,2),b=3", "", &[[LABEL, "b", "3"]]);
        check("a in (1,2),b", "", &[[LABEL, "a", "1"], [LABEL, "a", "2"]]);
        check("a=", "", &[[LABEL, "a", ""]]);
        check("", "spec.nodeName=n", &[[FIELD, "spec.nodeName", "n"]]);
        check("a=1", "spec.nodeName=n", &[[FIELD, "spec.nodeName", "n"]]);
        check("a=1", "spec.nodeName=n,metadata.name=x", &[[FIELD, NAME, "x"]]);
        check("a=1", "metadata.namespace=x", &[[LABEL, "a", "1"]]);
        check("a", "metadata.namespace=x", &[[FIELD, NAMESPACE, "x"]]);
        check("", "spec.nodeName=", &[]);
        check("a!=1,b,!c,d notin (1),e>1", "spec.nodeName!=n,metadata.name!=x", &[]);
        check("", "", &[]);
        let many: Vec<String> = (0..=MAX_VALUES).map(|number| number.to_string()).collect();
        check(&format!("a in ({})", many.join(",")), "", &[]);
    }

    #[test]
    fn what_matches_has_one_of_the_terms() {
        let object = |labels: serde_json::Value, node: &str| {
            let object =
                json!({"metadata": {"name": "x", "namespace": "s", "uid": "u", "labels": labels}});
            stored::encode(&Value::from(object), &[("spec.nodeName", node.to_owned())])
                .expect("a whole object")
        };
        let labels = [json!({}), json!({"a": ""}), json!({"a": "1"}), json!({"a": "2", "b": "1"})];
        let objects: Vec<Bytes> = labels
            .iter()
            .flat_map(|labels| ["", "n", "m"].map(|node| object(labels.clone(), node)))
            .collect();
        let label_selectors = [
            "",
            "a",
            "!a",
            "a=",
            "a=1",
            "a!=1",
            "a in (1,2)",
            "a notin (1)",
            "a in (,2),b=1",
            "a>1",
        ];
        let field_selectors = [
            "",
            "metadata.name=x",
            "metadata.name=y",
            "metadata.namespace=s",
            "metadata.namespace=",
            "spec.nodeName=",
            "spec.nodeName=n",
            "spec.nodeName!=n",
            "spec.phase=",
        ];
        let (mut matching, mut passed_over) = (0, 0);
        for (labels, fields) in label_selectors
            .iter()
            .flat_map(|labels| field_selectors.map(|fields| (*labels, fields)))
        {
            let selection = selection(labels, fields);
            let Some(narrowing) = narrowing(&selection) else { continue };
            for object in &objects {
                let mut has = false;
                let known = ObjectTerms { custom: None }
                    .terms(object, &mut |term| has = has || narrowing.terms().contains(&term));
                let matches = selection.matches(object).expect("it can be read");
                assert!(known && (has || !matches), "{labels:?} {fields:?}");
                matching += u32::from(matches);
                passed_over += u32::from(!has);
            }
        }
        assert!(matching > 100 && passed_over > 100, "{matching} {passed_over}");
    }

    #[test]
    fn what_cannot_be_read_may_have_any_term() {
        let known = ObjectTerms { custom: None }
            .terms(&Bytes::from_static(b"\xff"), &mut |_| panic!("it has none"));
        assert!(!known);
    }
}
