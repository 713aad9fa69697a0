//! Alias analysis: addresses are evaluated, and the rules about spaces and objects are spelled out.

use cranelift_entity::EntityRef;
use proptest::prelude::*;
use warpscope_core::alias::{AliasAnalysis, AliasClasses, Effect, Moment, Relation};
use warpscope_core::flow::Values;
use warpscope_core::graph::{Cfg, Dominators};
use warpscope_core::ir::{
    Address, AddressBase, ArrayData, FuncKind, Function, GlobalData, Inst, InstData, Module, Op, Opcode, Operand,
    ParamType, Reg, Space, Span, Symbol, Type,
};
use warpscope_core::symbolic::{AffineNames, Base, Overflow};

use crate::symbolic::{PER_TYPE, TYPES, build, execute, lines, reg_of};

fn access(op: Op, space: Option<Space>, ty: Type, vector: u8, address: Address) -> InstData {
    let mut opcode = Opcode::memory(op, space, ty);
    opcode.vector = vector;
    InstData::new(opcode, [], [Operand::Address(Box::new(address))])
}

/// Address of a store: its base register, its index register with a scale, its offset, and its width.
type Store = (usize, usize, Option<(usize, usize, i64)>, i64, usize);

fn stores() -> impl Strategy<Value = Store> {
    let term = prop::option::of((0usize..4, 0..PER_TYPE, 1i64..9));
    (0usize..14, 0..PER_TYPE, term, -4i64..16, 0usize..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// A straight line with two stores: what is said of them must hold for the addresses that they have.
    #[test]
    fn relations_hold_for_the_addresses_that_occur(
        lines in lines(),
        start in prop::collection::vec(0u64..100, TYPES.len() * PER_TYPE),
        stores in [stores(), stores()],
    ) {
        let mut func = build(&lines);
        let block = func.layout.first_block().unwrap();
        let mut at: Vec<Option<Inst>> = func.block_insts(block).map(Some).collect();
        let mut placed = Vec::new();
        for (place, base, term, offset, width) in stores {
            let address = Address {
                base: AddressBase::Reg(reg_of(3, base)),
                terms: term.map(|(ty, index, scale)| (reg_of(ty, index), scale)).into_iter().collect(),
                offset,
            };
            let ty = [Type::U32, Type::F64, Type::U8][width];
            let inst = func.insts.push(access(Op::St, Some(Space::Global), ty, 1, address));
            let before = at[place % at.len()];
            func.insert_inst(inst, block, before);
            at.push(before);
            placed.push(inst);
        }
        let cfg = Cfg::compute(&func);
        let values = Values::compute(&func, &cfg, &Dominators::compute(&cfg));
        let module = Module::default();
        let mut regs: Vec<u64> = start.clone();
        regs.push(1);
        let mut addresses = [0u64; 2];
        let mut overflowed = false;
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            if let Some(store) = placed.iter().position(|&store| store == inst) {
                let address = data.address().unwrap();
                let AddressBase::Reg(base) = address.base else { unreachable!() };
                let mut sum = regs[base.index()].wrapping_add(address.offset as u64);
                for &(reg, scale) in &address.terms {
                    let ty = func.reg_types[reg];
                    let index = warpscope_core::symbolic::Extension::of(ty).extend(regs[reg.index()], ty.bits());
                    sum = sum.wrapping_add(index.wrapping_mul(scale) as u64);
                }
                addresses[store] = sum;
            } else if !data.is_terminator() {
                let (bits, overflows) = execute(&func, data, &regs);
                overflowed |= overflows;
                regs[data.dsts[0].index()] = bits;
            }
        }
        for overflow in [Overflow::Assume, Overflow::Prove] {
            let alias = AliasAnalysis::new(&module, &func, &values, AffineNames::new(&func, &values, overflow));
            let (a, b) = (alias.access(placed[0]).unwrap(), alias.access(placed[1]).unwrap());
            if overflow == Overflow::Assume && overflowed {
                continue;
            }
            for moment in [Moment::Same, Moment::Any] {
                let distance = addresses[1].wrapping_sub(addresses[0]) as i64;
                let meet = distance < i64::from(a.bytes) && distance > -i64::from(b.bytes);
                match alias.relation(&a, &b, moment) {
                    Relation::No => prop_assert!(!meet),
                    Relation::Must => prop_assert!(distance == 0 && a.bytes == b.bytes),
                    Relation::May => {}
                }
                prop_assert_eq!(alias.relation(&a, &b, moment), alias.relation(&b, &a, moment));
            }
        }
    }
}

