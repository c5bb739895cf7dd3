//! Errors of a parse tree that are no syntax errors: literals, reserved words, macros.
//!
//! Invariants: the parts of a tree that could be read are looked at as if the rest were right; recursion is bounded by
//! [`RECURSION_MAX`]. Not here: an expression to run, since a tree with syntax errors has none.

use super::grammar::{Label, Rule, alternative};
use super::machine::GivenUp;
use super::tree::{Leaf, NodeId, TreeNode};
use crate::ast::{Entry, Expr, ExprKind, FieldEntry, Literal};
use crate::error::{Issue, Place};
use crate::parser::RECURSION_MAX;
use crate::parser::build::Builder;
use crate::parser::descent::{calc_operator, relation_operator};
use crate::parser::primary::{UNSUPPORTED_ESCAPE, literal_expr};
use crate::parser::token::{Token, TokenKind};

pub(super) struct Visitor<'b, 's> {
    pub(super) builder: &'b mut Builder<'s>,
    pub(super) nodes: &'b [TreeNode],
    pub(super) tokens: &'b [Token],
    depth: u32,
}

type Visited<T> = Result<T, GivenUp>;

impl<'b, 's> Visitor<'b, 's> {
    pub(super) fn new(
        builder: &'b mut Builder<'s>,
        nodes: &'b [TreeNode],
        tokens: &'b [Token],
    ) -> Visitor<'b, 's> {
        Visitor { builder, nodes, tokens, depth: 0 }
    }

    /// Looks at the whole tree.
    pub(super) fn root(&mut self) {
        let expr = self.nodes.first().and_then(|root| root.node(Label::First));
        if let Err(GivenUp) = self.visit(expr) {
            let message = "max recursion depth exceeded".to_owned();
            self.builder.issues.push(Issue { place: Place::NONE, message });
        }
    }

    fn at(&self, node: &TreeNode) -> u32 {
        self.tokens[node.start.min(self.tokens.len() - 1)].start
    }

    fn leaf_at(&self, leaf: Leaf) -> u32 {
        match leaf {
            Leaf::Read(token) => self.tokens[token].start,
            Leaf::Missing(before) if self.tokens[before].kind == TokenKind::End && before > 0 => {
                self.tokens[before - 1].start
            }
            Leaf::Missing(before) => self.tokens[before].start,
        }
    }

    fn text(&self, leaf: Leaf) -> String {
        match leaf {
            Leaf::Read(token) => self.builder.source
                [self.tokens[token].start as usize..self.tokens[token].end as usize]
                .to_owned(),
            Leaf::Missing(_) => "<missing undefined>".to_owned(),
        }
    }

    fn kind(&self, leaf: Leaf) -> TokenKind {
        match leaf {
            Leaf::Read(token) => self.tokens[token].kind,
            Leaf::Missing(_) => TokenKind::End,
        }
    }

    /// Stands in for what could not be read.
    fn unread(&mut self, at: u32) -> Expr {
        self.builder.literal(at, Literal::Null)
    }

    fn child(&self, of: &TreeNode, rule: Rule) -> Option<NodeId> {
        of.children.iter().copied().find(|child| self.nodes[*child].rule == rule)
    }

    /// Goes down to the first node that is more than its only part.
    fn unnest(&self, mut node: NodeId) -> Option<NodeId> {
        loop {
            let of = &self.nodes[node];
            let has_operator = || of.leaf(Label::Operator).is_some();
            node = match (of.rule, of.alternative) {
                (Rule::Expr | Rule::Or | Rule::And, _) if !has_operator() => {
                    of.node(Label::First)?
                }
                (Rule::Relation, _) if !has_operator() => self.child(of, Rule::Calc)?,
                (Rule::Calc, _) if !has_operator() => self.child(of, Rule::Unary)?,
                (Rule::Unary, 1) => self.child(of, Rule::Member)?,
                (Rule::Member, 1) => self.child(of, Rule::Primary)?,
                (Rule::Primary, alternative::NESTED) => of.node(Label::First)?,
                (Rule::Primary, alternative::LITERAL) => self.child(of, Rule::Literal)?,
                _ => return Some(node),
            };
        }
    }

