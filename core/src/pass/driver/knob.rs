//! Knobs: the typed settings of a pass, with default, range and a line of help. `warpscope passes` and the page's knob
//! panel read the same table.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The knob of every pass that may put a load where it might fault.
pub const FAULTING_KNOB: &str = "faulting";

/// Values that a knob takes.
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
    /// Several of some words, with commas between them; at least one.
    List {
        /// Without being set.
        default: &'static [&'static str],
        /// All of them.
        words: &'static [&'static str],
    },
    /// The vendor's or the paper's program has it; here there is nothing that it could mean, so it cannot be set.
    Unavailable {
        /// Why not.
        why: &'static str,
    },
}

/// A setting of a pass.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Knob {
    /// Its name; the vendor's or the paper's where there is one.
    pub name: &'static str,
    /// Name in plain words, for lists in which the other one is small.
    pub label: &'static str,
    /// Values that it takes.
    pub kind: KnobKind,
    /// One line of help.
    pub help: &'static str,
}

/// Value of a knob.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
pub enum KnobValue {
    /// On or off.
    Switch(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A word.
    Choice(String),
    /// Several words.
    List(Vec<String>),
}

impl Knob {
    /// The value without being set; none for a knob that is not available.
    pub fn default_value(&self) -> Option<KnobValue> {
        Some(match self.kind {
            KnobKind::Switch { default } => KnobValue::Switch(default),
            KnobKind::Integer { default, .. } => KnobValue::Integer(default),
            KnobKind::Number { default, .. } => KnobValue::Number(default),
            KnobKind::Choice { default, .. } => KnobValue::Choice(default.to_string()),
            KnobKind::List { default, .. } => KnobValue::List(default.iter().map(|word| word.to_string()).collect()),
            KnobKind::Unavailable { .. } => return None,
        })
    }

    /// Describes the allowed values in words.
    pub fn range(&self) -> String {
        match self.kind {
            KnobKind::Switch { .. } => "true or false".to_string(),
            KnobKind::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
            KnobKind::Number { min, max, .. } => format!("a number from {min} to {max}"),
            KnobKind::Choice { words, .. } => format!("one of {}", words.join(", ")),
            KnobKind::List { words, .. } => format!("a list of {}", words.join(", ")),
            KnobKind::Unavailable { why } => format!("not available: {why}"),
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
            KnobKind::List { words, .. } => {
                let mut list: Vec<String> = Vec::new();
                for word in text.split(',').map(str::trim) {
                    if !words.contains(&word) {
                        return Err(format!("`{}` takes {}, not `{word}`", self.name, self.range()));
                    }
                    if !list.iter().any(|known| known == word) {
                        list.push(word.to_string());
                    }
                }
                Ok(KnobValue::List(list))
            }
            KnobKind::Unavailable { why } => Err(format!("`{}` cannot be set here: {why}", self.name)),
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
        let available = knobs.iter().filter_map(|knob| Some((knob.name, knob.default_value()?)));
        KnobValues { values: available.collect() }
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

    /// The words of a list.
    pub fn list(&self, name: &str) -> &[String] {
        if let KnobValue::List(words) = self.get(name) { words } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::{PASSES, apply_knob, parse_pipeline};

    /// The ptxas page's "Complete Knob Reference".
    const VENDORS: [&str; 24] = [
        "EnableGvnCse",
        "EnableGvnCseMode",
        "EnableGvnCsePerInstr",
        "AllowReassociateCSE",
        "ReassociateCSEBudget",
        "ReassociateCSEWindow",
        "ReassociateCSESkip",
        "ReassociateLargeImmInUIADD64",
        "DistributeAndReassociateMulBudget",
        "ForceLateCommoning",
        "DisableMoveCommoning",
        "BackCopyPropBudget",
        "CopyPropBudget",
        "CopyPropGlobalBudget",
        "CopyPropForceGlobal",
        "CopyPropAddr",
        "CopyPropConstantBank",
        "CopyPropUseReachingDefs",
        "CopyPropPreAllocReg",
        "CopyPropNoWriteNonRR",
        "CopyPropNonRegMultiDef",
        "CopyPropNoMmaCb",
        "LateCopyPropComplPred",
        "SpeculativeHoistCommonInsts",
    ];

    #[test]
    fn every_knob_of_the_vendors_table_is_in_ours_once() {
        for name in VENDORS {
            let all = PASSES.iter().flat_map(|pass| pass.info.knobs);
            assert_eq!(all.filter(|knob| knob.name == name && !knob.help.is_empty()).count(), 1, "{name}");
        }
    }

    #[test]
    fn knobs_that_are_not_available_say_why_when_they_are_set() {
        let all = PASSES.iter().flat_map(|pass| pass.info.knobs.iter().map(move |knob| (pass.info.name, knob)));
        let mut names = Vec::new();
        for (pass, knob) in all {
            let KnobKind::Unavailable { why } = knob.kind else { continue };
            let error = apply_knob(&mut [], &format!("{pass}.{}=1", knob.name)).expect_err("cannot be set").message;
            assert_eq!(error, format!("{pass}: `{}` cannot be set here: {why}", knob.name));
            assert!(parse_pipeline(&format!("{pass}[{}=1]", knob.name)).is_err());
            names.push(knob.name);
        }
        assert_eq!(names, ["CopyPropPreAllocReg", "CopyPropNoMmaCb"]);
    }
}
