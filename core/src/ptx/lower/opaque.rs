//! Instructions of PTX that are kept as they are.
//!
//! ```text
//! ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3+16];
//!     →   {r1, r2} = ptx "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {$0, $1}, [$2+16]", r3
//! mov.u32 %r4, %clusterid.x;
//!     →   r4 = ptx "mov.u32 $0, %clusterid.x"
//! ```
//!
//! An instruction without a meaning here still has operands: the registers that it writes and
//! reads, and the memory that it names. Everything else is text. Passes take it for an instruction
//! that depends on the lanes that run with it and may do anything to memory; the simulator refuses
//! the kernel.
//!
//! The first operand is what is written, unless it is in brackets, a number, or that of one of the
//! few instructions that write nothing ([`writes_nothing`]). `wgmma.mma_async` also reads its
//! accumulators. These are not there before a `wgmma.wait_group`, and the registers of a
//! `tcgen05.ld` not before a `tcgen05.wait`: such an instruction reads and writes all of them, so
//! that nobody moves a read of one in front of it.
//!
//! Source: PTX ISA, "Instruction Set".

use super::body::{Entity, Lowered, Lowering};
use super::names::clean;
use crate::ir::{
    AtomicOp, Cmp, FLAG_NAMES, Few, Function, InstData, Operand, Reg, Rounding, Special, Symbol, Template, Type,
    WIDE_REGISTERS,
};
use crate::ptx::syntax::{Inst, Number, Operand as Source, OperandKind, Statement, Variable};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// An opaque instruction on its way.
#[derive(Default)]
struct Opaque {
    text: String,
    dsts: Few<Reg>,
    args: Vec<Operand>,
    /// Pieces of text and what stands between them, since places count destinations first.
    places: Vec<(usize, Place)>,
}

#[derive(Clone, Copy)]
enum Place {
    Dst(usize),
    Arg(usize),
}

impl Opaque {
    fn place(&mut self, place: Place) {
        self.places.push((self.text.len(), place));
    }

    fn finish(mut self) -> Result<InstData, &'static str> {
        let mut text = String::with_capacity(self.text.len() + 4 * self.places.len());
        let mut start = 0;
        for &(at, place) in &self.places {
            text.push_str(&self.text[start..at].replace('$', "$$"));
            let number = match place {
                Place::Dst(index) => index,
                Place::Arg(index) => self.dsts.len() + index,
            };
            text.push_str(&format!("${number}"));
            start = at;
        }
        text.push_str(&self.text[start..].replace('$', "$$"));
        let template = Template::new(text).map_err(|problem| problem.reason)?;
        Ok(InstData::opaque(template, self.dsts, core::mem::take(&mut self.args)))
    }
}

