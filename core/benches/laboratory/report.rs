//! Takes measurements and prints them, one tab-separated line each: name, size, value, unit, bound.
//! Fields that a measurement has not are `-`. `cargo xtask bench` lays them out.
//!
//! It also runs two builds of this program side by side, and lets them measure by turns: with
//! `--by-turns`, a line `turn` and the name of what comes next is printed before each group of
//! measurements, which waits for a line of input.

use std::hint::black_box;
use std::io;
use std::process;
use std::thread;
use std::time::Duration;

use crate::clock;

/// A figure that a measurement is held against.
#[derive(Clone, Copy)]
pub enum Asked {
    /// The value should not be above this.
    AtMost(f64),
    /// The value should not be below this.
    AtLeast(f64),
}

/// Minimum duration of a round.
const ROUND: Duration = Duration::from_millis(30);

/// Rounds of a measurement; the best one counts.
const ROUNDS: usize = 7;

/// Rounds of a long measurement, which neither the clock's resolution nor a short disturbance changes.
const LONG_ROUNDS: usize = 3;

/// Pause between two reads of an input that never waits.
const A_MOMENT: Duration = Duration::from_millis(20);

/// Limit of the time spent on copies, as a multiple of the work's time.
const MOST_ON_COPIES: u32 = 5;

/// Does the command line select the measurements of that name? Its arguments are parts of names; none selects all. A
/// part that ends in `$` selects names that end with it: `gvn-cse$` is not `gvn-cse, cleaned up`.
pub fn chosen(name: &str) -> bool {
    // Cargo adds options of its own.
    let mut parts = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).peekable();
    let is_asked = |part: String| part.strip_suffix('$').map_or(name.contains(&part), |end| name.ends_with(end));
    parts.peek().is_none() || parts.any(is_asked)
}

/// Waits for the turn of a group of measurements. Returns false if the command line does not select it.
pub fn turn(name: &str) -> bool {
    let chosen = chosen(name);
    if chosen {
        wait_for_turn(name);
    }
    chosen
}

/// Prints the name of the next group, and waits for a line of input if the option `--by-turns` is given.
pub fn wait_for_turn(name: &str) {
    if !std::env::args().any(|argument| argument == "--by-turns") {
        return;
    }
    println!("turn\t{name}");
    loop {
        match io::stdin().read_line(&mut String::new()) {
            Ok(read) if read > 0 => return,
            // Node gives WebAssembly an input that never waits.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(A_MOMENT),
            // The input is closed: the program that gave turns has ended.
            Ok(_) | Err(_) => process::exit(1),
        }
    }
}

/// Measures `work`, which handles `count` things a call, and prints nanoseconds a thing. Returns them.
pub fn time<T>(
    name: &str,
    size: Option<usize>,
    unit: &str,
    count: usize,
    asked: Option<Asked>,
    work: impl FnMut() -> T,
) -> f64 {
    let nanoseconds = seconds_a_call(work) * 1e9 / count as f64;
    print(name, size, nanoseconds, unit, asked);
    nanoseconds
}

/// Measures work that changes its input, like [`time`]. Each call gets a copy of one of the `originals`, in turn, and
/// returns the time that counts, see [`timed`]. The best call for each original counts; `count` is the number of things
/// in all of them. Returns nanoseconds a thing.
pub fn time_on_copies<S: Clone, T>(
    name: &str,
    size: Option<usize>,
    unit: &str,
    count: usize,
    asked: Option<Asked>,
    originals: &[S],
    mut work: impl FnMut(&mut S) -> (Duration, T),
) -> f64 {
    let mut best = vec![Duration::MAX; originals.len()];
    let mut spent = Duration::ZERO;
    let enough = ROUND * ROUNDS as u32;
    let begin = clock::now();
    // Work on small things is measured often, work on large ones a few times. Where the work is
    // nearly nothing, copies take most of the time.
    for round in 0.. {
        for (original, best) in originals.iter().zip(&mut best) {
            let mut copy = original.clone();
            let (taken, result) = work(&mut copy);
            drop(result);
            *best = taken.min(*best);
            spent += taken;
        }
        let is_enough = spent >= enough || clock::now() - begin >= enough * MOST_ON_COPIES;
        if round + 1 >= LONG_ROUNDS && is_enough {
            break;
        }
    }
    let best: Duration = best.into_iter().sum();
    let nanoseconds = best.as_secs_f64() * 1e9 / count as f64;
    print(name, size, nanoseconds, unit, asked);
    nanoseconds
}

/// The CPU time of one call, and its result.
pub fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = clock::now();
    let result = black_box(work());
    (clock::now() - start, result)
}

/// Measures `work`, which does `count` things a call, and prints millions of things a second. Returns them.
pub fn rate<T>(name: &str, unit: &str, count: usize, work: impl FnMut() -> T) -> f64 {
    let millions = count as f64 / seconds_a_call(work) / 1e6;
    print(name, None, millions, unit, None);
    millions
}

/// Prints a figure that was computed from others.
pub fn print(name: &str, size: Option<usize>, value: f64, unit: &str, asked: Option<Asked>) {
    let size = size.map_or_else(|| "-".to_owned(), |size| size.to_string());
    let asked = match asked {
        None => "-".to_owned(),
        Some(Asked::AtMost(limit)) => format!("<= {limit}"),
        Some(Asked::AtLeast(limit)) => format!(">= {limit}"),
    };
    println!("{name}\t{size}\t{value}\t{unit}\t{asked}");
}

/// CPU seconds of one call of `work`: the best round, each of as many calls as fill [`ROUND`].
fn seconds_a_call<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut calls = 1_u32;
    // The first calls also warm caches, branch predictors and, in WebAssembly, the compiler's tiers.
    let mut first = round(calls, &mut work);
    while first < ROUND {
        calls = calls.saturating_mul(2);
        first = round(calls, &mut work);
    }
    let rounds = if first < ROUND * ROUNDS as u32 { ROUNDS } else { LONG_ROUNDS };
    let best = (0..rounds).map(|_| round(calls, &mut work)).min();
    best.unwrap_or_default().as_secs_f64() / f64::from(calls)
}

fn round<T>(calls: u32, work: &mut impl FnMut() -> T) -> Duration {
    let start = clock::now();
    for _ in 0..calls {
        black_box(work());
    }
    clock::now() - start
}
