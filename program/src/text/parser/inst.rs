//! Instructions and terminators.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use smallvec::SmallVec;

use crate::ir::{
    ArgKind, Block, Callee, Control, Few, Func, Guard, InstArgs, InstData, Op, Opcode, Operand, ParamType, Piece, Reg,
    Signature, Span, SpellingError, Template, Type,
};
use crate::text::diagnostic::{Diagnostic, quoted};
use crate::text::lexer::TokenKind;
use crate::text::limits::{MAX_EXITS, MAX_TARGETS};
use crate::text::suggestion::nearest;

use super::body::{Body, Name};
use super::operand::{RawKind, RawOperand};
use super::{Parser, Reported, Result};

/// The destinations of an instruction and where they stand.
struct Destinations {
    regs: Few<Reg>,
    span: Span,
}

impl<'a> Parser<'a> {
    /// One instruction or terminator, up to the end of its statement.
    pub(super) fn inst(&mut self, body: &mut Body<'a>) -> Result<InstData> {
        let first = self.at;
        let guard = self.guard(body)?;
        let guard_span = self.span_from(first);
        let dsts = self.destinations(body)?;
        let word = self.peek();
        self.check_opcode_stands_here(body, &dsts)?;
        let mut data = match (word.kind, self.text(word)) {
            (TokenKind::Name | TokenKind::Word, text) => match text.split('.').next().unwrap_or(text) {
                "call" => self.call(body, &dsts)?,
                "ret" => self.ret(body)?,
                "br" => self.branch(body)?,
                "switch" => self.switch(body)?,
                "ptx" => self.opaque(body, &dsts)?,
                _ => self.plain(body, &dsts)?,
            },
            _ if dsts.regs.is_empty() => return Err(self.expected("an instruction, a label or a declaration")),
            _ => return Err(self.expected("an opcode such as `add.f32`")),
        };
        if data.is_terminator() {
            if !dsts.regs.is_empty() && data.opcode.op != Op::CallTo {
                return Err(self.error("destination-count", dsts.span, format!("`{}` gives no result", data.opcode)));
            }
            if guard.is_some() {
                let diagnostic = Diagnostic::error("guarded-terminator", guard_span, "a terminator has no guard");
                return Err(self.report(diagnostic.with_hint("branch on the predicate: `br p, there, next_block`")));
            }
        }
        data.guard = guard;
        data.dsts = dsts.regs;
        Ok(data)
    }

    /// Reports spellings of other languages with a hint of their own.
    fn check_opcode_stands_here(&mut self, body: &Body<'a>, dsts: &Destinations) -> Result<()> {
        let (name, span) = (self.name_at(0), self.peek().span);
        let is_element = dsts.regs.is_empty() && self.is_punct(1, b'[');
        let is_suspect = is_element || body.names.contains_key(name);
        if name.is_empty() || !is_suspect || Opcode::from_spelling(name).is_ok() {
            return Ok(());
        }
        let message = format!("expected an opcode such as `add.f32`, found {}", quoted(name));
        if is_element {
            let hint = format!("memory is written by a store: `st.global.f32 {name}[0], value`");
            return Err(self.report(Diagnostic::error("syntax", span, message).with_hint(hint)));
        }
        let hint = "an operation is written before its operands: `add.u32 a, b`, `setp.lt.u32 a, b`, `mov.u32 a`";
        Err(self.report(Diagnostic::error("syntax", span, message).with_hint(hint)))
    }

    /// `@p` or `@!p`
    fn guard(&mut self, body: &mut Body<'a>) -> Result<Option<Guard>> {
        if !self.eat_punct(b'@') {
            return Ok(None);
        }
        let negated = self.eat_punct(b'!');
        let (name, span) = self.expect_name("a predicate register")?;
        match self.value_named(body, name, span)? {
            Operand::Reg(reg) => Ok(Some(Guard { reg, negated })),
            _ => Err(self.error("wrong-operand", span, "a guard is a predicate register")),
        }
    }

