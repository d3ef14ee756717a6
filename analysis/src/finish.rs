//! From the analysis's state to what it found: causes that reach a wrong spot, spots, totals.

use crate::antiunify::{Carrier, Generaliser};
use crate::attribution::Attribution;
use crate::consume::{Books, Consumer};
use crate::evaluate;
use crate::findings::{Carried, Cause, Findings, Spot, SpotKind};
use crate::location::Locations;
use crate::mpfr::Mpfr;
use crate::number::Number;
use crate::real::Real;
use crate::site::{Sites, State};
use crate::spots::SpotState;

pub fn findings<R: Real>(analysis: Consumer<R>) -> Findings {
    let Consumer { guests, books, .. } = analysis;
    let candidates = if books.all_causes { books.operations.sites.candidates() } else { candidates(&books) };
    let Books { mut operations, spots, locations, mut totals, check_failures, .. } = books;
    totals.operations = operations.count;
    totals.undecided = operations.unsettled;
    totals.given_up = operations.nodes.shortened + operations.sets.refused + guests.refused();
    totals.short_expressions = spots.room().short();
    (totals.processes, totals.threads) = (guests.processes_begun, guests.threads_begun);
    let precision = operations.precision();
    let mut states: Vec<&SpotState> = spots.spots.iter().map(|spot| &**spot).filter(|spot| spot.count > 0).collect();
    states.sort_by_key(|spot| spot.order);
    let influences: Vec<&[u32]> = states.iter().map(|spot| operations.sets.members(spot.influences)).collect();
    let mut spots: Vec<Spot> = states.into_iter().map(|state| spot(state, &operations.sites, &locations)).collect();

    let mut causes: Vec<(u32, Cause)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let mut reaches: Vec<usize> =
                (0..spots.len()).filter(|spot| influences[*spot].contains(&candidate)).collect();
            reaches.sort_by(|a, b| {
                let (a, b) = (&spots[*a], &spots[*b]);
                b.matters().cmp(&a.matters()).then(b.max_bits.total_cmp(&a.max_bits))
            });
            Some((candidate, cause(candidate as usize, &mut operations.sites, &locations, precision, reaches)?))
        })
        .collect();
    causes.sort_by(|(_, a), (_, b)| {
        let damage = |cause: &Cause| output_damage(cause, &spots);
        let weight = |cause: &Cause| cause.max_bits * cause.erroneous as f64;
        let matters = |cause: &Cause| cause.reaches.iter().any(|spot| spots[*spot].matters());
        let by_results = damage(b).total_cmp(&damage(a)).then(matters(b).cmp(&matters(a)));
        by_results.then(weight(b).total_cmp(&weight(a))).then(a.location.cmp(&b.location))
    });
    for (spot, influences) in spots.iter_mut().zip(&influences) {
        spot.causes = (0..causes.len()).filter(|cause| influences.contains(&causes[*cause].0)).collect();
    }
    let causes = causes.into_iter().map(|(_, cause)| cause).collect();
    Findings { causes, spots, totals, files: locations.files, modules: locations.modules, check_failures }
}

/// The operations that wrong results go back to.
pub fn candidates<R: Real>(books: &Books<R>) -> Vec<u32> {
    let spots = books.spots.spots.iter().filter(|spot| spot.count > 0);
    let influences = spots.flat_map(|spot| books.operations.sets.members(spot.influences));
    let mut candidates: Vec<u32> = influences.copied().collect();
    candidates.sort_unstable();
    candidates.dedup();
    candidates
}

/// Bits lost in outputs that a cause reaches, over all of them.
fn output_damage(cause: &Cause, spots: &[Spot]) -> f64 {
    let outputs =
        cause.reaches.iter().map(|spot| &spots[*spot]).filter(|spot| matches!(spot.kind, SpotKind::Output { .. }));
    outputs.map(|spot| spot.average_bits * spot.wrong as f64).sum()
}

fn cause(
    number: usize,
    sites: &mut Sites,
    locations: &Locations,
    precision: u32,
    reaches: Vec<usize>,
) -> Option<Cause> {
    let site = sites.get_mut(number)?;
    let State::Candidate(candidate) = &mut site.state else { return None };
    let wrong = &site.tally.wrong;
    candidate.general.shorten::<Mpfr>(precision, candidate.mode);
    let (expr, mut variables, carriers) = candidate.general.generalisation();
    let worst: Vec<Number> = variables.iter().map(|variable| variable.worst).collect();
    let mut steps = evaluate::steps::<Mpfr>(&expr, &worst, precision, candidate.mode);
    for (step, place) in steps.iter_mut().zip(candidate.general.places()) {
        step.location = place.map(|place| locations.get(place));
    }
    let cause = Cause {
        location: locations.get(site.key.at),
        operator: site.key.operator,
        ty: site.key.ty,
        expr,
        variables: Vec::new(),
        kind: wrong.kind,
        executions: site.tally.executions(),
        erroneous: wrong.executions,
        max_bits: candidate.max_bits,
        average_bits: wrong.bits.sum() / wrong.executions.max(1) as f64,
        computed: candidate.computed,
        correct: candidate.correct,
        reproduced_bits: candidate.general.reproduced_bits::<Mpfr>(precision, candidate.mode),
        reaches,
        samples: candidate.general.observed(),
        steps,
    };
    for (variable, carrier) in variables.iter_mut().zip(carriers) {
        variable.carried = carrier.map(|Carrier { key, is_alone, term }| Carried {
            location: locations.get(key.at),
            operator: key.operator,
            executions: is_alone.then(|| sites.executions(key)),
            term,
        });
    }
    Some(Cause { variables, ..cause })
}

fn spot(state: &SpotState, sites: &Sites, locations: &Locations) -> Spot {
    let accumulation = |(bits, attribution): &(f64, Attribution)| attribution.accumulation(*bits, sites, locations);
    let accumulated = state.attribution.as_ref().map(accumulation);
    let mut accumulated_in = Vec::new();
    for contribution in accumulated.iter().flat_map(|accumulated| &accumulated.contributions) {
        if !accumulated_in.contains(&contribution.location) {
            accumulated_in.push(contribution.location);
        }
    }
    Spot {
        location: locations.get(state.at),
        kind: state.kind.clone(),
        count: state.count,
        wrong: state.wrong,
        max_bits: state.max_bits,
        average_bits: state.sum_bits / state.wrong.max(1) as f64,
        computed: state.computed,
        correct: state.correct,
        offset: state.offset,
        expr: state.general.as_ref().map(Generaliser::one_turn),
        accumulated,
        accumulated_in,
        causes: Vec::new(),
        effect: state.effect(),
    }
}