impl<'a> Lowering<'a, '_> {
    /// Keeps an instruction as it is.
    pub(super) fn opaque(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let spelled = spelled(inst);
        let mut opaque = Opaque { text: spelled.clone(), ..Opaque::default() };
        let writes = !writes_nothing(inst);
        for (index, operand) in inst.operands.iter().enumerate() {
            opaque.text.push_str(if index == 0 { " " } else { ", " });
            let writes = writes && index == 0;
            self.opaque_operand(&mut opaque, &operand.kind, writes)?;
        }
        if spelled.starts_with("wgmma.mma_async") {
            opaque.args.extend(opaque.dsts.iter().map(|&reg| Operand::Reg(reg)).collect::<Vec<_>>());
        }
        for name in self.late_results(&spelled) {
            if let Entity::Reg(reg) = self.resolve(name)? {
                opaque.dsts.push(reg);
                opaque.args.push(Operand::Reg(reg));
                self.tied.insert(reg);
            }
        }
        self.warn_opaque(inst);
        match opaque.finish() {
            Ok(data) => {
                self.emit(data);
                Ok(())
            }
            Err(reason) => Err(self.unsupported(&format!("`{spelled}` is not supported: {reason}"))),
        }
    }

    /// `ld.param.b128`, `st.param.b128`: what is passed to functions and returned is in local memory.
    pub(super) fn wide_param(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let base = inst.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Address(base, _) => base,
            _ => None,
        });
        let mut kept = inst.clone();
        if let Some(base) = base
            && matches!(self.resolve(base)?, Entity::CallParam(_) | Entity::Pointer(_))
        {
            kept.modifiers[0] = "local";
        }
        self.opaque(&kept)
    }

    /// The value of a special register that the simulator does not know.
    pub(super) fn opaque_special(&mut self, name: &str, ty: Type) -> Lowered<Operand> {
        let dst = self.temporary(ty);
        let text = format!("mov.{ty} $0, {name}");
        self.warn(&format!("`{name}` is kept as it is: the simulator does not know it, and refuses the kernel"));
        match Template::new(text) {
            Ok(template) => {
                self.emit_unguarded(InstData::opaque(template, [dst], []));
                Ok(Operand::Reg(dst))
            }
            Err(problem) => Err(self.unsupported(problem.reason)),
        }
    }

    /// A register of 128 bits, or a span of them, is declared as it was.
    pub(super) fn declare_wide(&mut self, variable: &Variable<'a>) {
        let name = variable.name.text;
        let count = variable.count.map_or(String::new(), |count| format!("<{count}>"));
        let text = format!("{WIDE_REGISTERS}{name}{count}");
        // Two scopes may have one of the same name, each for itself.
        if !self.wide.contains(&text) {
            self.wide.push(text);
        }
        self.func.reserve_reg_name(&clean(name));
        self.current_scope().wide.push((name, variable.count));
    }

    fn warn_opaque(&mut self, inst: &Inst<'a>) {
        let name = inst.opcode.text;
        self.warn(&format!(
            "this form of `{name}` is kept as it is: passes leave it alone, and the simulator refuses the kernel"
        ));
    }

    fn opaque_operand(&mut self, opaque: &mut Opaque, kind: &OperandKind<'a>, writes: bool) -> Lowered<()> {
        match kind {
            OperandKind::Name(name) => self.opaque_name(opaque, name, writes)?,
            OperandKind::Not(name) => {
                opaque.text.push('!');
                self.opaque_name(opaque, name, writes)?;
            }
            OperandKind::Pair(first, second) => {
                self.opaque_name(opaque, first, writes)?;
                opaque.text.push('|');
                self.opaque_name(opaque, second, writes)?;
            }
            OperandKind::Number(number) => opaque.text.push_str(&match *number {
                Number::Int(value) => (value as i64).to_string(),
                Number::Single(bits) => format!("0f{bits:08X}"),
                Number::Double(bits) => format!("0d{bits:016X}"),
            }),
            OperandKind::Offset(name, offset) => {
                self.opaque_name(opaque, name, false)?;
                opaque.text.push_str(&format!("+{offset}"));
            }
            OperandKind::Address(base, offset) => {
                opaque.text.push('[');
                match base {
                    Some(base) => {
                        self.opaque_name(opaque, base, false)?;
                        if *offset != 0 {
                            opaque.text.push_str(&format!("+{offset}"));
                        }
                    }
                    None => opaque.text.push_str(&offset.to_string()),
                }
                opaque.text.push(']');
            }
            OperandKind::Texture(base, sampler, coordinates) => {
                opaque.text.push('[');
                self.opaque_name(opaque, base, false)?;
                if let Some(sampler) = sampler {
                    opaque.text.push_str(", ");
                    self.opaque_name(opaque, sampler, false)?;
                }
                opaque.text.push_str(", ");
                self.opaque_list(opaque, coordinates, false)?;
                opaque.text.push(']');
            }
            OperandKind::Vector(elements) => self.opaque_list(opaque, elements, writes)?,
            OperandKind::List(_) => return Err(self.error("ptx-operands", "only a call has operands in parentheses")),
        }
        Ok(())
    }

    fn opaque_list(&mut self, opaque: &mut Opaque, elements: &[Source<'a>], writes: bool) -> Lowered<()> {
        opaque.text.push('{');
        for (index, element) in elements.iter().enumerate() {
            opaque.text.push_str(if index == 0 { "" } else { ", " });
            // The parser puts no list into a list.
            self.opaque_operand(opaque, &element.kind, writes)?;
        }
        opaque.text.push('}');
        Ok(())
    }

    fn opaque_name(&mut self, opaque: &mut Opaque, name: &'a str, writes: bool) -> Lowered<()> {
        if name == "_" || name == "WARP_SZ" {
            opaque.text.push_str(name);
            return Ok(());
        }
        let (entity, selector) = self.selected(name)?;
        let Some(entity) = entity else {
            opaque.text.push_str(name);
            return Ok(());
        };
        let entity = match entity {
            Entity::CallParam(index) => self.call_params[index].array.map_or(entity, Entity::Array),
            entity => entity,
        };
        match entity {
            Entity::Reg(reg) if writes => {
                // A register that is written twice is one place.
                let known = opaque.dsts.iter().position(|dst| *dst == reg);
                let index = known.unwrap_or(opaque.dsts.len());
                if known.is_none() {
                    opaque.dsts.push(reg);
                }
                opaque.place(Place::Dst(index));
                if !selector.is_empty() {
                    // The other bytes of the register stay.
                    opaque.args.push(Operand::Reg(reg));
                    self.tied.insert(reg);
                }
            }
            Entity::Reg(reg) | Entity::Pointer(reg) => self.opaque_arg(opaque, Operand::Reg(reg)),
            Entity::Array(array) => self.opaque_arg(opaque, Operand::Symbol(Symbol::Array(array))),
            Entity::Global(global) => self.opaque_arg(opaque, Operand::Symbol(Symbol::Global(global))),
            Entity::ParamArray(index) => self.opaque_arg(opaque, Operand::Symbol(Symbol::Param(index))),
            Entity::Special(special) => opaque.text.push_str(&special_text(special, name)),
            Entity::CallParam(_) | Entity::Result | Entity::Func(_) | Entity::Unknown => {
                return Err(self.unsupported(&format!("`{name}` is not supported as an operand here")));
            }
        }
        opaque.text.push_str(selector);
        Ok(())
    }

    fn opaque_arg(&mut self, opaque: &mut Opaque, operand: Operand) {
        let known = opaque.args.iter().position(|arg| *arg == operand);
        let index = known.unwrap_or(opaque.args.len());
        if known.is_none() {
            opaque.args.push(operand);
        }
        opaque.place(Place::Arg(index));
    }

    /// Entity of a name, and the selector `.b0` or `.h1` behind it; nothing for a special register that the
    /// simulator does not know.
    fn selected(&mut self, name: &'a str) -> Lowered<(Option<Entity>, &'a str)> {
        if let Some((stem, selector)) = name.rsplit_once('.')
            && matches!(selector, "b0" | "b1" | "b2" | "b3" | "h0" | "h1")
        {
            return Ok((Some(self.resolve(stem)?), &name[stem.len()..]));
        }
        match self.resolve(name)? {
            Entity::Unknown => Ok((None, "")),
            entity => Ok((Some(entity), "")),
        }
    }

    /// The registers that instructions before such a wait write when it is over.
    fn late_results(&self, spelled: &str) -> Vec<&'a str> {
        let writers = match spelled {
            _ if spelled.starts_with("wgmma.wait_group") || spelled.starts_with("wgmma.fence") => "wgmma.mma_async",
            _ if spelled.starts_with("tcgen05.wait") => "tcgen05.ld",
            _ => return Vec::new(),
        };
        let mut names: Vec<&'a str> = Vec::new();
        for (opcode, name) in &self.late {
            if *opcode == writers && !names.contains(name) {
                names.push(name);
            }
        }
        names
    }
}

