//! A module to its canonical text, with a map between lines and what stands on them.
//!
//! Sound: whatever is printed parses to the same program. Registers get a `reg` line only where their type is not the
//! one that the parser would infer. Linear in the program.

mod function;
mod inst;
mod launch;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::ir::{
    Block, Comment, CommentAnchor, Comments, Few, Func, Function, Global, GlobalData, Inst, InstData, Item, Launch,
    Module, Reg, Type,
};

use super::number::write_constant;

/// Owner of a line of the printed text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineOwner {
    /// A blank line.
    Blank,
    /// A comment on its own line; the line below tells what it is about.
    Comment,
    /// A global.
    Global(Global),
    /// The opening line of a function.
    Func(Func),
    /// A declaration or profile of a function.
    Declaration(Func),
    /// A block's label.
    Block(Func, Block),
    /// An instruction.
    Inst(Func, Inst),
    /// The closing brace of a function.
    End(Func),
    /// A line of a launch: its number in the module.
    Launch(usize),
}

/// Which line is what, both ways. Lines count from 1.
#[derive(Clone, Debug, Default)]
pub struct LineMap {
    owners: Vec<LineOwner>,
    funcs: SecondaryMap<Func, FuncLines>,
}

#[derive(Clone, Debug, Default)]
struct FuncLines {
    header: u32,
    blocks: SecondaryMap<Block, u32>,
    insts: SecondaryMap<Inst, u32>,
}

impl LineMap {
    /// Returns the owner of a line; none beyond the end.
    pub fn owner(&self, line: u32) -> Option<LineOwner> {
        self.owners.get((line as usize).checked_sub(1)?).copied()
    }

    /// Returns the owner of each line, from the first.
    pub fn owners(&self) -> &[LineOwner] {
        &self.owners
    }

    /// The line of a function's header, if it was printed.
    pub fn func_line(&self, func: Func) -> Option<u32> {
        Some(self.funcs[func].header).filter(|&line| line != 0)
    }

    /// The line of a block's label, if it was printed.
    pub fn block_line(&self, func: Func, block: Block) -> Option<u32> {
        Some(self.funcs[func].blocks[block]).filter(|&line| line != 0)
    }

    /// The line of an instruction, if it was printed.
    pub fn inst_line(&self, func: Func, inst: Inst) -> Option<u32> {
        Some(self.funcs[func].insts[inst]).filter(|&line| line != 0)
    }

    /// The block that a line belongs to: a label's own, an instruction's by where it stands in `func`.
    pub fn block_of_line(&self, module: &Module, line: u32) -> Option<(Func, Block)> {
        match self.owner(line)? {
            LineOwner::Block(func, block) => Some((func, block)),
            LineOwner::Inst(func, inst) => Some((func, module.funcs.get(func)?.inst_block(inst)?)),
            _ => None,
        }
    }
}

/// A printed module.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    /// The text; ends with a line break unless it is empty.
    pub text: String,
    /// Which line is what.
    pub lines: LineMap,
}

/// The canonical text of a module.
pub fn print(module: &Module) -> String {
    print_with_lines(module).text
}

/// The canonical text of launches alone.
pub fn print_launches(launches: Vec<Launch>) -> String {
    let items = (0..launches.len()).map(Item::Launch).collect();
    print(&Module { launches, items, ..Module::default() })
}

/// The canonical text of a module and what stands on its lines.
pub fn print_with_lines(module: &Module) -> Printed {
    let mut printer = Printer::new(module);
    let mut previous = None;
    for &item in &module.items {
        let globals = matches!((previous, item), (Some(Item::Global(_)), Item::Global(_)));
        if previous.is_some() && !globals {
            printer.end_line(LineOwner::Blank);
        }
        printer.item(item);
        previous = Some(item);
    }
    if !module.trailing_comments.is_empty() {
        if previous.is_some() {
            printer.end_line(LineOwner::Blank);
        }
        for comment in &module.trailing_comments {
            printer.comment_line(comment);
        }
    }
    Printed { text: printer.out, lines: printer.lines }
}

/// The canonical text of one function of a module, which need not be the module's current version of it.
pub fn print_function(module: &Module, id: Func, func: &Function) -> String {
    let mut printer = Printer::new(module);
    printer.function(id, func);
    printer.out
}

/// The text of one instruction, as remarks quote it.
pub fn instruction_text(module: &Module, func: &Function, inst: Inst) -> String {
    let mut printer = Printer::new(module);
    printer.inst(func, &func.insts[inst]);
    printer.out
}

/// The text of what an instruction computes: guard, opcode and operands, with another name for each
/// register that `name` has one for.
pub fn expression_text(
    module: &Module,
    func: &Function,
    data: &InstData,
    name: &dyn Fn(Reg) -> Option<String>,
) -> String {
    let mut printer = Printer { reg_name: Some(name), ..Printer::new(module) };
    printer.inst(func, &InstData { dsts: Few::new(), ..data.clone() });
    printer.out
}

struct Printer<'m> {
    module: &'m Module,
    /// Other names for registers.
    reg_name: Option<&'m dyn Fn(Reg) -> Option<String>>,
    out: String,
    lines: LineMap,
    /// Spaces before each line.
    indent: usize,
}

impl<'m> Printer<'m> {
    fn new(module: &'m Module) -> Self {
        Printer { module, reg_name: None, out: String::new(), lines: LineMap::default(), indent: 0 }
    }

