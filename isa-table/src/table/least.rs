//! Minimum PTX version and target of several parts of a module together.

use alloc::vec::Vec;
use core::fmt;

use super::{Table, TargetInfo};
use crate::target::{Families, Floor, Target, Version, in_words};

/// Requirement of a part of a module on the PTX version and the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Minimum version and targets.
    From(&'static Floor),
    /// Exclusive upper bound of the version.
    Before(Version),
}

impl Requirement {
    /// Returns true if a version and a target meet it.
    pub fn is_met(self, ptx: Version, target: Target, families: Families<'_>) -> bool {
        match self {
            Requirement::From(floor) => floor.has(ptx, target, families),
            Requirement::Before(version) => ptx < version,
        }
    }
}

impl fmt::Display for Requirement {
    /// `PTX 7.8, sm_90`, `PTX before 6.0`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requirement::From(floor) => write!(f, "{floor}"),
            Requirement::Before(version) => write!(f, "PTX before {version}"),
        }
    }
}

/// The minimum PTX version and the minimum targets that meet several requirements. The order is by version, then by targets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Least {
    /// The minimum version.
    pub ptx: Version,
    /// The minimum targets, ascending: several if families have it that do not extend each other.
    pub targets: Vec<Target>,
}

impl fmt::Display for Least {
    /// `PTX 7.8, sm_90`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX {}, {}", self.ptx, in_words(&self.targets))
    }
}

impl Table {
    /// Returns true if a requirement is met by a version of PTX (default: the newest) and a target (default: any).
    pub fn has(&self, floor: &Floor, ptx: Option<Version>, target: Option<Target>) -> bool {
        let ptx = ptx.or(self.versions.last().copied()).unwrap_or(floor.ptx);
        target.map_or(ptx >= floor.ptx, |target| floor.has(ptx, target, self.families()))
    }

    /// Returns the minimum PTX version and targets that meet all requirements; `None` if no version and target do.
    ///
    /// ```
    /// # use isa_table::table::{Requirement, Table};
    /// # fn example(table: &Table) -> Option<()> {
    /// let cluster = &table.directive("reqnctapercluster")?.floor;
    /// let least = table.least([Requirement::From(cluster)])?;
    /// assert_eq!(least.to_string(), "PTX 7.8, sm_90");
    /// # Some(())
    /// # }
    /// ```
    pub fn least(&self, asked: impl IntoIterator<Item = Requirement>) -> Option<Least> {
        let asked: Vec<Requirement> = asked.into_iter().collect();
        let floors = asked.iter().filter_map(|requirement| match requirement {
            Requirement::From(floor) => Some(floor.ptx),
            Requirement::Before(_) => None,
        });
        // A feature that the minimum version no longer has is missing from later ones, too.
        let ptx = floors.max().or(self.versions.first().copied())?;
        let targets = self.least_targets(ptx, &asked);
        (!targets.is_empty()).then_some(Least { ptx, targets })
    }

    /// Returns the minimum targets that meet all requirements in a version of PTX, ascending: those that the version knows
    /// (`sm_100a`, while there is no `sm_100f`), or later ones if it knows none. Empty if no target meets them.
    pub fn least_targets(&self, ptx: Version, asked: &[Requirement]) -> Vec<Target> {
        let families = self.families();
        let takes = |target: Target| asked.iter().all(|requirement| requirement.is_met(ptx, target, families));
        let taken = self.targets.iter().filter(|known| takes(known.target));
        let (old, new): (Vec<&TargetInfo>, Vec<&TargetInfo>) = taken.partition(|known| known.since <= ptx);
        let taken: Vec<Target> = if old.is_empty() { new } else { old }.iter().map(|known| known.target).collect();
        let least = |target: &&Target| !taken.iter().any(|other| other != *target && families.has(**target, *other));
        taken.iter().filter(least).copied().collect()
    }
}
