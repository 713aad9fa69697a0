//! Representation of programs.
//!
//! A [`Module`] holds kernels, functions, global arrays and launches. A [`Function`] holds typed registers that may be
//! assigned many times, blocks, and instructions that may be guarded; ids ([`Block`], [`Inst`], [`Reg`]) are never
//! reused, and [`Layout`] says what stands where. An [`Opcode`] is one small value; [`Opcode::signature`] is the one
//! table of what it takes.

mod comments;
mod declaration;
mod entities;
mod few;
mod function;
mod inst;
mod launch;
mod layout;
mod module;
mod names;
mod opcode;
mod signature;
mod special;
mod spelling;
mod template;
mod types;
mod warp_counts;
mod zeros;

pub use comments::{Comment, CommentAnchor, Comments};
pub use declaration::{Declaration, FileHeader};
#[doc(hidden)]
pub use entities::filled;
pub use entities::{Array, Block, Func, Global, Input, Inst, Reg};
pub use few::Few;
pub use function::{
    ArrayData, BlockData, Extent, FuncKind, Function, InputData, ParamData, ParamType, Passing, Profile, RegData, Span,
};
pub use inst::{Address, AddressBase, Call, Callee, Control, Guard, InstArgs, InstData, Operand, Symbol};
pub use launch::{Binding, Fill, FillKey, Launch, Number, PointerStep, ValueSource, Values};
pub use layout::{Insts, Layout};
pub use module::{GlobalData, InitialAddress, Item, Module, Reference};
#[doc(hidden)]
pub use names::NameSpace;
pub use opcode::{AtomicOp, Cmp, Combine, FLAG_NAMES, Flags, Op, Opcode, PrmtMode, Rounding};
pub use signature::{ArgKind, BARRIERS, DstKind, Signature};
pub use special::{Axis, Special};
pub use spelling::SpellingError;
#[doc(hidden)]
pub use template::WIDE_REGISTERS;
pub use template::{MAX_TEMPLATE, Piece, Template, TemplateError};
pub use types::{Space, Type, TypeClass};
pub use warp_counts::{WarpCounts, WarpEntry};
pub use zeros::{Write, ZeroEntry, ZeroNames, ZeroWrite};
