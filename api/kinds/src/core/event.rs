//! Event of v1: a report about an object.
//!
//! Events expire: a controller deletes them some time after their last write.

use quorate_meta::{Cause, Names, Value, well_known};

use quorate_meta::name::qualified_name;
use quorate_registry::Strategy;

/// Bytes of a reporting instance, an action or a reason, at most.
const MAX_WORD_BYTES: usize = 128;
/// Bytes of a message, at most.
const MAX_MESSAGE_BYTES: usize = 1024;
const WRONG_NAMESPACE: &str = "does not match event.namespace";

/// The strategy of Event of v1.
#[derive(Debug)]
pub(super) struct Event;

impl Strategy for Event {
    fn create_on_update(&self) -> bool {
        true
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        problems(names, object, "reportingComponent")
    }

    fn selectable(&self, object: &Value, field: &str) -> String {
        let plain = |field| quorate_registry::strategy::plain_field(object, field);
        match field {
            "source" => Some(plain("source.component"))
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| plain("reportingComponent")),
            _ => plain(field),
        }
    }
}

/// Checks an event in this form, written through either group; `reporter` is the name that the
/// client's version has for the reporting controller.
pub(crate) fn problems(names: &Names, object: &Value, reporter: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let text = |keys: &[&str]| object.str_at(keys).unwrap_or_default();
    let (own, involved) =
        (text(&["metadata", "namespace"]), text(&["involvedObject", "namespace"]));
    let has_event_time = object.get("eventTime").is_some_and(|time| !time.is_empty());
    let agrees = match (has_event_time, involved.is_empty()) {
        (false, true) => own.is_empty() || own == well_known::NAMESPACE_DEFAULT,
        (true, true) => own == well_known::NAMESPACE_DEFAULT || own == names.namespace_system,
        (_, false) => own == involved,
    };
    if !agrees {
        causes.push(Cause::invalid("involvedObject.namespace", involved, WRONG_NAMESPACE));
    }
    if has_event_time {
        check_event_time_fields(object, reporter, &mut causes);
    }
    causes
}

/// Checks the fields that events with `eventTime` must have.
fn check_event_time_fields(object: &Value, reporter: &str, causes: &mut Vec<Cause>) {
    let text = |key: &str| object.str_at(&[key]).unwrap_or_default();
    let component = text("reportingComponent");
    if component.is_empty() {
        causes.push(Cause::required(reporter, ""));
    }
    for problem in qualified_name(component) {
        causes.push(Cause::invalid(reporter, component, &problem));
    }
    for field in ["reportingInstance", "action", "reason"] {
        if text(field).is_empty() {
            causes.push(Cause::required(field, ""));
        }
        if text(field).len() > MAX_WORD_BYTES {
            causes.push(Cause::invalid(
                field,
                "",
                &format!("can have at most {MAX_WORD_BYTES} characters"),
            ));
        }
    }
    if text("message").len() > MAX_MESSAGE_BYTES {
        causes.push(Cause::invalid(
            "message",
            "",
            &format!("can have at most {MAX_MESSAGE_BYTES} characters"),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn the_namespaces_agree() {
        let check = |own: &str, involved: &str, expect: usize| {
            let object = json!({"metadata": {"namespace": own}, "involvedObject": {"namespace": involved}, "eventTime": null});
            assert_eq!(
                Event.validate(Naming::Svc.names(), &object.into()).len(),
                expect,
                "{own} {involved}"
            );
        };
        check("a", "a", 0);
        check("a", "b", 1);
        check("a", "", 1);
        check("default", "", 0);
    }

    #[test]
    fn event_time_requires_more_fields() {
        let mut object = Value::from(json!({
            "metadata": {"namespace": "a"}, "involvedObject": {"namespace": "a"}, "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingComponent": "example.com/c", "reportingInstance": "i", "action": "Act", "reason": "Why"
        }));
        assert_eq!(Event.validate(Naming::Svc.names(), &object), []);
        object.set_at(&["action"], "");
        object.set_at(&["reason"], "x".repeat(129));
        let causes = Event.validate(Naming::Svc.names(), &object);
        assert_eq!(
            causes.iter().map(|c| c.field.as_str()).collect::<Vec<_>>(),
            ["action", "reason"]
        );
    }

    #[test]
    fn the_source_is_one_of_two_fields() {
        let check = |object: serde_json::Value, expect: &str| {
            assert_eq!(Event.selectable(&object.into(), "source"), expect)
        };
        check(json!({"source": {"component": "a"}, "reportingComponent": "b"}), "a");
        check(json!({"source": {}, "reportingComponent": "b"}), "b");
        check(json!({}), "");
    }
}
