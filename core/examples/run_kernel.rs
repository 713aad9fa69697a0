//! Runs a kernel under several machine models: `cargo run --example run_kernel kernel.wir seed=7`.

use warpscope_core::{Machine, Settings, find_kernel, parse, simulate};

/// A kernel in which lanes part, for those who give no file.
const COLLATZ: &str = "kernel collatz(x: ptr.global) {
entry:
    i = mov.u32 %tid
    n = add.u32 i, 1
    steps = mov.u32 0
    br head
head:
    more = setp.gt.u32 n, 1
    br more, body, done
body:
    odd = and.b32 n, 1
    is_odd = setp.ne.u32 odd, 0
    half = shr.u32 n, 1
    three = mad.u32 n, 3, 1
    n = selp.u32 three, half, is_odd
    steps = add.u32 steps, 1
    br head
done:
    st.global.u32 x[i], steps
    ret
}

launch collatz {
    block 64
    x = buffer u32[64] const 0
}
";

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let source = match arguments.next() {
        Some(path) => std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?,
        None => COLLATZ.to_owned(),
    };
    let mut settings = Settings::default();
    arguments.try_for_each(|argument| settings.set(&argument))?;
    let module = parse(&source).map_err(|errors| errors[0].message.clone())?;
    let kernel = find_kernel(&module, None).map_err(|error| error.message)?;
    for machine in Machine::ALL {
        let run = simulate(&module, kernel, &settings, machine).map_err(|error| error.message)?;
        let percent = run.simt_efficiency * 100.0;
        println!("{:8} {:8} cycles, {percent:5.1} % of lanes active", machine.name(), run.cycles);
    }
    Ok(())
}
