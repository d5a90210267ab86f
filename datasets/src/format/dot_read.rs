//! Reads Graphviz's DOT language: our own files, SimGrid's (`size`), and what other tools draw.
//!
//! Nodes in the order in which the file names them first. Attributes are the values of [`values`](super::values); what
//! only draws is ignored. Defaults (`node [...]`, `edge [...]`), subgraphs and chains of edges work as in Graphviz.

use std::collections::HashMap;
use std::path::Path;

use placebench_base::process::check_memory;

use super::entry::GraphFile;
use super::text::counted;
use super::values::{Described, Link, Node, Values};
use super::{FormatError, compressed};

/// The attribute with the name of an op: `pydot` takes none that is called `name`.
pub(super) const OP_NAME: &str = "op_name";

/// Deeper subgraphs are surely no drawing of a graph.
const DEEPEST: usize = 100;

/// Bytes of an edge: its ends, and their names as texts of their own.
const EDGE_BYTES: u64 = 16 + size_of::<Link>() as u64 + 2 * 16;

/// Attributes that say how a node or an edge looks.
const DRAWING: [&str; 38] = [
    "label",
    "xlabel",
    "style",
    "shape",
    "color",
    "fillcolor",
    "fontcolor",
    "fontname",
    "fontsize",
    "penwidth",
    "width",
    "height",
    "pos",
    "margin",
    "tooltip",
    "URL",
    "href",
    "target",
    "image",
    "peripheries",
    "fixedsize",
    "orientation",
    "regular",
    "sides",
    "rank",
    "group",
    "arrowhead",
    "arrowtail",
    "arrowsize",
    "dir",
    "constraint",
    "minlen",
    "headlabel",
    "taillabel",
    "labeltooltip",
    "edgetooltip",
    "ordering",
    "nojustify",
];

pub(super) fn read(path: &Path) -> Result<GraphFile, FormatError> {
    let text = compressed::read_text(path)?;
    let tokens = Lexer { path, rest: &text, line: 1 }.tokens()?;
    let mut parser = Parser { path, tokens: tokens.into_iter().peekable(), line: 1, ..Parser::new(path) };
    parser.graph()?;
    parser.described.into_file(path)
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A text, and whether it stood in quotes, so that it is no keyword.
    Id(String, bool),
    /// One of `{}[];,=:+`.
    Mark(char),
    /// `->` or, if not directed, `--`.
    Arrow(bool),
}

struct Lexer<'a> {
    path: &'a Path,
    rest: &'a str,
    line: u64,
}

impl Lexer<'_> {
    fn tokens(mut self) -> Result<Vec<(u64, Token)>, FormatError> {
        let mut tokens = Vec::new();
        let mut at_line_start = true;
        while let Some(c) = self.rest.chars().next() {
            let line = self.line;
            if c.is_whitespace() || c == '\u{feff}' {
                at_line_start |= c == '\n';
                self.skip(c.len_utf8());
                continue;
            }
            let is_comment = at_line_start && c == '#' || self.rest.starts_with("//");
            at_line_start = false;
            if is_comment {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let end = self
                    .rest
                    .find("*/")
                    .ok_or_else(|| self.fault("the comment has no end").remedy("close it with */"))?;
                self.skip(end + 2);
            } else if self.rest.starts_with("->") || self.rest.starts_with("--") {
                tokens.push((line, Token::Arrow(self.rest.starts_with("->"))));
                self.skip(2);
            } else if "{}[];,=:+".contains(c) {
                tokens.push((line, Token::Mark(c)));
                self.skip(1);
            } else {
                let id = match c {
                    '"' => Token::Id(self.quoted()?, true),
                    '<' => Token::Id(self.html()?, true),
                    _ => Token::Id(self.bare()?, false),
                };
                tokens.push((line, id));
            }
        }
        Ok(tokens)
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.line += skipped.matches('\n').count() as u64;
        self.rest = rest;
    }

    fn fault(&self, message: impl std::fmt::Display) -> FormatError {
        FormatError::at_line(self.path, self.line, message)
    }

    fn bare(&mut self) -> Result<String, FormatError> {
        let number = self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
        let belongs = |c: char| match number {
            true => c.is_ascii_digit() || c == '-' || c == '.',
            false => c.is_alphanumeric() || c == '_' || !c.is_ascii(),
        };
        let mut end = self.rest.find(|c: char| !belongs(c)).unwrap_or(self.rest.len());
        // A minus belongs to a number only at its beginning: `1--2` and `1->2` are edges.
        end = self.rest[..end].char_indices().skip(1).find(|&(_, c)| c == '-').map_or(end, |(at, _)| at);
        if end == 0 {
            let c = self.rest.chars().next().unwrap_or(' ');
            return Err(self
                .fault(format!("unexpected '{c}'"))
                .remedy("put texts with such characters in double quotes"));
        }
        let id = self.rest[..end].to_owned();
        self.skip(end);
        Ok(id)
    }

    fn quoted(&mut self) -> Result<String, FormatError> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.skip(at + 1);
                    return Ok(text);
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some('t') => text.push('\t'),
                    Some('\n') => {}
                    Some(c @ ('"' | '\\')) => text.push(c),
                    Some(c) => text.extend(['\\', c]),
                    None => {}
                },
                c => text.push(c),
            }
        }
        Err(self.fault("the text has no end").remedy("close it with a double quote"))
    }

    fn html(&mut self) -> Result<String, FormatError> {
        let mut depth = 0;
        for (at, c) in self.rest.char_indices() {
            depth += i32::from(c == '<') - i32::from(c == '>');
            if depth == 0 {
                let text = self.rest[1..at].to_owned();
                self.skip(at + 1);
                return Ok(text);
            }
        }
        Err(self.fault("the text has no end").remedy("close it with >"))
    }
}

