//! Shapes of grids, blocks and clusters: within the limits of the table, and as the head of the kernel requires.

use std::format;
use std::prelude::rust_2024::*;

use ptx_isa::lanes::WARP;
use ptx_isa::table::{Origin, Table};

use super::error::{Error, ErrorKind};
use super::launch::{Grid, Kernel};

/// Number of blocks or threads of a shape.
pub(super) fn count(shape: &[u32]) -> u64 {
    shape.iter().map(|count| u64::from(*count)).fold(1, u64::saturating_mul)
}

fn written(shape: &[u32]) -> String {
    shape.iter().map(u32::to_string).collect::<Vec<_>>().join("×")
}

/// The numbers of a directive for each dimension.
fn dimensions(numbers: &[u64]) -> [u32; 3] {
    std::array::from_fn(|axis| numbers.get(axis).map_or(1, |count| u32::try_from(*count).unwrap_or(u32::MAX)))
}

fn fail<T>(message: String) -> Result<T, Error> {
    Err(Error::new(ErrorKind::Shape, message))
}

/// Limits of a table.
#[derive(Debug)]
pub(super) struct Limits {
    /// Blocks of a grid, and threads of a block, in each dimension.
    grid: [u32; 3],
    block: [u32; 3],
    /// Warps of a block, and blocks of a cluster.
    warps: u32,
    cluster: u32,
}

impl Limits {
    pub(super) fn new(table: &Table) -> Limits {
        let limits = |origin| -> [u32; 3] {
            let limit = table.limit(origin);
            std::array::from_fn(|axis| limit.get(axis).copied().unwrap_or(u32::MAX))
        };
        let ([warps, ..], [cluster, ..]) = (limits(Origin::Warps), limits(Origin::ClusterSize));
        Limits { grid: limits(Origin::GridShape), block: limits(Origin::BlockShape), warps, cluster }
    }
}

/// Checks that no dimension is zero or above its limit.
fn within(whole: &str, parts: &str, shape: [u32; 3], limit: [u32; 3]) -> Result<(), Error> {
    match shape.iter().zip(&limit).all(|(count, limit)| (1..=*limit).contains(count)) {
        true => Ok(()),
        false => fail(format!("{whole} has 1 to {} {parts}, not {}", written(&limit), written(&shape))),
    }
}

/// Returns the index of an element of a shape by its number; x varies fastest.
pub(super) fn index(number: u64, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let [x, y] = [x, y].map(u64::from);
    [number % x, number / x % y, number / x / y].map(|index| index as u32)
}

impl Kernel {
    /// Checks the shape of a launch; returns that of the grid in blocks, and that of clusters: the grid's, or the one that the kernel's
    /// head requires.
    pub(super) fn shape(&self, grid: &Grid) -> Result<([u32; 3], [u32; 3]), Error> {
        let cluster = self.cluster_shape(grid)?;
        let mut blocks = grid.blocks;
        if self.directive("blocksareclusters").is_some() {
            blocks = std::array::from_fn(|axis| blocks[axis].saturating_mul(cluster[axis]));
        }
        let limits = self.limits();
        within("a grid", "blocks", blocks, limits.grid)?;
        within("a block", "threads", grid.threads, limits.block)?;
        let (threads, most) = (count(&grid.threads), WARP as u64 * u64::from(limits.warps));
        if threads > most {
            return fail(format!("a block has up to {most} threads, not {threads}"));
        }
        if let Some(required) = self.directive("reqntid").map(dimensions)
            && required != grid.threads
        {
            return fail(format!("`{}` requires blocks of {} threads", self.name(), written(&required)));
        }
        if let Some(most) = self.directive("maxntid").map(|numbers| count(&dimensions(numbers)))
            && threads > most
        {
            return fail(format!("`{}` takes blocks of up to {most} threads", self.name()));
        }
        if blocks.iter().zip(&cluster).any(|(blocks, size)| blocks % size != 0) {
            let (blocks, cluster) = (written(&blocks), written(&cluster));
            return fail(format!("a grid of {blocks} blocks is not a whole number of clusters of {cluster}"));
        }
        Ok((blocks, cluster))
    }

    fn cluster_shape(&self, grid: &Grid) -> Result<[u32; 3], Error> {
        let mut cluster = grid.cluster;
        if let Some(required) = self.directive("reqnctapercluster").filter(|numbers| !numbers.is_empty()) {
            let required = dimensions(required);
            if cluster != [1; 3] && cluster != required {
                let (required, given) = (written(&required), written(&cluster));
                return fail(format!("the kernel requires clusters of {required} blocks, not {given}"));
            }
            cluster = required;
        }
        let (size, own) =
            (count(&cluster), self.directive("maxclusterrank").and_then(|numbers| numbers.first().copied()));
        let most = own.unwrap_or(u64::MAX).min(self.limits().cluster.into());
        if size == 0 || size > most {
            return fail(format!("a cluster has 1 to {most} blocks, not {size}"));
        }
        Ok(cluster)
    }
}
