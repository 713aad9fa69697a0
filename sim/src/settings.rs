//! Settings: what sliders and options say over a launch of the text.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::ir::Number;

/// Overrides of a launch. Absent settings leave the value of the text.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Seed of everything random.
    pub seed: Option<u64>,
    /// Blocks along x, y, z.
    pub grid: Option<[u32; 3]>,
    /// Threads a block along x, y, z.
    pub block: Option<[u32; 3]>,
    /// Lanes a warp: 8, 16 or 32.
    pub warp: Option<u32>,
    /// Bytes for shared arrays without a size.
    pub shared: Option<u32>,
    /// Warp instructions allowed.
    pub fuel: u64,
    /// Is there a first-level cache?
    pub l1: bool,
    /// Model of how lanes of one warp that have parted share it.
    pub scheduling: Scheduling,
    /// Volatile, relaxed, acquiring or atomic accesses that a group of lanes issues, while others
    /// of its warp wait, before it lets them run; at least 1.
    pub quantum: u32,
    /// Number of the order of warps, groups and atomics: 0 is the documented one; odd ones take
    /// sides and lanes the other way round.
    pub schedule: u64,
    /// Whether the derived parts of a launch follow other sizes and numbers.
    pub resizes: bool,
    /// Knobs of parameters and inputs, later ones win.
    pub knobs: Vec<(String, Knob)>,
}

/// One knob of a parameter or input.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Knob {
    /// A scalar's value.
    Value(Number),
    /// Probability (0–1) that an input is true, or a buffer's element 1.
    True(f64),
    /// Probability (0–1) that an element or draw is zero.
    Zero(f64),
    /// Probability (0–1) that a warp's lanes share a value; divergence is one minus this.
    Coherence(f64),
}

/// Models of how lanes of one warp that have parted share it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scheduling {
    /// Every lane makes progress, as on Volta and later.
    #[default]
    Independent,
    /// Lanes that part run to where they meet, as before Volta: lanes of one warp cannot wait for each other.
    Stack,
}

/// Warp instructions allowed by default.
pub const DEFAULT_FUEL: u64 = 100_000_000;

/// [`Settings::quantum`] by default.
pub const DEFAULT_QUANTUM: u32 = 1024;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: None,
            grid: None,
            block: None,
            warp: None,
            shared: None,
            fuel: DEFAULT_FUEL,
            l1: true,
            scheduling: Scheduling::Independent,
            quantum: DEFAULT_QUANTUM,
            schedule: 0,
            resizes: true,
            knobs: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads one setting as `--set` takes it: `x.zero=0.5`, `p.true=0.3`, `x.coherence=1`, `n=250`, `l1=off`, `seed=7`,
    /// `grid=4,2`, `block=64`, `warp=8`, `shared=1024`, `fuel=1000`, `scheduling=stack`, `quantum=64`, `schedule=3`,
    /// `resize=off`. The error says what was expected.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("expected `name=value`, found `{text}`"))?;
        let (name, value) = (name.trim(), value.trim());
        let bad = |what: &str| format!("`{name}` takes {what}, found `{value}`");
        let switch = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(bad("`on` or `off`")),
        };
        match name {
            "l1" => self.l1 = switch()?,
            "resize" => self.resizes = switch()?,
            "scheduling" => {
                self.scheduling = match value {
                    "independent" => Scheduling::Independent,
                    "stack" => Scheduling::Stack,
                    _ => return Err(bad("`independent` or `stack`")),
                };
            }
            "quantum" => {
                self.quantum = value.parse().ok().filter(|&most| most > 0).ok_or_else(|| bad("a number from 1"))?;
            }
            "schedule" => self.schedule = value.parse().map_err(|_| bad("an integer"))?,
            "seed" => self.seed = Some(value.parse().map_err(|_| bad("an integer"))?),
            "fuel" => self.fuel = value.parse().map_err(|_| bad("an integer"))?,
            "shared" => self.shared = Some(value.parse().map_err(|_| bad("a number of bytes"))?),
            "warp" => self.warp = Some(parse_warp(value).ok_or_else(|| bad("8, 16 or 32"))?),
            "grid" => self.grid = Some(parse_dim(value).ok_or_else(|| bad("one to three sizes from 1"))?),
            "block" => self.block = Some(parse_dim(value).ok_or_else(|| bad("one to three sizes from 1"))?),
            _ => {
                let knob = parse_knob(name, value)?;
                self.knobs.push(knob);
            }
        }
        Ok(())
    }
}

/// Reads a number of lanes: 8, 16 or 32.
pub fn parse_warp(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|lanes| matches!(lanes, 8 | 16 | 32))
}

/// Reads `4`, `4,2` or `4,2,1`; sizes left out are 1.
pub fn parse_dim(text: &str) -> Option<[u32; 3]> {
    let mut dim = [1; 3];
    let mut count = 0;
    for part in text.split(',') {
        *dim.get_mut(count)? = part.trim().parse().ok().filter(|&size| size > 0)?;
        count += 1;
    }
    (count > 0).then_some(dim)
}

fn parse_knob(name: &str, value: &str) -> Result<(String, Knob), String> {
    let probability = || {
        let p: f64 = value.parse().ok()?;
        (0.0..=1.0).contains(&p).then_some(p)
    };
    let expected = || format!("`{name}` takes a probability between 0 and 1, found `{value}`");
    if let Some((owner, knob)) = name.rsplit_once('.') {
        let make: fn(f64) -> Knob = match knob {
            "true" => Knob::True,
            "zero" => Knob::Zero,
            "coherence" => Knob::Coherence,
            _ => return Err(format!("`{owner}` has the knobs `true`, `zero` and `coherence`, not `{knob}`")),
        };
        return Ok((owner.to_string(), make(probability().ok_or_else(expected)?)));
    }
    let number = parse_number(value).ok_or_else(|| format!("`{name}` takes a number, found `{value}`"))?;
    Ok((name.to_string(), Knob::Value(number)))
}

fn parse_number(text: &str) -> Option<Number> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    // One sign is enough.
    if digits.trim_start_matches("0x").starts_with(['-', '+']) {
        return None;
    }
    let integer = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => digits.parse::<i128>().ok(),
    };
    match integer {
        Some(value) => Some(Number::Int(if negative { -value } else { value })),
        None => text.parse().ok().map(Number::Float),
    }
}
