//! Functions: header, declarations, blocks, profiles.

use alloc::vec::Vec;
use core::fmt::Write as _;
use smallvec::SmallVec;

use crate::compact_sort::CompactSort;
use crate::ir::{
    Block, CommentAnchor, Func, FuncKind, Function, Profile, Reg, Type, WarpEntry, Write, ZeroNames, ZeroWrite,
};
use crate::text::inference::inferred_types;

use super::{LineOwner, Printer};

/// `reg` lines are broken where they would become longer, in characters.
const WIDEST_LINE: usize = 110;

impl Printer<'_> {
    pub(super) fn function(&mut self, id: Func, func: &Function) {
        self.commented(&func.comments, CommentAnchor::Header, LineOwner::Func(id), |printer| printer.header(func));
        self.indent = 4;
        self.declarations(id, func);
        for block in func.block_order() {
            self.indent = 0;
            self.commented(&func.comments, CommentAnchor::Block(block), LineOwner::Block(id, block), |printer| {
                printer.out.push_str(&func.blocks[block].name);
                printer.out.push(':');
            });
            self.indent = 4;
            for inst in func.block_insts(block) {
                self.commented(&func.comments, CommentAnchor::Inst(inst), LineOwner::Inst(id, inst), |printer| {
                    printer.inst(func, &func.insts[inst]);
                });
            }
        }
        let names = func.zero_names();
        for (index, profile) in func.profiles.iter().enumerate() {
            self.profile(id, func, (profile, &names), index as u32);
        }
        self.indent = 0;
        self.closing_brace(&func.comments, CommentAnchor::Close, LineOwner::End(id));
    }

    fn header(&mut self, func: &Function) {
        self.out.push_str(match func.kind {
            FuncKind::Kernel => "kernel ",
            FuncKind::Func => "func ",
        });
        self.out.push_str(&func.name);
        self.out.push('(');
        for (index, param) in func.params.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.out.push_str(&param.name);
            self.out.push_str(": ");
            let _ = write!(self.out, "{}", param.ty);
        }
        self.out.push(')');
        if let Some(ty) = func.returns {
            let _ = write!(self.out, " -> {ty}");
        }
        self.out.push_str(" {");
    }

    // --- declarations
    // --------------------------------------------------------------------------------------------------

    fn declarations(&mut self, id: Func, func: &Function) {
        let owner = LineOwner::Declaration(id);
        for (input, data) in func.inputs.iter() {
            self.commented(&func.comments, CommentAnchor::Input(input), owner, |printer| {
                let uniform = if data.uniform { " uniform" } else { "" };
                let _ = write!(printer.out, "input {}: {}{uniform}", data.name, data.ty);
            });
        }
        for (array, data) in func.arrays.iter() {
            self.commented(&func.comments, CommentAnchor::Array(array), owner, |printer| {
                let _ = write!(printer.out, "{} {}: {}[", data.space, data.name, data.ty);
                if let Some(len) = data.len {
                    let _ = write!(printer.out, "{len}");
                }
                printer.out.push(']');
            });
        }
        self.registers(id, func);
        if func.entries.is_empty() {
            self.orphaned_comments(&func.comments, CommentAnchor::Entries);
        } else {
            self.commented(&func.comments, CommentAnchor::Entries, owner, |printer| {
                printer.out.push_str("entry ");
                printer.name_list(func.entries.iter().map(|&block| func.blocks[block].name.as_str()));
            });
        }
    }

    /// `reg` lines for the registers whose type the parser would not infer.
    fn registers(&mut self, id: Func, func: &Function) {
        let inferred = inferred_types(func, |callee| self.module.funcs.get(callee).and_then(|func| func.returns));
        let mut used = cranelift_entity::EntitySet::with_capacity(func.regs.len());
        for block in func.block_order() {
            for inst in func.block_insts(block) {
                func.insts[inst].for_each_use(|reg| {
                    used.insert(reg);
                });
            }
        }
        // A profile may speak of a write that there is not.
        used.extend(func.zero_writes().filter_map(|write| match write {
            ZeroWrite::Named(name) => Some(name.reg),
            ZeroWrite::Of { .. } => None,
        }));
        let mut surprising: Vec<(Type, Reg)> = Vec::new();
        for (reg, data) in func.regs.iter() {
            // A register that nothing mentions any more is not printed, one that is only read is declared.
            let ty = func.reg_types[reg];
            let needs_line = match inferred[reg] {
                Some(inferred) => inferred != ty,
                None => used.contains(reg) || data.declared,
            };
            if needs_line {
                surprising.push((ty, reg));
            }
        }
        surprising.compact_sort();
        for ty in Type::ALL {
            let anchor = CommentAnchor::Registers(ty);
            let regs: Vec<&str> =
                surprising.iter().filter(|(of, _)| *of == ty).map(|(_, reg)| func.regs[*reg].name.as_str()).collect();
            if regs.is_empty() {
                self.orphaned_comments(&func.comments, anchor);
                continue;
            }
            self.comments_above(func.comments.at(anchor));
            let lines = broken_into_lines(&regs);
            for (index, line) in lines.iter().enumerate() {
                self.start_line();
                self.out.push_str("reg ");
                self.name_list(line.iter().copied());
                let _ = write!(self.out, ": {ty}");
                if index + 1 == lines.len()
                    && let Some(behind) = func.comments.at(anchor).and_then(|comment| comment.behind.as_ref())
                {
                    self.out.push(' ');
                    self.comment(behind);
                }
                self.end_line(LineOwner::Declaration(id));
            }
        }
    }

    // --- profiles
    // ------------------------------------------------------------------------------------------------------

    fn profile(&mut self, id: Func, func: &Function, (profile, names): (&Profile, &ZeroNames), number: u32) {
        // What is said of writes that are gone is said of nothing.
        let named: Vec<Option<SmallVec<[Write; 1]>>> = match profile {
            Profile::Zero(zeros) => zeros.iter().map(|entry| names.of_entry(func, entry)).collect(),
            _ => Vec::new(),
        };
        let (kind, count) = match profile {
            Profile::Path(paths) => ("path", paths.len()),
            Profile::Edge(edges) => ("edge", edges.len()),
            Profile::Zero(zeros) => ("zero", zeros.len()),
            Profile::Warp(entries) => ("warp", entries.len()),
        };
        let owner = LineOwner::Declaration(id);
        let anchor = |line: usize| CommentAnchor::Profile(number, line as u32);
        if !named.is_empty() && named.iter().all(Option::is_none) {
            (0..=count + 1).for_each(|line| self.orphaned_comments(&func.comments, anchor(line)));
            return;
        }
        self.indent = 4;
        self.commented(&func.comments, anchor(0), owner, |printer| {
            let _ = write!(printer.out, "profile {kind} {{");
        });
        self.indent = 8;
        let name = |block: Block| func.blocks[block].name.as_str();
        for index in 0..count {
            if let Some(None) = named.get(index) {
                self.orphaned_comments(&func.comments, anchor(index + 1));
                continue;
            }
            self.commented(&func.comments, anchor(index + 1), owner, |printer| {
                let _ = match profile {
                    Profile::Path(paths) => {
                        for &block in &paths[index].0 {
                            printer.out.push_str(name(block));
                            printer.out.push(' ');
                        }
                        printer.out.pop();
                        write!(printer.out, ": {}", paths[index].1)
                    }
                    Profile::Edge(edges) => {
                        let (from, to, count) = edges[index];
                        write!(printer.out, "{} -> {}: {count}", name(from), name(to))
                    }
                    Profile::Zero(zeros) => {
                        for (place, written) in named[index].iter().flatten().enumerate() {
                            let and = if place > 0 { " & " } else { "" };
                            let _ = write!(printer.out, "{and}{}.{}", name(written.block), func.regs[written.reg].name);
                            if written.occurrence > 0 {
                                let _ = write!(printer.out, "#{}", written.occurrence);
                            }
                        }
                        write!(printer.out, ": {:?}", zeros[index].probability)
                    }
                    Profile::Warp(entries) => match entries[index] {
                        WarpEntry::Block { block, executions, diverged: None } => {
                            write!(printer.out, "{}: {executions}", name(block))
                        }
                        WarpEntry::Block { block, executions, diverged: Some(diverged) } => {
                            write!(printer.out, "{}: {executions} diverged {diverged}", name(block))
                        }
                        WarpEntry::Edge { from, to, executions } => {
                            write!(printer.out, "{} -> {}: {executions}", name(from), name(to))
                        }
                    },
                };
            });
        }
        self.indent = 4;
        self.closing_brace(&func.comments, anchor(count + 1), owner);
    }
}

/// Names shared out to lines of a readable width.
fn broken_into_lines<'n>(names: &[&'n str]) -> Vec<Vec<&'n str>> {
    let mut lines: Vec<Vec<&str>> = Vec::new();
    let mut width = WIDEST_LINE;
    for &name in names {
        width += name.len() + 2;
        match lines.last_mut() {
            Some(line) if width < WIDEST_LINE => line.push(name),
            _ => {
                lines.push(alloc::vec![name]);
                width = 16 + name.len();
            }
        }
    }
    lines
}
