//! The only door through which a function changes.
//!
//! ```text
//! let mut rewrite = editor.rewrite(|func| Remark::applied("copy", block, "…"));
//! rewrite.replace(inst, data);          // as many edits as the rule needs
//! rewrite.finish();                     // the remark and its edits reach the sink together
//! ```
//!
//! An edit cannot exist without a remark, because only a [`Rewrite`] makes edits and only a remark makes a rewrite.
//! Every [`Edit`] carries what its inverse needs, so undoing a list of edits from its end restores the function
//! exactly, names included. Ids are handed out once: redoing a creation brings the same id back.
//!
//! A function may get a global of its own with [`Rewrite::create_global`]: the one change outside of it, which is undone and
//! redone with the rest.
//!
//! Each edit takes constant time, apart from profiles, which are gone through where a function declares any, and rewritten whole
//! where somebody listens.
//! With the silent sink nothing is recorded and remarks are not even built.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use cranelift_entity::{EntityRef, PrimaryMap};
use fixedbitset::FixedBitSet;
use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::ir::{
    Block, Control, Few, Func, Function, Global, GlobalData, Inst, InstData, Module, Opcode, Operand, Profile, Reg,
    Type, WarpCounts, WarpEntry, ZeroEntry,
};

/// Where an instruction stands: in a block, before another one or last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The block.
    pub block: Block,
    /// The instruction that follows, or none at the end.
    pub before: Option<Inst>,
}

/// One change with everything its inverse needs.
#[derive(Clone, PartialEq, Debug)]
pub enum Edit {
    /// A new register.
    CreateReg {
        /// Its id, the next one free.
        reg: Reg,
        /// Its name, never used before.
        name: String,
        /// Its type.
        ty: Type,
    },
    /// A new, empty block.
    CreateBlock {
        /// Its id, the next one free.
        block: Block,
        /// Its name, never used before.
        name: String,
        /// The block it is a copy of.
        copy_of: Option<Block>,
        /// The block it is put before; none is the end.
        before: Option<Block>,
    },
    /// An empty block taken out of the text.
    RemoveBlock {
        /// The block.
        block: Block,
        /// The block that followed it.
        before: Option<Block>,
    },
    /// A new instruction.
    CreateInst {
        /// Its id, the next one free.
        inst: Inst,
        /// What it is.
        data: Box<InstData>,
        /// Where it goes.
        to: Place,
    },
    /// An instruction taken out of the text.
    RemoveInst {
        /// The instruction.
        inst: Inst,
        /// Where it stood.
        from: Place,
    },
    /// An instruction changed in place.
    ReplaceInst {
        /// The instruction.
        inst: Inst,
        /// What it was.
        old: Box<InstData>,
        /// What it is now.
        new: Box<InstData>,
    },
    /// An instruction put elsewhere.
    MoveInst {
        /// The instruction.
        inst: Inst,
        /// Where it stood.
        from: Place,
        /// Where it stands now.
        to: Place,
    },
    /// A new global of the module, which stands before the function in the text. It is there for the rest of the module once
    /// the function is closed.
    CreateGlobal {
        /// Its id, the next one free.
        global: Global,
        /// What it is; its name was never used before.
        data: Box<GlobalData>,
    },
    /// The declared profiles changed with the blocks they speak of.
    SetProfiles {
        /// What they were.
        old: Vec<Profile>,
        /// What they are now.
        new: Vec<Profile>,
    },
    /// A zero profile says something more.
    AddZeros {
        /// Its place among the function's profiles.
        profile: usize,
        /// What it says behind all that it said.
        entries: Vec<ZeroEntry>,
    },
}

/// What a list of edits invalidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Touched {
    /// Blocks or edges.
    pub shape: bool,
    /// Instructions.
    pub values: bool,
}

impl Edit {
    /// What the edit invalidates.
    pub fn touches(&self, func: &Function) -> Touched {
        let of = |inst: &Inst| Touched { shape: func.insts[*inst].is_terminator(), values: true };
        match self {
            Edit::SetProfiles { .. } | Edit::AddZeros { .. } | Edit::CreateGlobal { .. } => Touched::default(),
            // Analyses of values have a place for each register.
            Edit::CreateReg { .. } => Touched { shape: false, values: true },
            Edit::CreateBlock { .. } | Edit::RemoveBlock { .. } => Touched { shape: true, values: true },
            Edit::CreateInst { inst, .. } | Edit::RemoveInst { inst, .. } | Edit::MoveInst { inst, .. } => of(inst),
            Edit::ReplaceInst { old, new, .. } => {
                // Where control may go from a block is what its terminator's targets say, whatever else changes.
                let keeps_edges = old.is_terminator() == new.is_terminator() && old.targets() == new.targets();
                Touched { shape: !keeps_edges, values: true }
            }
        }
    }

