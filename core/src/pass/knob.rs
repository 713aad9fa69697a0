//! Knobs: the typed settings of a pass, with default, range and a line of help. `warpscope passes` and the page's knob
//! panel read the same table.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What a knob may be set to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum KnobKind {
    /// On or off; written `true`, `false`, `1`, `0`, `on`, `off`.
    Switch {
        /// Without being set.
        default: bool,
    },
    /// A whole number within bounds, both inclusive.
    Integer {
        /// Without being set.
        default: i64,
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// A number within bounds, both inclusive.
    Number {
        /// Without being set.
        default: f64,
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
    },
    /// One of several words.
    Choice {
        /// Without being set.
        default: &'static str,
        /// All of them.
        words: &'static [&'static str],
    },
}

/// A setting of a pass.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Knob {
    /// Its name; the vendor's or the paper's where there is one.
    pub name: &'static str,
    /// What it may be set to.
    pub kind: KnobKind,
    /// One line of help.
    pub help: &'static str,
}

/// What a knob is set to.
#[derive(Clone, PartialEq, Debug)]
pub enum KnobValue {
    /// On or off.
    Switch(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A word.
    Choice(String),
}

impl Knob {
    /// The value without being set.
    pub fn default_value(&self) -> KnobValue {
        match self.kind {
            KnobKind::Switch { default } => KnobValue::Switch(default),
            KnobKind::Integer { default, .. } => KnobValue::Integer(default),
            KnobKind::Number { default, .. } => KnobValue::Number(default),
            KnobKind::Choice { default, .. } => KnobValue::Choice(default.to_string()),
        }
    }

    /// What may be written, in words.
    pub fn range(&self) -> String {
        match self.kind {
            KnobKind::Switch { .. } => "true or false".to_string(),
            KnobKind::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
            KnobKind::Number { min, max, .. } => format!("a number from {min} to {max}"),
            KnobKind::Choice { words, .. } => format!("one of {}", words.join(", ")),
        }
    }

    /// Reads a value.
    pub fn parse(&self, text: &str) -> Result<KnobValue, String> {
        let wrong = || format!("`{}` takes {}, not `{text}`", self.name, self.range());
        match self.kind {
            KnobKind::Switch { .. } => match text {
                "true" | "1" | "on" => Ok(KnobValue::Switch(true)),
                "false" | "0" | "off" => Ok(KnobValue::Switch(false)),
                _ => Err(wrong()),
            },
            KnobKind::Integer { min, max, .. } => match text.parse::<i64>() {
                Ok(value) if (min..=max).contains(&value) => Ok(KnobValue::Integer(value)),
                _ => Err(wrong()),
            },
            KnobKind::Number { min, max, .. } => match text.parse::<f64>() {
                Ok(value) if (min..=max).contains(&value) => Ok(KnobValue::Number(value)),
                _ => Err(wrong()),
            },
            KnobKind::Choice { words, .. } if words.contains(&text) => Ok(KnobValue::Choice(text.to_string())),
            KnobKind::Choice { .. } => Err(wrong()),
        }
    }
}

/// The knobs of one pass with their values: what was set, defaults elsewhere.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KnobValues {
    values: Vec<(&'static str, KnobValue)>,
}

impl KnobValues {
    /// All defaults.
    pub fn defaults(knobs: &[Knob]) -> KnobValues {
        KnobValues { values: knobs.iter().map(|knob| (knob.name, knob.default_value())).collect() }
    }

    /// Sets one. The name must be among those given to [`KnobValues::defaults`].
    pub fn set(&mut self, name: &str, value: KnobValue) {
        if let Some((_, slot)) = self.values.iter_mut().find(|(known, _)| *known == name) {
            *slot = value;
        }
    }

    /// All of them, in the table's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &KnobValue)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    fn get(&self, name: &str) -> &KnobValue {
        self.values
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
            .unwrap_or_else(|| panic!("the pass asks for knob `{name}`, which its table does not have"))
    }

    /// The value of a switch.
    pub fn switch(&self, name: &str) -> bool {
        matches!(self.get(name), KnobValue::Switch(true))
    }

    /// The value of a whole-number knob.
    pub fn integer(&self, name: &str) -> i64 {
        if let KnobValue::Integer(value) = self.get(name) { *value } else { 0 }
    }

    /// The value of a number knob.
    pub fn number(&self, name: &str) -> f64 {
        if let KnobValue::Number(value) = self.get(name) { *value } else { 0.0 }
    }

    /// The value of a choice.
    pub fn choice(&self, name: &str) -> &str {
        if let KnobValue::Choice(value) = self.get(name) { value } else { "" }
    }
}
