//! Kernels on the CPU: what they leave in memory against the host, against a card where one has run them, and against models.

#[path = "../kernels/machine.rs"]
mod machine;
#[path = "../kernels/model.rs"]
mod model;

mod affine;
mod asynchronous;
mod barriers;
mod classes;
mod cluster;
mod compiled;
mod descriptors;
mod divergence;
mod effects;
mod group;
mod groups;
mod halves;
mod heap;
mod launches;
mod litmus;
mod lockstep;
mod matrix;
mod matrix_rows;
mod meeting;
mod more;
mod numba;
mod order;
mod power;
mod products;
mod program;
mod races;
mod random_programs;
mod rows;
mod rustc;
mod stretches;
mod subnormal;
mod suite;
mod tensor;
mod tensor_maps;
mod tinygrad;
mod triton;
mod wide;
