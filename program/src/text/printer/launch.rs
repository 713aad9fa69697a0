//! Launches.

use core::fmt::Write;

use crate::ir::{CommentAnchor, Fill, FillKey, Launch, Number, PointerStep, ValueSource, Values};
use crate::text::number::write_number;
use crate::text::parser::{DERIVED, SETTINGS};

use super::{LineOwner, Printer};

impl Printer<'_> {
    pub(super) fn launch(&mut self, index: usize, launch: &Launch) {
        let owner = LineOwner::Launch(index);
        self.commented(&launch.comments, CommentAnchor::Header, owner, |printer| {
            let _ = write!(printer.out, "launch {} ", launch.kernel);
            if launch.is_derived {
                let _ = write!(printer.out, "{DERIVED} ");
            }
            printer.out.push('{');
        });
        self.indent = 4;
        for (line, setting) in SETTINGS.into_iter().enumerate() {
            let anchor = CommentAnchor::Line(line as u32);
            let number = match setting {
                "warp" => launch.warp.map(u64::from),
                "shared" => launch.shared.map(u64::from),
                "seed" => launch.seed,
                _ => {
                    let dims = if setting == "grid" { launch.grid } else { launch.block };
                    self.commented(&launch.comments, anchor, owner, |printer| printer.dimensions(setting, dims));
                    continue;
                }
            };
            match number {
                Some(number) => self.commented(&launch.comments, anchor, owner, |printer| {
                    let _ = write!(printer.out, "{setting} {number}");
                }),
                None => self.orphaned_comments(&launch.comments, anchor),
            }
        }
        for (line, binding) in launch.bindings.iter().enumerate() {
            let anchor = CommentAnchor::Line((SETTINGS.len() + line) as u32);
            self.commented(&launch.comments, anchor, owner, |printer| {
                let _ = match &binding.key {
                    FillKey::Name(name) => write!(printer.out, "{name}"),
                    FillKey::Index(index) => write!(printer.out, "#{index}"),
                };
                for step in &binding.path {
                    let _ = match step {
                        PointerStep::At(byte) => write!(printer.out, "[{byte}]"),
                        PointerStep::Each => write!(printer.out, "[*]"),
                    };
                }
                printer.out.push_str(" = ");
                printer.fill(&binding.fill);
                if binding.is_derived && !launch.is_derived {
                    let _ = write!(printer.out, " {DERIVED}");
                }
            });
        }
        self.indent = 0;
        self.closing_brace(&launch.comments, CommentAnchor::Close, owner);
    }

    fn dimensions(&mut self, setting: &str, dims: [u32; 3]) {
        let _ = match dims {
            [x, 1, 1] => write!(self.out, "{setting} {x}"),
            [x, y, 1] => write!(self.out, "{setting} {x}, {y}"),
            [x, y, z] => write!(self.out, "{setting} {x}, {y}, {z}"),
        };
    }

    fn fill(&mut self, fill: &Fill) {
        match fill {
            Fill::Number(number) => write_number(&mut self.out, *number),
            Fill::Numbers(numbers) => self.number_list(numbers),
            Fill::Buffer { ty, len, values } => {
                let _ = write!(self.out, "buffer {ty}[{len}] ");
                self.values(values);
            }
            Fill::Texture { width, height, values } => {
                let _ = write!(self.out, "texture f32[{width}, {height}] ");
                self.values(values);
            }
            Fill::Draws(values) => {
                self.out.push_str("draws ");
                self.values(values);
            }
        }
    }

    fn values(&mut self, values: &Values) {
        match &values.source {
            ValueSource::Iota => self.out.push_str("iota"),
            ValueSource::Const(number) => {
                self.out.push_str("const ");
                write_number(&mut self.out, *number);
            }
            ValueSource::Random(low, high) => {
                self.out.push_str("random(");
                write_number(&mut self.out, *low);
                self.out.push_str(", ");
                write_number(&mut self.out, *high);
                self.out.push(')');
            }
            ValueSource::True(probability) => {
                let _ = write!(self.out, "true {probability:?}");
            }
            ValueSource::List(numbers) => self.number_list(numbers),
        }
        for (word, probability) in [("zero", values.zero), ("coherence", values.coherence)] {
            if let Some(probability) = probability {
                let _ = write!(self.out, " {word} {probability:?}");
            }
        }
    }

    fn number_list(&mut self, numbers: &[Number]) {
        self.out.push('{');
        for (index, &number) in numbers.iter().enumerate() {
            self.out.push_str(if index == 0 { " " } else { ", " });
            write_number(&mut self.out, number);
        }
        self.out.push_str(if numbers.is_empty() { "}" } else { " }" });
    }
}
