//! `warpscope machines`: the machine models with all their figures and sources.

use std::fmt::Write;

use serde_json::{Value, json};
use warpscope_core::machine::{CostRow, Figure, Machine};

use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Options {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    if options.json {
        let machines: Vec<Value> = Machine::ALL.into_iter().map(machine_json).collect();
        return output::json(&json!({ "machines": machines }));
    }
    let mut text = String::new();
    for machine in Machine::ALL {
        let _ = writeln!(text, "{}: {}", machine.name(), machine.summary());
        let _ =
            writeln!(text, "    {:<16} {:>6} {:>8}  {:<52} latency from", "class", "issue", "latency", "issue from");
        for row in machine.table() {
            let (issue, latency) = (row.issue.value, row.latency.value);
            let (issue_from, latency_from) = (row.issue.source.text(), row.latency.source.text());
            let class = row.class.name();
            let _ = writeln!(text, "    {class:<16} {issue:>6} {latency:>8}  {issue_from:<52} {latency_from}");
        }
        for (name, figure) in memory(machine) {
            let _ = writeln!(text, "    {name:<32} {:>10}  {}", figure.value, figure.source.text());
        }
        text.push('\n');
    }
    output::text(&text)
}

fn memory(machine: Machine) -> [(&'static str, Figure); 7] {
    let memory = machine.memory();
    [
        ("l1_bytes", memory.l1_bytes),
        ("l2_bytes", memory.l2_bytes),
        ("l1_latency", memory.l1_latency),
        ("l2_latency", memory.l2_latency),
        ("global_latency", memory.global_latency),
        ("sector_cycles", memory.sector_cycles),
        ("bank_cycles", memory.bank_cycles),
    ]
}

fn figure(figure: Figure) -> Value {
    json!({ "value": figure.value, "source": figure.source.text() })
}

fn machine_json(machine: Machine) -> Value {
    let class =
        |row: CostRow| json!({ "class": row.class.name(), "issue": figure(row.issue), "latency": figure(row.latency) });
    let limits = machine.limits();
    json!({
        "name": machine.name(),
        "summary": machine.summary(),
        "default": machine == Machine::default(),
        "classes": machine.table().map(class).collect::<Vec<_>>(),
        "memory": serde_json::Map::from_iter(
            memory(machine).into_iter().map(|(name, value)| (name.to_string(), figure(value))),
        ),
        "limits": {
            "warps": limits.warps,
            "blocks": limits.blocks,
            "block_threads": limits.block_threads,
            "shared_bytes": limits.shared_bytes,
        },
    })
}
