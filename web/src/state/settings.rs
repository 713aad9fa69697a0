//! How a person changes what runs are made with.

use warpscope_engine::message::Settings;

/// One change. Each names only what it changes: two that come in quick succession do not undo one another.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingsEdit {
    /// Another machine model.
    Machine(String),
    /// Lanes a warp; none is the launch's.
    Warp(Option<u32>),
    /// Seed of everything random; none is the launch's.
    Seed(Option<u64>),
    /// Puts the first-level cache in, or leaves it out.
    Cache(bool),
    /// Lets lanes of a warp wait for each other, or has them run to where they meet.
    IndependentLanes(bool),
    /// Moves a slider.
    Slide {
        /// The setting, as `x.zero`.
        name: String,
        /// New value, 0 to 1.
        value: f64,
        /// Value of the launch: choosing it removes the setting.
        launch: f64,
    },
    /// Sliders and sizes as the launch says.
    Reset,
    /// Nothing: what was stopped runs again.
    Again,
}

/// Belongs the setting of that name to the machine, and not to the launch?
pub fn is_of_machine(name: &str) -> bool {
    matches!(name, "l1" | "scheduling")
}

impl SettingsEdit {
    /// Makes the change.
    pub fn apply(self, settings: &mut Settings) {
        match self {
            SettingsEdit::Machine(name) => settings.machine = name,
            SettingsEdit::Warp(warp) => settings.warp = warp,
            SettingsEdit::Seed(seed) => settings.seed = seed,
            SettingsEdit::Cache(true) => drop(settings.words.remove("l1")),
            SettingsEdit::Cache(false) => drop(settings.words.insert("l1".to_owned(), "off".to_owned())),
            SettingsEdit::IndependentLanes(true) => drop(settings.words.remove("scheduling")),
            SettingsEdit::IndependentLanes(false) => {
                settings.words.insert("scheduling".to_owned(), "stack".to_owned());
            }
            SettingsEdit::Slide { name, value, launch } if (value - launch).abs() < 1e-9 => {
                settings.sets.remove(&name);
            }
            SettingsEdit::Slide { name, value, .. } => drop(settings.sets.insert(name, value)),
            SettingsEdit::Reset => {
                settings.sets.clear();
                settings.words.retain(|name, _| is_of_machine(name));
                (settings.grid, settings.block, settings.fuel) = (None, None, None);
            }
            SettingsEdit::Again => {}
        }
    }
}
