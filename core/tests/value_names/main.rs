//! Value name graphs and estimates against brute force: random graphs with random runs, all runs with the same counts,
//! all insertions, and the numbers that generated kernels compute.

mod bounds;
mod demands;
mod optima;
mod soundness;
