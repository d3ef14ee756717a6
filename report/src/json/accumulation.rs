//! What an error is made of that no single operation is to blame for.

use super::Location;
use super::read::{Places, format, unknown};
use super::values::Number;
use crate::Report;
use fpgrind_analysis as analysis;
use fpgrind_analysis::precision;
use fpgrind_ir::Operator;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Accumulation {
    /// The error.
    bits: Number,
    /// The part of it that is explained: 1, but for what was lost in computing it.
    explained: Number,
    /// Largest first.
    contributions: Vec<Contribution>,
    /// The share of all operations that contribute less.
    others: Number,
}

/// What an operation at one place contributes.
#[derive(Serialize, Deserialize)]
struct Contribution {
    site: Location,
    operator: String,
    precision: String,
    /// In the whole run, whatever became of the results.
    executions: u64,
    /// Of them those that were seen to round on the way, and their share of the error.
    roundings: u64,
    share: Number,
    /// The share that the oldest of its results already had, whose histories are cut off.
    inherited: Number,
    /// They are results of its own earlier executions.
    carried: bool,
    /// Indices into `contributions`: the others that round on the way to its results.
    beside: Vec<usize>,
}

impl Accumulation {
    pub fn of(report: &Report, accumulated: &analysis::Accumulation) -> Accumulation {
        let contribution = |known: &analysis::Contribution| Contribution {
            site: Location::of(&report.sites.instruction(known.location)),
            operator: known.operator.name().into(),
            precision: precision(known.ty).into(),
            executions: known.executions,
            roundings: known.roundings,
            share: Number(known.share),
            inherited: Number(known.inherited),
            carried: known.carried,
            beside: known.beside.clone(),
        };
        Accumulation {
            bits: Number(accumulated.bits),
            explained: Number(accumulated.explained()),
            contributions: accumulated.contributions.iter().map(contribution).collect(),
            others: Number(accumulated.others),
        }
    }

    pub fn finding(&self, places: &mut Places) -> Result<analysis::Accumulation, String> {
        let contributions = self.contributions.iter().map(|known| known.finding(places));
        let contributions = contributions.collect::<Result<Vec<_>, _>>()?;
        Ok(analysis::Accumulation { bits: self.bits.0, contributions, others: self.others.0 })
    }
}

impl Contribution {
    fn finding(&self, places: &mut Places) -> Result<analysis::Contribution, String> {
        Ok(analysis::Contribution {
            location: places.instruction(&self.site)?,
            operator: Operator::from_name(&self.operator).ok_or_else(|| unknown("operator", &self.operator))?,
            ty: format(&self.precision)?,
            executions: self.executions,
            roundings: self.roundings,
            share: self.share.0,
            inherited: self.inherited.0,
            carried: self.carried,
            beside: self.beside.clone(),
        })
    }
}
