//! Parses PTX into its syntax tree.
//!
//! The grammar is small: directives at module scope, functions, and statements that end in `;`. What carries no
//! meaning for a simulator but says something to the assembler or the host (linkage, attributes, alignments, launch
//! bounds, pragmas) is kept as text; debug information (`.loc`, `.file`, `.section`) is skipped. Opcodes are not
//! looked up here: `wmma.load.a.sync` parses, and the lowering says that it is not supported.
//!
//! Recovery: an error inside a statement skips to its `;` (or to the next line where a `;` is missing) and marks the
//! function as broken; an error at module scope skips to the next directive that starts a line. So one pass over a
//! file reports errors on many lines.
//!
//! Bounds: linear in the tokens, no recursion.
//!
//! Source: PTX ISA, "Syntax", "State Spaces, Types, and Variables", "Kernel and Function Directives".

use super::lexer::{Kind, Token, join, tokens};
use super::syntax::*;
use crate::ir::{FileHeader, Reference, Span};
use crate::text::{Diagnostic, Diagnostics, report_invisible};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// The tree of `source`; what is wrong with it goes to `diagnostics`, and its invisible characters to `invisible`.
pub fn parse<'a>(source: &'a str, invisible: &mut Vec<Span>, diagnostics: &mut Diagnostics) -> File<'a> {
    let tokens = tokens(source, invisible);
    report_invisible(source, invisible, diagnostics);
    Parser { source, tokens, at: 0, diagnostics, refused: Vec::new() }.file()
}

pub(super) struct Parser<'a, 'd> {
    source: &'a str,
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    diagnostics: &'d mut Diagnostics,
    /// Names in declarations that have an error.
    refused: Vec<&'a str>,
}

/// The error is already reported; the caller recovers.
pub(super) struct Reported;
pub(super) type Parsed<T> = Result<T, Reported>;

