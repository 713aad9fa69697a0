//! One change of a function, with everything that its inverse needs.
//!
//! ```text
//! ReplaceInst { inst, old, new }     apply: inst becomes new      undo: it becomes old
//! ```
//!
//! Undoing a list of edits from its end restores the function exactly, names included. Ids are
//! handed out once: redoing a creation brings the same id back.
//!
//! Each edit takes constant time, apart from profiles, which are exchanged whole.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use crate::ir::{Block, Func, Function, Global, GlobalData, Inst, InstData, Module, Profile, Reg, Type, ZeroEntry};

/// Place of an instruction: in a block, before another one or last.
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
        /// Its data.
        data: Box<InstData>,
        /// Its place.
        to: Place,
    },
    /// An instruction taken out of the text.
    RemoveInst {
        /// The instruction.
        inst: Inst,
        /// Its old place.
        from: Place,
    },
    /// An instruction changed in place.
    ReplaceInst {
        /// The instruction.
        inst: Inst,
        /// Its old data.
        old: Box<InstData>,
        /// Its new data.
        new: Box<InstData>,
    },
    /// An instruction put elsewhere.
    MoveInst {
        /// The instruction.
        inst: Inst,
        /// Its old place.
        from: Place,
        /// Its new place.
        to: Place,
    },
    /// A new global of the module, which stands before the function in the text. It is there for
    /// the rest of the module once the function is closed.
    CreateGlobal {
        /// Its id, the next one free.
        global: Global,
        /// Its data, with a name that was never used before.
        data: Box<GlobalData>,
    },
    /// The declared profiles changed with the blocks they speak of.
    SetProfiles {
        /// The old ones.
        old: Vec<Profile>,
        /// The new ones.
        new: Vec<Profile>,
    },
    /// A zero profile says something more.
    AddZeros {
        /// Its place among the function's profiles.
        profile: usize,
        /// New entries, after all others.
        entries: Vec<ZeroEntry>,
    },
}

/// Parts of a function that a list of edits invalidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Touched {
    /// Blocks or edges.
    pub shape: bool,
    /// Instructions.
    pub values: bool,
}

impl Edit {
    /// The parts that the edit invalidates.
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

/// Entries of a zero profile, to be changed.
fn zero_entries(func: &mut Function, profile: usize) -> Option<&mut Vec<ZeroEntry>> {
    if let Some(Profile::Zero(entries)) = func.profiles.get_mut(profile) { Some(Rc::make_mut(entries)) } else { None }
}
