//! `anyOf`, `oneOf`, `allOf` and `not`. Of branches that all fail, the findings of the one that passed most checks are told.

use quorate_meta::{Cause, Value};

use super::Validator;
use crate::fieldset::shortened;
use crate::structural::limits::Told;
use crate::structural::node::{Constraints, NodeId};

impl Validator<'_> {
    /// Checks the logic of a schema; the answer counts the passed checks of the branches that are told of.
    pub(super) fn logic(
        &mut self,
        constraints: &Constraints,
        value: &Value,
        old: Option<&Value>,
    ) -> usize {
        let mut passed = 0;
        if !constraints.any_of.is_empty() {
            passed += self.any_of(&constraints.any_of, value, old);
        }
        if !constraints.one_of.is_empty() {
            passed += self.one_of(&constraints.one_of, value, old);
        }
        if !constraints.all_of.is_empty() {
            passed += self.all_of(&constraints.all_of, value, old);
        }
        if let Some(id) = constraints.not {
            let (_, findings) = self.aside(id, value, None);
            if findings.found == 0 {
                self.whole_fails("must not validate the schema (not)");
            }
        }
        passed
    }

    fn any_of(&mut self, branches: &[NodeId], value: &Value, old: Option<&Value>) -> usize {
        let mut best: Option<(usize, Told)> = None;
        for id in branches {
            let (passed, findings) = self.aside(*id, value, old);
            if findings.found == 0 {
                return passed;
            }
            keep_better(&mut best, passed, findings);
        }
        self.whole_fails("must validate at least one schema (anyOf)");
        self.tell_best(best)
    }

    fn one_of(&mut self, branches: &[NodeId], value: &Value, old: Option<&Value>) -> usize {
        let (mut best, mut first, mut valid) = (None, 0, 0);
        for id in branches {
            let (passed, findings) = self.aside(*id, value, old);
            if findings.found == 0 {
                first = if valid == 0 { passed } else { first };
                valid += 1;
                best = None;
            } else if valid == 0 {
                keep_better(&mut best, passed, findings);
            }
        }
        match valid {
            1 => return first,
            0 => {
                self.whole_fails("must validate one and only one schema (oneOf). Found none valid")
            }
            many => {
                let why = format!(
                    "must validate one and only one schema (oneOf). Found {many} valid alternatives"
                );
                self.whole_fails(&why);
            }
        }
        self.tell_best(best)
    }

    fn all_of(&mut self, branches: &[NodeId], value: &Value, old: Option<&Value>) -> usize {
        let (mut passed, mut valid) = (0, 0);
        for id in branches {
            let before = self.told.found;
            passed += self.node(*id, value, old);
            valid += usize::from(self.told.found == before);
        }
        if valid == 0 {
            self.whole_fails("must validate all the schemas (allOf). None validated");
        } else if valid < branches.len() {
            self.whole_fails("must validate all the schemas (allOf)");
        }
        passed
    }

    /// Checks a value against a branch and sets the findings aside.
    fn aside(&mut self, id: NodeId, value: &Value, old: Option<&Value>) -> (usize, Told) {
        let mark = self.told.mark();
        let passed = self.node(id, value, old);
        (passed, self.told.take_since(mark))
    }

    fn tell_best(&mut self, best: Option<(usize, Told)>) -> usize {
        best.map_or(0, |(passed, findings)| {
            self.told.put_back(findings);
            passed
        })
    }

    /// Logic that fails names no field of its own.
    fn whole_fails(&mut self, why: &str) {
        let (field, path) = (self.whole(), shortened(self.path.as_str()).into_owned());
        self.told.push(|| Cause::invalid(field, "", &format!("\"{path}\" {why}")));
    }
}

fn keep_better(best: &mut Option<(usize, Told)>, passed: usize, findings: Told) {
    if best.as_ref().is_none_or(|(most, _)| passed > *most) {
        *best = Some((passed, findings));
    }
}
