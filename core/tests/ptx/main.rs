//! PTX in and out: everything that compilers print for ordinary kernels loads, and what is written assembles.

mod assembles;
mod bfloats;
mod copies;
mod declarations;
mod derived;
mod errors;
mod examples;
mod expansions;
mod inputs;
mod launches;
mod moved_bits;
mod oracle;
mod redundancy;
mod sass;
mod scalar_replacement;
mod unit_memory;
mod unit_programs;
mod zero_specialisation;