    /// `r =` or `{a, b} =`
    fn destinations(&mut self, body: &Body<'a>) -> Result<Destinations> {
        let first = self.at;
        let mut regs = Few::new();
        if self.is_name(0) && self.is_punct(1, b'=') {
            regs.push(self.destination(body)?);
        } else if self.eat_punct(b'{') {
            loop {
                regs.push(self.destination(body)?);
                if self.eat_punct(b'}') {
                    break;
                }
                self.expect_punct(b',', "`,` or `}`")?;
            }
        } else {
            return Ok(Destinations { regs, span: self.peek().span });
        }
        let span = self.span_from(first);
        self.expect_punct(b'=', "`=`")?;
        Ok(Destinations { regs, span })
    }

    fn destination(&mut self, body: &Body<'a>) -> Result<Reg> {
        let (name, span) = self.expect_name("a register")?;
        let what = match body.names.get(name) {
            Some(&Name::Reg(reg)) => return Ok(reg),
            Some(Name::Array(_) | Name::ParamArray(_)) => "an array; its elements are written by `st`",
            Some(Name::Input(_)) => "an input",
            // Only a line that looked different when names were collected.
            None => "no register",
        };
        Err(self.error("wrong-operand", span, format!("{} is {what}", quoted(name))))
    }

    /// An instruction without targets.
    fn plain(&mut self, body: &mut Body<'a>, dsts: &Destinations) -> Result<InstData> {
        let (opcode, word) = self.opcode()?;
        let raw = self.raw_operands(body, opcode.ty.bytes())?;
        let packs = matches!(raw.first(), Some(RawOperand { kind: RawKind::List(_), .. }));
        let signature = if opcode.op == Op::Mov && (packs || dsts.regs.len() > 1) {
            let parts = match &raw[..] {
                [RawOperand { kind: RawKind::List(list), .. }] => list.len(),
                _ => dsts.regs.len(),
            };
            match opcode.packing_signature(parts, packs) {
                Some(signature) => signature,
                None => {
                    let message =
                        format!("`{opcode}` cannot be split into {parts} parts; 2 or 4 of at least 8 bits go");
                    return Err(self.error("operand-count", word, message));
                }
            }
        } else {
            opcode.signature()
        };
        self.check_destinations(opcode, &signature, dsts, word)?;
        let mut data = InstData::new(opcode, [], []);
        data.args = self.operands(body, opcode, &signature, raw, word)?;
        data.leave_out_barrier_0();
        Ok(data)
    }

    /// `ptx "template", a, b`: places in the template count the destinations first.
    fn opaque(&mut self, body: &mut Body<'a>, dsts: &Destinations) -> Result<InstData> {
        let (opcode, word) = self.opcode()?;
        if self.peek().kind != TokenKind::Text {
            return Err(self.expected("the instruction in quotes, as in `ptx \"griddepcontrol.wait\"`"));
        }
        let quoted = self.advance().span;
        let inner = Span { start: quoted.start + 1, end: quoted.end - 1 };
        let template = Template::new(self.span_text(inner)).map_err(|problem| {
            let at = inner.start + problem.at as u32;
            let span = Span { start: at.min(inner.end), end: (at + 1).min(quoted.end) };
            self.error("bad-template", span, String::from(problem.reason))
        })?;
        let mut args = InstArgs::new();
        if self.eat_punct(b',') {
            let raw = self.raw_operands(body, 1)?;
            args = self.operands(body, opcode, &opcode.signature(), raw, word)?;
        }
        let places = dsts.regs.len() + args.len();
        if template.pieces().iter().any(|piece| matches!(piece, Piece::Place(place) if *place >= places)) {
            let message = format!("the template names an operand beyond the {places} that there are");
            return Err(self.error("bad-template", quoted, message));
        }
        Ok(InstData::opaque(template, [], args))
    }

    fn check_destinations(
        &mut self,
        opcode: Opcode,
        signature: &Signature,
        dsts: &Destinations,
        word: Span,
    ) -> Result<()> {
        let count = dsts.regs.len();
        if (signature.required_dsts..=signature.dsts.len()).contains(&count) {
            return Ok(());
        }
        let span = if count == 0 { word } else { dsts.span };
        let message = match signature.required_dsts {
            0 if signature.dsts.is_empty() => format!("`{opcode}` gives no result"),
            1 if count == 0 => format!("`{opcode}` gives a result: expected `r = {opcode} …`"),
            _ => {
                let expected = range(signature.required_dsts, signature.dsts.len());
                format!("`{opcode}` has {expected} destinations, found {count}")
            }
        };
        Err(self.error("destination-count", span, message))
    }