    /// Does the edit again (or for the first time), as far as the function goes; see [`apply_all`].
    pub fn apply(&self, func: &mut Function) {
        match self {
            Edit::CreateReg { reg, name, ty } => {
                if reg.index() < func.regs.len() {
                    func.reclaim_reg_name(name);
                } else {
                    func.build_reg(name.clone(), *ty);
                }
            }
            Edit::CreateBlock { block, name, copy_of, before } => {
                if block.index() < func.blocks.len() {
                    func.reclaim_block_name(name);
                } else {
                    func.build_detached_block(name.clone(), *copy_of);
                }
                func.layout.insert_block(*block, *before);
            }
            Edit::RemoveBlock { block, .. } => func.layout.remove_block(*block),
            Edit::CreateInst { inst, data, to } => {
                if inst.index() >= func.insts.len() {
                    func.insts.push((**data).clone());
                }
                func.insert_inst(*inst, to.block, to.before);
            }
            Edit::RemoveInst { inst, .. } => func.remove_inst(*inst),
            Edit::ReplaceInst { inst, new, .. } => func.change_inst(*inst, |data| data.clone_from(new)),
            Edit::MoveInst { inst, to, .. } => {
                func.remove_inst(*inst);
                func.insert_inst(*inst, to.block, to.before);
            }
            Edit::CreateGlobal { data, .. } => func.reserve_reg_name(&data.name),
            Edit::SetProfiles { new, .. } => func.profiles.clone_from(new),
            Edit::AddZeros { profile, entries } => {
                zero_entries(func, *profile).into_iter().for_each(|all| all.extend_from_slice(entries));
            }
        }
    }

    /// Takes the edit back, as far as the function goes. It must be in the state that the edit left behind.
    pub fn undo(&self, func: &mut Function) {
        match self {
            Edit::CreateReg { name, .. } => func.release_reg_name(name),
            Edit::CreateBlock { block, name, .. } => {
                func.layout.remove_block(*block);
                func.release_block_name(name);
            }
            Edit::RemoveBlock { block, before } => func.layout.insert_block(*block, *before),
            Edit::CreateInst { inst, .. } => func.remove_inst(*inst),
            Edit::RemoveInst { inst, from } => func.insert_inst(*inst, from.block, from.before),
            Edit::ReplaceInst { inst, old, .. } => func.change_inst(*inst, |data| data.clone_from(old)),
            Edit::MoveInst { inst, from, .. } => {
                func.remove_inst(*inst);
                func.insert_inst(*inst, from.block, from.before);
            }
            Edit::CreateGlobal { data, .. } => func.release_reg_name(&data.name),
            Edit::SetProfiles { old, .. } => func.profiles.clone_from(old),
            Edit::AddZeros { profile, entries } => {
                zero_entries(func, *profile).into_iter().for_each(|all| all.truncate(all.len() - entries.len()));
            }
        }
    }
}

/// Was an opportunity taken or refused?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum RemarkKind {
    /// The edits that follow were made.
    Applied,
    /// Nothing was changed, and the message says why.
    Missed,
}

impl RemarkKind {
    /// `applied` or `missed`.
    pub const fn name(self) -> &'static str {
        match self {
            RemarkKind::Applied => "applied",
            RemarkKind::Missed => "missed",
        }
    }
}

/// A typed detail of a remark, for views that want more than the sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum Fact {
    /// A register, shown by its name.
    Reg(Reg),
    /// A block, shown by its label.
    Block(Block),
    /// A number; units stand in the fact's name.
    Number(f64),
    /// A count.
    Count(u64),
    /// Yes or no.
    Flag(bool),
    /// Words.
    Text(String),
    /// Several blocks.
    Blocks(Vec<Block>),
    /// Several words in an order that means something.
    Words(Vec<String>),
}

/// The reason of a rewrite, or of a refusal.
#[derive(Clone, PartialEq, Debug)]
pub struct Remark {
    /// Taken or refused.
    pub kind: RemarkKind,
    /// The rule that fired or failed, a kebab-case word of the pass.
    pub rule: &'static str,
    /// The block it is about.
    pub block: Block,
    /// The instruction it is about, where there is one.
    pub inst: Option<Inst>,
    /// A full sentence without the final stop.
    pub message: String,
    /// Details by name.
    pub facts: Vec<(&'static str, Fact)>,
}

impl Remark {
    /// A reason for a change at a block.
    pub fn applied(rule: &'static str, block: Block, message: impl Into<String>) -> Remark {
        Remark { kind: RemarkKind::Applied, rule, block, inst: None, message: message.into(), facts: Vec::new() }
    }

