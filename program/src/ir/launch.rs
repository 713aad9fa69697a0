//! Launches: how the playground runs a kernel, as the text says it. Sliders and options override it.

use alloc::string::String;
use alloc::vec::Vec;

use super::comments::Comments;
use super::function::{Function, Span};
use super::types::Type;

/// A number as written: it becomes bits when the type of its place is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// Decimal or `0x…`.
    Int(i128),
    /// With a point or exponent, `inf` or `nan`.
    Float(f64),
    /// PTX's `0f3F800000`.
    F32Bits(u32),
    /// PTX's `0d3FF0000000000000`.
    F64Bits(u64),
}

/// Source of the elements of a buffer, or of the draws of an input.
#[derive(Clone, PartialEq, Debug)]
pub enum ValueSource {
    /// 0, 1, 2, …
    Iota,
    /// One value everywhere.
    Const(Number),
    /// Evenly distributed: a ≤ x < b for floats, a…b inclusive for integers.
    Random(Number, Number),
    /// 1 with that probability (0–1), else 0.
    True(f64),
    /// These, then zeros.
    List(Vec<Number>),
}

/// Values with their statistics.
#[derive(Clone, PartialEq, Debug)]
pub struct Values {
    /// Source of the values.
    pub source: ValueSource,
    /// Probability (0–1) that an element is zero instead.
    pub zero: Option<f64>,
    /// Probability (0–1) that a warp's aligned group of elements shares one draw. Divergence is one minus this.
    pub coherence: Option<f64>,
}

/// Value of a parameter or input.
#[derive(Clone, PartialEq, Debug)]
pub enum Fill {
    /// A scalar.
    Number(Number),
    /// The elements of an array by value.
    Numbers(Vec<Number>),
    /// A buffer in global memory: element type and count. Binds to `ptr`, `u64` and `b64`.
    Buffer {
        /// Element type.
        ty: Type,
        /// Elements.
        len: u32,
        /// The initial contents.
        values: Values,
    },
    /// An f32 texture of four-element texels: width and height in texels.
    Texture {
        /// Texels a row.
        width: u32,
        /// Rows.
        height: u32,
        /// The contents, texel by texel, element by element.
        values: Values,
    },
    /// The draws of an input.
    Draws(Values),
}

/// Which parameter or input a line of a launch is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FillKey {
    /// Key by name.
    Name(String),
    /// `#k`: the k-th parameter, from 0.
    Index(u32),
}

/// A step from a piece of memory to what it points to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PointerStep {
    /// `[b]`: through the pointer at that byte.
    At(u32),
    /// `[*]`: through each of its pointers, all of its 64-bit words.
    Each,
}

/// One line `name = fill`, or `name[b] = fill` for the memory that a pointer in the memory of `name` points to.
#[derive(Clone, PartialEq, Debug)]
pub struct Binding {
    /// Key of the bound parameter or input.
    pub key: FillKey,
    /// The pointers from there to the memory; none for what the parameter or input itself gets.
    pub path: Vec<PointerStep>,
    /// To what.
    pub fill: Fill,
    /// Whether the fill was derived from the kernel rather than written by somebody.
    pub is_derived: bool,
    /// Span of the key in the source.
    pub span: Span,
}

/// A `launch`.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads a block along x, y, z.
    pub block: [u32; 3],
    /// Whether the sizes were derived from the kernel rather than written by somebody.
    pub is_derived: bool,
    /// Lanes a warp (8, 16 or 32), where the text says.
    pub warp: Option<u32>,
    /// Bytes for shared arrays without a size.
    pub shared: Option<u32>,
    /// Seed of everything random, where the text says; else 0.
    pub seed: Option<u64>,
    /// Parameters and inputs, in text order.
    pub bindings: Vec<Binding>,
    /// Its comments; [`super::CommentAnchor::Line`] says how its lines are numbered.
    pub comments: Comments,
    /// Span of the kernel's name in the source.
    pub span: Span,
}

impl Launch {
    /// One block of one thread, nothing bound.
    pub fn new(kernel: impl Into<String>) -> Launch {
        Launch {
            kernel: kernel.into(),
            grid: [1; 3],
            block: [1; 3],
            is_derived: false,
            warp: None,
            shared: None,
            seed: None,
            bindings: Vec::new(),
            comments: Comments::default(),
            span: Span::default(),
        }
    }

    /// Binding of a kernel's parameter, the one at `index` and called `name`. The last of several holds.
    pub fn binding(&self, index: usize, name: &str) -> Option<&Binding> {
        self.bindings.iter().rev().find(|binding| binding.path.is_empty() && binding.key.is_of(index, name))
    }

    /// Binding of a parameter, to be changed.
    pub fn binding_mut(&mut self, index: usize, name: &str) -> Option<&mut Binding> {
        self.bindings.iter_mut().rev().find(|binding| binding.path.is_empty() && binding.key.is_of(index, name))
    }

    /// Whether the sizes or a fill were derived from the kernel.
    pub fn has_derived_parts(&self) -> bool {
        self.is_derived || self.bindings.iter().any(|binding| binding.is_derived)
    }

    /// Whether every parameter of the kernel is bound.
    pub fn is_complete(&self, kernel: &Function) -> bool {
        kernel.params.iter().enumerate().all(|(index, param)| self.binding(index, &param.name).is_some())
    }
}

impl FillKey {
    /// Does it name the parameter at `index` that is called `name`?
    pub fn is_of(&self, index: usize, name: &str) -> bool {
        match self {
            FillKey::Name(key) => key == name,
            FillKey::Index(key) => *key as usize == index,
        }
    }
}