/// x and y: pointers to global memory, z: a restrict one, g: a generic one, i: an index; a shared and a local array; a
/// global and a const one.
struct Scene {
    module: Module,
    func: Function,
}

impl Scene {
    fn new(kind: FuncKind) -> Scene {
        let mut module = Module::default();
        for (name, space) in [("data", Space::Global), ("table", Space::Const)] {
            module.globals.push(GlobalData {
                addresses: Vec::new(),
                reference: None,
                name: name.into(),
                space,
                ty: Type::F32,
                len: 4,
                init: None,
                comments: Default::default(),
                declaration: None,
                span: Span::default(),
            });
        }
        let mut func = Function::new("k", kind);
        for (name, space, restrict) in [
            ("x", Some(Space::Global), false),
            ("y", Some(Space::Global), false),
            ("z", Some(Space::Global), true),
            ("g", None, false),
        ] {
            func.build_param(name, ParamType::Pointer { space, restrict });
        }
        func.build_param("i", ParamType::Scalar(Type::S32));
        for (name, space) in [("tile", Space::Shared), ("spill", Space::Local)] {
            func.build_array(ArrayData {
                name: name.into(),
                space,
                ty: Type::F32,
                len: Some(8),
                is_of_file: false,
                declaration: None,
            });
        }
        func.build_block("b");
        Scene { module, func }
    }

    fn store(&mut self, space: Option<Space>, base: &str, index: Option<&str>, offset: i64) -> Inst {
        let array = |name: &str| self.func.arrays.iter().find(|(_, data)| data.name == name).map(|(array, _)| array);
        let base = match (self.func.reg_by_name(base), array(base), self.module.global_by_name(base)) {
            (Some(reg), ..) => AddressBase::Reg(reg),
            (_, Some(array), _) => AddressBase::Symbol(Symbol::Array(array)),
            (.., global) => AddressBase::Symbol(Symbol::Global(global.unwrap())),
        };
        let terms = index.map(|name| (self.func.reg_by_name(name).unwrap(), 4)).into_iter().collect();
        let block = self.func.layout.first_block().unwrap();
        self.func.build_inst(block, access(Op::St, space, Type::F32, 1, Address { base, terms, offset }))
    }