    /// A reason for not changing anything.
    pub fn missed(rule: &'static str, block: Block, message: impl Into<String>) -> Remark {
        Remark { kind: RemarkKind::Missed, ..Remark::applied(rule, block, message) }
    }

    /// The same about one instruction.
    pub fn at(mut self, inst: Inst) -> Remark {
        self.inst = Some(inst);
        self
    }

    /// With a detail.
    pub fn with(mut self, name: &'static str, fact: Fact) -> Remark {
        self.facts.push((name, fact));
        self
    }
}

/// Who hears of rewrites and refusals.
pub trait EditSink {
    /// False where nobody listens: then remarks are not built and edits not kept.
    const LISTENS: bool;

    /// A rewrite is complete: `func` is its result.
    fn rewritten(&mut self, func: &Function, remark: Remark, edits: Vec<Edit>);

    /// An opportunity was refused. The remark is built only by who keeps it.
    fn missed(&mut self, func: &Function, remark: impl FnOnce(&Function) -> Remark);
}

/// The sink of nobody. A zero-sized type, so that the doors cost nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl EditSink for Silent {
    const LISTENS: bool = false;
    fn rewritten(&mut self, _: &Function, _: Remark, _: Vec<Edit>) {}
    fn missed(&mut self, _: &Function, _: impl FnOnce(&Function) -> Remark) {}
}

/// Access to one function for changing it.
pub struct Editor<'a, S: EditSink> {
    func: &'a mut Function,
    sink: &'a mut S,
    rewrites: u64,
    touched: Touched,
    globals: Vec<GlobalData>,
    /// Edges that have been split, with the blocks in their middles, of which declared profiles do not know yet.
    unprofiled: Vec<(Block, Block, Block)>,
}

impl<S: EditSink> Drop for Editor<'_, S> {
    fn drop(&mut self) {
        self.let_profiles_follow();
    }
}

impl<'a, S: EditSink> Editor<'a, S> {
    /// Opens a function.
    pub fn new(func: &'a mut Function, sink: &'a mut S) -> Self {
        Editor { func, sink, rewrites: 0, touched: Touched::default(), globals: Vec::new(), unprofiled: Vec::new() }
    }

    /// The function as it is now.
    pub fn func(&self) -> &Function {
        self.func
    }

    /// Lets declared profiles follow all that [`Rewrite::split_edge_ahead`] has split, as is done at the latest when the
    /// editor goes.
    pub fn let_profiles_follow(&mut self) {
        if !self.unprofiled.is_empty() {
            let splits = core::mem::take(&mut self.unprofiled);
            self.func.profiles.iter_mut().for_each(|profile| split_in_profile(profile, &splits));
            self.func.profiles.retain(|profile| !is_empty(profile));
        }
    }

    /// Who listens.
    pub fn sink(&mut self) -> &mut S {
        self.sink
    }

    /// The function and who listens, for a solver that tells its facts.
    pub fn func_and_sink(&mut self) -> (&Function, &mut S) {
        (self.func, self.sink)
    }

    /// Rewrites made so far.
    pub fn rewrites(&self) -> u64 {
        self.rewrites
    }

    /// The globals that were created since this was last asked, for whoever holds the module.
    pub fn take_globals(&mut self) -> Vec<GlobalData> {
        core::mem::take(&mut self.globals)
    }

    /// What changed since this was last asked.
    pub fn take_touched(&mut self) -> Touched {
        core::mem::take(&mut self.touched)
    }

    /// Begins a rewrite. The reason is built before anything changes, and only if somebody listens.
    pub fn rewrite(&mut self, reason: impl FnOnce(&Function) -> Remark) -> Rewrite<'_, 'a, S> {
        let recording = S::LISTENS.then(|| Box::new(Recording { remark: reason(self.func), edits: Vec::new() }));
        Rewrite { editor: self, recording, changed: false }
    }

    /// Records a refused opportunity.
    pub fn miss(&mut self, reason: impl FnOnce(&Function) -> Remark) {
        if S::LISTENS {
            self.sink.missed(self.func, reason);
        }
    }
}

/// A remark that gathers its edits. Complete when finished or dropped; with no edit at all nothing is recorded.
pub struct Rewrite<'e, 'a, S: EditSink> {
    editor: &'e mut Editor<'a, S>,
    /// Only where somebody listens.
    recording: Option<Box<Recording>>,
    changed: bool,
}

/// A reason and what was done for it so far.
struct Recording {
    remark: Remark,
    edits: Vec<Edit>,
}

impl<S: EditSink> Rewrite<'_, '_, S> {
    /// The function as it is now.
    pub fn func(&self) -> &Function {
        self.editor.func
    }

    fn make(&mut self, edit: Edit) {
        edit.apply(self.editor.func);
        self.note(&edit);
        if let Some(recording) = &mut self.recording {
            recording.edits.push(edit);
        }
    }

