//! A rewrite: the edits that are made for one reason.
//!
//! ```text
//! rewrite.split_edge(a, b)      CreateBlock a_b, CreateInst br b, ReplaceInst in a, SetProfiles: 1 remark, 4 edits
//! ```
//!
//! While the trace is off, changes are made at once, without an [`Edit`] that could be undone.
//! Declared profiles stay true of the blocks that they name, whatever is done to those
//! ([`super::profiles`]).

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use cranelift_entity::{EntityRef, PrimaryMap};

use super::Editor;
use super::profiles::{forget_block, is_empty, is_same, names, split_in_profile};
use crate::ir::{
    Block, Function, Global, GlobalData, Inst, InstData, Module, Opcode, Operand, Profile, Reg, Type, ZeroEntry,
};
use crate::trace::{Edit, Event, Place, Remark, Touched};

/// A remark that gathers its edits. Complete when finished or dropped; with no edit at all nothing is recorded.
pub struct Rewrite<'e, 'a> {
    pub(super) editor: &'e mut Editor<'a>,
    /// None while the trace is off.
    pub(super) recording: Option<Box<Recording>>,
    pub(super) changed: bool,
}

/// A reason and what was done for it so far.
pub struct Recording {
    pub remark: Remark,
    pub edits: Vec<Edit>,
}

impl Rewrite<'_, '_> {
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

    /// A new global of a fresh name. `module` is the rest of the program, which gets it when the
    /// function is closed; until then nobody can ask about it.
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
        if self.recording.is_some() {
            self.make(Edit::CreateReg { reg, name, ty });
        } else {
            self.changed = true;
            self.editor.touched.values = true;
            self.editor.func.build_reg(name, ty);
        }
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
        let before = if data.is_terminator() { None } else { self.func().end_of(block) };
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
        if self.recording.is_some() {
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
        if self.recording.is_some() {
            let old = Box::new(self.func().insts[inst].clone());
            self.make(Edit::ReplaceInst { inst, old, new: Box::new(new) });
        } else {
            self.changed = true;
            self.editor.touched.shape |= new.is_terminator() || self.func().insts[inst].is_terminator();
            self.editor.touched.values = true;
            self.editor.func.change_inst(inst, |data| *data = new);
        }
    }

    /// Lets an instruction do something else with other operands, in place: what it writes and its guard stay.
    pub fn replace_operation(&mut self, inst: Inst, opcode: Opcode, operands: impl IntoIterator<Item = Operand>) {
        if self.recording.is_some() {
            let InstData { guard, dsts, .. } = &self.func().insts[inst];
            let new = InstData { guard: *guard, ..InstData::new(opcode, dsts.iter().copied(), operands) };
            return self.replace(inst, new);
        }
        self.changed = true;
        self.editor.touched.values = true;
        let change = |data: &mut InstData| {
            data.opcode = opcode;
            data.args.clear();
            data.args.extend(operands);
            data.control = None;
        };
        let data = &mut self.editor.func.insts[inst];
        if data.opcode.is_pure() && opcode.is_pure() {
            // Neither definitions nor edges nor accesses come or go.
            change(data);
        } else {
            self.editor.touched.shape |= opcode.op.is_terminator() || data.is_terminator();
            self.editor.func.change_inst(inst, change);
        }
    }

    /// Changes what an instruction reads, in place: `change` may write to its guard and its
    /// operands, and says whether it did. Quicker than [`Rewrite::update`], since neither
    /// definitions nor edges come or go.
    #[inline]
    pub fn update_reads(&mut self, inst: Inst, change: impl FnOnce(&mut InstData, &PrimaryMap<Reg, Type>) -> bool) {
        if self.recording.is_some() {
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
        if self.recording.is_some() {
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
        if self.recording.is_some() {
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

    /// A split of many edges: while the trace is off, declared profiles follow with
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
        // A function begins with its first block, even if control comes back there.
        let layout = &self.func().layout;
        let before = if layout.prev_block(to).is_some() { Some(to) } else { layout.next_block(from) };
        let middle = self.create_block(name, None, before);
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
            // No analysis goes by what is declared, and nothing keeps what it was.
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
            // Nothing keeps what they were.
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

impl Drop for Rewrite<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        if !self.changed {
            return;
        }
        self.editor.rewrites += 1;
        if let Some(recording) = self.recording.take() {
            let Recording { remark, edits } = *recording;
            self.editor.trace.record(Event::Rewrite(remark, edits));
        }
    }
}
