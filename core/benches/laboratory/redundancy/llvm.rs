//! LLVM 19 through its C interface, where its library is installed: programs read, passes run on
//! copies of them, CPU time and the instructions that are left.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::time::Duration;

use libloading::{Library, Symbol};

use crate::clock;

/// As Debian's package `libllvm19` calls it.
const LIBRARY: [&str; 2] = ["libLLVM-19.so", "libLLVM.so.19.1"];

/// `LLVMPHI` of the C interface.
const PHI: c_uint = 44;

/// Any of the interface's references.
type Reference = *mut c_void;

/// The library, a context, and one module in it.
pub struct Program<'l> {
    llvm: &'l Llvm,
    context: Reference,
    module: Reference,
}

/// The loaded library.
pub struct Llvm(Library);

impl Llvm {
    /// The library, if it is installed.
    pub fn load() -> Option<Llvm> {
        // SAFETY: LLVM's initialisers register options and have no other effect.
        LIBRARY.into_iter().find_map(|name| unsafe { Library::new(name) }.ok()).map(Llvm)
    }

    /// A function of the interface.
    fn function<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: each caller names the type that `llvm-c/Core.h`, `IRReader.h` or `PassBuilder.h` gives.
        unsafe { self.0.get(name) }.unwrap_or_else(|error| panic!("LLVM 19 has `{name}`: {error}"))
    }

    /// Reads a program that has a function `k`.
    pub fn parse(&self, text: &str) -> Program<'_> {
        let (mut module, mut message) = (null_mut(), null_mut::<c_char>());
        // SAFETY: the types are those of the interface. The buffer is a copy of the text and belongs to the parser,
        // whatever it answers; module and message are written by it.
        let context = unsafe {
            let context = self.function::<unsafe extern "C" fn() -> Reference>("LLVMContextCreate")();
            let copy = "LLVMCreateMemoryBufferWithMemoryRangeCopy";
            let copy = self.function::<unsafe extern "C" fn(*const c_char, usize, *const c_char) -> Reference>(copy);
            let buffer = copy(text.as_ptr().cast(), text.len(), c"k.ll".as_ptr());
            type Parse = unsafe extern "C" fn(Reference, Reference, *mut Reference, *mut *mut c_char) -> c_int;
            let failed =
                self.function::<Parse>("LLVMParseIRInContext")(context, buffer, &raw mut module, &raw mut message);
            assert!(failed == 0, "{}", CStr::from_ptr(message).to_string_lossy());
            // As compilers run it: names of values are for people.
            let discard = "LLVMContextSetDiscardValueNames";
            self.function::<unsafe extern "C" fn(Reference, c_int)>(discard)(context, 1);
            context
        };
        Program { llvm: self, context, module }
    }

    fn dispose(&self, function: &str, reference: Reference) {
        // SAFETY: callers own the reference and do not use it again.
        unsafe { self.function::<unsafe extern "C" fn(Reference)>(function)(reference) }
    }

    /// Calls a function of the interface on one reference.
    fn of(&self, function: &str, reference: Reference) -> Reference {
        // SAFETY: callers name functions of this type and give them what they take.
        unsafe { self.function::<unsafe extern "C" fn(Reference) -> Reference>(function)(reference) }
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        self.llvm.dispose("LLVMDisposeModule", self.module);
        self.llvm.dispose("LLVMContextDispose", self.context);
    }
}

impl Program<'_> {
    /// Runs passes, given as for `opt -passes`, on a fresh copy: the CPU time of `LLVMRunPasses` alone, and the
    /// instructions that are left, phis not counted.
    pub fn run(&self, passes: &str) -> (Duration, usize) {
        let llvm = self.llvm;
        let copy = llvm.of("LLVMCloneModule", self.module);
        let passes = CString::new(passes).expect("names of passes have no zero byte");
        // SAFETY: the types are those of the interface; no target machine is needed for these passes. An error would be
        // a string that belongs to us, and is only shown.
        let taken = unsafe {
            let options = llvm.function::<unsafe extern "C" fn() -> Reference>("LLVMCreatePassBuilderOptions")();
            type Run = unsafe extern "C" fn(Reference, *const c_char, Reference, Reference) -> Reference;
            let run = llvm.function::<Run>("LLVMRunPasses");
            let start = clock::now();
            let error = run(copy, passes.as_ptr(), null_mut(), options);
            let taken = clock::now() - start;
            if !error.is_null() {
                let message = "LLVMGetErrorMessage";
                let message = llvm.function::<unsafe extern "C" fn(Reference) -> *const c_char>(message)(error);
                panic!("{passes:?}: {}", CStr::from_ptr(message).to_string_lossy());
            }
            llvm.dispose("LLVMDisposePassBuilderOptions", options);
            taken
        };
        let left = self.instructions(copy);
        llvm.dispose("LLVMDisposeModule", copy);
        (taken, left)
    }

    fn instructions(&self, module: Reference) -> usize {
        let llvm = self.llvm;
        // SAFETY: the types are those of the interface.
        let (function, opcode) = unsafe {
            let named = "LLVMGetNamedFunction";
            let named = llvm.function::<unsafe extern "C" fn(Reference, *const c_char) -> Reference>(named);
            let opcode = llvm.function::<unsafe extern "C" fn(Reference) -> c_uint>("LLVMGetInstructionOpcode");
            (named(module, c"k".as_ptr()), opcode)
        };
        let list = |first: &str, next: &'static str, of: Reference| {
            let known = |reference: Reference| (!reference.is_null()).then_some(reference);
            std::iter::successors(known(llvm.of(first, of)), move |&it| known(llvm.of(next, it)))
        };
        list("LLVMGetFirstBasicBlock", "LLVMGetNextBasicBlock", function)
            .flat_map(|block| list("LLVMGetFirstInstruction", "LLVMGetNextInstruction", block))
            // SAFETY: they are instructions of a module that is alive.
            .filter(|&instruction| unsafe { opcode(instruction) } != PHI)
            .count()
    }
}