    fn note(&mut self, edit: &Edit) {
        let touched = edit.touches(self.editor.func);
        self.editor.touched.shape |= touched.shape;
        self.editor.touched.values |= touched.values;
        self.changed = true;
    }

    /// A new global of a fresh name. `module` is the rest of the program, which gets it when the function is closed; until
    /// then nobody can ask about it.
    pub fn create_global(&mut self, module: &Module, data: GlobalData) -> Global {
        let global = Global::new(module.globals.len() + self.editor.globals.len());
        self.editor.globals.push(data.clone());
        self.make(Edit::CreateGlobal { global, data: Box::new(data) });
        global
    }

    /// A new temporary, `t1`, `t2`, …
    pub fn create_temporary(&mut self, ty: Type) -> Reg {
        let name = self.func().fresh_temporary_name();
        self.create_reg(name, ty)
    }

    /// A new register of a fresh name.
    pub fn create_reg(&mut self, name: String, ty: Type) -> Reg {
        debug_assert!(!self.func().reg_name_is_taken(&name));
        let reg = Reg::new(self.func().regs.len());
        self.make(Edit::CreateReg { reg, name, ty });
        reg
    }

    /// A new, empty block of a fresh name before another one, or at the end.
    pub fn create_block(&mut self, name: String, copy_of: Option<Block>, before: Option<Block>) -> Block {
        debug_assert!(!self.func().block_name_is_taken(&name));
        let block = Block::new(self.func().blocks.len());
        self.make(Edit::CreateBlock { block, name, copy_of, before });
        block
    }

    /// Puts a new instruction before another one.
    pub fn insert_before(&mut self, before: Inst, data: InstData) -> Option<Inst> {
        let block = self.func().inst_block(before)?;
        Some(self.insert(Place { block, before: Some(before) }, data))
    }

    /// Puts a new instruction at the end of a block, before its terminator if it has one.
    pub fn append(&mut self, block: Block, data: InstData) -> Inst {
        let before = if data.is_terminator() { None } else { self.func().terminator(block) };
        self.insert(Place { block, before }, data)
    }

    /// Puts a new instruction at the beginning of a block.
    pub fn prepend(&mut self, block: Block, data: InstData) -> Inst {
        let before = self.func().layout.first_inst(block);
        self.insert(Place { block, before }, data)
    }

    /// Puts a new instruction somewhere.
    pub fn insert(&mut self, to: Place, data: InstData) -> Inst {
        let inst = Inst::new(self.func().insts.len());
        if S::LISTENS {
            self.make(Edit::CreateInst { inst, data: Box::new(data), to });
        } else {
            self.changed = true;
            self.editor.touched.shape |= data.is_terminator();
            self.editor.touched.values = true;
            self.editor.func.insts.push(data);
            self.editor.func.insert_inst(inst, to.block, to.before);
        }
        inst
    }

    /// Takes an instruction out.
    pub fn remove(&mut self, inst: Inst) {
        if let Some(from) = self.place_of(inst) {
            self.make(Edit::RemoveInst { inst, from });
        }
    }

    /// Changes an instruction in place.
    pub fn replace(&mut self, inst: Inst, new: InstData) {
        if self.func().insts[inst] == new {
            return;
        }
        if S::LISTENS {
            let old = Box::new(self.func().insts[inst].clone());
            self.make(Edit::ReplaceInst { inst, old, new: Box::new(new) });
        } else {
            self.changed = true;
            self.editor.touched.shape |= new.is_terminator() || self.func().insts[inst].is_terminator();
            self.editor.touched.values = true;
            self.editor.func.change_inst(inst, |data| *data = new);
        }
    }

    /// Lets an instruction do something else with one operand, in place: what it writes and its guard stay.
    pub fn replace_operation(&mut self, inst: Inst, opcode: Opcode, operand: Operand) {
        if S::LISTENS {
            let InstData { guard, dsts, .. } = &self.func().insts[inst];
            let new = InstData { guard: *guard, ..InstData::new(opcode, dsts.iter().copied(), [operand]) };
            return self.replace(inst, new);
        }
        self.changed = true;
        self.editor.touched.shape |= opcode.op.is_terminator() || self.func().insts[inst].is_terminator();
        self.editor.touched.values = true;
        self.editor.func.change_inst(inst, |data| {
            data.opcode = opcode;
            data.args.clear();
            data.args.push(operand);
            data.control = Control::Targets(Few::new());
        });
    }

