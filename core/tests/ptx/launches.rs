//! Launches: those beside the CUDA examples fit their kernels, and a kernel without one gets one that fits it.

use super::inputs;
use warpscope_core::derive::derive_launch;
use warpscope_core::ir::{Binding, Fill, FillKey, Function, Item, Launch, Module, ParamType, Type};
use warpscope_core::ptx::import;
use warpscope_core::text;

fn kernel(file: &str) -> (Module, Function) {
    let module = import(&inputs::read(&inputs::examples_folder().join(file))).module;
    let kernel = module.kernels().next().map(|kernel| module.funcs[kernel].clone()).expect("a kernel");
    (module, kernel)
}

fn printed(launch: Launch) -> String {
    let module = Module { launches: vec![launch], items: vec![Item::Launch(0)], ..Module::default() };
    text::print(&module)
}

/// Can the fill be what the parameter gets?
fn fits(binding: &Binding, kernel: &Function) -> bool {
    let param = match &binding.key {
        FillKey::Name(name) => kernel.params.iter().find(|param| param.name == *name),
        FillKey::Index(index) => kernel.params.get(*index as usize),
    };
    let Some(param) = param else { return false };
    match (&binding.fill, param.ty) {
        (Fill::Number(_), ParamType::Scalar(_)) | (Fill::Texture { .. }, ParamType::Texture) => true,
        (Fill::Buffer { .. }, ParamType::Pointer { .. } | ParamType::Scalar(Type::U64 | Type::B64)) => true,
        (Fill::Numbers(numbers), ParamType::Array(_, len)) => numbers.len() == len as usize,
        _ => false,
    }
}

#[test]
fn the_launch_beside_each_example_fits_both_flavours() {
    for entry in std::fs::read_dir(inputs::examples_folder()).expect("the examples") {
        let path = entry.expect("a readable folder").path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".launch.wir")) else { continue };
        let parsed = text::parse(&inputs::read(&path));
        assert!(parsed.diagnostics.is_empty(), "{name}: {:?}", parsed.diagnostics);
        let [launch] = &parsed.module.launches[..] else { panic!("{name}: one launch a file") };
        for flavour in ["O3", "O0"] {
            let (_, kernel) = kernel(&format!("{name}.{flavour}.ptx"));
            assert_eq!(launch.kernel, kernel.name);
            assert_eq!(launch.bindings.len(), kernel.params.len(), "{name}.{flavour}");
            for binding in &launch.bindings {
                assert!(fits(binding, &kernel), "{name}.{flavour}: {binding:?}");
            }
        }
    }
}

#[test]
fn every_kernel_gets_a_launch_that_fits_and_reads_again() {
    for input in inputs::all() {
        let module = import(&input.source).module;
        for kernel in module.kernels().map(|kernel| &module.funcs[kernel]) {
            let launch = derive_launch(&module, kernel);
            assert_eq!(launch.bindings.len(), kernel.params.len(), "{}", input.name);
            for binding in &launch.bindings {
                assert!(fits(binding, kernel), "{}: {binding:?}", input.name);
            }
            let text = printed(launch);
            let again = text::parse(&text);
            assert!(
                again.diagnostics.iter().all(|d| !d.is_error() || d.code.contains("kernel")),
                "{:?}",
                again.diagnostics
            );
        }
    }
}

#[test]
fn buffers_are_as_long_as_the_kernel_reaches() {
    let derived = |file: &str| {
        let (module, kernel) = kernel(file);
        printed(derive_launch(&module, &kernel))
    };
    for flavour in ["O3", "O0"] {
        assert_eq!(
            derived(&format!("saxpy.{flavour}.ptx")),
            "launch saxpy derived {\n    grid 4\n    block 64\n    #0 = 256\n    #1 = 2.0\n    #2 = buffer f32[256] \
             random(-1.0, 1.0)\n    #3 = buffer f32[256] random(-1.0, 1.0)\n}\n"
        );
        // The tile in shared memory holds 18 by 10 cells, so blocks of 16 by 16 would reach outside.
        let stencil = derived(&format!("stencil.{flavour}.ptx"));
        assert!(stencil.contains("block 16, 8") && stencil.contains("#4 = buffer f32[512] const 0"), "{stencil}");
        // Pointers here move with the loop; the last pixel of the last strip is number 16 * width - 1.
        let bilateral = derived(&format!("bilateral.{flavour}.ptx"));
        let number =
            |before: &str, after: char| bilateral.split(before).nth(1)?.split(after).next()?.parse::<u32>().ok();
        let (width, length) = (number("#0 = ", '\n').unwrap_or(0), number("#3 = buffer f32[", ']').unwrap_or(0));
        assert!(width > 0 && (16 * width..=32 * width).contains(&length), "{bilateral}");
        // Each block has 64 partial sums.
        assert!(derived(&format!("reduce.{flavour}.ptx")).contains("#2 = buffer f32[4] const 0"));
        // One byte past each row pointer is another row pointer, and edges name nodes.
        let bfs = derived(&format!("bfs.{flavour}.ptx"));
        assert!(bfs.contains("#2 = buffer u32[257]") && bfs.contains("#4 = buffer u32[256]"), "{bfs}");
        assert!(derived(&format!("lighting.{flavour}.ptx")).contains("#3 = texture"));
    }
}

#[test]
fn a_kernel_of_the_text_gets_one_too() {
    let source = "\
kernel k(n: s32, x: ptr.global, y: ptr.global, flag: pred, wide: u64) {
    input coin: pred
    shared dynamic: f32[]
entry:
    i = mad.s32 %ctaid, %ntid, %tid
    p = setp.lt.s32 i, n
    br p, body, done
body:
    a = ld.global.f64 x[i + 3]
    st.global.f64 y[2*i], a
    st.shared.f32 dynamic[%tid], 1.0
    br done
done:
    ret
}
";
    let source = source.replace("dynamic[%tid]", "dynamic[i]");
    let module = text::parse(&source).module;
    let kernel = module.kernels().next().expect("a kernel");
    assert_eq!(
        printed(derive_launch(&module, &module.funcs[kernel])),
        "launch k derived {\n    grid 4\n    block 64\n    shared 1024\n    n = 256\n    x = buffer f64[259] \
            random(-1.0, 1.0)\n    y = buffer f64[511] const 0.0\n    flag = 1\n    wide = 16\n    coin = draws true \
            0.5\n}\n"
    );
}
