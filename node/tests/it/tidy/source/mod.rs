//! A Rust source file, taken apart as far as the rules need: comments, tokens, uses, type
//! definitions, impls.
//!
//! This is no parser of Rust. It knows comments, literals, brackets and inline modules; macros that
//! make items are not seen.

mod tests;
mod text;

use std::ops::Range;

use self::text::{split, tokens};

/// A source file whose comments and literals are told apart from its code.
pub(super) struct Source {
    /// The comments, each with the number of its first line.
    pub(super) comments: Vec<(usize, String)>,
    /// The code without comments and literals.
    tokens: Vec<String>,
    /// Bodies of inline modules, as ranges of tokens, and whether each is for tests only.
    inline: Vec<(Range<usize>, bool)>,
}

impl Source {
    pub(super) fn parse(text: &str) -> Self {
        let (code, comments) = split(text);
        let tokens = tokens(&code);
        let inline = inline_modules(&tokens);
        Self { comments, tokens, inline }
    }

    fn token(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", String::as_str)
    }

    /// How many inline modules the token lies in.
    fn depth(&self, at: usize) -> usize {
        self.inline.iter().filter(|(range, _)| range.contains(&at)).count()
    }

    fn is_test(&self, at: usize) -> bool {
        self.inline.iter().any(|(range, is_test)| *is_test && range.contains(&at))
    }

    /// The modules `mod NAME;` that are for tests only.
    pub(super) fn test_modules(&self) -> Vec<String> {
        let declared = |at: &usize| self.token(*at) == "mod" && self.token(at + 2) == ";";
        let found =
            (0..self.tokens.len()).filter(declared).filter(|at| is_for_tests(&self.tokens, *at));
        found.map(|at| self.token(at + 1).to_owned()).collect()
    }

    /// The names at the crate's root that the file uses, by `crate::` and by `super::`; `depth` is
    /// how many modules the file lies in.
    pub(super) fn uses(&self, depth: usize) -> Vec<String> {
        let mut names = Vec::new();
        for at in 0..self.tokens.len() {
            let begins = self.token(at + 1) == "::" && (at == 0 || self.token(at - 1) != "::");
            match self.token(at) {
                "crate" if begins => names.extend(self.names(at + 2)),
                "super" if begins => {
                    let supers = (0..).take_while(|n| self.token(at + 2 * n) == "super").count();
                    if supers == depth + self.depth(at) {
                        names.extend(self.names(at + 2 * supers));
                    }
                }
                _ => {}
            }
        }
        names
    }

    /// The first names of a path or of a group of paths.
    fn names(&self, at: usize) -> Vec<String> {
        if self.token(at) != "{" {
            return vec![self.token(at).to_owned()];
        }
        let members = at + 1..closing(&self.tokens, at);
        let first = |at: &usize| {
            matches!(self.token(at - 1), "{" | ",")
                && self.nesting(members.start, *at) == 0
                && self.token(*at) != "self"
        };
        members.clone().filter(first).map(|at| self.token(at).to_owned()).collect()
    }

    /// How many brackets are open at a token, from another one on.
    fn nesting(&self, from: usize, at: usize) -> isize {
        nesting(&self.tokens[from..at])
    }

    /// What the crate's root passes on from its modules: name and module.
    pub(super) fn passed_on(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for at in (0..self.tokens.len()).filter(|at| self.token(*at) == "use") {
            let end = (at..self.tokens.len())
                .find(|end| self.token(*end) == ";")
                .unwrap_or(self.tokens.len());
            let path = &self.tokens[at + 1..end];
            let Some(module) =
                path.iter().find(|token| !matches!(token.as_str(), "self" | "crate" | "::"))
            else {
                continue;
            };
            let is_last = |at: &usize| {
                let next = path.get(at + 1).map_or("", String::as_str);
                is_name(&path[*at]) && matches!(next, "" | "," | "}")
            };
            all.extend(
                (1..path.len()).filter(is_last).map(|at| (path[at].clone(), module.clone())),
            );
        }
        all
    }

