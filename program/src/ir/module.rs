//! Modules: globals, kernels, functions and launches, in the order of the text.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use cranelift_entity::{EntityRef, PrimaryMap};

use super::comments::Comments;
use super::declaration::{Declaration, FileHeader};
use super::entities::{Func, Global};
use super::function::{FuncKind, Function, Span};
use super::launch::Launch;
use super::types::{Space, Type};

/// Object that a module's variable refers to instead of holding elements. Texture fetches read
/// textures; others only opaque instructions read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reference {
    /// `texref`
    Texture,
    /// `surfref`
    Surface,
    /// `samplerref`
    Sampler,
}

impl Reference {
    /// The spelling, the same as in PTX.
    pub const fn name(self) -> &'static str {
        match self {
            Reference::Texture => "texref",
            Reference::Surface => "surfref",
            Reference::Sampler => "samplerref",
        }
    }

    /// The reference of that spelling.
    pub fn from_name(name: &str) -> Option<Reference> {
        [Reference::Texture, Reference::Surface, Reference::Sampler].into_iter().find(|kind| kind.name() == name)
    }
}

/// A `global` or `const` array.
#[derive(Clone, PartialEq, Debug)]
pub struct GlobalData {
    /// Its name.
    pub name: String,
    /// `Space::Global` or `Space::Const`.
    pub space: Space,
    /// The element type.
    pub ty: Type,
    /// Elements.
    pub len: u32,
    /// The bits of the first elements; the others are zero. `None` where the text has no initialiser.
    pub init: Option<Vec<u64>>,
    /// Which of these are addresses, in rising order; their bits are 0 there.
    pub addresses: Vec<InitialAddress>,
    /// A reference; its type and length are those of an address.
    pub reference: Option<Reference>,
    /// Its comments.
    pub comments: Comments,
    /// How PTX declares it, if it was read from PTX.
    pub declaration: Option<Box<Declaration>>,
    /// Span of the name in the source.
    pub span: Span,
}

/// An element of a `global` array that starts as the address of another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitialAddress {
    /// The element.
    pub element: u32,
    /// The array whose address it is.
    pub global: Global,
    /// Bytes beyond its start.
    pub offset: i64,
}

/// One item of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// `global` or `const`.
    Global(Global),
    /// `kernel` or `func`.
    Func(Func),
    /// `launch`: an index into [`Module::launches`].
    Launch(usize),
}

/// A program.
#[derive(Clone, Default)]
pub struct Module {
    /// `global` and `const` arrays.
    pub globals: PrimaryMap<Global, GlobalData>,
    /// Kernels and functions.
    pub funcs: PrimaryMap<Func, Function>,
    /// How the playground runs kernels.
    pub launches: Vec<Launch>,
    /// All of these in text order.
    pub items: Vec<Item>,
    /// The header of the PTX file that it was read from.
    pub header: Option<FileHeader>,
    /// Declarations of that file that are no item here: shared variables of the whole file, and
    /// what other files define.
    pub declarations: Vec<Declaration>,
    /// Whole-line comments after the last item, without the slashes.
    pub trailing_comments: Vec<String>,
}

impl Module {
    /// The kernel or function of that name.
    pub fn func_by_name(&self, name: &str) -> Option<Func> {
        self.funcs.iter().find(|(_, func)| func.name == name).map(|(id, _)| id)
    }

    /// The global of that name.
    pub fn global_by_name(&self, name: &str) -> Option<Global> {
        self.globals.iter().find(|(_, global)| global.name == name).map(|(id, _)| id)
    }

    /// The globals that are references to textures.
    pub fn textures(&self) -> impl Iterator<Item = (Global, &GlobalData)> + '_ {
        self.globals.iter().filter(|(_, global)| global.reference == Some(Reference::Texture))
    }

    /// Kernels in text order.
    pub fn kernels(&self) -> impl Iterator<Item = Func> + '_ {
        self.funcs.iter().filter(|(_, func)| func.kind == FuncKind::Kernel).map(|(id, _)| id)
    }

    /// Puts a new global into the text before a function that uses it.
    #[doc(hidden)]
    pub fn create_global(&mut self, data: GlobalData, before: Func) -> Global {
        let global = self.globals.push(data);
        let place = self.items.iter().position(|item| *item == Item::Func(before)).unwrap_or(self.items.len());
        self.items.insert(place, Item::Global(global));
        global
    }

    /// Takes back the creation of a global, the last one that was created.
    #[doc(hidden)]
    pub fn forget_global(&mut self, global: Global) {
        debug_assert_eq!(
            self.globals.last().map(|(last, _)| last),
            Some(global),
            "what came later is taken back first"
        );
        self.items.retain(|item| *item != Item::Global(global));
        let mut globals: Vec<GlobalData> = mem::take(&mut self.globals).into();
        globals.truncate(global.index());
        self.globals = globals.into();
    }

    /// The first launch of a kernel that somebody wrote. A derived one is a guess, which no pass relies on.
    pub fn stated_launch_of(&self, kernel: &str) -> Option<&Launch> {
        self.launch_of(kernel).filter(|launch| !launch.is_derived)
    }

    /// The first launch of a kernel.
    pub fn launch_of(&self, kernel: &str) -> Option<&Launch> {
        self.launches.iter().find(|launch| launch.kernel == kernel)
    }
}