    fn visit(&mut self, node: Option<NodeId>) -> Visited<Expr> {
        let Some(node) = node.and_then(|node| self.unnest(node)) else {
            return Ok(self.unread(0));
        };
        let nodes = self.nodes;
        let of = &nodes[node];
        let is_counted = match of.rule {
            Rule::Expr | Rule::Relation | Rule::Calc => true,
            Rule::Member => of.alternative > 1,
            _ => false,
        };
        if is_counted {
            self.depth += 1;
            if self.depth > RECURSION_MAX {
                return Err(GivenUp);
            }
        }
        let expr = self.visit_node(of)?;
        self.depth -= u32::from(is_counted);
        Ok(expr)
    }

    fn visit_node(&mut self, of: &TreeNode) -> Visited<Expr> {
        match (of.rule, of.alternative) {
            (Rule::Expr, _) => self.conditional(of),
            (Rule::Or, _) => self.chain(of, "_||_", "||"),
            (Rule::And, _) => self.chain(of, "_&&_", "&&"),
            (Rule::Relation | Rule::Calc, _) => self.binary(of),
            (Rule::Unary, 2) => self.prefixed(of, "!_"),
            (Rule::Unary, 3) => self.prefixed(of, "-_"),
            (Rule::Member, alternative::SELECT) => self.select(of),
            (Rule::Member, alternative::MEMBER_CALL) => self.member_call(of),
            (Rule::Member, alternative::INDEX) => self.index(of),
            (Rule::Primary, alternative::IDENT | alternative::CALL) => self.named(of),
            (Rule::Primary, alternative::LIST) => self.list(of),
            (Rule::Primary, alternative::MAP) => self.map(of),
            (Rule::Primary, alternative::MESSAGE) => self.message(of),
            (Rule::Literal, 1..) => self.literal(of),
            _ => Ok(self.unread(self.at(of))),
        }
    }

    fn conditional(&mut self, of: &TreeNode) -> Visited<Expr> {
        let condition = self.visit(of.node(Label::First))?;
        let id = self.operator_id(of);
        let then = self.visit(of.node(Label::Second))?;
        let otherwise = self.visit(of.node(Label::Third))?;
        Ok(self.builder.call(id, "_?_:_", vec![condition, then, otherwise]))
    }

    fn operator_id(&mut self, of: &TreeNode) -> u32 {
        let at = of.leaf(Label::Operator).map_or(0, |leaf| self.leaf_at(leaf));
        self.builder.id(at)
    }

    fn chain(&mut self, of: &TreeNode, function: &str, sign: &str) -> Visited<Expr> {
        let mut terms = vec![self.visit(of.node(Label::First))?];
        let (rest, mut operators) = (of.nodes(Label::Second), Vec::new());
        for (index, operator) in of.leaves(Label::Operator).into_iter().enumerate() {
            let Some(term) = rest.get(index) else {
                let message = format!("unexpected character, wanted '{sign}'");
                return Ok(self.builder.report(self.at(of), message));
            };
            terms.push(self.visit(Some(*term))?);
            operators.push(self.builder.id(self.leaf_at(operator)));
        }
        Ok(self.builder.balanced(function, terms, &operators))
    }

    fn binary(&mut self, of: &TreeNode) -> Visited<Expr> {
        let kind = of.leaf(Label::Operator).map_or(TokenKind::End, |leaf| self.kind(leaf));
        let function =
            relation_operator(kind).or_else(|| calc_operator(kind).map(|(function, _)| function));
        let Some(function) = function else {
            return Ok(self.builder.report(self.at(of), "operator not found"));
        };
        let mut operands =
            of.children.iter().copied().filter(|child| self.nodes[*child].rule == of.rule);
        let (left, right) = (operands.next(), operands.next());
        let left = self.visit(left)?;
        let id = self.operator_id(of);
        let right = self.visit(right)?;
        Ok(self.builder.call(id, function, vec![left, right]))
    }