type Attributes = Vec<(String, String)>;

/// Defaults that hold in a subgraph.
#[derive(Clone, Default)]
struct Scope {
    node: Attributes,
    edge: Attributes,
}

struct Parser<'a> {
    path: &'a Path,
    tokens: std::iter::Peekable<std::vec::IntoIter<(u64, Token)>>,
    line: u64,
    strict: bool,
    described: Described,
    positions: HashMap<String, usize>,
    /// The edge between two nodes, in a strict graph.
    known: HashMap<(usize, usize), usize>,
}

impl<'a> Parser<'a> {
    fn new(path: &'a Path) -> Self {
        Self {
            path,
            tokens: Vec::new().into_iter().peekable(),
            line: 1,
            strict: false,
            described: Described::default(),
            positions: HashMap::new(),
            known: HashMap::new(),
        }
    }

    fn next(&mut self) -> Option<Token> {
        let (line, token) = self.tokens.next()?;
        self.line = line;
        Some(token)
    }

    fn peek(&mut self) -> Option<&Token> {
        self.tokens.peek().map(|(_, token)| token)
    }

    fn take(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        if found {
            self.next();
        }
        found
    }

    /// Whether the next token is this keyword, in any case; takes it.
    fn keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Id(text, false)) if text.eq_ignore_ascii_case(word));
        if found {
            self.next();
        }
        found
    }

    fn fault(&self, message: impl std::fmt::Display) -> FormatError {
        FormatError::at_line(self.path, self.line, message)
    }

    fn unexpected(&mut self, expected: &str) -> FormatError {
        let found = match self.tokens.peek() {
            None => "the file ends here".to_owned(),
            Some((line, token)) => {
                self.line = *line;
                match token {
                    Token::Id(text, _) => format!("found '{text}'"),
                    Token::Mark(mark) => format!("found '{mark}'"),
                    Token::Arrow(directed) => format!("found '{}'", if *directed { "->" } else { "--" }),
                }
            }
        };
        self.fault(found).remedy(format!("expected {expected}"))
    }

    fn id(&mut self, expected: &str) -> Result<String, FormatError> {
        let Some(Token::Id(..)) = self.peek() else { return Err(self.unexpected(expected)) };
        let Some(Token::Id(mut text, quoted)) = self.next() else { return Ok(String::new()) };
        while quoted && self.take('+') {
            match self.next() {
                Some(Token::Id(more, true)) => text.push_str(&more),
                _ => {
                    return Err(self
                        .fault("'+' joins texts in double quotes only")
                        .remedy("put both in double quotes"));
                }
            }
        }
        Ok(text)
    }

    fn graph(&mut self) -> Result<(), FormatError> {
        self.strict = self.keyword("strict");
        if self.keyword("graph") {
            return Err(self.fault("the graph is undirected").remedy("write a digraph"));
        }
        if !self.keyword("digraph") {
            return Err(self.unexpected("'digraph'"));
        }
        if matches!(self.peek(), Some(Token::Id(..))) {
            let name = self.id("a name")?;
            self.described.header.0.push(("name".to_owned(), name));
        }
        if !self.take('{') {
            return Err(self.unexpected("'{'"));
        }
        self.statements(Scope::default(), 0)?;
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the file: one graph")),
        }
    }

    /// Everything up to the closing brace. Returns the nodes that it names.
    fn statements(&mut self, mut scope: Scope, depth: usize) -> Result<Vec<usize>, FormatError> {
        let mut members = Vec::new();
        loop {
            if self.take('}') {
                return Ok(members);
            }
            if self.take(';') || self.take(',') {
                continue;
            }
            match self.peek() {
                None => return Err(self.unexpected("'}'")),
                Some(Token::Id(word, false))
                    if matches!(word.to_ascii_lowercase().as_str(), "node" | "edge" | "graph") =>
                {
                    let word = word.to_ascii_lowercase();
                    self.next();
                    let attributes = self.attributes()?;
                    match word.as_str() {
                        "node" => scope.node.extend(attributes),
                        "edge" => scope.edge.extend(attributes),
                        _ if depth == 0 => self.described.header.0.extend(attributes),
                        _ => {}
                    }
                }
                _ => self.statement(&scope, depth, &mut members)?,
            }
        }
    }

    fn statement(&mut self, scope: &Scope, depth: usize, members: &mut Vec<usize>) -> Result<(), FormatError> {
        let (mut ends, lone) = self.operand(scope, depth)?;
        if let Some(name) = &lone {
            if self.take('=') {
                let value = self.id("a value")?;
                if depth == 0 {
                    self.described.header.0.push((name.clone(), value));
                }
                return Ok(());
            }
            self.port()?;
            ends.push(self.node(name, scope));
        }
        members.extend(&ends);
        let mut chain = Vec::new();
        while let Some(&Token::Arrow(directed)) = self.peek() {
            self.next();
            if !directed {
                return Err(self.fault("'--' is an undirected edge").remedy("write '->'"));
            }
            let (mut targets, name) = self.operand(scope, depth)?;
            if let Some(name) = &name {
                self.port()?;
                targets.push(self.node(name, scope));
            }
            members.extend(&targets);
            let sources = std::mem::replace(&mut ends, targets);
            // An arrow between subgraphs joins all their nodes.
            let edges = (chain.len() + sources.len() * ends.len()) as u64;
            check_memory(&[(edges, EDGE_BYTES)], || format!("a statement of {}", counted(edges, "edge")))
                .map_err(|error| self.fault(error))?;
            chain.extend(sources.iter().flat_map(|&source| ends.iter().map(move |&target| (source, target))));
        }
        let attributes = self.attributes()?;
        if chain.is_empty() {
            if lone.is_some() {
                self.described.nodes[ends[0]].values.0.extend(attributes.into_iter().filter(counts));
            }
            return Ok(());
        }
        for (source, target) in chain {
            self.edge(source, target, scope, &attributes);
        }
        Ok(())
    }

    /// The nodes of a subgraph, or the name of one node.
    fn operand(&mut self, scope: &Scope, depth: usize) -> Result<(Vec<usize>, Option<String>), FormatError> {
        let is_subgraph = self.keyword("subgraph");
        if is_subgraph && matches!(self.peek(), Some(Token::Id(..))) {
            self.id("a name")?;
        }
        if self.take('{') {
            if depth == DEEPEST {
                return Err(self.fault(format!("subgraphs are nested deeper than {DEEPEST}")).remedy("flatten them"));
            }
            return Ok((self.statements(scope.clone(), depth + 1)?, None));
        }
        match is_subgraph {
            true => Err(self.unexpected("'{'")),
            false => Ok((Vec::new(), Some(self.id("a node, an edge or '}'")?))),
        }
    }

    /// Skips the side at which an edge is drawn: `a:port:ne`.
    fn port(&mut self) -> Result<(), FormatError> {
        while self.take(':') {
            self.id("a port")?;
        }
        Ok(())
    }

    fn attributes(&mut self) -> Result<Attributes, FormatError> {
        let mut attributes = Vec::new();
        while self.take('[') {
            while !self.take(']') {
                let name = self.id("an attribute or ']'")?;
                let value = if self.take('=') { self.id("a value")? } else { "true".to_owned() };
                let name = if name == OP_NAME { "name".to_owned() } else { name };
                attributes.push((name, value));
                let _ = self.take(',') || self.take(';');
            }
        }
        Ok(attributes)
    }

    /// The position of a node, which is made where it is named first.
    fn node(&mut self, id: &str, scope: &Scope) -> usize {
        if let Some(&position) = self.positions.get(id) {
            return position;
        }
        let values = Values(scope.node.iter().filter(|value| counts(value)).cloned().collect());
        self.described.nodes.push(Node { id: id.to_owned(), values });
        self.positions.insert(id.to_owned(), self.described.nodes.len() - 1);
        self.described.nodes.len() - 1
    }

    fn edge(&mut self, source: usize, target: usize, scope: &Scope, attributes: &Attributes) {
        let values = scope.edge.iter().chain(attributes).filter(|value| counts(value)).cloned();
        if self.strict {
            if let Some(&known) = self.known.get(&(source, target)) {
                self.described.links[known].values.0.extend(values);
                return;
            }
            self.known.insert((source, target), self.described.links.len());
        }
        let id = |position: usize| self.described.nodes[position].id.clone();
        let link = Link { source: id(source), target: id(target), values: Values(values.collect()) };
        self.described.links.push(link);
    }
}

/// Whether an attribute says more than how something looks.
fn counts((name, _): &(String, String)) -> bool {
    !DRAWING.contains(&name.as_str())
}
