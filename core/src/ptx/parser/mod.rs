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

mod cursor;
mod operands;
mod recovery;
mod variables;

use super::lexer::{Kind, Token, tokens};
use super::syntax::*;
use crate::ir::{FileHeader, Span};
use crate::text::{Diagnostic, Diagnostics, report_invisible};
use alloc::string::String;
use alloc::vec::Vec;

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