    fn operands(
        &mut self,
        body: &mut Body<'a>,
        opcode: Opcode,
        signature: &Signature,
        raw: SmallVec<[RawOperand<'a>; 4]>,
        word: Span,
    ) -> Result<SmallVec<[Operand; 3]>> {
        let most = if signature.rest.is_some() { usize::MAX } else { signature.args.len() };
        if raw.len() < signature.required_args || raw.len() > most {
            let span = match raw.get(most) {
                Some(extra) => Span { end: raw[raw.len() - 1].span.end, ..extra.span },
                None => raw.last().map_or(word, |last| Span { start: word.start, ..last.span }),
            };
            let expected = match signature.rest {
                Some(_) => format!("at least {}", signature.required_args),
                None => range(signature.required_args, signature.args.len()),
            };
            let plural = if expected == "1" { "" } else { "s" };
            let message = format!("`{opcode}` has {expected} operand{plural}, found {}", raw.len());
            return Err(self.error("operand-count", span, message));
        }
        let mut args = SmallVec::with_capacity(raw.len());
        for (index, raw) in raw.into_iter().enumerate() {
            let kind = signature.arg(index).unwrap_or(ArgKind::Any(opcode.ty));
            args.push(self.operand(body, raw, kind)?);
        }
        Ok(args)
    }

    // --- opcodes
    // -------------------------------------------------------------------------------------------------------

    fn opcode(&mut self) -> Result<(Opcode, Span)> {
        let token = self.advance();
        let text = self.text(token);
        if let Some(&opcode) = self.opcodes.get(text) {
            return Ok((opcode, token.span));
        }
        match Opcode::from_spelling(text) {
            Ok(opcode) => {
                self.opcodes.insert(text, opcode);
                Ok((opcode, token.span))
            }
            Err(error) => {
                let diagnostic = spelling_diagnostic(text, token.span, &error);
                Err(self.report(diagnostic))
            }
        }
    }

    // --- terminators and calls
    // -----------------------------------------------------------------------------------------

    /// `br target` or `br p, yes, no`
    fn branch(&mut self, body: &mut Body<'a>) -> Result<InstData> {
        let (mut opcode, _) = self.opcode()?;
        if self.is_name(0) && self.is_statement_end(1) {
            let target = self.expect_block(body)?;
            return Ok(InstData::new(opcode, [], []).to([target]));
        }
        opcode.op = Op::BrIf;
        let first = self.at;
        let negated = self.eat_punct(b'!');
        let (name, span) = self.expect_name("a block, or a predicate register and two blocks")?;
        if !body.names.contains_key(name) && body.blocks.contains_key(name) {
            let message = format!(
                "`br` takes a block alone, or a predicate register and two blocks; {} is a block",
                quoted(name)
            );
            return Err(self.error("wrong-operand", span, message));
        }
        let kind = if negated { RawKind::Not(name) } else { RawKind::Name(name) };
        let raw = RawOperand { span: self.span_from(first), kind };
        let condition = self.operand(body, raw, ArgKind::Predicate)?;
        let mut data = InstData::new(opcode, [], [condition]);
        for what in ["`,` and the block where the predicate holds", "`,` and the block where it does not"] {
            self.expect_punct(b',', what)?;
            data = data.to([self.expect_block(body)?]);
        }
        Ok(data)
    }

    /// `switch r, a, b, c`
    fn switch(&mut self, body: &mut Body<'a>) -> Result<InstData> {
        let (opcode, word) = self.opcode()?;
        let signature = opcode.signature();
        if self.peek().kind == TokenKind::LineEnd {
            return Err(self.expected("a register and one block for each of its values"));
        }
        // Only the selector is an operand; what follows are blocks.
        let selector = self.raw_operand(body, 1, false)?;
        let mut data = InstData::new(opcode, [], []);
        data.args = self.operands(body, opcode, &signature, core::iter::once(selector).collect(), word)?;
        self.expect_punct(b',', "`,` and the block for 0")?;
        Ok(data.to(self.targets(body)?))
    }

    fn targets(&mut self, body: &Body<'a>) -> Result<Few<Block>> {
        let mut targets = Few::new();
        loop {
            targets.push(self.expect_block(body)?);
            if !self.eat_punct(b',') {
                return Ok(targets);
            }
            if targets.len() >= MAX_TARGETS {
                let span = self.peek().span;
                return Err(self.error("too-many", span, format!("a terminator has at most {MAX_TARGETS} targets")));
            }
        }
    }

    /// `ret`, `ret r`, `ret.1`, `ret.1 r`
    fn ret(&mut self, body: &mut Body<'a>) -> Result<InstData> {
        let token = self.advance();
        let mut data = InstData::new(Opcode::untyped(Op::Ret), [], []);
        if let Some(exit) = self.text(token).strip_prefix("ret.") {
            match exit.parse() {
                // The first exit is the plain one: `ret.0` is `ret`.
                Ok(0) => {}
                Ok(exit) if exit < MAX_EXITS => data.control = Some(Box::new(Control::Exit(exit))),
                _ => {
                    let message = format!("expected the number of an exit, below {MAX_EXITS}, found {}", quoted(exit));
                    return Err(self.error("bad-number", token.span, message));
                }
            }
        }
        if let Some(ty) = body.func.returns {
            data.opcode = Opcode::new(Op::Ret, ty);
        }
        let raw = self.raw_operands(body, 1)?;
        let signature = data.opcode.signature();
        data.args = self.operands(body, data.opcode, &signature, raw, token.span)?;
        Ok(data)
    }

    /// `call f(a, b)`, `call f@entry(a)`, `call f(a) to x, y`
    fn call(&mut self, body: &mut Body<'a>, dsts: &Destinations) -> Result<InstData> {
        let (mut opcode, _) = self.opcode()?;
        let (name, span) = self.expect_name("the name of a function")?;
        let func = self.func_named(name, span)?;
        let entry = if self.eat_punct(b'@') { self.entry_number(func)? } else { 0 };
        self.expect_punct(b'(', "`(`")?;
        let raw = self.raw_operands(body, 1)?;
        self.expect_punct(b')', "`,` or `)`")?;
        let kinds: SmallVec<[ArgKind; 8]> =
            self.headers[func].params.iter().map(|param| ArgKind::Any(param_value_type(*param))).collect();
        if raw.len() != kinds.len() {
            let span = Span { start: span.start, ..self.span_from(self.at - 1) };
            let plural = if kinds.len() == 1 { "" } else { "s" };
            let message = format!("{} takes {} operand{plural}, found {}", quoted(name), kinds.len(), raw.len());
            let declared = self.module.funcs[func].span;
            let diagnostic = Diagnostic::error("operand-count", span, message);
            return Err(self.report(diagnostic.with_label(declared, "declared here")));
        }
        let returns = self.headers[func].returns;
        if dsts.regs.len() > usize::from(returns.is_some()) {
            let message = match returns {
                Some(_) => format!("{} returns one value", quoted(name)),
                None => format!("{} returns nothing", quoted(name)),
            };
            let declared = self.module.funcs[func].span;
            let diagnostic = Diagnostic::error("destination-count", dsts.span, message);
            return Err(self.report(diagnostic.with_label(declared, "declared here")));
        }
        if let Some(ty) = returns {
            (opcode.ty, opcode.src_ty) = (ty, ty);
        }
        let mut args = SmallVec::with_capacity(raw.len());
        for (raw, kind) in raw.into_iter().zip(kinds) {
            args.push(self.operand(body, raw, kind)?);
        }
        let mut data = InstData::new(opcode, [], []);
        data.args = args;
        data = data.calling(Callee { func, entry, alias: None });
        if self.eat_name("to") {
            data.opcode.op = Op::CallTo;
            data = data.to(self.targets(body)?);
        }
        Ok(data)
    }

    fn func_named(&mut self, name: &str, span: Span) -> Result<Func> {
        if let Some(&func) = self.func_names.get(name) {
            return Ok(func);
        }
        if self.unread.contains(&name) {
            // Its header has been reported.
            return Err(Reported);
        }
        let meant = nearest(name, self.headers.values().map(|header| header.name));
        let diagnostic = Diagnostic::error("unknown-function", span, format!("unknown function {}", quoted(name)));
        Err(self.report(diagnostic.with_suggestion(span, meant)))
    }

    fn entry_number(&mut self, func: Func) -> Result<u32> {
        let (name, span) = self.expect_name("the name of an entry")?;
        let entries = &self.headers[func].entries;
        if let Some(index) = entries.iter().position(|entry| *entry == name) {
            return Ok(index as u32);
        }
        let meant = nearest(name, entries.iter().copied());
        let diagnostic =
            Diagnostic::error("unknown-entry", span, format!("the function has no entry {}", quoted(name)));
        let hint = "a function's entries are declared before its first block: `entry a, b`";
        Err(self.report(diagnostic.with_hint(hint).with_suggestion(span, meant)))
    }
}

/// The opcode that other languages call so.
pub(super) fn opcode_elsewhere(root: &str) -> Option<&'static str> {
    Some(match root {
        "return" => "ret",
        "goto" | "jmp" | "bra" => "br",
        "load" => "ld",
        "store" => "st",
        "select" => "selp",
        _ => return None,
    })
}