/// Puts the declarations of registers of 128 bits at the start of a function.
pub(super) fn declare_wide(func: &mut Function, declarations: &[String]) {
    let Some(entry) = func.entry_block().filter(|_| !declarations.is_empty()) else { return };
    let block = super::unassigned::only_entered(func, entry);
    let first = func.layout.first_inst(block);
    for text in declarations {
        if let Ok(template) = Template::new(text.replace('$', "$$")) {
            let inst = func.insts.push(InstData::opaque(template, [], []));
            func.insert_inst(inst, block, first);
        }
    }
}

/// The names that asynchronous instructions of a body write, each with its opcode.
pub(super) fn late_results<'a>(statements: &[Statement<'a>]) -> Vec<(&'static str, &'a str)> {
    let mut names = Vec::new();
    for statement in statements {
        let Statement::Inst(inst) = statement else { continue };
        let opcode = match (inst.opcode.text, inst.modifiers.first()) {
            ("wgmma", Some(&"mma_async")) => "wgmma.mma_async",
            ("tcgen05", Some(&"ld")) => "tcgen05.ld",
            _ => continue,
        };
        match inst.operands.first().map(|operand| &operand.kind) {
            Some(OperandKind::Vector(elements)) => {
                names.extend(elements.iter().filter_map(|element| match element.kind {
                    OperandKind::Name(name) if name != "_" => Some((opcode, name)),
                    _ => None,
                }))
            }
            Some(OperandKind::Name(name)) => names.push((opcode, name)),
            _ => {}
        }
    }
    names
}

/// Is an instruction kept where it is of no kind that the text IR has? Its opcode is one of PTX's,
/// and so are its modifiers; a word that PTX has not is a mistake.
pub(super) fn is_kept(inst: &Inst<'_>) -> bool {
    is_opaque_family(inst.opcode.text)
        || is_among(inst.opcode.text, ROOTS) && inst.modifiers.iter().all(|word| is_known_word(word))
}

