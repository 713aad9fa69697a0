//! The body of a function: declarations, blocks, profiles, and the names that they make.

use alloc::format;
use alloc::vec::Vec;

use hashbrown::{HashMap, HashSet};

use crate::ir::{
    Array, ArrayData, Block, CommentAnchor, Comments, Func, FuncKind, Function, Input, InputData, Op, Opcode, Reg,
    Space, Span, SpellingError, Type,
};
use crate::text::diagnostic::{Diagnostic, quoted};
use crate::text::inference::inferred_types;
use crate::text::lexer::TokenKind;
use crate::text::limits::{MAX_ARRAY_BYTES, MAX_SHARED_BYTES};
use crate::text::suggestion::nearest;

use super::inst::opcode_elsewhere;
use super::{Parser, Reported, Result};

/// Meaning of a name in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Name {
    Reg(Reg),
    Array(Array),
    Input(Input),
    /// The k-th parameter, an array by value.
    ParamArray(u32),
}

/// A function while its body is read.
pub(super) struct Body<'a> {
    pub func: Function,
    pub names: HashMap<&'a str, Name>,
    pub blocks: HashMap<&'a str, Block>,
    /// Names that nothing defines, or a declaration with an error, and that have been reported.
    pub unknown: HashSet<&'a str>,
    /// The block that instructions go to.
    pub block: Option<Block>,
    /// Registers that the lines assign.
    defined: Vec<&'a str>,
    registers_are_built: bool,
}

impl<'a> Parser<'a> {
    /// Reads the body of `id` up to its closing brace; `end` is where the next item begins.
    pub(super) fn body(&mut self, id: Func, comments: Comments, end: usize) {
        let errors = self.diagnostics.error_count();
        let empty = Function::new("", FuncKind::Func);
        let mut func = core::mem::replace(&mut self.module.funcs[id], empty);
        func.comments = comments;
        let mut body = Body {
            names: HashMap::new(),
            blocks: HashMap::new(),
            unknown: HashSet::new(),
            block: None,
            defined: Vec::new(),
            registers_are_built: false,
            func,
        };
        for (index, &name) in self.headers[id].param_names.iter().enumerate() {
            let reg = body.func.params[index].reg;
            body.names.insert(name, reg.map_or(Name::ParamArray(index as u32), Name::Reg));
        }
        self.scan_body(&mut body, end);
        self.statements(&mut body, end);
        self.build_registers(&mut body);
        let types = inferred_types(&body.func, |callee| self.headers.get(callee).and_then(|header| header.returns));
        for (reg, data) in body.func.regs.iter() {
            if let Some(ty) = types[reg]
                && !data.declared
            {
                body.func.reg_types[reg] = ty;
            }
        }
        body.func.find_named_writes();
        self.module.funcs[id] = body.func;
        if self.diagnostics.error_count() == errors {
            self.complete.push(id);
        }
    }

    /// Finds labels and assigned names ahead, so that a branch may go forward and a name means the same everywhere in
    /// the function.
    fn scan_body(&mut self, body: &mut Body<'a>, end: usize) {
        let start = self.at;
        loop {
            self.skip_line_ends();
            if self.at >= end || self.is_punct(0, b'}') || self.is_profile() {
                break;
            }
            while self.is_name(0) && (self.is_punct(1, b':') || self.is_bare_label()) {
                let name = self.name_at(0);
                if !body.blocks.contains_key(name) {
                    body.blocks.insert(name, body.func.build_detached_block(name, None));
                }
                self.at += if self.is_punct(1, b':') { 2 } else { 1 };
            }
            self.scan_destinations(body);
            self.skip_line();
        }
        self.at = start;
    }

    fn scan_destinations(&mut self, body: &mut Body<'a>) {
        if self.eat_punct(b'@') {
            self.eat_punct(b'!');
            self.at += usize::from(self.is_name(0));
        }
        if self.is_name(0) && self.is_punct(1, b'=') {
            body.defined.push(self.name_at(0));
        } else if self.eat_punct(b'{') {
            let first = body.defined.len();
            while self.is_name(0) {
                body.defined.push(self.name_at(0));
                self.at += 1;
                self.eat_punct(b',');
            }
            if !(self.eat_punct(b'}') && self.is_punct(0, b'=')) {
                body.defined.truncate(first);
            }
        }
    }

