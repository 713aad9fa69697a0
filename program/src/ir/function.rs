//! Functions and kernels: registers, blocks, declarations, profiles, and the names that are their identity.

use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

use super::comments::{CommentAnchor, Comments};
use super::declaration::Declaration;
use super::entities::{Array, Block, Input, Inst, Reg};
use super::few::Few;
use super::inst::InstData;
use super::layout::{Insts, Layout};
use super::names::NameSpace;
use super::opcode::Op;
use super::types::{Space, Type};
use super::warp_counts::WarpEntry;
use super::zeros::ZeroEntry;

/// A piece of source text, in bytes, `start..end`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Kernel or function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FuncKind {
    /// Launched; returns nothing.
    Kernel,
    /// Called.
    Func,
}

/// Type of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamType {
    /// A number.
    Scalar(Type),
    /// An array by value, in the `param` space: element type and count. It has no register.
    Array(Type, u32),
    /// A 64-bit address. `restrict` promises that no other pointer reaches its memory.
    Pointer {
        /// The memory it points into; none is generic.
        space: Option<Space>,
        /// No other pointer reaches its memory.
        restrict: bool,
    },
    /// A 2-D texture handle.
    Texture,
}

impl fmt::Display for ParamType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ParamType::Scalar(ty) => write!(out, "{ty}"),
            ParamType::Array(ty, len) => write!(out, "{ty}[{len}]"),
            ParamType::Texture => out.write_str("tex2d"),
            ParamType::Pointer { space, restrict } => {
                out.write_str("ptr")?;
                if let Some(space) = space {
                    write!(out, ".{space}")?;
                }
                out.write_str(if restrict { " restrict" } else { "" })
            }
        }
    }
}

/// A parameter's way into a PTX function. In PTX the parameter space holds copies of aggregates; here both
/// sides have a pointer to a local array.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Passing {
    /// As a value of its type.
    #[default]
    Value,
    /// As a copy of the bytes that the parameter points at.
    Aggregate(Extent),
    /// As the result of the function, which writes the bytes that the parameter points at.
    AggregateResult(Extent),
    /// Not at all: the address of a shared variable of the whole file.
    FileShared,
}

/// Size and alignment of an aggregate, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Size in bytes.
    pub bytes: u32,
    /// A power of two.
    pub align: u32,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamData {
    /// Its name; the register's too, where it has one.
    pub name: String,
    /// Type of the parameter.
    pub ty: ParamType,
    /// The register that holds it on entry. None for an array by value.
    pub reg: Option<Reg>,
    /// Its way into a PTX function.
    pub passing: Passing,
    /// How PTX declares it, if it was read from PTX.
    pub declaration: Option<Box<Declaration>>,
}

/// A register; its type is in [`Function::reg_types`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegData {
    /// Its name, unique among the function's registers, inputs and arrays for ever.
    pub name: String,
    /// Did the text declare it with a `reg` line? The printer writes one whenever the type cannot be inferred.
    pub declared: bool,
}

/// A block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockData {
    /// Its name, unique among the function's blocks for ever.
    pub name: String,
    /// The block whose copy it is: copies of copies are numbered after the first original.
    pub copy_of: PackedOption<Block>,
}

/// A `shared` or `local` array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayData {
    /// Its name.
    pub name: String,
    /// `Space::Shared` or `Space::Local`.
    pub space: Space,
    /// The element type.
    pub ty: Type,
    /// Elements; none means that the launch's `shared` bytes say how many (PTX's extern shared array).
    pub len: Option<u32>,
    /// PTX declares it outside of the kernel, for the whole file.
    pub is_of_file: bool,
    /// How PTX declares it, if it was read from PTX.
    pub declaration: Option<Box<Declaration>>,
}

/// An `input`: a source of outside values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputData {
    /// Its name.
    pub name: String,
    /// The type drawn.
    pub ty: Type,
    /// One value for all threads of the launch at each draw.
    pub uniform: bool,
}

