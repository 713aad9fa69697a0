//! Items: where they begin, their headers, and globals.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ir::{
    CommentAnchor, Comments, Func, FuncKind, Function, GlobalData, InitialAddress, Item, ParamType, Reference, Space,
    Span, Type,
};
use crate::text::diagnostic::{Diagnostic, quoted};
use crate::text::lexer::TokenKind;
use crate::text::limits::{MAX_ARRAY_BYTES, MAX_PARAMS};
use crate::text::suggestion::nearest;

use super::launch::DERIVED;
use super::{Header, Parser, Reported, Result, type_meant};

/// An item that the first pass has found.
struct Place {
    kind: PlaceKind,
    /// Its first token.
    first: usize,
    /// The first token of the next item, or of the end.
    end: usize,
}

enum PlaceKind {
    /// The header is read up to the token `body`; no id where it has an error.
    Func {
        func: Option<Func>,
        body: usize,
    },
    /// Read completely, comments aside, up to the token `rest`.
    Global {
        global: Option<crate::ir::Global>,
        rest: usize,
    },
    Launch,
}

impl<'a> Parser<'a> {
    /// The whole text.
    pub(super) fn module(&mut self) {
        let starts = self.item_starts();
        let end_of_text = self.tokens.len() - 1;
        let mut places = Vec::with_capacity(starts.len());
        for (index, &first) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(end_of_text);
            self.at = first;
            let kind = match self.name_at(0) {
                "launch" => PlaceKind::Launch,
                "kernel" | "func" => {
                    let name = self.name_at(1);
                    let func = self.func_header(end).ok();
                    if func.is_none() {
                        self.unread.push(name);
                    }
                    PlaceKind::Func { func, body: self.at }
                }
                _ => {
                    let name = self.name_at(1);
                    let global = self.global().ok();
                    if global.is_none() {
                        self.refused_globals.push(name);
                    }
                    PlaceKind::Global { global, rest: self.at }
                }
            };
            places.push(Place { kind, first, end });
        }
        self.at = 0;
        self.between_items(starts.first().copied().unwrap_or(end_of_text));
        for place in places {
            self.item(place);
        }
        let rest = &self.comments[self.next_comment.min(self.comments.len())..];
        self.module.trailing_comments = rest.iter().map(|comment| String::from(comment.text)).collect();
    }

    fn item(&mut self, place: Place) {
        match place.kind {
            PlaceKind::Func { func: Some(func), body } => {
                self.at = body;
                let mut comments = Comments::default();
                self.take_comments(place.first, &mut comments, CommentAnchor::Header);
                self.body(func, comments, place.end);
                self.module.items.push(Item::Func(func));
            }
            PlaceKind::Global { global: Some(global), rest } => {
                self.at = rest;
                let mut comments = Comments::default();
                self.take_comments(place.first, &mut comments, CommentAnchor::Header);
                self.module.globals[global].comments = comments;
                self.module.items.push(Item::Global(global));
            }
            PlaceKind::Launch => {
                self.at = place.first;
                let launch = self.launch(place.end);
                self.module.items.push(Item::Launch(self.module.launches.len()));
                self.module.launches.push(launch);
            }
            // Its error is reported; what it would have held cannot be understood without it.
            _ => self.at = place.end,
        }
        self.between_items(place.end);
    }

    /// Nothing may stand between two items.
    fn between_items(&mut self, end: usize) {
        self.skip_line_ends();
        if self.at < end {
            let token = self.peek();
            let words = ["kernel", "func", "global", "const", "launch"];
            let word = self.name_at(0);
            let wanted = match word {
                "kernel" | "func" => "a name and `(`",
                "launch" => "the name of a kernel and `{`",
                "global" | "const" => "a name, `:` and a type",
                _ => "",
            };
            if wanted.is_empty() {
                let found = self.describe(token);
                let meant = if self.is_name(1) { nearest(word, words) } else { None };
                let message = format!("expected `kernel`, `func`, `global`, `const` or `launch`, found {found}");
                self.report(Diagnostic::error("syntax", token.span, message).with_suggestion(token.span, meant));
            } else {
                self.error("syntax", token.span, format!("expected {wanted} after `{word}`"));
            }
        }
        self.at = end;
    }

    /// The tokens at which items begin.
    fn item_starts(&mut self) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut fresh = true;
        for at in 0..self.tokens.len() {
            self.at = at;
            match self.tokens[at].kind {
                TokenKind::LineEnd | TokenKind::Punct(b'}') => fresh = true,
                TokenKind::Name if fresh => {
                    fresh = false;
                    if self.is_item_start() {
                        starts.push(at);
                    }
                }
                _ => fresh = false,
            }
        }
        starts
    }

    /// No line of a body looks like these.
    fn is_item_start(&self) -> bool {
        let named = |punct: u8| self.is_name(1) && self.is_punct(2, punct);
        match self.name_at(0) {
            "kernel" | "func" => named(b'('),
            "launch" => named(b'{') || self.is_name(1) && self.name_at(2) == DERIVED && self.is_punct(3, b'{'),
            // In a profile `global` and the name may be blocks, but a number follows there.
            "global" | "const" => named(b':') && self.peek_at(3).kind != TokenKind::Number,
            _ => false,
        }
    }

    /// `kernel name(…) {` or `func name(…) -> type {`, and the names of the entries that the body declares.
    fn func_header(&mut self, end: usize) -> Result<Func> {
        let kind = if self.name_at(0) == "kernel" { FuncKind::Kernel } else { FuncKind::Func };
        self.advance();
        let (name, span) = self.expect_name("the function's name")?;
        let mut func = Function::new(name, kind);
        func.span = span;
        if let Some(&other) = self.func_names.get(name) {
            let first = self.module.funcs[other].span;
            let message = format!("the name {} is taken", quoted(name));
            let diagnostic = Diagnostic::error("duplicate-name", span, message);
            return Err(self.report(diagnostic.with_label(first, "first declared here")));
        }
        self.expect_punct(b'(', "`(`")?;
        let mut param_names = Vec::new();
        self.comma_list(b')', "`,` or `)`", |parser| {
            param_names.push(parser.param(&mut func)?);
            Ok(())
        })?;
        if self.peek().kind == TokenKind::Arrow {
            let arrow = self.advance().span;
            func.returns = Some(self.expect_type()?);
            if kind == FuncKind::Kernel {
                return Err(self.error(
                    "kernel-returns",
                    arrow,
                    "a kernel returns nothing; write `func`, or store the result",
                ));
            }
        }
        self.expect_punct(b'{', "`{`")?;
        let header = Header {
            name,
            params: func.params.iter().map(|param| param.ty).collect(),
            param_names,
            returns: func.returns,
            entries: self.declared_entries(end),
        };
        let id = self.module.funcs.push(func);
        self.headers.push(header);
        self.func_names.insert(name, id);
        Ok(id)
    }

    fn param(&mut self, func: &mut Function) -> Result<&'a str> {
        let (name, span) = self.expect_name("a parameter `name: type`")?;
        self.expect_punct(b':', "`:` and the parameter's type")?;
        let ty = self.param_type()?;
        if func.params.len() >= MAX_PARAMS {
            return Err(self.error("too-many", span, format!("a function has at most {MAX_PARAMS} parameters")));
        }
        if func.reg_name_is_taken(name) {
            return Err(self.error("duplicate-name", span, format!("duplicate parameter {}", quoted(name))));
        }
        func.build_param(name, ty);
        Ok(name)
    }

    fn param_type(&mut self) -> Result<ParamType> {
        let token = self.peek();
        let text = if matches!(token.kind, TokenKind::Name | TokenKind::Word) { self.text(token) } else { "" };
        if text == "tex2d" {
            self.at += 1;
            return Ok(ParamType::Texture);
        }
        if text == "ptr" || text.starts_with("ptr.") {
            self.at += 1;
            let space = match text.strip_prefix("ptr.") {
                None => None,
                Some(space) => Some(self.named_space(space, Span { start: token.span.start + 4, ..token.span })?),
            };
            return Ok(ParamType::Pointer { space, restrict: self.eat_name("restrict") });
        }
        if !text.is_empty() && Type::from_name(text).is_none() {
            let names = Type::ALL.map(Type::name).into_iter().chain(["ptr", "ptr.global", "ptr.shared", "tex2d"]);
            let meant = type_meant(text, names);
            let diagnostic = Diagnostic::error("unknown-type", token.span, format!("unknown type {}", quoted(text)));
            return Err(self.report(diagnostic.with_suggestion(token.span, meant)));
        }
        let ty = self.expect_type()?;
        if !self.is_punct(0, b'[') {
            return Ok(ParamType::Scalar(ty));
        }
        let len = self.array_len(ty, MAX_ARRAY_BYTES)?;
        if ty == Type::Pred {
            return Err(self.error("wrong-type", token.span, "memory holds no predicates; use `u8`"));
        }
        Ok(ParamType::Array(ty, len))
    }

    fn named_space(&mut self, name: &str, span: Span) -> Result<Space> {
        if let Some(space) = Space::from_name(name) {
            return Ok(space);
        }
        let meant = nearest(name, Space::ALL.map(Space::name));
        let diagnostic = Diagnostic::error("unknown-space", span, format!("unknown memory space {}", quoted(name)));
        Err(self.report(diagnostic.with_suggestion(span, meant)))
    }

    /// `[len]` of an array that has at most `most` bytes.
    pub(super) fn array_len(&mut self, ty: Type, most: u64) -> Result<u32> {
        self.expect_punct(b'[', "`[` and the number of elements")?;
        let len = self.expect_count("the number of elements", most / u64::from(ty.bytes()))?;
        self.expect_punct(b']', "`]`")?;
        Ok(len as u32)
    }

    /// The names on the `entry` lines of a body: calls elsewhere need them before the body is read.
    fn declared_entries(&mut self, end: usize) -> Vec<&'a str> {
        let body = self.at;
        let mut entries = Vec::new();
        loop {
            self.skip_line_ends();
            if self.at >= end || (self.is_name(0) && self.is_punct(1, b':')) {
                break;
            }
            if self.is_entry_declaration() {
                self.advance();
                while self.is_name(0) {
                    entries.push(self.name_at(0));
                    self.advance();
                    if !self.eat_punct(b',') {
                        break;
                    }
                }
            }
            self.skip_line();
        }
        self.at = body;
        entries
    }

    /// `entry a, b`, no colon behind the names.
    pub(super) fn is_entry_declaration(&self) -> bool {
        self.name_at(0) == "entry" && self.is_name(1)
    }

    /// `global name: type[len]` or `const …`, perhaps with `= { … }`.
    fn global(&mut self) -> Result<crate::ir::Global> {
        let space = if self.name_at(0) == "const" { Space::Const } else { Space::Global };
        self.advance();
        let (name, span) = self.expect_name("the array's name")?;
        self.expect_punct(b':', "`:` and the element type")?;
        let reference = Reference::from_name(self.name_at(0));
        let (ty, len) = match reference {
            Some(_) => {
                self.advance();
                (Type::U64, 1)
            }
            None => {
                let ty = self.expect_element_type()?;
                (ty, self.array_len(ty, MAX_ARRAY_BYTES)?)
            }
        };
        let mut addresses = Vec::new();
        let init = if self.eat_punct(b'=') { Some(self.initializer(ty, len, &mut addresses)?) } else { None };
        match self.expect_statement_end() {
            Ok(()) => {}
            Err(Reported) => self.skip_line(),
        }
        if let Some(&other) = self.global_names.get(name) {
            let first = self.module.globals[other].span;
            let diagnostic = Diagnostic::error("duplicate-name", span, format!("the name {} is taken", quoted(name)));
            return Err(self.report(diagnostic.with_label(first, "first declared here")));
        }
        let data = GlobalData {
            name: name.into(),
            space,
            ty,
            len,
            init,
            addresses,
            reference,
            comments: Comments::default(),
            declaration: None,
            span,
        };
        let global = self.module.globals.push(data);
        self.global_names.insert(name, global);
        Ok(global)
    }

    fn initializer(&mut self, ty: Type, len: u32, addresses: &mut Vec<InitialAddress>) -> Result<Vec<u64>> {
        self.expect_punct(b'{', "`{` and the first elements")?;
        let mut bits = Vec::new();
        self.comma_list(b'}', "`,` or `}`", |parser| {
            if parser.is_name(0) && !parser.is_number(0) && bits.len() < len as usize {
                addresses.push(parser.initial_address(ty, bits.len() as u32)?);
                bits.push(0);
                return Ok(());
            }
            let (literal, negative, span) = parser.expect_literal()?;
            if bits.len() >= len as usize {
                return Err(parser.error("too-many", span, format!("the array has {len} elements only")));
            }
            match literal.bits(negative, ty) {
                Ok(value) => bits.push(value),
                Err(why) => return Err(parser.error("constant-range", span, why)),
            }
            Ok(())
        })?;
        Ok(bits)
    }

    /// `table`, `table + 4`: the address of an array that stands above, and bytes.
    fn initial_address(&mut self, ty: Type, element: u32) -> Result<InitialAddress> {
        let (name, span) = self.expect_name("an array")?;
        let Some(&global) = self.global_names.get(name) else {
            let meant = nearest(name, self.global_names.keys().copied());
            let message = format!("no array {} is declared above", quoted(name));
            let diagnostic = Diagnostic::error("unknown-name", span, message);
            return Err(self.report(diagnostic.with_suggestion(span, meant)));
        };
        if ty.bits() != 64 || ty.is_float() {
            let message = format!("an address has 64 bits, and the elements are of type {ty}");
            return Err(self.error("type-mismatch", span, message));
        }
        let negative = self.is_punct(0, b'-');
        let mut offset = 0;
        if negative || self.is_punct(0, b'+') {
            self.advance();
            let (literal, minus, span) = self.expect_literal()?;
            match literal.bits(minus != negative, Type::S64) {
                Ok(bits) => offset = bits as i64,
                Err(why) => return Err(self.error("constant-range", span, why)),
            }
        }
        Ok(InitialAddress { element, global, offset })
    }
}