    fn prefixed(&mut self, of: &TreeNode, function: &str) -> Visited<Expr> {
        let operators = of.leaves(Label::Operator).len();
        let member = self.child(of, Rule::Member);
        if operators.is_multiple_of(2) {
            return self.visit(member);
        }
        let id = self.operator_id(of);
        let operand = self.visit(member)?;
        Ok(self.builder.call(id, function, vec![operand]))
    }

    fn select(&mut self, of: &TreeNode) -> Visited<Expr> {
        let operand = self.visit(self.child(of, Rule::Member))?;
        let (Some(name), Some(dot)) = (of.node(Label::Name), of.leaf(Label::Operator)) else {
            return Ok(self.unread(self.at(of)));
        };
        let (name_at, dot_at) = (self.at(&self.nodes[name]), self.leaf_at(dot));
        let field = match self.identifier(name) {
            Ok(field) => field,
            Err(message) => {
                self.builder.report(name_at, message);
                String::new()
            }
        };
        if of.leaf(Label::Optional).is_none() {
            return Ok(self.builder.select(dot_at, operand, &field));
        }
        let field = self.builder.literal(name_at, Literal::String(field.into()));
        let id = self.builder.id(dot_at);
        Ok(self.builder.call(id, "_?._", vec![operand, field]))
    }