/// A profile that the text declares. Counts are executions; the unit of paths and edges (lanes or
/// warps) is the writer's.
#[derive(Clone, PartialEq, Debug)]
pub enum Profile {
    /// Acyclic paths, block by block, and how often each ran.
    Path(Vec<(Vec<Block>, u64)>),
    /// Edges and how often each ran.
    Edge(Vec<(Block, Block, u64)>),
    /// Zero probabilities. There may be one for each instruction, and a journal has those of before
    /// and after each rewrite that changes any: where they are the same they are shared.
    Zero(Rc<Vec<ZeroEntry>>),
    /// How warps execute blocks and take edges.
    Warp(Vec<WarpEntry>),
}

/// A kernel or function.
///
/// Everything is readable; whoever changes a function that has been built goes through `edit` of core, which keeps
/// the inverse of what it does. The `build_…` methods are for parsers and importers.
pub struct Function {
    /// Its name, unique in the module.
    pub name: String,
    /// Kernel or function.
    pub kind: FuncKind,
    /// Parameters in order.
    pub params: Vec<ParamData>,
    /// The type returned, if any.
    pub returns: Option<Type>,
    /// PTX's declaration of the value returned, if the function was read from PTX.
    pub result_declaration: Option<Box<Declaration>>,
    /// Registers, parameters' included.
    pub regs: PrimaryMap<Reg, RegData>,
    /// Their types; of pointers and textures `b64`. They stand by themselves, since passes ask for
    /// many of them, and in a large function names would keep them far from each other in memory.
    pub reg_types: PrimaryMap<Reg, Type>,
    /// All blocks that ever were; [`Function::layout`] says which stand in the text.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// All instructions that ever were.
    pub insts: PrimaryMap<Inst, InstData>,
    /// Order of the blocks and instructions.
    pub layout: Layout,
    /// `shared` and `local` arrays.
    pub arrays: PrimaryMap<Array, ArrayData>,
    /// Inputs.
    pub inputs: PrimaryMap<Input, InputData>,
    /// Entries for calls. Empty for the ordinary function with one entry, its first block; see
    /// [`Function::entry_blocks`].
    pub entries: Vec<Block>,
    /// Declared profiles in text order.
    pub profiles: Vec<Profile>,
    /// How PTX declares it, if it was read from PTX.
    pub declaration: Option<Box<Declaration>>,
    /// Other names that PTX gives it by `.alias`, as they are declared.
    pub aliases: Vec<Declaration>,
    /// PTX's `.pragma` directives inside the body, each with the block that it applies to.
    pub pragmas: Vec<(Block, String)>,
    /// Comments, by what they stand at.
    pub comments: Comments,
    /// Span of each instruction in the source; the default span where it has none.
    pub inst_spans: SecondaryMap<Inst, Span>,
    /// Span of each block's label in the source.
    pub block_spans: SecondaryMap<Block, Span>,
    /// Span of the name in the source.
    pub span: Span,
    reg_names: NameSpace,
    block_names: NameSpace,
    /// How often the instructions that stand in the text write each register.
    definition_counts: SecondaryMap<Reg, u32>,
    /// How many of them are [generic accesses](InstData::is_generic_access).
    generic_accesses: u32,
    /// The targets of each block's terminator once more, side by side: terminators stand far from each other in memory,
    /// and whoever computes the graph wants nothing else.
    successors: SecondaryMap<Block, Few<Block>>,
}

/// A function is copied in order to be changed: its copy has room for an eighth more instructions
/// and registers, so that the first new one does not move all the others.
impl Clone for Function {
    fn clone(&self) -> Function {
        Function {
            name: self.name.clone(),
            kind: self.kind,
            params: self.params.clone(),
            returns: self.returns,
            result_declaration: self.result_declaration.clone(),
            regs: with_room(&self.regs),
            reg_types: with_room(&self.reg_types),
            blocks: self.blocks.clone(),
            insts: with_room(&self.insts),
            layout: self.layout.clone(),
            arrays: self.arrays.clone(),
            inputs: self.inputs.clone(),
            entries: self.entries.clone(),
            profiles: self.profiles.clone(),
            declaration: self.declaration.clone(),
            aliases: self.aliases.clone(),
            pragmas: self.pragmas.clone(),
            comments: self.comments.clone(),
            inst_spans: self.inst_spans.clone(),
            block_spans: self.block_spans.clone(),
            span: self.span,
            reg_names: self.reg_names.clone(),
            block_names: self.block_names.clone(),
            definition_counts: self.definition_counts.clone(),
            generic_accesses: self.generic_accesses,
            successors: self.successors.clone(),
        }
    }
}