    /// Changes what an instruction reads, in place: `change` may write to its guard and its operands, and says whether it
    /// did. Quicker than [`Rewrite::update`], since neither definitions nor edges come or go.
    #[inline]
    pub fn update_reads(&mut self, inst: Inst, change: impl FnOnce(&mut InstData, &PrimaryMap<Reg, Type>) -> bool) {
        if S::LISTENS {
            let mut data = self.func().insts[inst].clone();
            if change(&mut data, &self.func().reg_types) {
                self.replace(inst, data);
            }
            return;
        }
        let Function { insts, reg_types, .. } = &mut *self.editor.func;
        #[cfg(debug_assertions)]
        let before = insts[inst].clone();
        let changed = change(&mut insts[inst], reg_types);
        #[cfg(debug_assertions)]
        assert!(
            insts[inst].opcode == before.opcode
                && insts[inst].control == before.control
                && insts[inst].dsts == before.dsts,
            "more than reads was changed in place"
        );
        if changed {
            self.changed = true;
            self.editor.touched.values = true;
        }
    }

    /// Changes an instruction in place by a function that says whether it did change it.
    pub fn update(&mut self, inst: Inst, change: impl FnOnce(&mut InstData) -> bool) {
        if S::LISTENS {
            let mut data = self.func().insts[inst].clone();
            if change(&mut data) {
                self.replace(inst, data);
            }
            return;
        }
        let was_terminator = self.func().insts[inst].is_terminator();
        if self.editor.func.change_inst(inst, change) {
            self.changed = true;
            self.editor.touched.shape |= was_terminator || self.func().insts[inst].is_terminator();
            self.editor.touched.values = true;
        }
    }

    /// Puts an instruction elsewhere, in this or another block.
    pub fn move_inst(&mut self, inst: Inst, to: Place) {
        if let Some(from) = self.place_of(inst)
            && from != to
            && to.before != Some(inst)
        {
            self.make(Edit::MoveInst { inst, from, to });
        }
    }

    /// Puts all instructions of a block, as they stand, behind those of another one, which must not have a terminator.
    pub fn move_insts(&mut self, from: Block, to: Block) {
        debug_assert!(self.func().terminator(to).is_none());
        if S::LISTENS {
            let insts: Vec<Inst> = self.func().block_insts(from).collect();
            for inst in insts {
                self.move_inst(inst, Place { block: to, before: None });
            }
        } else {
            self.changed = true;
            self.editor.touched = Touched { shape: true, values: true };
            self.editor.func.move_insts(from, to);
        }
    }

    /// Sends every edge of `block`'s terminator that goes to `from` to `to` instead.
    pub fn retarget(&mut self, block: Block, from: Block, to: Block) {
        if let Some(inst) = self.func().terminator(block) {
            self.update(inst, |data| {
                let targets = data.targets_mut().iter_mut().filter(|target| **target == from);
                targets.map(|target| *target = to).count() > 0
            });
        }
    }

    /// Takes a block with all its instructions out. Declared profiles lose what they say of it, except that paths and
    /// edges are joined around it where `merged_into` names the block that does its work now.
    pub fn remove_block(&mut self, block: Block, merged_into: Option<Block>) {
        self.editor.let_profiles_follow();
        let insts: Vec<Inst> = self.func().block_insts(block).collect();
        for inst in insts.into_iter().rev() {
            self.remove(inst);
        }
        if merged_into.is_some() || self.func().profiles.iter().any(|profile| names(profile, block)) {
            self.change_profiles(|profile| forget_block(profile, block, merged_into));
        }
        let before = self.func().layout.next_block(block);
        self.make(Edit::RemoveBlock { block, before });
    }

    /// Puts an empty block on the edges `from -> to` and returns it; declared profiles follow.
    pub fn split_edge(&mut self, from: Block, to: Block) -> Block {
        let middle = self.put_between(from, to);
        self.change_profiles(|profile| split_in_profile(profile, &[(from, to, middle)]));
        middle
    }

    /// The same for whoever splits many: where nobody listens, declared profiles follow with
    /// [`Editor::let_profiles_follow`], all at a time, and say until then what they said of the edges.
    pub fn split_edge_ahead(&mut self, from: Block, to: Block) -> Block {
        if self.recording.is_some() {
            return self.split_edge(from, to);
        }
        let middle = self.put_between(from, to);
        self.editor.unprofiled.push((from, to, middle));
        middle
    }

    /// Puts an empty block on the edges `from -> to`.
    fn put_between(&mut self, from: Block, to: Block) -> Block {
        let name = self.func().fresh_edge_name(from, to);
        let middle = self.create_block(name, None, Some(to));
        self.insert(Place { block: middle, before: None }, InstData::branch(to));
        self.retarget(from, to, middle);
        middle
    }