    fn item(&mut self, item: Item) {
        let module = self.module;
        match item {
            Item::Global(id) => self.global(id, &module.globals[id]),
            Item::Func(id) => self.function(id, &module.funcs[id]),
            Item::Launch(index) => self.launch(index, &module.launches[index]),
        }
    }

    fn global(&mut self, id: Global, global: &GlobalData) {
        self.commented(&global.comments, CommentAnchor::Header, LineOwner::Global(id), |printer| {
            if let Some(reference) = global.reference {
                let _ = write!(printer.out, "{} {}: {}", global.space, global.name, reference.name());
                return;
            }
            let _ = write!(printer.out, "{} {}: {}[{}]", global.space, global.name, global.ty, global.len);
            if let Some(init) = &global.init {
                printer.out.push_str(" = {");
                printer.initial_elements(global, init);
                printer.out.push('}');
            }
        });
    }

    fn initial_elements(&mut self, global: &GlobalData, init: &[u64]) {
        if global.addresses.is_empty() {
            return self.bits_list(init, global.ty);
        }
        let mut addresses = global.addresses.iter().peekable();
        for (index, &bits) in init.iter().enumerate() {
            self.out.push_str(if index == 0 { " " } else { ", " });
            match addresses.next_if(|address| address.element as usize == index) {
                Some(address) => {
                    let name = self.module.globals.get(address.global).map(|global| global.name.as_str());
                    name_or_id(&mut self.out, name, address.global);
                    let sign = if address.offset < 0 { '-' } else { '+' };
                    if address.offset != 0 {
                        let _ = write!(self.out, " {sign} {}", address.offset.unsigned_abs());
                    }
                }
                None => write_constant(&mut self.out, bits, global.ty, true),
            }
        }
        self.out.push(' ');
    }

    fn bits_list(&mut self, list: &[u64], ty: Type) {
        for (index, &bits) in list.iter().enumerate() {
            self.out.push_str(if index == 0 { " " } else { ", " });
            write_constant(&mut self.out, bits, ty, true);
        }
        if !list.is_empty() {
            self.out.push(' ');
        }
    }

    // --- lines
    // ---------------------------------------------------------------------------------------------------------

    /// A line with the comments of its anchor; `write` writes what is between indentation and line end.
    fn commented(
        &mut self,
        comments: &Comments,
        anchor: CommentAnchor,
        owner: LineOwner,
        write: impl FnOnce(&mut Self),
    ) {
        let comment = if comments.is_empty() { None } else { comments.at(anchor) };
        self.comments_above(comment);
        self.line_and_comment_behind(comment, owner, write);
    }

    /// A closing brace; the comments above it belong to what it closes.
    fn closing_brace(&mut self, comments: &Comments, anchor: CommentAnchor, owner: LineOwner) {
        let comment = comments.at(anchor);
        self.indent += 4;
        self.comments_above(comment);
        self.indent -= 4;
        self.line_and_comment_behind(comment, owner, |printer| printer.out.push('}'));
    }

    fn line_and_comment_behind(&mut self, comment: Option<&Comment>, owner: LineOwner, write: impl FnOnce(&mut Self)) {
        self.start_line();
        write(self);
        if let Some(behind) = comment.and_then(|comment| comment.behind.as_ref()) {
            self.out.push(' ');
            self.comment(behind);
        }
        self.end_line(owner);
    }

    fn comments_above(&mut self, comment: Option<&Comment>) {
        for above in comment.iter().flat_map(|comment| &comment.above) {
            self.comment_line(above);
        }
    }

    /// Comments of a line that is no longer printed: they stand on lines of their own.
    fn orphaned_comments(&mut self, comments: &Comments, anchor: CommentAnchor) {
        let Some(comment) = comments.at(anchor) else { return };
        self.comments_above(Some(comment));
        if let Some(behind) = &comment.behind {
            self.comment_line(behind);
        }
    }

    fn comment_line(&mut self, text: &str) {
        self.start_line();
        self.comment(text);
        self.end_line(LineOwner::Comment);
    }

    fn comment(&mut self, text: &str) {
        self.out.push_str("//");
        if !(text.is_empty() || text.starts_with('/')) {
            self.out.push(' ');
        }
        // A comment that an importer brought may have several lines; one that breaks out would be program.
        self.out.extend(text.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
    }

    fn start_line(&mut self) {
        for _ in 0..self.indent {
            self.out.push(' ');
        }
    }

    fn end_line(&mut self, owner: LineOwner) {
        self.out.push('\n');
        self.lines.owners.push(owner);
        let line = self.lines.owners.len() as u32;
        match owner {
            LineOwner::Func(func) => self.lines.funcs[func].header = line,
            LineOwner::Block(func, block) => self.lines.funcs[func].blocks[block] = line,
            LineOwner::Inst(func, inst) => self.lines.funcs[func].insts[inst] = line,
            _ => {}
        }
    }

    /// `a, b, c`
    fn name_list<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for (index, name) in names.into_iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.out.push_str(name);
        }
    }
}

/// The name of an id that may not exist: a printer prints broken programs too.
fn name_or_id<K: EntityRef + core::fmt::Display>(out: &mut String, name: Option<&str>, id: K) {
    match name {
        Some(name) => out.push_str(name),
        None => {
            let _ = write!(out, "?{id}");
        }
    }
}
