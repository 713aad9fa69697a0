//! Declarations of variables: types, arrays, initial values and their properties.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Parsed, Parser, Reported};
use crate::ir::Reference;
use crate::ptx::lexer::{Kind, Token};
use crate::ptx::syntax::*;

impl<'a> Parser<'a, '_> {
    /// `.space .type a, b<4>, c[2] = {…};`
    pub(super) fn variables(&mut self, external: bool, variables: &mut Vec<Variable<'a>>) -> Parsed<()> {
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

    pub(super) fn variable(&mut self, external: bool) -> Parsed<Variable<'a>> {
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
    pub(super) fn extent(&mut self, variable: &mut Variable<'a>) -> Parsed<()> {
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

    pub(super) fn initialiser(&mut self, variable: &mut Variable<'a>) -> Parsed<()> {
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
    pub(super) fn properties(&mut self) -> Parsed<()> {
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

    pub(super) fn initial(&mut self) -> Parsed<Initial<'a>> {
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
}