/// Is it a family of which the text IR has nothing? Such an instruction is kept with any modifiers.
pub(super) fn is_opaque_family(root: &str) -> bool {
    is_among(root, FAMILIES)
}

/// Does PTX use the word as a modifier of what is not simulated?
fn is_known_word(word: &str) -> bool {
    Type::from_name(word).is_some()
        || FLAG_NAMES.iter().any(|(_, name)| *name == word)
        || Rounding::from_name(word).is_some()
        || Cmp::from_name(word).is_some()
        || AtomicOp::from_name(word).is_some()
        || word.split_once("::").is_some_and(|(scope, _)| is_among(scope, SCOPES))
        || is_among(word, MODIFIERS)
}

fn is_among(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// Roots of which the text IR has nothing.
const FAMILIES: &str = "wmma mma wgmma ldmatrix stmatrix movmatrix tcgen05 mbarrier setmaxnreg griddepcontrol \
                        tensormap multimem mapa getctarank clusterlaunchcontrol suld sust sured suq istypep txq tld4 \
                        vabsdiff vadd vsub vmad vmax vmin vset vshl vshr vadd2 vadd4 vsub2 vsub4 vavrg2 vavrg4 \
                        vabsdiff2 vabsdiff4 vmax2 vmax4 vmin2 vmin4 vset2 vset4 fns alloca stacksave stackrestore \
                        applypriority";

/// Roots of which the text IR has a part.
const ROOTS: &str = "cp fence tex cvt barrier bar elect st ld red atom cvta isspacep match vote shfl add sub mul fma \
                     min max neg abs set setp mov membar redux ldu prefetch discard createpolicy ";

/// Part of a modifier before `::`.
const SCOPES: &str = "L1 L2 shared param cta_group mbarrier proxy tensormap sem";

/// Modifiers that are no types, flags, roundings, comparisons or operations of the text IR.
const MODIFIERS: &str = "global shared local const param tex surf v2 v4 v8 b128 bf16 bf16x2 f16x2 f32x2 tf32 e4m3x2 \
                         e5m2x2 e2m1x2 e2m3x2 e3m2x2 e4m3x4 e5m2x4 e2m1x4 e2m3x4 e3m2x4 ue8m0x2 u16x2 s16x2 u8x4 s8x4 \
                         s2f6x2 s4 u4 rna rs satfinite relu noftz oob NaN xorsign weak mmio cluster unified sc alias \
                         async bulk tensor prefetch reduce commit_group wait_group wait_all read tile im2col \
                         im2col_no_offs 1d 2d 3d 4d 5d a1d a2d cube acube 2dms a2dms base level grad r g a sync \
                         aligned arrive wait inc noinc pack wide lo proxy acquire release mbarrier_init cp_async_bulk \
                         multicast fractional all any uni ballot idx up down bfly cg ca cv cs wb wt abs clamp wrap \
                         approx to mbarrier restrict expect_tx complete_tx";

/// Writes an instruction no register although its first operand is one?
fn writes_nothing(inst: &Inst<'_>) -> bool {
    let second = inst.modifiers.first().copied().unwrap_or_default();
    match inst.opcode.text {
        "tcgen05" => !matches!(second, "ld" | "alloc"),
        "wgmma" => second != "mma_async",
        "wmma" => second == "store",
        "bar" | "barrier" => second != "red" && inst.modifiers.get(1) != Some(&"red"),
        "stackrestore" | "nanosleep" | "setmaxnreg" | "griddepcontrol" | "st" | "red" | "sust" | "sured"
        | "stmatrix" | "prefetch" | "discard" | "applypriority" | "cp" | "fence" | "membar" => true,
        _ => matches!(
            inst.operands.first().map(|operand| &operand.kind),
            Some(OperandKind::Address(..) | OperandKind::Texture(..) | OperandKind::Number(_) | OperandKind::Not(_))
        ),
    }
}

/// The opcode and its modifiers as they stand in the source.
fn spelled(inst: &Inst<'_>) -> String {
    let mut text = String::from(inst.opcode.text);
    for word in &inst.modifiers {
        text.push('.');
        text.push_str(word);
    }
    text
}

/// A special register as PTX writes it.
fn special_text(special: Special, name: &str) -> String {
    match special {
        Special::Warpsize => "WARP_SZ".into(),
        _ => name.into(),
    }
}