    /// The types that the file defines, apart from tests: structs, enums, unions, traits and
    /// aliases.
    pub(super) fn types(&self) -> Vec<String> {
        let defines = |at: &usize| {
            let named = is_name(self.token(at + 1));
            named
                && matches!(self.token(*at), "struct" | "enum" | "union" | "trait" | "type")
                && self.is_item(*at)
        };
        (0..self.tokens.len()).filter(defines).map(|at| self.token(at + 1).to_owned()).collect()
    }

    /// The types that the file has inherent impls of, apart from tests.
    pub(super) fn inherent_impls(&self) -> Vec<String> {
        let begins = |at: &usize| self.token(*at) == "impl" && self.is_item(*at);
        (0..self.tokens.len()).filter(begins).filter_map(|at| self.inherent(at)).collect()
    }

    /// The type of an inherent impl; `None` for one of a trait.
    fn inherent(&self, at: usize) -> Option<String> {
        let begin =
            if self.token(at + 1) == "<" { after_generics(&self.tokens, at + 1) } else { at + 1 };
        let end =
            (begin..self.tokens.len()).find(|end| matches!(self.token(*end), "{" | "where"))?;
        let head = &self.tokens[begin..end];
        let of_trait =
            |at: usize| head[at] == "for" && head.get(at + 1).is_none_or(|next| next != "<");
        if (0..head.len()).any(of_trait) {
            return None;
        }
        head.iter().take_while(|token| *token != "<").filter(|token| is_name(token)).last().cloned()
    }

    /// Whether an item begins at this token, at the level of a module that is no test.
    fn is_item(&self, at: usize) -> bool {
        let before = if at == 0 { "" } else { self.token(at - 1) };
        let module = self
            .inline
            .iter()
            .filter(|(range, _)| range.contains(&at))
            .map(|(range, _)| range.start)
            .max();
        matches!(before, "" | "}" | ";" | "]" | "{" | "pub" | ")" | "unsafe")
            && self.nesting(module.unwrap_or(0), at) == 0
            && !self.is_test(at)
            && !is_for_tests(&self.tokens, at)
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn nesting(tokens: &[String]) -> isize {
    let step = |token: &String| match token.as_str() {
        "{" | "(" | "[" => 1,
        "}" | ")" | "]" => -1,
        _ => 0,
    };
    tokens.iter().map(step).sum()
}

/// The token that closes the bracket at `at`.
fn closing(tokens: &[String], at: usize) -> usize {
    let mut open = 0;
    for (end, token) in tokens.iter().enumerate().skip(at) {
        open += nesting(std::slice::from_ref(token));
        if open == 0 {
            return end;
        }
    }
    tokens.len()
}

/// The token after `<...>`; an arrow in it closes nothing.
fn after_generics(tokens: &[String], at: usize) -> usize {
    let mut open = 0;
    for (end, token) in tokens.iter().enumerate().skip(at) {
        match token.as_str() {
            "<" => open += 1,
            ">" if tokens[end - 1] != "-" => open -= 1,
            _ => {}
        }
        if open == 0 {
            return end + 1;
        }
    }
    tokens.len()
}

/// Whether `#[cfg(test)]` stands before the item whose keyword is at `at`.
fn is_for_tests(tokens: &[String], at: usize) -> bool {
    let mut begin = at;
    while begin > 0
        && matches!(tokens[begin - 1].as_str(), "pub" | ")" | "(" | "crate" | "super" | "in" | "::")
    {
        begin -= 1;
    }
    // Attributes, the last one first.
    while begin > 0 && tokens[begin - 1] == "]" {
        let Some(open) = (0..begin)
            .rev()
            .find(|open| tokens[*open] == "#" && closing(tokens, open + 1) == begin - 1)
        else {
            return false;
        };
        if tokens[open + 2..begin - 1].iter().map(String::as_str).eq(["cfg", "(", "test", ")"]) {
            return true;
        }
        begin = open;
    }
    false
}

fn inline_modules(tokens: &[String]) -> Vec<(Range<usize>, bool)> {
    let begins =
        |at: &usize| tokens[*at] == "mod" && tokens.get(at + 2).is_some_and(|next| next == "{");
    let all = (0..tokens.len()).filter(begins);
    all.map(|at| (at + 3..closing(tokens, at + 2), is_for_tests(tokens, at))).collect()
}