    /// Declares other profiles; one that says nothing goes.
    pub fn set_profiles(&mut self, mut new: Vec<Profile>) {
        self.editor.let_profiles_follow();
        new.retain(|profile| !is_empty(profile));
        let old = &self.func().profiles;
        if new.len() == old.len() && new.iter().zip(old).all(|(new, old)| is_same(new, old)) {
            return;
        }
        if self.recording.is_some() {
            let old = self.func().profiles.clone();
            self.make(Edit::SetProfiles { old, new });
        } else {
            // No analysis goes by what is declared, and nobody hears what it was.
            self.editor.func.profiles = new;
            self.changed = true;
        }
    }

    /// Lets the last zero profile say something more, if there is one.
    pub fn add_zeros(&mut self, entries: Vec<ZeroEntry>) {
        let profile = self.func().profiles.iter().rposition(|profile| matches!(profile, Profile::Zero(_)));
        let Some(profile) = profile.filter(|_| !entries.is_empty()) else { return };
        self.make(Edit::AddZeros { profile, entries });
    }

    /// Changes declared profiles; one that says nothing more goes.
    fn change_profiles(&mut self, change: impl Fn(&mut Profile)) {
        self.editor.let_profiles_follow();
        if self.func().profiles.is_empty() {
            return;
        }
        if self.recording.is_none() {
            // Nobody hears what they were.
            let profiles = &mut self.editor.func.profiles;
            profiles.iter_mut().for_each(change);
            profiles.retain(|profile| !is_empty(profile));
            return;
        }
        let old = self.func().profiles.clone();
        let mut new = old.clone();
        new.iter_mut().for_each(change);
        new.retain(|profile| !is_empty(profile));
        if new != old {
            self.make(Edit::SetProfiles { old, new });
        }
    }

    fn place_of(&self, inst: Inst) -> Option<Place> {
        let block = self.func().inst_block(inst)?;
        Some(Place { block, before: self.func().layout.next_inst(inst) })
    }

    /// Completes the rewrite. Dropping does the same; this says it aloud.
    pub fn finish(self) {}
}

impl<S: EditSink> Drop for Rewrite<'_, '_, S> {
    #[inline]
    fn drop(&mut self) {
        if !self.changed {
            return;
        }
        self.editor.rewrites += 1;
        if S::LISTENS
            && let Some(recording) = self.recording.take()
        {
            let Recording { remark, edits } = *recording;
            self.editor.sink.rewritten(self.editor.func, remark, edits);
        }
    }
}

/// What a zero profile says, to be changed.
fn zero_entries(func: &mut Function, profile: usize) -> Option<&mut Vec<ZeroEntry>> {
    if let Some(Profile::Zero(entries)) = func.profiles.get_mut(profile) { Some(Rc::make_mut(entries)) } else { None }
}

/// Do they say the same? What is shared does.
fn is_same(a: &Profile, b: &Profile) -> bool {
    match (a, b) {
        (Profile::Zero(a), Profile::Zero(b)) => Rc::ptr_eq(a, b) || a == b,
        (a, b) => a == b,
    }
}

fn is_empty(profile: &Profile) -> bool {
    match profile {
        Profile::Path(paths) => paths.is_empty(),
        Profile::Edge(edges) => edges.is_empty(),
        Profile::Zero(entries) => entries.is_empty(),
        Profile::Warp(entries) => entries.is_empty(),
    }
}

/// Does a profile name a block?
fn names(profile: &Profile, block: Block) -> bool {
    match profile {
        Profile::Path(paths) => paths.iter().any(|(path, _)| path.contains(&block)),
        Profile::Edge(edges) => edges.iter().any(|&(from, to, _)| from == block || to == block),
        // It speaks of instructions.
        Profile::Zero(_) => false,
        Profile::Warp(entries) => entries.iter().any(|entry| match *entry {
            WarpEntry::Block { block: named, .. } => named == block,
            WarpEntry::Edge { from, to, .. } => from == block || to == block,
        }),
    }
}

/// Removes a block from a profile, joining around it where another block does its work.
fn forget_block(profile: &mut Profile, block: Block, merged_into: Option<Block>) {
    let stays = |named: &Block| *named != block;
    match (profile, merged_into) {
        (Profile::Path(paths), Some(into)) => {
            for (path, _) in paths.iter_mut() {
                // The merged block's work is where `into` stands: a path through both loses the one, a path that
                // begins at the removed block begins at `into`.
                let has_other = path.contains(&into);
                path.iter_mut().filter(|named| **named == block).for_each(|named| *named = into);
                if has_other {
                    path.dedup();
                }
            }
        }
        (Profile::Path(paths), None) => paths.retain(|(path, _)| path.iter().all(stays)),
        (Profile::Edge(edges), Some(into)) => {
            for (from, to, _) in edges.iter_mut() {
                let inside = (*from == into && *to == block) || (*from == block && *to == into);
                if !inside {
                    for end in [from, to] {
                        if *end == block {
                            *end = into;
                        }
                    }
                }
            }
            edges.retain(|(from, to, _)| stays(from) && stays(to));
        }
        (Profile::Edge(edges), None) => edges.retain(|(from, to, _)| stays(from) && stays(to)),
        (Profile::Zero(_), _) => {}
        (Profile::Warp(entries), Some(into)) => *entries = merged_counts(entries, block, into),
        (Profile::Warp(entries), None) => entries.retain(|entry| match entry {
            WarpEntry::Block { block: named, .. } => stays(named),
            WarpEntry::Edge { from, to, .. } => stays(from) && stays(to),
        }),
    }
}

