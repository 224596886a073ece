//! Matrix products against the published model of tensor cores.

#[path = "../kernels/model.rs"]
mod model;
#[path = "../kernels/products.rs"]
mod products;

mod pair;
mod sparse;
mod warp;