/// The type of the value that a parameter takes.
pub(crate) fn param_value_type(param: ParamType) -> Type {
    match param {
        ParamType::Scalar(ty) => ty,
        ParamType::Pointer { .. } | ParamType::Texture | ParamType::Array(..) => Type::B64,
    }
}

/// `2`, or `2 to 3`.
fn range(least: usize, most: usize) -> String {
    if least == most { format!("{least}") } else { format!("{least} to {most}") }
}

/// Diagnostic for an opcode's spelling, with a suggestion.
pub(crate) fn spelling_diagnostic(text: &str, span: Span, error: &SpellingError<'_>) -> Diagnostic {
    // The last suffix of that spelling is the one that was complained of: earlier ones were accepted.
    let part = |word: &str| match text.match_indices('.').rfind(|(dot, _)| text[dot + 1..].starts_with(word)) {
        Some((dot, _)) => {
            let start = span.start + dot as u32 + 1;
            Span { start, end: start + word.len() as u32 }
        }
        None => span,
    };
    match error {
        SpellingError::UnknownRoot(root) => {
            let names = Op::ALL.iter().map(|op| op.name()).filter(|name| !name.contains(' '));
            let rest = &text[root.len()..];
            let meant = opcode_elsewhere(root).or_else(|| nearest(root, names)).map(|name| format!("{name}{rest}"));
            let meant = meant.filter(|spelling| Opcode::from_spelling(spelling).is_ok());
            Diagnostic::error("unknown-opcode", span, format!("unknown opcode {}", quoted(text)))
                .with_suggestion(span, meant)
        }
        SpellingError::UnknownSuffix(op, suffix) => {
            let span = part(suffix);
            let message = format!("`{}` has no suffix {}", op.name(), quoted(&format!(".{suffix}")));
            let diagnostic = Diagnostic::error("unknown-suffix", span, message);
            match nearest(suffix, op.suffixes()) {
                None if op.suffixes().next().is_none() => diagnostic.with_hint("it has none"),
                None => diagnostic.with_hint(format!("it has {}", op.suffixes().collect::<Vec<_>>().join(", "))),
                meant => diagnostic.with_suggestion(span, meant),
            }
        }
        SpellingError::MissingType(op) => {
            let types: Vec<&str> = Type::ALL.into_iter().filter(|ty| op.allows(*ty)).map(Type::name).collect();
            let message = format!("{} needs a type", quoted(text));
            let hint = format!("one of {}", types.join(", "));
            Diagnostic::error("missing-type", span, message).with_hint(hint)
        }
        SpellingError::WrongType(op, ty) => {
            let types: Vec<&str> = Type::ALL.into_iter().filter(|ty| op.allows(*ty)).map(Type::name).collect();
            let message = format!("`{}` is not defined for type {ty}", op.name());
            let diagnostic = Diagnostic::error("wrong-type", part(ty.name()), message);
            if types.is_empty() { diagnostic } else { diagnostic.with_hint(format!("it takes {}", types.join(", "))) }
        }
        SpellingError::Missing(op, what) => {
            Diagnostic::error("incomplete-opcode", span, format!("`{}` needs {what}", op.name()))
        }
        SpellingError::SuffixForType(op, suffix, ty) => {
            let message = format!("`{}` has no suffix {} for type {ty}", op.name(), quoted(&format!(".{suffix}")));
            Diagnostic::error("unknown-suffix", part(suffix), message)
        }
        SpellingError::Repeated(op, suffix) => {
            let message =
                format!("duplicate or conflicting modifier {1} on `{0}`", op.name(), quoted(&format!(".{suffix}")));
            Diagnostic::error("repeated-suffix", part(suffix), message)
        }
    }
}
