//! Recognises other languages, pasted or named by mistake, by their first lines.

use alloc::format;

use super::diagnostic::Diagnostic;
use crate::ir::Span;

/// Lines of text, the empty ones left out, that are searched for a mark.
const SEARCHED_LINES: usize = 40;

/// A language that the laboratory does not read.
struct Language {
    name: &'static str,
    /// Beginnings of lines that no other language has.
    beginnings: &'static [&'static str],
    /// Words that no other language has, anywhere in a line.
    words: &'static [&'static str],
    /// Advice what to do instead.
    hint: &'static str,
}

const SHADER: &str = "no compiler makes PTX of shaders: write the kernel in CUDA C++ and compile it with `nvcc -ptx`";

/// The more specific ones first: a line decides for the first language that has one of its marks.
const LANGUAGES: [Language; 10] = [
    Language {
        name: "SASS",
        beginnings: &["Fatbin elf code", "code for sm_", "Function : ", ".headerflags", "/*0000*/", "/*0008*/"],
        words: &["c[0x0][0x", "EIATTR_", "&wr=", "?trans"],
        hint: "machine code names no types: take the PTX of the same program, `cuobjdump -ptx` or `nvcc -ptx`",
    },
    Language {
        name: "LLVM IR",
        beginnings: &[
            "; ModuleID",
            "source_filename =",
            "target datalayout",
            "target triple",
            "define ",
            "declare ",
            "attributes #",
        ],
        words: &[" = alloca ", " = getelementptr "],
        hint: "compile it to PTX with `llc -march=nvptx64`",
    },
    Language {
        name: "WGSL",
        beginnings: &["@group(", "@binding(", "@compute", "@vertex", "@fragment", "enable f16;", "fn "],
        words: &["@workgroup_size(", "@builtin(", "var<storage", "var<uniform>", "var<workgroup>"],
        hint: SHADER,
    },
    Language {
        name: "GLSL",
        beginnings: &["#version ", "layout(", "layout (", "#extension GL_"],
        words: &["gl_GlobalInvocationID", "gl_Position", "gl_FragCoord", "gl_LocalInvocation"],
        hint: SHADER,
    },
    Language {
        name: "HLSL",
        beginnings: &["cbuffer ", "[numthreads(", "[shader(", "RWTexture", "SamplerState "],
        words: &["StructuredBuffer<", ": register(", ": SV_", "RWBuffer<", "ByteAddressBuffer"],
        hint: SHADER,
    },
    Language {
        name: "OpenCL C",
        beginnings: &["__kernel ", "kernel void "],
        words: &["get_global_id(", "cl_khr_", "__global float", "__global int"],
        hint: "compile it with `clang -x cl -target nvptx64 -S`",
    },
    Language {
        name: "Metal",
        beginnings: &["#include <metal_", "using namespace metal"],
        words: &["[[buffer(", "[[thread_position_in_grid]]"],
        hint: SHADER,
    },
    Language { name: "SPIR-V", beginnings: &["; SPIR-V", "OpCapability ", "OpMemoryModel "], words: &[], hint: SHADER },
    Language {
        name: "Python",
        beginnings: &["import ", "from ", "@triton.jit", "@cuda.jit", "def "],
        words: &["tl.load(", "tl.program_id("],
        hint: "print the PTX of the compiled kernel: `kernel.asm[\"ptx\"]` of Triton, `inspect_asm()` of Numba",
    },
    Language {
        name: "CUDA C++",
        beginnings: &[
            "#include",
            "#define",
            "#pragma",
            "#if",
            "extern \"C\"",
            "template <",
            "template<",
            "using namespace",
            "void ",
        ],
        words: &[
            "__global__",
            "__device__",
            "__host__",
            "__shared__",
            "__restrict__",
            "__launch_bounds__",
            "<<<",
            "threadIdx.",
            "int main(",
        ],
        hint: "compile it with `nvcc -ptx`, or copy the PTX output of Compiler Explorer (godbolt.org)",
    },
];