    fn identifier(&self, node: NodeId) -> Result<String, &'static str> {
        let of = &self.nodes[node];
        match (of.alternative, of.leaf(Label::Name)) {
            (1, Some(leaf)) => Ok(self.text(leaf)),
            (2, _) => Err(UNSUPPORTED_ESCAPE),
            _ => Err("unsupported ident kind"),
        }
    }

    fn member_call(&mut self, of: &TreeNode) -> Visited<Expr> {
        let operand = self.visit(self.child(of, Rule::Member))?;
        let Some(name) = of.leaf(Label::Name) else {
            return Ok(self.unread(self.at(of)));
        };
        let open = of.leaf(Label::Open).map_or(0, |leaf| self.leaf_at(leaf));
        let id = self.builder.id(open);
        let arguments = self.arguments(of.node(Label::Second))?;
        let name = self.text(name);
        Ok(self.builder.call_or_macro(id, &name, Some(operand), arguments))
    }

    fn arguments(&mut self, list: Option<NodeId>) -> Visited<Vec<Expr>> {
        let expressions = list.map(|list| self.nodes[list].nodes(Label::First)).unwrap_or_default();
        expressions.into_iter().map(|expr| self.visit(Some(expr))).collect()
    }

    fn index(&mut self, of: &TreeNode) -> Visited<Expr> {
        let operand = self.visit(self.child(of, Rule::Member))?;
        let id = self.operator_id(of);
        let index = self.visit(of.node(Label::Second))?;
        let function = if of.leaf(Label::Optional).is_some() { "_[?_]" } else { "_[_]" };
        Ok(self.builder.call(id, function, vec![operand, index]))
    }

    fn named(&mut self, of: &TreeNode) -> Visited<Expr> {
        let Some(name) = of.leaf(Label::Name) else {
            return Ok(self.unread(self.at(of)));
        };
        let text = self.text(name);
        if let Some(error) = self.builder.reserved(self.at(of), &text) {
            return Ok(error);
        }
        let dot = if of.leaf(Label::LeadingDot).is_some() { "." } else { "" };
        let full = format!("{dot}{text}");
        if of.alternative == alternative::IDENT {
            return Ok(self.builder.ident(self.leaf_at(name), &full));
        }
        let id = self.operator_id(of);
        let arguments = self.arguments(of.node(Label::First))?;
        Ok(self.builder.call_or_macro(id, &full, None, arguments))
    }

    fn list(&mut self, of: &TreeNode) -> Visited<Expr> {
        let id = self.operator_id(of);
        let (mut elements, mut optional) = (Vec::new(), Vec::new());
        let nodes = self.nodes;
        for element in
            of.node(Label::First).map(|list| nodes[list].nodes(Label::First)).unwrap_or_default()
        {
            if nodes[element].leaf(Label::Optional).is_some() {
                optional.push(elements.len() as u32);
            }
            elements.push(self.visit(nodes[element].node(Label::First))?);
        }
        Ok(Expr { id, kind: ExprKind::List { elements, optional } })
    }

    fn map(&mut self, of: &TreeNode) -> Visited<Expr> {
        let id = self.operator_id(of);
        let entries = self.entries(of.node(Label::First))?;
        Ok(Expr { id, kind: ExprKind::Map(entries) })
    }

    fn entries(&mut self, list: Option<NodeId>) -> Visited<Vec<Entry>> {
        let nodes = self.nodes;
        let Some(list) = list.map(|list| &nodes[list]) else {
            return Ok(Vec::new());
        };
        let (keys, values) = (list.nodes(Label::First), list.nodes(Label::Value));
        let mut entries = Vec::new();
        for (index, colon) in list.leaves(Label::Colon).into_iter().enumerate() {
            let id = self.builder.id(self.leaf_at(colon));
            let (Some(key), Some(value)) = (keys.get(index), values.get(index)) else {
                return Ok(Vec::new());
            };
            let optional = nodes[*key].leaf(Label::Optional).is_some();
            let key = self.visit(nodes[*key].node(Label::First))?;
            let value = self.visit(Some(*value))?;
            entries.push(Entry { id, key, value, optional });
        }
        Ok(entries)
    }

    fn message(&mut self, of: &TreeNode) -> Visited<Expr> {
        let names: Vec<String> =
            of.leaves(Label::Name).into_iter().map(|leaf| self.text(leaf)).collect();
        let dot = if of.leaf(Label::LeadingDot).is_some() { "." } else { "" };
        let type_name = format!("{dot}{}", names.join("."));
        let id = self.operator_id(of);
        let fields = self.fields(of.node(Label::First))?;
        Ok(Expr {
            id,
            kind: ExprKind::Message { type_name: self.builder.name(&type_name), fields },
        })
    }

    fn fields(&mut self, list: Option<NodeId>) -> Visited<Vec<FieldEntry>> {
        let nodes = self.nodes;
        let Some(list) = list.map(|list| &nodes[list]) else {
            return Ok(Vec::new());
        };
        let (colons, values) = (list.leaves(Label::Colon), list.nodes(Label::Value));
        let mut fields = Vec::new();
        for (index, field) in list.nodes(Label::First).into_iter().enumerate() {
            let (Some(colon), Some(value)) = (colons.get(index), values.get(index)) else {
                return Ok(Vec::new());
            };
            let id = self.builder.id(self.leaf_at(*colon));
            let optional = nodes[field].leaf(Label::Optional).is_some();
            let name = match nodes[field].node(Label::First).ok_or("unsupported ident kind") {
                Ok(name) => self.identifier(name),
                Err(message) => Err(message),
            };
            let name = match name {
                Ok(name) => self.builder.name(&name),
                Err(message) => {
                    self.builder.report(self.at(list), message);
                    continue;
                }
            };
            let value = self.visit(Some(*value))?;
            fields.push(FieldEntry { id, name, value, optional });
        }
        Ok(fields)
    }

    fn literal(&mut self, of: &TreeNode) -> Visited<Expr> {
        let Some(token) = of.leaf(Label::Value) else {
            return Ok(self.unread(self.at(of)));
        };
        let (at, text, kind) = (self.at(of), self.text(token), self.kind(token));
        let negative = of.leaf(Label::Sign).is_some();
        Ok(literal_expr(self.builder, at, kind, &text, negative).unwrap_or_else(|| self.unread(at)))
    }
}