impl<'a> Parser<'a, '_> {
    fn file(&mut self) -> File<'a> {
        let mut file = File::default();
        loop {
            let start = self.at;
            if self.token().kind == Kind::End {
                file.refused = core::mem::take(&mut self.refused);
                return file;
            }
            if self.module_item(&mut file).is_err() {
                self.skip_to_module_item(start);
            }
        }
    }

    fn module_item(&mut self, file: &mut File<'a>) -> Parsed<()> {
        let first = self.at;
        let mut external = false;
        loop {
            let token = self.token();
            match self.text(token) {
                ".visible" | ".weak" | ".common" => self.at += 1,
                ".extern" => {
                    external = true;
                    self.at += 1;
                }
                ".entry" | ".func" => {
                    let function = self.function(first)?;
                    file.functions.push(function);
                    return Ok(());
                }
                ".global" | ".const" | ".shared" | ".local" | ".tex" => {
                    let linkage = self.text_of(first..self.at);
                    let known = file.variables.len();
                    let parsed = self.variables(external, &mut file.variables);
                    file.variables[known..].iter_mut().for_each(|variable| variable.linkage = linkage.clone());
                    return parsed;
                }
                ".version" => {
                    self.version(file);
                    return Ok(());
                }
                ".target" => {
                    self.target(file);
                    return Ok(());
                }
                ".address_size" if !self.tokens[self.at + 1].starts_line => {
                    self.at += 2;
                    return Ok(());
                }
                ".address_size" | ".file" | ".loc" | "@@DWARF" => {
                    self.skip_line();
                    return Ok(());
                }
                ".section" => {
                    self.skip_section();
                    return Ok(());
                }
                ".pragma" => {
                    self.skip_past_semicolon();
                    let pragma = self.text_of(first..self.at);
                    if let Some(header) = &mut file.header {
                        header.directives.push(pragma);
                    }
                    return Ok(());
                }
                ".alias" => {
                    self.at += 1;
                    let name = self.word("the alias")?;
                    self.expect_mark(b',')?;
                    let function = self.word("the name of a function")?;
                    file.aliases.push((name, function));
                    return self.end_statement();
                }
                ";" => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.expected("a directive such as `.visible .entry` or `.global`")),
            }
        }
    }

    // The header

    /// `.version 8.1`; where the number is no version the assembler has the last word.
    fn version(&mut self, file: &mut File<'a>) {
        self.at += 1;
        if self.token().starts_line {
            return;
        }
        let number = self.take_text().split_once('.');
        let version = number.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        if let (Some(version), None) = (version, &file.header) {
            file.header = Some(FileHeader { version, target: Vec::new(), directives: Vec::new() });
        }
    }

    /// `.target sm_90a, texmode_independent`.
    fn target(&mut self, file: &mut File<'a>) {
        self.at += 1;
        let mut words = Vec::new();
        while !self.token().starts_line && matches!(self.token().kind, Kind::Word | Kind::Mark(b',')) {
            if !self.take_mark(b',') {
                let span = self.token().span;
                let word = self.take_text();
                if word == "debug" {
                    let message = "debug information is left out, and `debug` of the target with it";
                    self.diagnostics.push(Diagnostic::warning("ptx-ignored", span, message));
                }
                words.push(String::from(word));
            }
        }
        if let Some(header) = file.header.as_mut().filter(|header| header.target.is_empty()) {
            header.target = words;
        }
    }

    // Functions

    /// A function whose linkage begins at token `first`.
    fn function(&mut self, first: usize) -> Parsed<Function<'a>> {
        let entry = self.take_text() == ".entry";
        let mut broken = false;
        self.skip_attributes();
        let before = self.text_of(first..self.at);
        let returns = if !entry && self.is_mark(b'(') { self.params()? } else { Vec::new() };
        let name = self.word("the function's name")?;
        let params = if self.is_mark(b'(') { self.params()? } else { Vec::new() };
        // Directives are between the parameters and the body.
        let mut directives = String::new();
        while matches!(self.token().kind, Kind::Dotted) {
            let first = self.at;
            match self.text(self.token()) {
                ".pragma" => self.skip_past_semicolon(),
                ".noreturn" | ".blocksareclusters" | ".explicitcluster" => self.at += 1,
                ".maxntid"
                | ".reqntid"
                | ".minnctapersm"
                | ".maxnctapersm"
                | ".maxnreg"
                | ".maxclusterrank"
                | ".reqnctapercluster"
                | ".abi_preserve"
                | ".abi_preserve_control" => {
                    self.at += 1;
                    while matches!(self.token().kind, Kind::Int(_) | Kind::Mark(b',')) {
                        self.at += 1;
                    }
                }
                // CUDA 2 to 4 print prototypes without a semicolon.
                text if is_module_directive(text) => break,
                _ => return Err(self.expected("`{` or `;` after the parameters")),
            }
            directives.push('\n');
            directives.push_str(&self.text_of(first..self.at));
        }
        let mut end = self.token().span;
        let body = if self.take_mark(b'{') {
            let (body, is_broken, close) = self.body();
            broken |= is_broken;
            end = close;
            Some(body)
        } else if self.take_mark(b';') || is_module_directive(self.text(self.token())) || self.token().kind == Kind::End
        {
            None
        } else {
            return Err(self.expected("`{` or `;` after the parameters"));
        };
        Ok(Function { name, entry, returns, params, body, end, broken, before, directives })
    }

    fn params(&mut self) -> Parsed<Vec<Variable<'a>>> {
        self.expect_mark(b'(')?;
        let mut params = Vec::new();
        while !self.is_mark(b')') {
            params.push(self.variable(false)?);
            if !self.take_mark(b',') {
                break;
            }
        }
        self.expect_mark(b')')?;
        Ok(params)
    }

    /// Statements up to the closing brace, whether one of them was wrong, and the brace.
    fn body(&mut self) -> (Vec<Statement<'a>>, bool, Span) {
        let mut statements = Vec::new();
        let mut broken = false;
        let mut depth = 0usize;
        loop {
            let token = self.token();
            match token.kind {
                Kind::End => {
                    self.error(token.span, "expected `}`, the body ends with the file", None);
                    return (statements, true, token.span);
                }
                Kind::Mark(b'}') => {
                    self.at += 1;
                    if depth == 0 {
                        return (statements, broken, token.span);
                    }
                    depth -= 1;
                    statements.push(Statement::Close);
                }
                Kind::Mark(b'{') => {
                    self.at += 1;
                    depth += 1;
                    statements.push(Statement::Open);
                }
                Kind::Mark(b';') => self.at += 1,
                // A new function before the closing brace: the brace is what is missing.
                Kind::Dotted if matches!(self.text(token), ".entry" | ".func" | ".visible" | ".version") => {
                    self.error(token.span, "expected `}` before the next function", None);
                    return (statements, true, token.span);
                }
                _ => {
                    let start = self.at;
                    if self.statement(&mut statements).is_err() {
                        broken = true;
                        self.remember_refused(start);
                        self.skip_statement(start);
                    }
                }
            }
        }
    }

    fn statement(&mut self, statements: &mut Vec<Statement<'a>>) -> Parsed<()> {
        let token = self.token();
        let next_is_colon = self.tokens.get(self.at + 1).is_some_and(|next| next.kind == Kind::Mark(b':'));
        match (token.kind, self.text(token)) {
            (Kind::Word | Kind::Int(_), text) if next_is_colon => {
                self.at += 2;
                let name = Name { text, span: token.span };
                match self.text(self.token()) {
                    ".branchtargets" | ".calltargets" => {
                        self.at += 1;
                        let mut labels = Vec::new();
                        loop {
                            labels.push(self.label()?);
                            if !self.take_mark(b',') {
                                break;
                            }
                        }
                        self.end_statement()?;
                        statements.push(Statement::Targets(name, labels));
                    }
                    // The arguments of an indirect call say which functions it may mean.
                    ".callprototype" => self.skip_past_semicolon(),
                    _ => statements.push(Statement::Label(name)),
                }
                Ok(())
            }
            (Kind::Dotted, ".loc" | ".file") => {
                self.skip_line();
                Ok(())
            }
            (Kind::Dotted, ".section") => {
                self.skip_section();
                Ok(())
            }
            (Kind::Dotted, ".pragma") => {
                let first = self.at;
                self.skip_past_semicolon();
                statements.push(Statement::Pragma(self.text_of(first..self.at)));
                Ok(())
            }
            (Kind::Dotted, _) => {
                let mut variables = Vec::new();
                let external = self.text(token) == ".extern";
                self.at += usize::from(external);
                self.variables(external, &mut variables)?;
                statements.extend(variables.into_iter().map(Statement::Variable));
                Ok(())
            }
            (Kind::Word | Kind::Mark(b'@'), _) => {
                let inst = self.inst()?;
                statements.push(Statement::Inst(inst));
                Ok(())
            }
            _ => Err(self.expected("an instruction, a label or a directive")),
        }
    }

    fn label(&mut self) -> Parsed<Name<'a>> {
        let token = self.token();
        match token.kind {
            Kind::Word | Kind::Int(_) => {
                self.at += 1;
                Ok(Name { text: self.text(token), span: token.span })
            }
            _ => Err(self.expected("a label")),
        }
    }

    // Variables

    /// `.space .type a, b<4>, c[2] = {…};`
    fn variables(&mut self, external: bool, variables: &mut Vec<Variable<'a>>) -> Parsed<()> {
        let mut first = self.variable(external)?;
        self.initialiser(&mut first)?;
        while self.take_mark(b',') {
            let name = self.word("a name")?;
            let mut next = Variable { name, count: None, elements: None, init: Vec::new(), ..first.clone() };
            self.extent(&mut next)?;
            self.initialiser(&mut next)?;
            variables.push(core::mem::replace(&mut first, next));
        }
        variables.push(first);
        self.end_statement()
    }

    fn variable(&mut self, external: bool) -> Parsed<Variable<'a>> {
        let first = self.at;
        let (mut space, mut scalar, mut lanes, mut pointer, mut align) = ("", None, 1, None, None);
        while let Token { kind: Kind::Dotted, span, .. } = self.token() {
            let word = &self.text(self.token())[1..];
            match word {
                "align" => {
                    self.at += 1;
                    match self.token().kind {
                        // Arrays are aligned for every access here; the number is for the exporter.
                        Kind::Int(bytes) if bytes.is_power_of_two() => align = u32::try_from(bytes).ok(),
                        _ => return Err(self.expected("an alignment in bytes, a power of two")),
                    }
                }
                "reg" | "param" | "global" | "shared" | "local" | "const" if pointer.is_some() => {
                    pointer = Some(Some(word));
                }
                "reg" | "param" | "global" | "shared" | "local" | "const" => space = word,
                "ptr" => pointer = Some(None),
                // The driver reads `.managed` and `.unified`; kernels see no difference.
                "attribute" => {
                    self.skip_attributes();
                    continue;
                }
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                // The old spelling of `.global .texref`; the type says nothing.
                "tex" => (space, scalar) = ("global", Some(Name { text: "texref", span })),
                "sreg" => {
                    self.error(span, "special registers are not declared", None);
                    return Err(Reported);
                }
                _ if scalar.is_some_and(|known| known.text == "texref") => {}
                _ => scalar = Some(Name { text: word, span }),
            }
            self.at += 1;
        }
        if space.is_empty() {
            return Err(self.expected("a state space such as `.reg` or `.param`"));
        }
        let Some(scalar) = scalar else { return Err(self.expected("a type such as `.u32`")) };
        // Registers are many, and declared anew by the exporter.
        let before = if space == "reg" { String::new() } else { self.text_of(first..self.at) };
        let name = self.word("a name")?;
        let mut variable = Variable {
            name,
            space,
            scalar,
            lanes,
            align,
            count: None,
            elements: None,
            init: Vec::new(),
            pointer,
            external,
            linkage: String::new(),
            before,
            after: String::new(),
        };
        self.extent(&mut variable)?;
        Ok(variable)
    }

    /// `<4>` after a register prefix, `[2][3]` after a memory variable.
    fn extent(&mut self, variable: &mut Variable<'a>) -> Parsed<()> {
        let first = self.at;
        if self.take_mark(b'<') {
            variable.count = Some(self.int("the number of registers")?);
            self.expect_mark(b'>')?;
        }
        while self.take_mark(b'[') {
            let size = if self.is_mark(b']') { 0 } else { self.int("the number of elements")? };
            self.expect_mark(b']')?;
            let elements = variable.elements.unwrap_or(1).saturating_mul(size);
            variable.elements = Some(elements);
        }
        variable.after = self.text_of(first..self.at);
        Ok(())
    }

    fn initialiser(&mut self, variable: &mut Variable<'a>) -> Parsed<()> {
        let first = self.at;
        if !self.take_mark(b'=') {
            return Ok(());
        }
        if Reference::from_name(variable.scalar.text).is_some() {
            self.properties()?;
            variable.after.push(' ');
            variable.after.push_str(&self.text_of(first..self.at));
            return Ok(());
        }
        // Nested braces only group the rows of an array, so a counter is enough.
        let mut depth = 0usize;
        loop {
            if self.take_mark(b'{') {
                depth += 1;
                continue;
            }
            if self.is_mark(b'}') && depth > 0 {
                self.at += 1;
                depth -= 1;
            } else {
                let element = self.initial()?;
                variable.init.push(element);
            }
            while depth > 0 && self.take_mark(b'}') {
                depth -= 1;
            }
            if depth == 0 {
                variable.after.push(' ');
                variable.after.push_str(&self.text_of(first..self.at));
                return Ok(());
            }
            self.expect_mark(b',')?;
        }
    }

    /// `{filter_mode = nearest, width = 4}` of a reference.
    fn properties(&mut self) -> Parsed<()> {
        self.expect_mark(b'{')?;
        loop {
            self.word("a property such as `filter_mode`")?;
            self.expect_mark(b'=')?;
            match self.token().kind {
                Kind::Word | Kind::Int(_) => self.at += 1,
                _ => return Err(self.expected("a value such as `nearest`")),
            }
            if !self.take_mark(b',') {
                return self.expect_mark(b'}');
            }
        }
    }

    fn initial(&mut self) -> Parsed<Initial<'a>> {
        let token = self.token();
        if token.kind == Kind::Word {
            self.at += 1;
            let mut name = Name { text: self.text(token), span: token.span };
            let mut offset = 0;
            if name.text == "generic" && self.take_mark(b'(') {
                name = self.word("a variable's name")?;
                offset = self.offset()?;
                self.expect_mark(b')')?;
            }
            offset = self.offset()?.wrapping_add(offset);
            return Ok(Initial::Address(name, offset));
        }
        Ok(Initial::Number(self.number()?))
    }

    // Instructions

    fn inst(&mut self) -> Parsed<Inst<'a>> {
        let first = self.token().span;
        let guard = if self.take_mark(b'@') {
            let negated = self.take_mark(b'!');
            Some(Guard { negated, register: self.word("a predicate register")? })
        } else {
            None
        };
        let opcode = self.word("an opcode")?;
        let mut modifiers = Vec::new();
        while self.token().kind == Kind::Dotted && !self.token().starts_line {
            modifiers.push(&self.take_text()[1..]);
        }
        let mut operands = Vec::new();
        if opcode.text == "bra" {
            // A label may be a number, which is no operand anywhere else.
            let label = self.label()?;
            operands.push(Operand { kind: OperandKind::Name(label.text), span: label.span });
        } else if !self.ends_statement() {
            loop {
                operands.push(self.operand(opcode.text == "call")?);
                // `call (results), f, (arguments)`: nvcc always writes the commas.
                if !self.take_mark(b',') {
                    break;
                }
            }
        }
        let span = join(first, self.previous().span);
        self.end_statement()?;
        Ok(Inst { span, guard, opcode, modifiers, operands })
    }

    /// An operand; parentheses hold a list in a call, and a constant elsewhere.
    fn operand(&mut self, in_call: bool) -> Parsed<Operand<'a>> {
        let first = self.token();
        let kind = match first.kind {
            Kind::Mark(b'{') => OperandKind::Vector(self.operands_until(b'{', b'}')?),
            Kind::Mark(b'(') if in_call => OperandKind::List(self.operands_until(b'(', b')')?),
            Kind::Mark(b'[') => self.address()?,
            Kind::Mark(b'!') if self.tokens.get(self.at + 1).is_some_and(|next| next.kind == Kind::Word) => {
                self.at += 1;
                OperandKind::Not(self.register()?)
            }
            _ => self.simple_operand()?,
        };
        Ok(Operand { kind, span: join(first.span, self.previous().span) })
    }

    fn operands_until(&mut self, open: u8, close: u8) -> Parsed<Vec<Operand<'a>>> {
        self.expect_mark(open)?;
        let mut operands = Vec::new();
        while !self.is_mark(close) {
            let first = self.token();
            let kind = self.simple_operand()?;
            operands.push(Operand { kind, span: join(first.span, self.previous().span) });
            if !self.take_mark(b',') {
                break;
            }
        }
        self.expect_mark(close)?;
        Ok(operands)
    }

    /// A name, a pair, a name with an offset, or a number: what may stand inside braces.
    fn simple_operand(&mut self) -> Parsed<OperandKind<'a>> {
        if self.token().kind != Kind::Word {
            return Ok(OperandKind::Number(self.number()?));
        }
        let name = self.register()?;
        Ok(match self.token().kind {
            Kind::Mark(b'|') => {
                self.at += 1;
                OperandKind::Pair(name, self.register()?)
            }
            Kind::Mark(b'+' | b'-') => OperandKind::Offset(name, self.offset()?),
            _ => OperandKind::Name(name),
        })
    }

    /// A word with its component, `%tid.x`, or with the bytes that are meant of it, `r1.b0`.
    fn register(&mut self) -> Parsed<&'a str> {
        let name = self.word("an operand")?;
        let next = self.token();
        let touches = next.span.start == name.span.end;
        let selects = matches!(self.text(next), ".b0" | ".b1" | ".b2" | ".b3" | ".h0" | ".h1");
        if next.kind == Kind::Dotted && touches && (name.text.starts_with('%') || selects) {
            self.at += 1;
            return Ok(&self.source[name.span.start as usize..next.span.end as usize]);
        }
        Ok(name.text)
    }

    fn address(&mut self) -> Parsed<OperandKind<'a>> {
        self.expect_mark(b'[')?;
        if self.token().kind != Kind::Word {
            let Number::Int(offset) = self.number()? else { return Err(self.expected("an integer address")) };
            self.expect_mark(b']')?;
            return Ok(OperandKind::Address(None, offset as i64));
        }
        let base = self.register()?;
        if self.take_mark(b',') {
            let mut coordinates = self.coordinates()?;
            let mut sampler = None;
            if self.take_mark(b',') {
                match coordinates[..] {
                    [Operand { kind: OperandKind::Name(name), .. }] => sampler = Some(name),
                    _ => return Err(self.expected("`]`")),
                }
                coordinates = self.coordinates()?;
            }
            self.expect_mark(b']')?;
            return Ok(OperandKind::Texture(base, sampler, coordinates));
        }
        let offset = self.offset()?;
        self.expect_mark(b']')?;
        Ok(OperandKind::Address(Some(base), offset))
    }

    /// `{x, y}`, or one coordinate without braces.
    fn coordinates(&mut self) -> Parsed<Vec<Operand<'a>>> {
        match self.token().kind {
            Kind::Mark(b'{') => self.operands_until(b'{', b'}'),
            _ => {
                let first = self.token();
                let kind = self.simple_operand()?;
                Ok(Vec::from([Operand { kind, span: join(first.span, self.previous().span) }]))
            }
        }
    }

    /// Zero or more `+4`, `-4`, `+-4`.
    fn offset(&mut self) -> Parsed<i64> {
        let mut sum = 0i64;
        while let Kind::Mark(sign @ (b'+' | b'-')) = self.token().kind {
            self.at += 1;
            let Number::Int(value) = self.factor()? else { return Err(self.expected("an offset in bytes")) };
            let value = value as i64;
            sum = sum.wrapping_add(if sign == b'-' { value.wrapping_neg() } else { value });
        }
        Ok(sum)
    }

    // Tokens

    pub(super) fn token(&self) -> Token {
        // The last token is `End` and is never passed.
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn previous(&self) -> Token {
        self.tokens[self.at.saturating_sub(1).min(self.tokens.len() - 1)]
    }

    pub(super) fn text(&self, token: Token) -> &'a str {
        &self.source[token.span.start as usize..token.span.end as usize]
    }

    /// The text of several tokens, with one space where white space or a comment separates two.
    fn text_of(&self, tokens: Range<usize>) -> String {
        let mut text = String::new();
        let mut end = None;
        for token in &self.tokens[tokens.start..tokens.end.min(self.tokens.len())] {
            if end.is_some_and(|end| end < token.span.start) {
                text.push(' ');
            }
            text.push_str(self.text(*token));
            end = Some(token.span.end);
        }
        text
    }

    fn take_text(&mut self) -> &'a str {
        let text = self.text(self.token());
        self.at += 1;
        text
    }

    pub(super) fn is_mark(&self, mark: u8) -> bool {
        self.token().kind == Kind::Mark(mark)
    }

    pub(super) fn take_mark(&mut self, mark: u8) -> bool {
        let is = self.is_mark(mark);
        self.at += usize::from(is);
        is
    }

    pub(super) fn expect_mark(&mut self, mark: u8) -> Parsed<()> {
        match self.take_mark(mark) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{}`", mark as char))),
        }
    }

    fn word(&mut self, what: &str) -> Parsed<Name<'a>> {
        let token = self.token();
        match token.kind {
            Kind::Word => {
                self.at += 1;
                Ok(Name { text: self.text(token), span: token.span })
            }
            _ => Err(self.expected(what)),
        }
    }

    fn int(&mut self, what: &str) -> Parsed<u64> {
        match self.token().kind {
            Kind::Int(value) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn ends_statement(&self) -> bool {
        matches!(self.token().kind, Kind::Mark(b';' | b'}') | Kind::End)
    }

    /// The semicolon. Where it is missing at the end of a line the statement still counts as whole, so that the
    /// next line is read as what it is.
    fn end_statement(&mut self) -> Parsed<()> {
        if self.take_mark(b';') {
            return Ok(());
        }
        let token = self.token();
        if token.starts_line || token.kind == Kind::End {
            let end = self.previous().span.end;
            self.error(Span { start: end.saturating_sub(1), end }, "expected `;` at the end of the statement", None);
            return Err(Reported);
        }
        Err(self.expected("`;` or `,`"))
    }

    // Skipping

    fn skip_line(&mut self) {
        self.at += 1;
        while self.token().kind != Kind::End && !self.token().starts_line {
            self.at += 1;
        }
    }

    fn skip_past_semicolon(&mut self) {
        while !matches!(self.token().kind, Kind::End | Kind::Mark(b'}')) && !self.take_mark(b';') {
            self.at += 1;
        }
    }

    /// `.section name { … }`, whose braces do not nest.
    fn skip_section(&mut self) {
        while !matches!(self.token().kind, Kind::End) && !self.take_mark(b'}') {
            self.at += 1;
        }
    }

    /// `.attribute(.managed)`, in whose parentheses may be others: `.attribute(.unified(19, 95))`.
    fn skip_attributes(&mut self) {
        if self.text(self.token()) != ".attribute" {
            return;
        }
        self.at += 1;
        let mut open = 0_u32;
        while !matches!(self.token().kind, Kind::End | Kind::Mark(b';' | b'{')) {
            match self.token().kind {
                Kind::Mark(b'(') => open += 1,
                Kind::Mark(b')') => open = open.saturating_sub(1),
                _ if open == 0 => return,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return;
            }
        }
    }

    /// After an error in the statement that began at token `start`: past its semicolon if that stands before the
    /// end of the line on which parsing stopped, otherwise to the next line.
    fn skip_statement(&mut self, start: usize) {
        if self.at == start {
            self.at += 1;
        }
        while !self.token().starts_line && self.token().kind != Kind::End {
            if self.take_mark(b';') || self.is_closing_brace() {
                return;
            }
            self.at += 1;
        }
    }

    /// A brace that ends a scope: one that ends a vector has `,`, `;` or `]` after it.
    fn is_closing_brace(&self) -> bool {
        let next = self.tokens.get(self.at + 1).map(|next| next.kind);
        self.is_mark(b'}') && !matches!(next, Some(Kind::Mark(b',' | b';' | b']')))
    }

    /// After an error in the item that began at token `start`: to the next item, past the braces of this one.
    fn skip_to_module_item(&mut self, start: usize) {
        self.remember_refused(start);
        if self.at == start {
            self.at += 1;
        }
        let mut depth = 0u32;
        while self.token().kind != Kind::End {
            match self.token().kind {
                Kind::Mark(b'{') => depth += 1,
                Kind::Mark(b'}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            let begins_function = matches!(self.text(self.token()), ".visible" | ".weak" | ".entry" | ".func");
            if self.begins_module_item() && (depth == 0 || begins_function) {
                return;
            }
            self.at += 1;
        }
    }

    fn begins_module_item(&self) -> bool {
        let token = self.token();
        token.starts_line && is_module_directive(self.text(token))
    }

    /// Remembers the name in the declaration or header that began at token `start` and has an error: its uses are no
    /// further errors.
    fn remember_refused(&mut self, start: usize) {
        let declaration = self.tokens[start..]
            .iter()
            .take_while(|token| !matches!(token.kind, Kind::Mark(b';' | b'{' | b'}' | b'=')));
        let mut open = 0u32;
        let name = declaration.enumerate().find(|(index, token)| {
            match token.kind {
                Kind::Mark(b'(') => open += 1,
                Kind::Mark(b')') => open = open.saturating_sub(1),
                _ => {}
            }
            open == 0 && *index > 0 && token.kind == Kind::Word
        });
        if let Some((_, &name)) = name.filter(|_| self.tokens[start].kind == Kind::Dotted) {
            self.refused.push(self.text(name));
        }
    }

    // Problems

    pub(super) fn expected(&mut self, what: &str) -> Reported {
        let token = self.token();
        let found = match token.kind {
            Kind::End => String::from("the end of the file"),
            _ => format!("`{}`", self.text(token).chars().take(40).collect::<String>()),
        };
        self.error(token.span, &format!("expected {what}, found {found}"), None);
        Reported
    }

    pub(super) fn error(&mut self, span: Span, message: &str, hint: Option<&str>) {
        let diagnostic = Diagnostic::error("ptx-syntax", span, message);
        self.diagnostics.push(match hint {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic,
        });
    }
}

/// Does a directive begin a declaration of the module?
fn is_module_directive(text: &str) -> bool {
    matches!(
        text,
        ".visible"
            | ".weak"
            | ".common"
            | ".extern"
            | ".entry"
            | ".func"
            | ".global"
            | ".const"
            | ".shared"
            | ".tex"
            | ".alias"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(source: &str) -> (File<'_>, Vec<String>) {
        let mut diagnostics = Diagnostics::default();
        let file = parse(source, &mut Vec::new(), &mut diagnostics);
        (file, diagnostics.into_sorted().into_iter().map(|diagnostic| diagnostic.message).collect())
    }

    #[test]
    fn errors_are_reported_line_by_line() {
        let source = ".visible .entry k()\n{\n  add.u32 %r1 %r2;\n  sub.u32 %r1, %r2\n  mul.lo.u32 %r1, ;\n  ?;\n \
                      ret;\n}\nbogus\n.func f() { ret; }\n";
        let (file, messages) = parsed(source);
        assert_eq!(
            messages,
            [
                "expected `;` or `,`, found `%r2`",
                "expected `;` at the end of the statement",
                "expected an operand, found `;`",
                "expected an instruction, a label or a directive, found `?`",
                "expected a directive such as `.visible .entry` or `.global`, found `bogus`",
            ]
        );
        assert_eq!(file.functions.len(), 2);
        assert!(file.functions[0].broken && !file.functions[1].broken);
        assert_eq!(file.functions[0].body.as_ref().map(Vec::len), Some(1));
    }
}