/// Counts of warps once `into` does the work of a block: it runs as often as it ran, and where the block was behind it, it
/// ends as the block ended. Edges that become one are taken no more often than their source runs.
fn merged_counts(entries: &[WarpEntry], block: Block, into: Block) -> Vec<WarpEntry> {
    let mut before = WarpCounts::default();
    before.add(entries);
    let is_behind = before.edges_of(into).any(|(to, _)| to == block);
    let renamed = |named: Block| if named == block { into } else { named };
    let mut merged: Vec<WarpEntry> = Vec::with_capacity(entries.len());
    for &entry in entries {
        match entry {
            WarpEntry::Block { block: named, .. } if named == block && before.executions(into).is_some() => {}
            WarpEntry::Block { block: named, executions, diverged } => {
                let diverged = if named == into && is_behind { before.told(block) } else { diverged };
                merged.push(WarpEntry::Block { block: renamed(named), executions, diverged });
            }
            WarpEntry::Edge { from, to, .. } if (from, to) == (into, block) || (from, to) == (block, into) => {}
            WarpEntry::Edge { from, to, executions } => {
                let (from, to) = (renamed(from), renamed(to));
                let same = merged.iter_mut().find_map(|other| match other {
                    WarpEntry::Edge { from: source, to: target, executions } if (*source, *target) == (from, to) => {
                        Some(executions)
                    }
                    _ => None,
                });
                let most = before.executions(from).unwrap_or(u64::MAX);
                match same {
                    Some(sum) => *sum = sum.saturating_add(executions).min(most.max(*sum)),
                    None => merged.push(WarpEntry::Edge { from, to, executions }),
                }
            }
        }
    }
    merged
}

/// Puts new blocks on edges in a profile: from where, to where, and the block; one after the other.
fn split_in_profile(profile: &mut Profile, splits: &[(Block, Block, Block)]) {
    match profile {
        Profile::Path(paths) => split_in_paths(paths, splits),
        Profile::Edge(edges) => split_in_list(
            edges,
            splits,
            |&(from, to, _)| Some((from, to)),
            |edges, place, middle| {
                let (_, target, count) = &mut edges[place];
                let (to, count) = (core::mem::replace(target, middle), *count);
                edges.push((middle, to, count));
            },
        ),
        Profile::Zero(_) => {}
        Profile::Warp(entries) => split_in_list(
            entries,
            splits,
            |entry| if let &WarpEntry::Edge { from, to, .. } = entry { Some((from, to)) } else { None },
            |entries, place, middle| {
                let WarpEntry::Edge { to: target, executions, .. } = &mut entries[place] else { return };
                let (to, executions) = (core::mem::replace(target, middle), *executions);
                entries.push(WarpEntry::Block { block: middle, executions, diverged: None });
                entries.push(WarpEntry::Edge { from: middle, to, executions });
            },
        ),
    }
}

/// The same in a list of edges, of which several may be equal. `halve` gives one that stands in that place two halves, of which
/// the second comes last.
fn split_in_list<T>(
    list: &mut Vec<T>,
    splits: &[(Block, Block, Block)],
    edge_of: impl Fn(&T) -> Option<(Block, Block)>,
    halve: impl Fn(&mut Vec<T>, usize, Block),
) {
    // By edges that are split: where they stand in the list. Most edges begin where none does.
    let sources: FixedBitSet = splits.iter().map(|(from, ..)| from.index()).collect();
    let mut places: HashMap<(Block, Block), SmallVec<[usize; 1]>> =
        splits.iter().map(|&(from, to, _)| ((from, to), SmallVec::new())).collect();
    let note = |places: &mut HashMap<_, SmallVec<[usize; 1]>>, place: usize, entry: &T| {
        let edge = edge_of(entry).filter(|(from, _)| sources.contains(from.index()));
        if let Some(places) = edge.and_then(|edge| places.get_mut(&edge)) {
            places.push(place);
        }
    };
    for (place, entry) in list.iter().enumerate() {
        note(&mut places, place, entry);
    }
    for &(from, to, middle) in splits {
        let known = list.len();
        // The halves may be split in their turn.
        for place in places.get_mut(&(from, to)).map(core::mem::take).unwrap_or_default() {
            halve(list, place, middle);
            note(&mut places, place, &list[place]);
        }
        for (place, entry) in list.iter().enumerate().skip(known) {
            note(&mut places, place, entry);
        }
    }
}

