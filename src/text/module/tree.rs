//! A module as a tree that owns its text.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::{Item, Options, Report, read};
use crate::diagnostic::Diagnostic;
use crate::table::{FormInfo, Table};
use crate::text::Statement;

/// A whole module that owns its text and prints it as it was read, byte for byte. To edit it, change its nodes.
///
/// ```
/// use ptx_isa::TABLE;
/// use ptx_isa::text::module::{Module, NodeKind, Options};
///
/// let text = "\
/// .version 7.0
/// .target sm_80
/// .visible .entry k() { // adds
///     .reg .u32 %r<3>;
///     add.u32 %r1, %r1, %r2;
///     ret;
/// }
/// ";
/// let (mut module, report) = Module::read(&TABLE, text, &Options::default());
/// assert_eq!((report.errors(), module.to_string().as_str()), (0, text));
///
/// // Each addition becomes a subtraction.
/// let kernel = module.nodes.last_mut().unwrap();
/// let NodeKind::Function { name, body, .. } = &mut kernel.kind else { panic!("it is a function") };
/// assert_eq!(name, "k");
/// for node in body {
///     if matches!(node.kind, NodeKind::Statement(form) if form.instruction().opcode == "add") {
///         node.text = node.text.replacen("add", "sub", 1);
///     }
/// }
/// assert_eq!(module.to_string(), text.replace("add.u32", "sub.u32"));
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    /// The parts, in order; the parts of a function's body are in its node.
    pub nodes: Vec<Node>,
    /// The text after the last node.
    pub rest: String,
}

/// A part of a [`Module`], with the text that it was read from.
#[derive(Clone, Debug)]
pub struct Node {
    /// The text before this node that belongs to no node: blanks, comments, braces within functions, and erroneous
    /// text.
    pub before: String,
    /// Its text: for a declaration or a prototype, without the semicolon; for a function, the head with the opening
    /// brace.
    pub text: String,
    /// Kind of the node.
    pub kind: NodeKind,
    /// The bytes from which `text` was read.
    pub span: Range<usize>,
}

/// Kind of a [`Node`].
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A directive that no other variant covers: its name, without the dot.
    Directive(String),
    /// Registers or variables: their names; for a family `%r<9>`, the stem.
    Declaration(Vec<String>),
    /// A function without a body: its name.
    Prototype(String),
    /// A function with its body.
    Function {
        /// Its name.
        name: String,
        /// True for a kernel (`.entry`).
        kernel: bool,
        /// Nodes of the body.
        body: Vec<Node>,
        /// The text from the last node of the body to the closing brace; if that is missing, the rest of the text.
        end: String,
    },
    /// A label, without its colon.
    Label,
    /// An instruction.
    Statement(FormInfo),
}

impl Module {
    /// Reads a module. Erroneous text is reported, and kept in the text before the next node.
    pub fn read(table: &'static Table, text: &str, options: &Options) -> (Module, Report) {
        let mut builder = Builder { text, ..Builder::default() };
        let report = read(table, text.as_bytes(), options, |item, span| builder.add(&item, span));
        // A function without a closing brace ends with the text.
        builder.close(text.len());
        let rest = text[builder.at..].to_owned();
        (Module { nodes: builder.nodes, rest }, report)
    }
}

impl Node {
    /// Parses the current text of the node as an instruction.
    ///
    /// # Errors
    ///
    /// If the text is not a single valid statement.
    pub fn statement(&self, table: &'static Table) -> Result<Statement<'_>, Diagnostic> {
        Statement::parse(table, &self.text)
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.nodes.iter().try_for_each(|node| node.fmt(f))?;
        f.write_str(&self.rest)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.before)?;
        f.write_str(&self.text)?;
        let NodeKind::Function { body, end, .. } = &self.kind else { return Ok(()) };
        body.iter().try_for_each(|node| node.fmt(f))?;
        f.write_str(end)
    }
}

/// Builds a [`Module`].
#[derive(Default)]
struct Builder<'t> {
    text: &'t str,
    /// End of the text that is in nodes.
    at: usize,
    nodes: Vec<Node>,
    /// Nodes of the body that is being read; its function is the last node.
    body: Option<Vec<Node>>,
}

impl Builder<'_> {
    fn add(&mut self, item: &Item<'_, '_>, span: Range<usize>) {
        let kind = match item {
            Item::End => return self.close(span.end),
            // Parameters are part of the function's head; refused statements are part of the text before the next node.
            Item::Parameter(_) | Item::Refused(_) => return,
            Item::Declaration(declaration) if span.start < self.at => {
                return self.another(declaration.name, span.end);
            }
            Item::Directive(name) => NodeKind::Directive((*name).to_owned()),
            Item::Declaration(declaration) => NodeKind::Declaration(Vec::from([declaration.name.to_owned()])),
            Item::Prototype(function) => NodeKind::Prototype(function.name.to_owned()),
            Item::Function(function) => NodeKind::Function {
                name: function.name.to_owned(),
                kernel: function.kernel,
                body: Vec::new(),
                end: String::new(),
            },
            Item::Label(_) => NodeKind::Label,
            Item::Statement(statement) => NodeKind::Statement(statement.form()),
        };
        if let NodeKind::Function { .. } = kind {
            self.close(self.at);
            self.push(kind, span);
            self.body = Some(Vec::new());
        } else {
            self.push(kind, span);
        }
    }

    fn push(&mut self, kind: NodeKind, span: Range<usize>) {
        let before = self.text[self.at..span.start].to_owned();
        self.at = span.end;
        let node = Node { before, text: self.text[span.clone()].to_owned(), kind, span };
        self.list().push(node);
    }

    /// Returns the list that the next node is appended to.
    fn list(&mut self) -> &mut Vec<Node> {
        match &mut self.body {
            Some(body) => body,
            None => &mut self.nodes,
        }
    }

    /// Adds another name to the last declaration: `.reg .u32 a, b`.
    fn another(&mut self, name: &str, end: usize) {
        let more = &self.text[self.at..end];
        self.at = end;
        if let Some(Node { text, kind: NodeKind::Declaration(names), span, .. }) = self.list().last_mut() {
            text.push_str(more);
            names.push(name.to_owned());
            span.end = end;
        }
    }

    /// Ends the function whose body is being read, if any.
    fn close(&mut self, to: usize) {
        let Some(read) = self.body.take() else { return };
        if let Some(Node { kind: NodeKind::Function { body, end, .. }, .. }) = self.nodes.last_mut() {
            *body = read;
            *end = self.text[self.at..to].to_owned();
            self.at = to;
        }
    }
}