    fn statements(&mut self, body: &mut Body<'a>, end: usize) {
        loop {
            self.skip_line_ends();
            let first = self.at;
            if self.at >= end {
                let name = quoted(&body.func.name);
                let span = self.peek().span;
                let diagnostic = Diagnostic::error("syntax", span, format!("expected `}}` at the end of {name}"));
                self.report(diagnostic.with_label(body.func.span, "which begins here"));
                return;
            }
            if self.eat_punct(b'}') {
                self.take_comments(first, &mut body.func.comments, CommentAnchor::Close);
                return;
            }
            if self.statement(body).is_err() {
                self.skip_statement(first);
            }
        }
    }

    fn statement(&mut self, body: &mut Body<'a>) -> Result<()> {
        let first = self.at;
        if self.is_profile() {
            return self.profile(body);
        }
        if self.is_name(0) && self.is_punct(1, b':') {
            return self.label(body);
        }
        if self.is_bare_label() {
            let (name, span) = (self.name_at(0), self.peek().span);
            let diagnostic =
                Diagnostic::error("syntax", span, format!("expected an instruction, found {}", quoted(name)));
            self.report(diagnostic.with_suggestion(span, Some(format!("{name}:"))));
            return self.label(body);
        }
        if let Some(anchor) = self.declaration(body)? {
            self.expect_statement_end()?;
            self.take_comments(first, &mut body.func.comments, anchor);
            return Ok(());
        }
        self.build_registers(body);
        let data = self.inst(body)?;
        self.expect_statement_end()?;
        let span = self.span_from(first);
        let block = match body.block {
            Some(block) => block,
            None => {
                let message = "expected a block's label such as `entry:` before the first instruction";
                self.error("instruction-outside-block", span, message);
                let block = body.func.build_block(body.func.fresh_block_name("entry"));
                *body.block.insert(block)
            }
        };
        let inst = body.func.build_inst(block, data);
        body.func.inst_spans[inst] = span;
        self.take_comments(first, &mut body.func.comments, CommentAnchor::Inst(inst));
        Ok(())
    }

    fn label(&mut self, body: &mut Body<'a>) -> Result<()> {
        let first = self.at;
        self.build_registers(body);
        let (name, span) = self.expect_name("a label")?;
        self.eat_punct(b':');
        let Some(&block) = body.blocks.get(name) else { return Err(Reported) };
        if body.func.layout.has_block(block) {
            let message = format!("duplicate block {}", quoted(name));
            let diagnostic = Diagnostic::error("duplicate-name", span, message);
            self.report(diagnostic.with_label(body.func.block_spans[block], "first defined here"));
        } else {
            body.func.layout.insert_block(block, None);
            body.func.block_spans[block] = span;
        }
        body.block = Some(block);
        self.take_comments(first, &mut body.func.comments, CommentAnchor::Block(block));
        Ok(())
    }

    /// Is a name alone on its line, and no opcode or nearly one? Its colon has been forgotten.
    fn is_bare_label(&self) -> bool {
        let name = self.name_at(0);
        let names = Op::ALL.iter().map(|op| op.name());
        !name.is_empty()
            && self.is_statement_end(1)
            && Opcode::from_spelling(name).is_err_and(|error| matches!(error, SpellingError::UnknownRoot(_)))
            && opcode_elsewhere(name).is_none()
            && nearest(name, names).is_none()
    }

    /// Makes a register of every name that is assigned, in the order of the text; those of `reg` lines are there.
    fn build_registers(&mut self, body: &mut Body<'a>) {
        if core::mem::replace(&mut body.registers_are_built, true) {
            return;
        }
        for name in core::mem::take(&mut body.defined) {
            if !body.names.contains_key(name) {
                // The type follows when all definitions are known.
                let reg = body.func.build_reg(name, Type::B32);
                body.names.insert(name, Name::Reg(reg));
            }
        }
    }

    // --- declarations
    // --------------------------------------------------------------------------------------------------

    /// Reads a declaration, if the line is one.
    fn declaration(&mut self, body: &mut Body<'a>) -> Result<Option<CommentAnchor>> {
        let word = self.name_at(0);
        if !matches!(word, "input" | "shared" | "local" | "reg" | "entry") || !self.is_name(1) {
            return Ok(None);
        }
        let span = self.advance().span;
        let first = self.at;
        if body.block.is_some() {
            let message = "declarations must come before the first block";
            self.error("misplaced-declaration", span, message);
        }
        let declared = match word {
            "input" => self.input(body),
            "shared" => self.array(body, Space::Shared),
            "local" => self.array(body, Space::Local),
            "reg" => self.registers(body),
            _ => self.entries(body),
        };
        if declared.is_err() {
            let names = self.tokens[first..].iter().take_while(|token| token.kind != TokenKind::Punct(b':'));
            let names = names.take_while(|token| token.kind != TokenKind::LineEnd);
            body.unknown.extend(names.map(|token| self.span_text(token.span)));
        }
        declared.map(Some)
    }

