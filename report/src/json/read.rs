//! From report.json back to the report that it was written from, as far as any format shows of it.

use super::{Carried, Cause, Document, Frame, Kind, Location, Ranges, Spot, VERSION, Variable, postfix};
use crate::{Report, RunInfo, Site, Sites};
use fpgrind_analysis as analysis;
use fpgrind_analysis::log::Module;
use fpgrind_analysis::{CauseKind, Effect, Findings, SpotKind, Totals, precision};
use fpgrind_ir::{Cond, Operator, Type};
use serde::Deserialize;
use std::path::PathBuf;

/// What is wrong with a text that is no report is said in a few words.
pub fn read(text: &str) -> Result<Report, String> {
    #[derive(Deserialize)]
    struct Head {
        version: u32,
    }
    let problem = |error: serde_json::Error| error.to_string();
    let Head { version } = serde_json::from_str(text).map_err(problem)?;
    if version != VERSION {
        return Err(format!("it is of version {version}, and this fpgrind reads version {VERSION}"));
    }
    serde_json::from_str::<Document>(text).map_err(problem)?.report()
}

/// The places met so far.
#[derive(Default)]
pub struct Places {
    files: Vec<PathBuf>,
    sites: Sites,
}

impl Places {
    pub fn instruction(&mut self, location: &Location) -> Result<analysis::Location, String> {
        let (at, site) = self.look_up(location)?;
        self.sites.instructions.insert(at, site);
        Ok(at)
    }

    fn call(&mut self, location: &Location) -> Result<analysis::Location, String> {
        let (at, site) = self.look_up(location)?;
        self.sites.returns.insert(at, site);
        Ok(at)
    }

    fn look_up(&mut self, location: &Location) -> Result<(analysis::Location, Site), String> {
        let pc = location.pc.address()?;
        let module: Option<PathBuf> = location.module.as_ref().map(PathBuf::from);
        let address = location.address.as_ref().map(|address| address.address()).transpose()?;
        let file = module.as_ref().map(|module| {
            let known = self.files.iter().position(|file| file == module);
            known.unwrap_or_else(|| {
                self.files.push(module.clone());
                self.files.len() - 1
            }) as u32
        });
        let site = Site {
            pc,
            module,
            address: address.unwrap_or(0),
            function: location.function.clone(),
            function_offset: location.function_offset.as_ref().map(|offset| offset.address()).transpose()?,
            file: location.file.as_ref().map(PathBuf::from),
            line: location.line,
            column: location.column,
            inlined_into: location.inlined_into.iter().map(Frame::read).collect(),
            inlines: location.inlines.iter().map(Frame::read).collect(),
        };
        Ok((analysis::Location { file, address: address.unwrap_or(pc), pc }, site))
    }
}

impl Frame {
    fn read(&self) -> crate::Frame {
        let file = self.file.as_ref().map(PathBuf::from);
        crate::Frame { function: self.function.clone(), file, line: self.line, column: self.column }
    }
}

impl Document {
    fn report(self) -> Result<Report, String> {
        let mut places = Places::default();
        let causes = self.causes.iter().map(|cause| cause.finding(&mut places)).collect::<Result<Vec<_>, _>>()?;
        let spots = self.spots.iter().map(|spot| spot.finding(&mut places)).collect::<Result<Vec<_>, _>>()?;
        let dangling = causes.iter().flat_map(|cause| &cause.reaches).any(|spot| *spot >= spots.len())
            || spots.iter().flat_map(|spot| &spot.causes).any(|cause| *cause >= causes.len());
        if dangling {
            return Err("a cause or a spot refers to one that is not there".into());
        }
        let mut modules = Vec::new();
        for module in &self.modules {
            let [start, end, bias] = [module.start.address()?, module.end.address()?, module.bias.address()?];
            modules.push(Module { path: module.path.clone().into(), start, end, bias });
        }
        let mut check_failures = Vec::new();
        for failure in &self.check_failures {
            let location = places.instruction(&failure.site)?;
            let (native, predicted) = (failure.native.0, failure.predicted.0);
            check_failures.push(analysis::CheckFailure { location, native, predicted });
        }
        let suppressed = self.causes.iter().map(|cause| cause.suppressed_by.clone()).collect();
        let totals = Totals {
            processes: self.totals.processes,
            threads: self.totals.threads,
            operations: self.totals.operations,
            blocks: self.totals.blocks,
            stale_shadows: self.totals.stale_shadows,
            lost_shadows: self.totals.lost_shadows,
            misnamed_calls: self.totals.misnamed_calls,
            undecided: self.totals.undecided,
            given_up: self.totals.given_up,
            short_expressions: self.totals.short_expressions,
            corrupt_records: self.totals.corrupt_records,
            skipped_bytes: self.totals.skipped_bytes,
            checks: self.totals.checks,
        };
        let run = RunInfo {
            program: self.program,
            args: self.args,
            directory: self.directory.map(PathBuf::from),
            seconds: self.seconds.0,
            notes: self.notes,
            check: self.check,
            threshold: self.threshold_bits.0,
            out: None,
        };
        let findings = Findings { causes, spots, totals, files: places.files, modules, check_failures };
        Ok(Report { run, findings, sites: places.sites, suppressed, unused_suppressions: self.unused_suppressions })
    }
}