/// The error for a text in another language, if its first lines show one; for texts with errors only.
pub fn foreign_language(source: &str) -> Option<Diagnostic> {
    let lines = source.split_inclusive(['\n', '\r']).scan(0, |start, line| {
        let at = *start;
        *start += line.len();
        Some((at + line.len() - line.trim_start().len(), line.trim()))
    });
    for (start, line) in lines.filter(|(_, line)| !line.is_empty()).take(SEARCHED_LINES) {
        let has_mark = |language: &&Language| {
            language.beginnings.iter().any(|beginning| line.starts_with(beginning))
                || !line.starts_with("//") && language.words.iter().any(|word| line.contains(word))
        };
        if let Some(Language { name, hint, .. }) = LANGUAGES.iter().find(has_mark) {
            let span = Span { start: start as u32, end: (start + line.len()) as u32 };
            let message = format!("this is {name}; warpscope reads `.wir` and PTX");
            return Some(Diagnostic::error("foreign-language", span, message).with_hint(*hint));
        }
    }
    None
}

/// The error for PTX that was given as `.wir`.
pub fn ptx_as_wir(source: &str) -> Option<Diagnostic> {
    let directives = [".version", ".target", ".address_size", ".visible", ".entry", ".func", ".extern", ".weak"];
    let is_blank = |line: &str| line.is_empty() || line.starts_with("//");
    let line = source.split(['\n', '\r']).map(str::trim).find(|line| !is_blank(line))?;
    directives.iter().any(|directive| line.starts_with(directive)).then(|| {
        let start = (line.as_ptr() as usize - source.as_ptr() as usize) as u32;
        let span = Span { start, end: start + line.len() as u32 };
        Diagnostic::error("foreign-language", span, "this is PTX, given as `.wir`")
            .with_hint("name the file `….ptx`, or pass `--from ptx` or the option `from: \"ptx\"`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_language(source: &str, expected: &str) {
        let message = foreign_language(source).map(|diagnostic| diagnostic.message).unwrap_or_default();
        assert!(message.starts_with(&format!("this is {expected};")), "{message}\n{source}");
    }

    #[test]
    fn languages_are_recognised_by_first_lines() {
        assert_language("#include <cuda_runtime.h>\n\n__global__ void k(float *x) {}\n", "CUDA C++");
        assert_language("// y = a*x + y\n__global__\nvoid saxpy(int n, float a) {\n", "CUDA C++");
        assert_language("/* licence\n * text\n */\ntemplate <typename T> struct S {};\n", "CUDA C++");
        assert_language("\n\nint main() { k<<<1, 32>>>(); }\n", "CUDA C++");
        assert_language("; ModuleID = 'k.ll'\nsource_filename = \"k.ll\"\n", "LLVM IR");
        assert_language("define ptx_kernel void @k(ptr %x) {\n", "LLVM IR");
        assert_language("@g = global i32 0\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n", "LLVM IR");
        assert_language("\t\tFunction : _Z1kPf\n\t.headerflags @\"EF_CUDA_SM80\"\n", "SASS");
        assert_language("        /*0000*/                   MOV R1, c[0x0][0x28] ;\n", "SASS");
        assert_language("\nFatbin elf code:\n================\narch = sm_80\n", "SASS");
        assert_language("#version 450\nlayout(local_size_x = 64) in;\nvoid main() {\n", "GLSL");
        assert_language("// blur\nlayout(binding = 0) buffer B { float x[]; };\n", "GLSL");
        assert_language("RWStructuredBuffer<float> x : register(u0);\n[numthreads(64, 1, 1)]\nvoid main() {\n", "HLSL");
        assert_language("cbuffer C { float a; };\n", "HLSL");
        assert_language("@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n", "WGSL");
        assert_language("@compute @workgroup_size(64)\nfn main() {\n", "WGSL");
        assert_language("__kernel void k(__global float *x) {\n", "OpenCL C");
        assert_language("import triton\nimport triton.language as tl\n", "Python");
    }

    #[test]
    fn own_languages_are_not_foreign() {
        for source in ["", "kernel k() {\nentry:\n    ret\n}\n", ".version 8.0\n.target sm_80\n", "hello world\n"] {
            assert!(foreign_language(source).is_none(), "{source}");
        }
        assert!(ptx_as_wir("// made by nvcc\n\n.version 8.0\n").is_some_and(|found| found.span.start == 17));
        assert!(ptx_as_wir("kernel k() {\n").is_none());
    }
}
