//! One build of the benchmark while it runs: it stops before each group of measurements until it is given its turn.
//!
//! What it prints is read line by line: `turn`, a tab and the group that comes next; or a measurement, see
//! [`Measurement::parse`]; or something for people, which is passed on.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::figures::Measurement;

pub struct Build {
    process: Child,
    turns: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// The group that it waits to measure.
    next: Option<String>,
}

impl Build {
    /// Starts the benchmark and lets it run until its first group.
    pub fn start(command: &mut Command) -> Result<Build> {
        let command = command.arg("--by-turns").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process =
            command.spawn().with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
        let turns = process.stdin.take().expect("standard input is piped");
        let output = process.stdout.take().expect("standard output is piped");
        let mut build = Build { process, turns, output: BufReader::new(output).lines(), next: None };
        build.run_to_next_group()?;
        Ok(build)
    }

    /// The name of the group that is measured next; nothing after the last one.
    pub fn next_group(&self) -> Option<&str> {
        self.next.as_deref()
    }

    /// Lets it measure that group.
    pub fn measure_group(&mut self) -> Result<Vec<Measurement>> {
        writeln!(self.turns).context("the benchmark has ended too early")?;
        self.run_to_next_group()
    }

    /// Waits until it has ended. It is an error if it has something left to measure or has failed.
    pub fn end(mut self) -> Result<()> {
        if let Some(group) = &self.next {
            bail!("\"{group}\" was measured in one build only");
        }
        let status = self.process.wait()?;
        if !status.success() {
            bail!("the benchmark failed ({status})");
        }
        Ok(())
    }

    /// Reads what it measures until it waits again or ends.
    fn run_to_next_group(&mut self) -> Result<Vec<Measurement>> {
        self.next = None;
        let mut measurements = Vec::new();
        for line in &mut self.output {
            let line = line?;
            if let Some(group) = line.strip_prefix("turn\t") {
                self.next = Some(group.to_owned());
                break;
            }
            match Measurement::parse(&line) {
                Some(measurement) => measurements.push(measurement),
                None => println!("{line}"),
            }
        }
        Ok(measurements)
    }
}
