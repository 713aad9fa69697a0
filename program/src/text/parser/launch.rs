//! Launches: how the playground runs a kernel.

use alloc::format;
use alloc::vec::Vec;

use crate::ir::{
    Binding, CommentAnchor, Comments, Fill, FillKey, Launch, Number, PointerStep, Span, ValueSource, Values,
};
use crate::text::diagnostic::{Diagnostic, quoted};
use crate::text::lexer::TokenKind;
use crate::text::limits::{MAX_ARRAY_BYTES, MAX_BLOCK_THREADS, MAX_GRID_X, MAX_GRID_YZ, MAX_SHARED_BYTES};
use crate::text::suggestion::nearest;

use super::{Parser, Result};

/// The settings of a launch, in the order in which they are printed: their numbers are their comments' lines.
pub(crate) const SETTINGS: [&str; 5] = ["grid", "block", "warp", "shared", "seed"];

/// The word that marks a launch or a line of one that was derived from the kernel.
pub(crate) const DERIVED: &str = "derived";

const FILLS: [&str; 3] = ["buffer", "texture", "draws"];
const SOURCES: [&str; 4] = ["iota", "const", "random", "true"];

impl<'a> Parser<'a> {
    /// `launch name { … }` or `launch name derived { … }`; `end` is where the next item begins.
    pub(super) fn launch(&mut self, end: usize) -> Launch {
        let first = self.at;
        self.advance();
        let name = self.advance();
        let mut launch = Launch::new(self.text(name));
        launch.span = name.span;
        launch.is_derived = self.eat_name(DERIVED);
        self.advance();
        let mut comments = Comments::default();
        self.take_comments(first, &mut comments, CommentAnchor::Header);
        let mut given = [None; SETTINGS.len()];
        loop {
            self.skip_line_ends();
            let first = self.at;
            if self.at >= end {
                let diagnostic = Diagnostic::error("syntax", self.peek().span, "expected `}` at the end of the launch");
                self.report(diagnostic.with_label(name.span, "which begins here"));
                break;
            }
            if self.eat_punct(b'}') {
                self.take_comments(first, &mut comments, CommentAnchor::Close);
                break;
            }
            match self.launch_line(&mut launch, &mut given) {
                Ok(line) => self.take_comments(first, &mut comments, CommentAnchor::Line(line)),
                Err(_) => self.skip_statement(first),
            }
        }
        launch.comments = comments;
        launch
    }

    /// One setting or binding; returns the number of its line in canonical order.
    fn launch_line(&mut self, launch: &mut Launch, given: &mut [Option<Span>; SETTINGS.len()]) -> Result<u32> {
        let binds = self.is_punct(0, b'#') || self.is_name(0) && (self.is_punct(1, b'=') || self.is_punct(1, b'['));
        let line = if binds {
            let mut binding = self.binding()?;
            binding.is_derived = !self.begins_launch_line() && self.eat_name(DERIVED) || launch.is_derived;
            launch.bindings.push(binding);
            SETTINGS.len() + launch.bindings.len() - 1
        } else {
            let (word, span) = self.expect_name("a setting or `parameter = value`")?;
            let Some(setting) = SETTINGS.iter().position(|&setting| setting == word) else {
                let message =
                    format!("unknown setting {}; a parameter's value is written `name = value`", quoted(word));
                let diagnostic = Diagnostic::error("unknown-setting", span, message);
                return Err(self.report(diagnostic.with_suggestion(span, nearest(word, SETTINGS))));
            };
            if let Some(first) = given[setting].replace(span) {
                let diagnostic = Diagnostic::error("duplicate-setting", span, format!("`{word}` is given twice"));
                self.report(diagnostic.with_label(first, "first given here"));
            }
            match word {
                "grid" => {
                    launch.grid = self.dimensions("blocks of the grid", [MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ])?
                }
                "block" => {
                    launch.block = self.dimensions("threads of a block", [MAX_BLOCK_THREADS, MAX_BLOCK_THREADS, 64])?;
                    let threads: u64 = launch.block.iter().map(|&count| u64::from(count)).product();
                    if threads > MAX_BLOCK_THREADS {
                        let message = format!("a block has at most {MAX_BLOCK_THREADS} threads, not {threads}");
                        return Err(self.error("out-of-range", span, message));
                    }
                }
                "warp" => {
                    let number = self.peek().span;
                    let lanes = self.expect_count("the number of lanes", 32)?;
                    if !matches!(lanes, 8 | 16 | 32) {
                        return Err(self.error("out-of-range", number, "a warp has 32 lanes, or 8 or 16 for teaching"));
                    }
                    launch.warp = Some(lanes as u32);
                }
                "shared" => launch.shared = Some(self.expect_count("the number of bytes", MAX_SHARED_BYTES)? as u32),
                _ => launch.seed = Some(self.expect_count("the seed", u64::MAX)?),
            }
            setting
        };
        if !self.begins_launch_line() {
            self.expect_statement_end()?;
        }
        Ok(line as u32)
    }

    /// Does a setting or `parameter = value` stand here? Several may share a line.
    fn begins_launch_line(&self) -> bool {
        let binds = || self.is_punct(1, b'=') || self.is_punct(1, b'[');
        self.is_punct(0, b'#') || (self.is_name(0) && (binds() || SETTINGS.contains(&self.name_at(0))))
    }

    fn dimensions(&mut self, what: &str, most: [u64; 3]) -> Result<[u32; 3]> {
        let mut dims = [1; 3];
        for axis in 0..3 {
            let span = self.peek().span;
            let count = self.expect_count(&format!("the number of {what}"), most[axis])?;
            if count == 0 {
                return Err(self.error("out-of-range", span, format!("the number of {what} is at least 1")));
            }
            dims[axis] = count as u32;
            if axis == 2 || !self.eat_punct(b',') {
                break;
            }
        }
        Ok(dims)
    }

