//! Programs from files and from standard input.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use clap::ValueEnum;
use warpscope_core::ir::{Func, Module};
use warpscope_core::load::{self, Loaded};
use warpscope_core::text::{Diagnostic, LineIndex};

use crate::failure::Failure;
use crate::output;

/// Formats of programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Dialect {
    /// The text IR.
    Wir,
    /// PTX.
    Ptx,
}

/// Which program.
#[derive(clap::Args)]
pub struct Input {
    /// The program: a `.wir` or `.ptx` file, or `-` for standard input.
    #[arg(value_name = "FILE")]
    file: String,
    /// Format of the program. Default: by the file's name.
    #[arg(long, value_enum, value_name = "DIALECT")]
    from: Option<Dialect>,
}

/// A text with its name.
pub struct Source {
    /// The file's name, or `<stdin>`.
    pub name: String,
    /// The text itself.
    pub text: String,
    /// Format of the text.
    pub dialect: Dialect,
}

/// A program that can be worked with.
pub struct Program {
    /// The module, as far as it could be read.
    pub module: Module,
    /// Has it kernels or functions that could not be read? Their errors have been reported.
    pub lacks_kernels: bool,
}

impl Program {
    /// The kernel of that name, for whoever cannot do without it.
    pub fn kernel(&self, name: &str) -> Result<Func, Failure> {
        self.module
            .kernels()
            .find(|&kernel| self.module.funcs[kernel].name == name)
            .ok_or_else(|| self.lacks("kernel", name))
    }

    /// The kernel or function of that name, for whoever cannot do without it.
    pub fn function(&self, name: &str) -> Result<Func, Failure> {
        self.module.func_by_name(name).ok_or_else(|| self.lacks("kernel or function", name))
    }

    /// A slip of the command line, unless the program may have it in what could not be read.
    fn lacks(&self, what: &str, name: &str) -> Failure {
        if self.lacks_kernels {
            return Failure::Program(format!("error: no {what} `{name}` among those that could be read\n"));
        }
        Failure::usage(format!("the program has no {what} `{name}`"))
    }

    /// Ends a command that was to work on all of the program: badly, if it was not all there.
    pub fn worked_on_all(&self) -> Result<(), Failure> {
        if self.lacks_kernels { Err(Failure::Negative) } else { Ok(()) }
    }
}

impl Input {
    /// Reads the text.
    pub fn read(&self) -> Result<Source, Failure> {
        Source::read(&self.file, self.from)
    }
}

impl Source {
    /// Reads a file, or standard input for `-`.
    pub fn read(file: &str, from: Option<Dialect>) -> Result<Source, Failure> {
        let (name, bytes) = if file == "-" {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            ("<stdin>", read.map(|_| bytes))
        } else {
            (file, fs::read(file))
        };
        let bytes = bytes.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        let by_extension = match Path::new(file).extension() {
            Some(extension) if extension.eq_ignore_ascii_case("ptx") => Dialect::Ptx,
            _ => Dialect::Wir,
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.split(|&byte| byte == b'\n').count();
            let column = String::from_utf8_lossy(good.rsplit(|&byte| byte == b'\n').next().unwrap_or_default());
            let column = column.chars().count() + 1;
            Failure::Program(format!("{name}:{line}:{column}: error: this is not UTF-8 text\n"))
        })?;
        Ok(Source { name: name.to_string(), text, dialect: from.unwrap_or(by_extension) })
    }

    /// Reads the text as a program, with everything that is wrong with it.
    pub fn program(&self) -> Loaded {
        let dialect = match self.dialect {
            Dialect::Wir => load::Dialect::Wir,
            Dialect::Ptx => load::Dialect::Ptx,
        };
        load::load(&self.text, dialect)
    }

    /// Reads the text as a program and reports what is wrong with it. Errors end the command, unless it is PTX some of
    /// whose kernels are good.
    pub fn load(&self) -> Result<Program, Failure> {
        let loaded = self.program();
        let report = self.render(&loaded.diagnostics);
        if !loaded.is_usable {
            return Err(Failure::Program(report));
        }
        output::notice(&report);
        Ok(Program { lacks_kernels: loaded.has_errors(), module: loaded.module })
    }

    /// Diagnostics as a shell shows them.
    pub fn render(&self, diagnostics: &[Diagnostic]) -> String {
        let lines = LineIndex::new(&self.text);
        diagnostics.iter().map(|diagnostic| diagnostic.render_with(&self.name, &self.text, &lines)).collect()
    }
}