    fn input(&mut self, body: &mut Body<'a>) -> Result<CommentAnchor> {
        let (name, span) = self.expect_name("the input's name")?;
        self.expect_punct(b':', "`:` and the input's type")?;
        let ty = self.expect_type()?;
        let uniform = self.eat_name("uniform");
        self.check_free(body, name, span)?;
        let input = body.func.build_input(InputData { name: name.into(), ty, uniform });
        body.names.insert(name, Name::Input(input));
        Ok(CommentAnchor::Input(input))
    }

    fn array(&mut self, body: &mut Body<'a>, space: Space) -> Result<CommentAnchor> {
        let (name, span) = self.expect_name("the array's name")?;
        self.expect_punct(b':', "`:` and the element type")?;
        let ty = self.expect_element_type()?;
        let len = if self.is_punct(0, b'[') && self.is_punct(1, b']') {
            if space == Space::Local {
                return Err(self.error("syntax", span, "a local array needs its number of elements"));
            }
            self.at += 2;
            None
        } else {
            let most = if space == Space::Shared { MAX_SHARED_BYTES } else { MAX_ARRAY_BYTES };
            Some(self.array_len(ty, most)?)
        };
        self.check_free(body, name, span)?;
        let array = body.func.build_array(ArrayData {
            name: name.into(),
            space,
            ty,
            len,
            is_of_file: false,
            declaration: None,
        });
        body.names.insert(name, Name::Array(array));
        Ok(CommentAnchor::Array(array))
    }

    fn registers(&mut self, body: &mut Body<'a>) -> Result<CommentAnchor> {
        let mut names = Vec::new();
        loop {
            names.push(self.expect_name("a register's name")?);
            if !self.eat_punct(b',') {
                break;
            }
        }
        self.expect_punct(b':', "`,` and another name, or `:` and the type")?;
        let ty = self.expect_type()?;
        for (name, span) in names {
            self.check_free(body, name, span)?;
            let reg = body.func.build_reg(name, ty);
            body.func.regs[reg].declared = true;
            body.names.insert(name, Name::Reg(reg));
        }
        Ok(CommentAnchor::Registers(ty))
    }

    fn entries(&mut self, body: &mut Body<'a>) -> Result<CommentAnchor> {
        loop {
            let (name, span) = self.expect_name("the name of a block")?;
            let block = self.block_named(body, name, span)?;
            body.func.entries.push(block);
            if !self.eat_punct(b',') {
                return Ok(CommentAnchor::Entries);
            }
        }
    }

    /// Registers, inputs, arrays and parameters of a function share one set of names.
    fn check_free(&mut self, body: &Body<'a>, name: &'a str, span: Span) -> Result<()> {
        if !body.func.reg_name_is_taken(name) {
            return Ok(());
        }
        let message = format!("the name {} is taken by another register, input, array or parameter", quoted(name));
        Err(self.error("duplicate-name", span, message))
    }

    // --- names
    // ---------------------------------------------------------------------------------------------------------

    /// The block of a name.
    pub(super) fn block_named(&mut self, body: &Body<'a>, name: &str, span: Span) -> Result<Block> {
        if let Some(&block) = body.blocks.get(name) {
            return Ok(block);
        }
        let mut diagnostic = Diagnostic::error("unknown-block", span, format!("unknown block {}", quoted(name)));
        if !self.diagnostics.is_full() {
            let blocks = body.func.blocks.values().map(|block| block.name.as_str());
            diagnostic = diagnostic.with_suggestion(span, nearest(name, blocks));
        }
        Err(self.report(diagnostic))
    }

    /// Reads the name of a block.
    pub(super) fn expect_block(&mut self, body: &Body<'a>) -> Result<Block> {
        let (name, span) = self.expect_name("the name of a block")?;
        self.block_named(body, name, span)
    }

    /// `profile path {` and its kin.
    fn is_profile(&self) -> bool {
        self.name_at(0) == "profile" && self.is_name(1) && self.is_punct(2, b'{') && self.peek().kind == TokenKind::Name
    }
}