impl Cause {
    fn finding(&self, places: &mut Places) -> Result<analysis::Cause, String> {
        let ty = format(&self.precision)?;
        Ok(analysis::Cause {
            location: places.instruction(&self.site)?,
            operator: Operator::from_name(&self.operator).ok_or_else(|| unknown("operator", &self.operator))?,
            ty,
            expr: postfix::read(&self.postfix, self.variables.len())?,
            variables: self.variables.iter().map(|variable| variable.finding(places)).collect::<Result<Vec<_>, _>>()?,
            kind: CauseKind::ALL
                .into_iter()
                .find(|kind| kind.name() == self.kind)
                .ok_or_else(|| unknown("kind of cause", &self.kind))?,
            executions: self.executions,
            erroneous: self.erroneous,
            max_bits: self.max_bits.0,
            average_bits: self.average_bits.0,
            computed: self.computed.typed(ty)?,
            correct: self.correct.typed(ty)?,
            reproduced_bits: self.reproduced_bits.0,
            reaches: self.reaches.clone(),
            samples: self
                .samples
                .iter()
                .map(|sample| sample.finding(&self.variables))
                .collect::<Result<Vec<_>, _>>()?,
            steps: self.steps.iter().map(|step| step.finding(places)).collect::<Result<Vec<_>, _>>()?,
        })
    }
}

impl Variable {
    fn finding(&self, places: &mut Places) -> Result<analysis::Variable, String> {
        Ok(analysis::Variable {
            name: self.name.clone(),
            seen: self.seen.finding(),
            erroneous: self.erroneous.finding(),
            worst: self.worst.typed(format(&self.precision)?)?,
            stands_for: self.stands_for.clone(),
            carried: self.carried.as_ref().map(|carried| carried.finding(places)).transpose()?,
        })
    }
}

impl Carried {
    fn finding(&self, places: &mut Places) -> Result<analysis::Carried, String> {
        Ok(analysis::Carried {
            location: places.instruction(&self.site)?,
            operator: Operator::from_name(&self.operator).ok_or_else(|| unknown("operator", &self.operator))?,
            executions: self.executions,
            term: self.term.clone(),
        })
    }
}

impl Ranges {
    fn finding(&self) -> analysis::Ranges {
        let ends = |ends: &[super::Number; 2]| (ends[0].0, ends[1].0);
        analysis::Ranges {
            negative: self.negative.as_ref().map(ends),
            zero: self.zero,
            positive: self.positive.as_ref().map(ends),
            nan: self.nan,
        }
    }
}

impl Spot {
    fn finding(&self, places: &mut Places) -> Result<analysis::Spot, String> {
        let ty = format(&self.precision)?;
        let kind = match &self.kind {
            Kind::Output { function, argument, conversion } => {
                SpotKind::Output { function: function.clone(), argument: *argument, conversion: conversion.clone() }
            }
            Kind::Branch { condition } => {
                let cond = Cond::ALL.into_iter().find(|cond| cond.name() == condition);
                SpotKind::Branch { cond: cond.ok_or_else(|| unknown("condition", condition))? }
            }
            Kind::Comparison => SpotKind::Mask,
            Kind::ToInteger => SpotKind::ToInt,
            Kind::Escape => SpotKind::Escape,
        };
        let location = match kind {
            SpotKind::Output { .. } => places.call(&self.site)?,
            _ => places.instruction(&self.site)?,
        };
        Ok(analysis::Spot {
            location,
            kind,
            count: self.count,
            wrong: self.wrong,
            max_bits: self.max_bits.0,
            average_bits: self.average_bits.0,
            computed: self.computed.typed(ty)?,
            correct: self.correct.typed(ty)?,
            offset: self.offset,
            expr: self.postfix.as_ref().map(|text| postfix::read(text, usize::MAX)).transpose()?,
            accumulated: self.accumulated.as_ref().map(|known| known.finding(places)).transpose()?,
            accumulated_in: self
                .accumulated_in
                .iter()
                .map(|at| places.instruction(at))
                .collect::<Result<Vec<_>, _>>()?,
            causes: self.causes.clone(),
            effect: self.effect.as_ref().map(|name| effect(name)).transpose()?,
        })
    }
}

pub fn format(name: &str) -> Result<Type, String> {
    let found = Type::ALL.into_iter().find(|ty| ty.is_float() && precision(*ty) == name);
    found.ok_or_else(|| unknown("precision", name))
}

fn effect(name: &str) -> Result<Effect, String> {
    Effect::ALL.into_iter().find(|effect| effect.name() == name).ok_or_else(|| unknown("effect", name))
}

pub fn unknown(what: &str, name: &str) -> String {
    format!("\"{name}\" is no {what} that this fpgrind knows")
}