impl Function {
    /// An empty function.
    pub fn new(name: impl Into<String>, kind: FuncKind) -> Function {
        Function {
            name: name.into(),
            kind,
            params: Vec::new(),
            returns: None,
            result_declaration: None,
            regs: PrimaryMap::new(),
            reg_types: PrimaryMap::new(),
            blocks: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            layout: Layout::default(),
            arrays: PrimaryMap::new(),
            inputs: PrimaryMap::new(),
            entries: Vec::new(),
            profiles: Vec::new(),
            declaration: None,
            aliases: Vec::new(),
            pragmas: Vec::new(),
            comments: Comments::default(),
            inst_spans: SecondaryMap::new(),
            block_spans: SecondaryMap::new(),
            span: Span::default(),
            reg_names: NameSpace::default(),
            block_names: NameSpace::default(),
            definition_counts: SecondaryMap::new(),
            generic_accesses: 0,
            successors: SecondaryMap::new(),
        }
    }

    // --- reading -------------------------------------------------------------------------------------------------

    /// Blocks in text order.
    pub fn block_order(&self) -> impl Iterator<Item = Block> + '_ {
        self.layout.blocks()
    }

    /// Instructions of a block in order, terminator last.
    pub fn block_insts(&self, block: Block) -> Insts<'_> {
        self.layout.insts(block)
    }

    /// The terminator, if the block is complete.
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        self.layout.last_inst(block).filter(|&inst| self.insts[inst].is_terminator())
    }

    /// Insertion point at the end of a block: the terminator, if the block is complete. Where control
    /// goes on from a block it is; only elsewhere has the last instruction to be looked at.
    pub fn end_of(&self, block: Block) -> Option<Inst> {
        if self.successors[block].is_empty() { self.terminator(block) } else { self.layout.last_inst(block) }
    }

    /// Successors of a block's end, in the terminator's order, repetitions kept.
    pub fn successors(&self, block: Block) -> &[Block] {
        &self.successors[block]
    }

    /// The block that control enters first: the first of the text, or the first of `entries`.
    pub fn entry_block(&self) -> Option<Block> {
        self.entries.first().copied().or_else(|| self.layout.first_block())
    }

    /// All blocks that control may enter from outside.
    pub fn entry_blocks(&self) -> Vec<Block> {
        if self.entries.is_empty() { self.entry_block().into_iter().collect() } else { self.entries.clone() }
    }

    /// The block that an instruction stands in.
    pub fn inst_block(&self, inst: Inst) -> Option<Block> {
        self.layout.inst_block(inst)
    }

    /// Number of instructions that stand in the text, terminators included.
    pub fn inst_count(&self) -> usize {
        self.block_order().map(|block| self.block_insts(block).count()).sum()
    }

    /// How often the instructions that stand in the text write a register; a parameter's value on entry does not count.
    /// Constant time.
    pub fn definition_count(&self, reg: Reg) -> usize {
        self.definition_counts[reg] as usize
    }

    /// Definition counts of all registers in order.
    pub fn definition_counts(&self) -> impl Iterator<Item = usize> + '_ {
        // The table ends with the last register that was ever written.
        let known = self.definition_counts.values().map(|&count| count as usize);
        known.chain(core::iter::repeat(0)).take(self.regs.len())
    }

    /// How many of the instructions that stand in the text are [generic
    /// accesses](InstData::is_generic_access). Constant time.
    pub fn generic_access_count(&self) -> usize {
        self.generic_accesses as usize
    }

    /// The block of that name, if it stands in the text.
    pub fn block_by_name(&self, name: &str) -> Option<Block> {
        self.block_order().find(|&block| self.blocks[block].name == name)
    }

    /// The register of that name.
    pub fn reg_by_name(&self, name: &str) -> Option<Reg> {
        self.regs.iter().find(|(_, data)| data.name == name).map(|(reg, _)| reg)
    }

    /// The parameter that a register is, if it is one.
    pub fn param_of(&self, reg: Reg) -> Option<&ParamData> {
        self.params.iter().find(|param| param.reg == Some(reg))
    }

    // --- building: for parsers and the editor ----------------------------------------------------------------------

    /// Adds a register. The name must be new; see [`Function::fresh_reg_name`].
    pub fn build_reg(&mut self, name: impl Into<String>, ty: Type) -> Reg {
        let name = name.into();
        self.reg_names.take(&name);
        self.reg_types.push(ty);
        self.regs.push(RegData { name, declared: false })
    }

    /// Adds a block at the end of the text. The name must be new; see [`Function::fresh_block_name`].
    pub fn build_block(&mut self, name: impl Into<String>) -> Block {
        let block = self.build_detached_block(name, None);
        self.layout.insert_block(block, None);
        block
    }

    /// Adds a block that stands nowhere yet.
    pub fn build_detached_block(&mut self, name: impl Into<String>, copy_of: Option<Block>) -> Block {
        let name = name.into();
        self.block_names.take(&name);
        self.blocks.push(BlockData { name, copy_of: copy_of.into() })
    }

    /// Adds an instruction at the end of a block.
    pub fn build_inst(&mut self, block: Block, data: InstData) -> Inst {
        let inst = self.insts.push(data);
        self.insert_inst(inst, block, None);
        inst
    }

    /// Puts an instruction that stands nowhere into a block, before another one of that block or last.
    pub fn insert_inst(&mut self, inst: Inst, block: Block, before: Option<Inst>) {
        self.layout.insert_inst(inst, block, before);
        self.count_in(inst);
        if let Some(block) = self.block_ended_by(inst) {
            self.note_successors(block);
        }
    }

    /// Takes an instruction out of its block.
    #[doc(hidden)]
    pub fn remove_inst(&mut self, inst: Inst) {
        let block = self.block_ended_by(inst);
        self.layout.remove_inst(inst);
        self.count_out(inst);
        if let Some(block) = block {
            self.note_successors(block);
        }
    }

    /// Puts all instructions of a block, as they stand, behind those of another one.
    #[doc(hidden)]
    pub fn move_insts(&mut self, from: Block, to: Block) {
        self.layout.move_insts(from, to);
        self.note_successors(from);
        self.note_successors(to);
    }

    /// Changes an instruction that stands in a block.
    #[doc(hidden)]
    pub fn change_inst<T>(&mut self, inst: Inst, change: impl FnOnce(&mut InstData) -> T) -> T {
        self.count_out(inst);
        let outcome = change(&mut self.insts[inst]);
        self.count_in(inst);
        if let Some(block) = self.block_ended_by(inst) {
            self.note_successors(block);
        }
        outcome
    }

    /// The block whose last instruction this is, if it is one's.
    fn block_ended_by(&self, inst: Inst) -> Option<Block> {
        self.inst_block(inst).filter(|&block| self.layout.last_inst(block) == Some(inst))
    }

    /// The last instruction of a block has come, gone or changed.
    fn note_successors(&mut self, block: Block) {
        let targets = self.terminator(block).map_or(&[][..], |inst| self.insts[inst].targets());
        if *self.successors[block] != *targets {
            self.successors[block] = targets.iter().copied().collect();
        }
    }

    fn count_in(&mut self, inst: Inst) {
        let data = &self.insts[inst];
        data.dsts.iter().for_each(|&dst| self.definition_counts[dst] += 1);
        self.generic_accesses += u32::from(data.is_generic_access());
    }

    fn count_out(&mut self, inst: Inst) {
        let data = &self.insts[inst];
        data.dsts.iter().for_each(|&dst| self.definition_counts[dst] -= 1);
        self.generic_accesses -= u32::from(data.is_generic_access());
    }

    /// Exits of a function: one more than the largest number of a `ret`.
    pub fn exit_count(&self) -> u32 {
        let rets = self.block_order().filter_map(|block| self.terminator(block)).map(|inst| &self.insts[inst]);
        rets.filter(|data| data.opcode.op == Op::Ret).map(|data| data.exit().saturating_add(1)).max().unwrap_or(1)
    }

    /// Adds a `shared` or `local` array. Its name is taken from the registers' name space.
    pub fn build_array(&mut self, data: ArrayData) -> Array {
        self.reg_names.take(&data.name);
        self.arrays.push(data)
    }

    /// Adds an input. Its name is taken from the registers' name space.
    pub fn build_input(&mut self, data: InputData) -> Input {
        self.reg_names.take(&data.name);
        self.inputs.push(data)
    }

    /// Adds a parameter and, unless it is an array by value, its register.
    pub fn build_param(&mut self, name: impl Into<String>, ty: ParamType) -> Option<Reg> {
        let name = name.into();
        let reg = match ty {
            ParamType::Scalar(ty) => Some(self.build_reg(name.clone(), ty)),
            ParamType::Pointer { .. } | ParamType::Texture => Some(self.build_reg(name.clone(), Type::B64)),
            ParamType::Array(..) => {
                self.reg_names.take(&name);
                None
            }
        };
        self.params.push(ParamData { name, ty, reg, passing: Passing::default(), declaration: None });
        reg
    }

    /// Keeps registers, arrays and inputs from ever taking a name that means something else in this function: a global
    /// that it uses.
    pub fn reserve_reg_name(&mut self, name: &str) {
        self.reg_names.take(name);
    }

    /// Lets go of a register's name when its creation is undone.
    #[doc(hidden)]
    pub fn release_reg_name(&mut self, name: &str) {
        self.reg_names.release(name);
    }

    /// Takes a register's name again when its creation is redone.
    #[doc(hidden)]
    pub fn reclaim_reg_name(&mut self, name: &str) {
        self.reg_names.take(name);
    }

    /// Lets go of a block's name when its creation is undone.
    #[doc(hidden)]
    pub fn release_block_name(&mut self, name: &str) {
        self.block_names.release(name);
    }

    /// Takes a block's name again when its creation is redone.
    #[doc(hidden)]
    pub fn reclaim_block_name(&mut self, name: &str) {
        self.block_names.take(name);
    }

    // --- fresh names -------------------------------------------------------------------------------------------------

    /// Is the name taken among registers, inputs, arrays and parameters, now or ever?
    pub fn reg_name_is_taken(&self, name: &str) -> bool {
        self.reg_names.contains(name)
    }

    /// Is the name taken among blocks, now or ever?
    pub fn block_name_is_taken(&self, name: &str) -> bool {
        self.block_names.contains(name)
    }

    /// A name for a new register: `stem` itself if it is free, else `stem_1`, `stem_2`, …
    pub fn fresh_reg_name(&self, stem: &str) -> String {
        self.reg_names.fresh(stem)
    }

    /// A name for a new temporary: `t1`, `t2`, …
    pub fn fresh_temporary_name(&self) -> String {
        self.reg_names.fresh_numbered("t")
    }

    /// A name for a new block: `stem` itself if it is free, else `stem_1`, `stem_2`, …
    pub fn fresh_block_name(&self, stem: &str) -> String {
        self.block_names.fresh(stem)
    }

    /// A name for a copy of a block: `n4_1`, `n4_2`, …, also for a copy of a copy of `n4`.
    pub fn fresh_copy_name(&self, of: Block) -> String {
        self.block_names.fresh_numbered(&format!("{}_", self.blocks[self.original_of(of)].name))
    }

    /// A name for a block on the edge `from -> to`: `from_to`.
    pub fn fresh_edge_name(&self, from: Block, to: Block) -> String {
        self.fresh_block_name(&format!("{}_{}", self.blocks[from].name, self.blocks[to].name))
    }

    /// The block that this one is a copy of, directly or through other copies; itself if it is none.
    pub fn original_of(&self, mut block: Block) -> Block {
        while let Some(original) = self.blocks[block].copy_of.expand() {
            block = original;
        }
        block
    }

    /// Comments of an anchor, for printers.
    pub fn comments_at(&self, anchor: CommentAnchor) -> Option<&super::comments::Comment> {
        self.comments.at(anchor)
    }
}

/// A copy with room for an eighth more.
fn with_room<K: EntityRef, V: Clone>(map: &PrimaryMap<K, V>) -> PrimaryMap<K, V> {
    let mut copy = PrimaryMap::with_capacity(map.len() + map.len() / 8);
    copy.extend(map.values().cloned());
    copy
}