    fn with<T>(&self, look: impl FnOnce(AliasAnalysis<'_>) -> T) -> T {
        let mut func = self.func.clone();
        let block = func.layout.first_block().unwrap();
        func.build_inst(block, InstData::new(Opcode::untyped(Op::Ret), [], []));
        let cfg = Cfg::compute(&func);
        let values = Values::compute(&func, &cfg, &Dominators::compute(&cfg));
        look(AliasAnalysis::new(&self.module, &func, &values, AffineNames::new(&func, &values, Overflow::Assume)))
    }

    fn relation(&self, a: Inst, b: Inst) -> Relation {
        self.with(|alias| alias.relation(&alias.access(a).unwrap(), &alias.access(b).unwrap(), Moment::Same))
    }
}

#[test]
fn spaces_and_objects_decide_before_offsets() {
    let global = Some(Space::Global);
    for (kind, generic_and_array) in [(FuncKind::Kernel, Relation::No), (FuncKind::Func, Relation::May)] {
        let mut scene = Scene::new(kind);
        let [x, y, z] = ["x", "y", "z"].map(|name| scene.store(global, name, Some("i"), 0));
        let x_next = scene.store(global, "x", Some("i"), 4);
        let x_late = scene.store(global, "x", Some("i"), 2);
        let data = scene.store(global, "data", None, 0);
        let generic = scene.store(None, "g", None, 0);
        let tile = scene.store(Some(Space::Shared), "tile", None, 0);
        let tile_generic = scene.store(None, "tile", None, 0);
        let table = scene.store(Some(Space::Const), "table", None, 0);
        assert_eq!(scene.relation(x, x), Relation::Must);
        assert_eq!(scene.relation(x, x_next), Relation::No);
        assert_eq!(scene.relation(x, x_late), Relation::May);
        assert_eq!(scene.relation(x, y), Relation::May);
        assert_eq!(scene.relation(x, z), Relation::No);
        assert_eq!(scene.relation(generic, z), Relation::No);
        assert_eq!(scene.relation(x, data), Relation::May);
        assert_eq!(scene.relation(z, data), Relation::No);
        assert_eq!(scene.relation(x, tile), Relation::No);
        assert_eq!(scene.relation(generic, x), Relation::May);
        assert_eq!(scene.relation(generic, tile), generic_and_array);
        assert_eq!(scene.relation(tile_generic, tile), Relation::Must);
        assert_eq!(scene.relation(generic, table), Relation::No);
    }
}

#[test]
fn at_any_moment_only_what_never_changes_is_compared() {
    let mut scene = Scene::new(FuncKind::Kernel);
    let [a, b] = [0, 4].map(|offset| scene.store(Some(Space::Global), "x", Some("i"), offset));
    scene.with(|alias| {
        let [a, b] = [a, b].map(|inst| alias.access(inst).unwrap());
        // `i` is a parameter and nothing writes it.
        assert_eq!(alias.relation(&a, &b, Moment::Any), Relation::No);
        assert_eq!(a.address.as_ref().unwrap().base, Base::Pointer(0));
    });
    // Now `i` is loaded, so that it may be another number the next time.
    let mut scene = Scene::new(FuncKind::Kernel);
    let block = scene.func.layout.first_block().unwrap();
    let i: Reg = scene.func.reg_by_name("i").unwrap();
    let address = Address { base: AddressBase::Reg(Reg::new(0)), terms: Default::default(), offset: 0 };
    let load = InstData::new(
        Opcode::memory(Op::Ld, Some(Space::Global), Type::S32),
        [i],
        [Operand::Address(Box::new(address))],
    );
    scene.func.build_inst(block, load);
    let [a, b] = [0, 4].map(|offset| scene.store(Some(Space::Global), "x", Some("i"), offset));
    scene.with(|alias| {
        let [a, b] = [a, b].map(|inst| alias.access(inst).unwrap());
        assert_eq!(alias.relation(&a, &b, Moment::Same), Relation::No);
        assert_eq!(alias.relation(&a, &b, Moment::Any), Relation::May);
    });
}

#[test]
fn classes_hold_together_what_may_meet() {
    let mut scene = Scene::new(FuncKind::Kernel);
    let global = Some(Space::Global);
    let x = scene.store(global, "x", Some("i"), 0);
    let y = scene.store(global, "y", None, 8);
    let z = scene.store(global, "z", None, 8);
    let tile = scene.store(Some(Space::Shared), "tile", None, 0);
    let spill = scene.store(Some(Space::Local), "spill", None, 0);
    scene.with(|alias| {
        let classes = AliasClasses::compute(alias);
        let [x, y, z, tile, spill] = [x, y, z, tile, spill].map(|inst| classes.of(inst).unwrap());
        assert_eq!(x, y);
        assert_eq!(classes.len(), 4);
        assert!(x != z && x != tile && z != tile && tile != spill);
    });
}

#[test]
fn barriers_and_volatile_accesses_keep_order() {
    let mut scene = Scene::new(FuncKind::Kernel);
    let block = scene.func.layout.first_block().unwrap();
    let barrier = scene.func.build_inst(block, InstData::new(Opcode::untyped(Op::BarSync), [], []));
    let plain = scene.store(Some(Space::Global), "x", None, 0);
    let volatile = scene.store(Some(Space::Global), "x", None, 0);
    scene.func.insts[volatile].opcode.flags |= warpscope_core::ir::Flags::VOLATILE;
    scene.with(|alias| {
        assert_eq!(alias.effect(barrier), Effect::Everything);
        assert!(matches!(alias.effect(plain), Effect::Access(access) if access.writes && !access.reads));
        assert!(matches!(alias.effect(volatile), Effect::Ordered(_)));
    });
}
