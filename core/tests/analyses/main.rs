//! The analyses against definitions: on small random graphs and programs every answer is computed a second time, by
//! brute force from the definition, and compared.

mod alias;
mod flow;
mod graph;
mod symbolic;