    fn binding(&mut self) -> Result<Binding> {
        let first = self.at;
        let key = if self.eat_punct(b'#') {
            FillKey::Index(self.expect_count("a parameter's number", u64::from(u32::MAX))? as u32)
        } else {
            FillKey::Name(self.expect_name("a parameter's name")?.0.into())
        };
        let mut path = Vec::new();
        while self.eat_punct(b'[') {
            path.push(if self.eat_punct(b'*') {
                PointerStep::Each
            } else {
                PointerStep::At(self.expect_count("the byte of a pointer", u64::from(u32::MAX))? as u32)
            });
            self.expect_punct(b']', "`]`")?;
        }
        let span = self.span_from(first);
        self.expect_punct(b'=', "`=`")?;
        Ok(Binding { key, path, fill: self.fill()?, is_derived: false, span })
    }

    fn fill(&mut self) -> Result<Fill> {
        if self.eat_punct(b'{') {
            return self.number_list().map(Fill::Numbers);
        }
        if self.is_number(0) {
            return self.expect_number().map(Fill::Number);
        }
        let token = self.peek();
        match self.name_at(0) {
            "buffer" => {
                self.advance();
                let ty = self.expect_element_type()?;
                let len = self.array_len(ty, MAX_ARRAY_BYTES)?;
                let values = self.values()?;
                if let ValueSource::List(list) = &values.source
                    && list.len() > len as usize
                {
                    let message = format!("{} values do not fit a buffer of {len} elements", list.len());
                    return Err(self.error("too-many", token.span, message));
                }
                Ok(Fill::Buffer { ty, len, values })
            }
            "texture" => {
                self.advance();
                if !self.eat_name("f32") {
                    return Err(self.expected("`f32`, the element type of every texture"));
                }
                self.expect_punct(b'[', "`[` and the width")?;
                let width = self.expect_count("the width in texels", 1 << 16)? as u32;
                self.expect_punct(b',', "`,` and the height")?;
                let height = self.expect_count("the height in texels", 1 << 16)? as u32;
                self.expect_punct(b']', "`]`")?;
                if u64::from(width) * u64::from(height) * 16 > MAX_ARRAY_BYTES {
                    let message = format!("a texture has at most {MAX_ARRAY_BYTES} bytes, 16 a texel");
                    return Err(self.error("out-of-range", token.span, message));
                }
                Ok(Fill::Texture { width, height, values: self.values()? })
            }
            "draws" => {
                self.advance();
                Ok(Fill::Draws(self.values()?))
            }
            word => {
                let found = self.describe(token);
                let meant = nearest(word, FILLS);
                let message = format!("expected a number, `{{`, `buffer`, `texture` or `draws`, found {found}");
                Err(self.report(Diagnostic::error("syntax", token.span, message).with_suggestion(token.span, meant)))
            }
        }
    }

    fn values(&mut self) -> Result<Values> {
        let source = self.value_source()?;
        let mut values = Values { source, zero: None, coherence: None };
        while self.peek().kind == TokenKind::Name && !self.begins_launch_line() && self.name_at(0) != DERIVED {
            let (word, span) = self.expect_name("`zero` or `coherence`")?;
            let place = match word {
                "zero" => &mut values.zero,
                "coherence" => &mut values.coherence,
                _ => {
                    let message =
                        format!("expected `zero`, `coherence` or the end of the line, found {}", quoted(word));
                    let diagnostic = Diagnostic::error("syntax", span, message);
                    return Err(self.report(diagnostic.with_suggestion(span, nearest(word, ["zero", "coherence"]))));
                }
            };
            if place.is_some() {
                return Err(self.error("duplicate-setting", span, format!("`{word}` is given twice")));
            }
            *place = Some(self.expect_probability()?);
        }
        Ok(values)
    }

    fn value_source(&mut self) -> Result<ValueSource> {
        if self.eat_punct(b'{') {
            return self.number_list().map(ValueSource::List);
        }
        let token = self.peek();
        let word = self.name_at(0);
        if SOURCES.contains(&word) {
            self.advance();
        }
        match word {
            "iota" => Ok(ValueSource::Iota),
            "const" => Ok(ValueSource::Const(self.expect_number()?)),
            "true" => Ok(ValueSource::True(self.expect_probability()?)),
            "random" => {
                self.expect_punct(b'(', "`(` and the smallest value")?;
                let low = self.expect_number()?;
                self.expect_punct(b',', "`,` and the largest value")?;
                let high = self.expect_number()?;
                self.expect_punct(b')', "`)`")?;
                if low.to_f64() > high.to_f64() || low.to_f64().is_nan() || high.to_f64().is_nan() {
                    return Err(self.error("out-of-range", token.span, "`random(a, b)` needs a ≤ b"));
                }
                Ok(ValueSource::Random(low, high))
            }
            _ => {
                let found = self.describe(token);
                let message = format!(
                    "expected values: `iota`, `const 1`, `random(0, 1)`, `true 0.5` or `{{ … }}`, found {found}"
                );
                let diagnostic = Diagnostic::error("syntax", token.span, message);
                Err(self.report(diagnostic.with_suggestion(token.span, nearest(word, SOURCES))))
            }
        }
    }

    /// The numbers of a brace list, behind its opening brace.
    fn number_list(&mut self) -> Result<Vec<Number>> {
        let mut numbers = Vec::new();
        self.comma_list(b'}', "`,` or `}`", |parser| {
            numbers.push(parser.expect_number()?);
            Ok(())
        })?;
        Ok(numbers)
    }
}