/// The same in paths.
fn split_in_paths(paths: &mut [(Vec<Block>, u64)], splits: &[(Block, Block, Block)]) {
    if let [(from, to, middle)] = *splits {
        for (path, _) in paths {
            // Most paths do not come by, which is seen soonest if all their blocks are compared.
            if path.iter().fold(false, |comes_by, &block| comes_by | (block == from)) {
                split_in_path(path, |edge| (edge == (from, to)).then_some(middle));
            }
        }
        return;
    }
    let sources: FixedBitSet = splits.iter().map(|(from, ..)| from.index()).collect();
    let mut middles: HashMap<(Block, Block), Block> = HashMap::with_capacity(splits.len());
    for &(from, to, middle) in splits {
        middles.entry((from, to)).or_insert(middle);
    }
    let middle_of = |edge: (Block, Block)| {
        let is_split = sources.contains(edge.0.index());
        if is_split { middles.get(&edge).copied() } else { None }
    };
    paths.iter_mut().for_each(|(path, _)| split_in_path(path, middle_of));
}

/// Puts the blocks on a path that stand on its edges.
fn split_in_path(path: &mut Vec<Block>, middle_of: impl Fn((Block, Block)) -> Option<Block>) {
    let mut index = path.len();
    while index > 1 {
        index -= 1;
        while let Some(middle) = middle_of((path[index - 1], path[index])) {
            path.insert(index, middle);
            // An edge that leads to such a block or from it may have been split in its turn: first the one that leads on.
            index += 1;
        }
    }
}

/// Takes a list of edits of a function back, last one first.
pub fn undo_all(module: &mut Module, func: Func, edits: &[Edit]) {
    for edit in edits.iter().rev() {
        edit.undo(&mut module.funcs[func]);
        if let Edit::CreateGlobal { global, .. } = edit {
            module.forget_global(*global);
        }
    }
}

/// Does a list of edits of a function again.
pub fn apply_all(module: &mut Module, func: Func, edits: &[Edit]) {
    for edit in edits {
        edit.apply(&mut module.funcs[func]);
        if let Edit::CreateGlobal { data, .. } = edit {
            module.create_global((**data).clone(), func);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    /// A loop, with equal edges listed twice.
    const SOURCE: &str = "kernel k(n: u32) {
a:
    p = setp.lt.u32 n, 3
    br p, b, c
b:
    br p, b, c
c:
    ret
    profile path { a b b c: 2, a c: 3, b b: 4 }
    profile edge { a -> c: 3, b -> b: 6, a -> b: 2, b -> b: 1, b -> c: 2 }
    profile warp { a: 1, a -> c: 1, b -> b: 2, b -> b: 3 }
}
";

    /// The text after splits, each of the edge that leads from the block or the middle of that number to another: blocks first,
    /// then middles as they have been made.
    fn after(splits: &[(usize, usize)], all_at_a_time: bool) -> String {
        let mut module = crate::verify::check(SOURCE).module;
        let func = module.funcs.keys().next().expect("a kernel");
        let mut blocks: Vec<Block> = module.funcs[func].block_order().collect();
        let mut silent = Silent;
        let mut editor = Editor::new(&mut module.funcs[func], &mut silent);
        for &(from, to) in splits {
            let (from, to) = (blocks[from], blocks[to]);
            let mut rewrite = editor.rewrite(|_| Remark::applied("split", from, "split"));
            let middle = if all_at_a_time { rewrite.split_edge_ahead(from, to) } else { rewrite.split_edge(from, to) };
            blocks.push(middle);
        }
        drop(editor);
        crate::text::print(&module)
    }

    #[test]
    fn profiles_follow_splits_all_at_a_time_as_they_follow_each() {
        // The last ones split halves of edges that have been split before: 3 stands on a → c, 4 on b → b.
        let cases: [&[(usize, usize)]; 6] = [
            &[(0, 2)],
            &[(0, 2), (1, 1), (0, 1), (1, 2)],
            &[(0, 2), (0, 3)],
            &[(0, 2), (3, 2), (0, 3)],
            &[(0, 2), (1, 1), (1, 4), (4, 1), (3, 2)],
            &[(0, 2), (1, 1), (4, 1), (1, 4), (1, 6), (0, 3)],
        ];
        for splits in cases {
            let each = after(splits, false);
            assert_eq!(after(splits, true), each, "{splits:?}");
            assert!(each.contains("a_c"), "the blocks in the middle have names: {each}");
        }
    }
}
