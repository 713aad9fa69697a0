//! Blocks, targets, entries, names and profiles.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use crate::graph::{Cfg, Edge, Loops, PathNumbering, PathStep};
use crate::ir::{
    Block, FuncKind, Function, Inst, Op, ParamData, ParamType, Profile, Span, WarpCounts, WarpEntry, Write, ZeroWrite,
};
use crate::text::{Diagnostic, Part, quoted};

use super::{Verifier, repeated};

impl Verifier<'_> {
    pub(super) fn structure(&mut self, func: &Function) {
        if func.layout.first_block().is_none() {
            let message = format!("{} has no block", quoted(&func.name));
            let diagnostic = Diagnostic::error("no-block", func.span, message);
            self.diagnostics.push(diagnostic.with_hint("the smallest body is `entry:` and `ret`"));
        }
        self.params(func);
        self.local_names(func);
        for block in func.block_order() {
            self.block(func, block);
        }
        self.entries(func);
        self.profiles(func);
    }

    /// Arrays by value stand in the param space, which kernels alone have.
    fn params(&mut self, func: &Function) {
        let is_array = |param: &&ParamData| matches!(param.ty, ParamType::Array(..));
        if let Some(array) = func.params.iter().find(is_array).filter(|_| func.kind == FuncKind::Func) {
            let message = format!("{} is an array by value, which only a kernel can take", quoted(&array.name));
            let diagnostic = Diagnostic::error("wrong-type", func.span, message);
            self.diagnostics.push(diagnostic.with_hint("take a `ptr.local` to an array of the caller's"));
        }
    }

    fn local_names(&mut self, func: &Function) {
        let arrays_by_value = func.params.iter().filter(|param| param.reg.is_none()).map(|param| param.name.as_str());
        let values = func
            .regs
            .values()
            .map(|reg| reg.name.as_str())
            .chain(func.inputs.values().map(|input| input.name.as_str()))
            .chain(func.arrays.values().map(|array| array.name.as_str()))
            .chain(arrays_by_value);
        let blocks = func.blocks.values().map(|block| block.name.as_str());
        let twice: Vec<_> = repeated(values.map(|name| (name, func.span)))
            .into_iter()
            .chain(repeated(blocks.map(|name| (name, func.span))))
            .collect();
        for (name, ..) in twice {
            let message = format!("the name {} is used twice in {}", quoted(name), quoted(&func.name));
            self.diagnostics.push(Diagnostic::error("duplicate-name", func.span, message));
        }
    }

    fn block(&mut self, func: &Function, block: Block) {
        let name = quoted(&func.blocks[block].name);
        let Some(last) = func.layout.last_inst(block) else {
            let message = format!("block {name} is empty; it needs a terminator such as `br next` or `ret`");
            self.diagnostics.push(Diagnostic::error("missing-terminator", func.block_spans[block], message));
            return;
        };
        let terminator = func.block_insts(block).find(|&inst| func.insts[inst].is_terminator());
        match terminator {
            None => {
                let message = format!("block {name} does not end with a terminator such as `br next` or `ret`");
                let diagnostic = self.error(func, last, Part::Whole, "missing-terminator", message);
                self.diagnostics.push(diagnostic.with_label(func.block_spans[block], "the block begins here"));
            }
            Some(terminator) if terminator != last => {
                let after = func.layout.next_inst(terminator).unwrap_or(last);
                let message = format!("block {name} has ended; a new block needs a label");
                let diagnostic = self.error(func, after, Part::Whole, "after-terminator", message);
                self.diagnostics.push(diagnostic.with_label(func.inst_spans[terminator], "it ended here"));
            }
            Some(terminator) => self.targets(func, terminator),
        }
    }

    fn targets(&mut self, func: &Function, inst: Inst) {
        let data = &func.insts[inst];
        for (index, &target) in data.targets().iter().enumerate() {
            if !func.blocks.is_valid(target) || !func.layout.has_block(target) {
                let name = func.blocks.get(target).map_or("?", |block| block.name.as_str());
                let message = format!("the target {} is not in the function", quoted(name));
                self.report(func, inst, Part::Target(index), "unknown-block", message);
            }
        }
        let wanted = match data.opcode.op {
            Op::Br => data.targets().len() == 1,
            Op::BrIf => data.targets().len() == 2,
            // How many a call needs is for the callee to say.
            Op::Switch | Op::CallTo => !data.targets().is_empty(),
            _ => data.targets().is_empty(),
        };
        if !wanted {
            let message = format!("`{}` cannot have {} targets", data.opcode, data.targets().len());
            self.report(func, inst, Part::Whole, "target-count", message);
        }
    }

    fn entries(&mut self, func: &Function) {
        if func.kind == FuncKind::Kernel && !func.entries.is_empty() {
            let diagnostic = Diagnostic::error("kernel-entries", func.span, "a kernel has one entry, its first block");
            self.diagnostics.push(diagnostic.with_hint("remove the `entry` line"));
        }
        let mut seen = BTreeSet::new();
        for &entry in &func.entries {
            let name = func.blocks.get(entry).map_or("?", |block| block.name.as_str());
            if !func.blocks.is_valid(entry) || !func.layout.has_block(entry) {
                let message = format!("the entry {} is not in the function", quoted(name));
                self.diagnostics.push(Diagnostic::error("unknown-block", func.span, message));
            } else if !seen.insert(entry) {
                let message = format!("the entry {} is named twice", quoted(name));
                self.diagnostics.push(Diagnostic::error("duplicate-name", func.block_spans[entry], message));
            }
        }
    }

    // --- profiles
    // ------------------------------------------------------------------------------------------------------

    fn profiles(&mut self, func: &Function) {
        let mut edges = BTreeSet::new();
        if !func.profiles.is_empty() {
            let targets = |block| func.successors(block).iter().map(move |&target| (block, target));
            edges = func.block_order().flat_map(targets).collect();
        }
        for profile in &func.profiles {
            match profile {
                Profile::Path(paths) => {
                    let steps = paths.iter().flat_map(|(path, _)| path.windows(2).map(|step| (step[0], step[1])));
                    self.counted_edges(func, &edges, steps);
                    self.paths(func, paths);
                }
                Profile::Edge(counts) => {
                    self.counted_edges(func, &edges, counts.iter().map(|&(from, to, _)| (from, to)));
                }
                // Those of writes that were found speak of nothing else.
                Profile::Zero(_) => {}
                Profile::Warp(entries) => {
                    let counted = entries.iter().filter_map(|entry| match *entry {
                        WarpEntry::Edge { from, to, .. } => Some((from, to)),
                        WarpEntry::Block { .. } => None,
                    });
                    self.counted_edges(func, &edges, counted);
                }
            }
        }
        for write in func.zero_writes() {
            if let ZeroWrite::Named(Write { block, reg, occurrence }) = write {
                let (in_block, of) = (quoted(&func.blocks[block].name), quoted(&func.regs[reg].name));
                self.profile_warning(func, block, format!("block {in_block} has no write #{occurrence} of {of}"));
            }
        }
        self.warp_counts(func, &WarpCounts::of(func));
    }

    /// A warp that executes a block leaves it over at least one edge, and over each at most once.
    fn warp_counts(&mut self, func: &Function, counts: &WarpCounts) {
        for block in counts.blocks() {
            let name = |block: Block| quoted(&func.blocks[block].name);
            let executions = counts.executions(block).unwrap_or(0);
            let most = counts.edges_of(block).max_by_key(|&(_, count)| count).filter(|&(_, count)| count > executions);
            let told = counts.told(block).unwrap_or(0);
            let branches = func.terminator(block).is_some_and(|inst| func.insts[inst].opcode.op != Op::CallTo);
            let message = if let Some((target, count)) = most {
                let (from, to) = (name(block), name(target));
                format!("a profile counts {count} warps from {from} to {to}, and {executions} executions of {from}")
            } else if told > executions {
                format!("a profile says that warps diverged {told} times in {executions} executions of {}", name(block))
            } else if let Some((least, largest)) = counts.partings(block).filter(|_| branches) {
                let sides = counts.edges_of(block).fold(0u64, |sum, (_, count)| sum.saturating_add(count));
                if sides < executions {
                    let name = name(block);
                    format!("a profile counts {executions} executions of {name}, of which only {sides} take an edge")
                } else if counts.told(block).is_some_and(|told| !(least..=largest).contains(&told)) {
                    let name = name(block);
                    format!(
                        "a profile says that warps diverged {told} times at {name}; by its edges, {least} to {largest}"
                    )
                } else {
                    continue;
                }
            } else {
                continue;
            };
            let hint = "a warp that executes a block takes each of its edges at most once, and one of them at least";
            let span = self.place_of_profile(func, block);
            self.diagnostics.push(Diagnostic::warning("profile", span, message).with_hint(hint));
        }
    }

    /// Paths are acyclic: they begin and end where Ball and Larus cut them, and nowhere between. Which edges of an
    /// irreducible loop lead back depends on the order of a search, so its paths may be cut at any.
    fn paths(&mut self, func: &Function, paths: &[(Vec<Block>, u64)]) {
        let cfg = Cfg::compute(func);
        let numbering = PathNumbering::compute(&cfg);
        let loops = Loops::compute(&cfg);
        let is_unordered = |edge: &Edge| {
            let (source, target) = (cfg.source(*edge), cfg.target(*edge));
            let mut around = core::iter::successors(loops.innermost(source), |inner| loops[*inner].parent);
            around.any(|around| loops[around].is_irreducible() && loops.contains(around, target))
        };
        let restarts = |edge: &Edge| matches!(numbering.step(*edge), PathStep::Restart(_));
        let cuts = |edge: &Edge| restarts(edge) || is_unordered(edge);
        let name = |block: Block| quoted(&func.blocks[block].name);
        for (path, _) in paths {
            let (Some(&first), Some(&last)) = (path.first(), path.last()) else { continue };
            if !path.iter().all(|&block| cfg.is_reachable(block)) {
                continue;
            }
            if !cfg.is_entry(first) && !cfg.in_edges(first).iter().any(cuts) {
                let message = format!("a path begins at the entry or at a loop's header; {} is neither", name(first));
                self.profile_warning(func, first, message);
            }
            if !cfg.successors(last).is_empty() && !cfg.out_edges(last).any(|edge| cuts(&edge)) {
                let message = format!(
                    "a path ends at a `ret` or `exit`, or where an edge leads back to a loop's header; {} is neither",
                    name(last)
                );
                self.profile_warning(func, last, message);
            }
            for step in path.windows(2) {
                let goes_back = |edge: Edge| cfg.target(edge) == step[1] && restarts(&edge) && !is_unordered(&edge);
                if cfg.out_edges(step[0]).any(goes_back) {
                    let (source, target) = (name(step[0]), name(step[1]));
                    let message =
                        format!("a path ends at {source} and another one begins at {target}, a loop's header");
                    self.profile_warning(func, step[0], message);
                }
            }
        }
    }

    fn counted_edges(
        &mut self,
        func: &Function,
        edges: &BTreeSet<(Block, Block)>,
        counted: impl Iterator<Item = (Block, Block)>,
    ) {
        for (from, to) in counted {
            if !edges.contains(&(from, to)) {
                let (source, target) = (&func.blocks[from].name, &func.blocks[to].name);
                let message = format!("a profile counts {source} -> {target}, which is not an edge");
                self.profile_warning(func, from, message);
            }
        }
    }

    fn profile_warning(&mut self, func: &Function, block: Block, message: alloc::string::String) {
        let span = self.place_of_profile(func, block);
        self.diagnostics.push(Diagnostic::warning("profile", span, message));
    }

    /// Place of a warning about a block's profile.
    fn place_of_profile(&self, func: &Function, block: Block) -> Span {
        let span = func.block_spans[block];
        if span == Span::default() { func.span } else { span }
    }
}
