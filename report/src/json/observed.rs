//! What a cause's operation was seen to do: in some executions, and step by step in the worst.

use super::read::{Places, format};
use super::values::{Float, Number};
use super::{Location, Variable};
use crate::Report;
use fpgrind_analysis as analysis;
use fpgrind_analysis::precision;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Sample {
    /// One for each variable, of its precision.
    inputs: Vec<Float>,
    /// Lost by the operation itself.
    bits: Number,
}

/// A part of the expression, evaluated in floats and in reals.
#[derive(Serialize, Deserialize)]
pub struct Step {
    /// Where the operation is, if all executions have it in one place.
    site: Option<Location>,
    precision: String,
    computed: Float,
    correct: Float,
    /// The error, and how much of it there would be if the arguments were right.
    bits: Number,
    local_bits: Number,
}

impl Sample {
    pub fn of(sample: &analysis::Sample) -> Sample {
        let inputs = sample.inputs.iter().map(|input| Float::of(*input)).collect();
        Sample { inputs, bits: Number(sample.bits) }
    }

    pub fn finding(&self, variables: &[Variable]) -> Result<analysis::Sample, String> {
        if self.inputs.len() != variables.len() {
            return Err("a sample has not one input a variable".into());
        }
        let inputs = self.inputs.iter().zip(variables);
        let inputs = inputs.map(|(input, variable)| input.typed(format(&variable.precision)?));
        Ok(analysis::Sample { inputs: inputs.collect::<Result<Vec<_>, String>>()?, bits: self.bits.0 })
    }
}

impl Step {
    pub fn of(report: &Report, step: &analysis::Step) -> Step {
        Step {
            site: step.location.map(|location| Location::of(&report.sites.instruction(location))),
            precision: precision(step.computed.ty).into(),
            computed: Float::of(step.computed),
            correct: Float::of(step.correct),
            bits: Number(step.bits),
            local_bits: Number(step.local_bits),
        }
    }

    pub fn finding(&self, places: &mut Places) -> Result<analysis::Step, String> {
        let ty = format(&self.precision)?;
        let location = self.site.as_ref().map(|site| places.instruction(site)).transpose()?;
        let (computed, correct) = (self.computed.typed(ty)?, self.correct.typed(ty)?);
        Ok(analysis::Step { location, computed, correct, bits: self.bits.0, local_bits: self.local_bits.0 })
    }
}
