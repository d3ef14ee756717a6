//! Passes: functions from block to block, run by the translator between lifting a block and emitting its record.
//!
//! The frontend says everything that an instruction does and logs everything that it reads; these passes take away
//! what nobody looks at and decide where in the record the rest goes. In debug builds each verifies what it made.

use crate::{Block, Op, Slot, Stmt, Type, Value, verify};

/// Bytes of a record's header, which the fields follow.
const HEADER: usize = 8;

/// A record is no longer than this. A block of 64 instructions of AVX-512 that are all checked comes near it, others need
/// at most a few dozen fields; it is there so that a record always fits the log's ring and an offset always fits a [`Slot`].
pub const MAX_RECORD: usize = 16384;

/// Bytes that fxsave writes.
const IMAGE: usize = 512;

/// Records begin at multiples of this in the log, so that a 16-byte field is aligned.
const RECORD_ALIGN: usize = 16;

/// Removes the statements whose value reaches no effect, and with them what they would have logged.
pub fn eliminate_dead(block: Block) -> Block {
    let needed = needed(&block);
    verified(keep(block, &needed))
}

/// Which statements reach an effect.
fn needed(block: &Block) -> Vec<bool> {
    let mut needed: Vec<bool> = block.stmts.iter().map(|stmt| stmt.op.has_effect()).collect();
    add_uses(block, &mut needed);
    needed
}

/// A value is defined before it is used, so one walk from the end sees every use before the definition.
fn add_uses(block: &Block, needed: &mut [bool]) {
    for index in (0..block.stmts.len()).rev() {
        if needed[index] {
            block.stmts[index].for_each_use(&mut |value| {
                if let Some(entry) = needed.get_mut(value.index()) {
                    *entry = true;
                }
            });
        }
    }
}

fn keep(block: Block, needed: &[bool]) -> Block {
    let Block { instrs, stmts, record } = block;
    let mut kept = Vec::with_capacity(stmts.len());
    let mut renamed: Vec<Value> = Vec::with_capacity(stmts.len());
    for (mut stmt, needed) in stmts.into_iter().zip(needed) {
        renamed.push(Value(kept.len() as u32));
        if *needed {
            stmt.for_each_use_mut(&mut |value| {
                if let Some(new) = renamed.get(value.index()) {
                    *value = *new;
                }
            });
            kept.push(stmt);
        }
    }
    Block { instrs, stmts: kept, record }
}

/// Of a finished block, what it does to how others compute: the modes of rounding that it sets. For code that is not analysed.
pub fn keep_settings(block: Block) -> Block {
    let sets = |op: &Op| matches!(op, Op::SetMxcsr { .. } | Op::SetX87Control { .. });
    let mut needed: Vec<bool> = block.stmts.iter().map(|stmt| sets(&stmt.op)).collect();
    add_uses(&block, &mut needed);
    assign_slots(verified(keep(block, &needed)))
}

/// A loop that is run through several times in one block, and may be left before. Block `n` says what happens if it is left after `n + 1`
/// times; all begin with the same statements, of which `common[n]` belong to those times. Since it is not known from the start when
/// the loop will be left, all write the same record, only not to the same end: each time has a part of it to itself.
///
/// Dead statements are eliminated, and slots assigned; but the last block logs what any of them needs. Nothing if they cannot be logged
/// that way.
pub fn share_record(blocks: Vec<Block>, common: &[usize]) -> Option<Vec<Block>> {
    let mut needed: Vec<Vec<bool>> = blocks.iter().map(needed).collect();
    let last = blocks.last()?;
    let mut logged = vec![false; last.stmts.len()];
    for ((block, common), needed) in blocks.iter().zip(common).zip(&needed) {
        for (index, stmt) in block.stmts.iter().enumerate().filter(|(index, _)| needed[*index]) {
            if stmt.op.slot().is_some() {
                *logged[..*common].get_mut(index)? = true;
            }
        }
    }
    let mut slots = vec![Slot::UNASSIGNED; last.stmts.len()];
    let mut ends = Vec::new();
    let (mut first, mut end) = (0, 0);
    for common in common {
        let part: Vec<usize> = (first..*common).filter(|index| logged[*index]).collect();
        let sizes = part.iter().map(|index| last.slot_bytes(&last.stmts[*index])).collect::<Option<Vec<usize>>>()?;
        let (offsets, length) = layout(&sizes, if first == 0 { HEADER } else { 0 })?;
        for (index, offset) in part.into_iter().zip(offsets) {
            slots[index] = Slot(end as u16 + offset);
        }
        (first, end) = (*common, end + length as usize);
        ends.push(end);
    }
    if end > MAX_RECORD {
        return None;
    }
    let all = needed.last_mut()?;
    all.iter_mut().zip(&logged).for_each(|(needed, logged)| *needed |= logged);
    add_uses(last, all);
    let finished = blocks.into_iter().zip(ends).zip(&needed).map(|((mut block, end), needed)| {
        for (stmt, assigned) in block.stmts.iter_mut().zip(&slots) {
            stmt.op.slot_mut().into_iter().for_each(|slot| *slot = *assigned);
        }
        block.record = end as u16;
        verified(keep(block, needed))
    });
    Some(finished.collect())
}

/// Gives every logged value its place in the record, and the record its length.
///
/// Each field is aligned to its own size, up to 16 bytes: the guest may have set EFLAGS.AC, and then an unaligned store faults
/// (Intel SDM volume 3, "Alignment Check Exception"). The 16-byte fields come first, from offset 16 on; the narrower
/// ones, widest first, fill the eight bytes between the header and them, and go on behind them. So there is no
/// gap but the rounding up at the end.
///
/// A block that does nothing but drop gets no record: shadows are validated by value, so a drop that is never seen
/// costs nothing. A block that cannot be logged (a record beyond `MAX_RECORD`, a field of no known size) loses its
/// statements instead: it runs all the same, and the shadows of what it writes are lost.
pub fn assign_slots(mut block: Block) -> Block {
    if block.stmts.iter().all(|stmt| !stmt.op.has_effect() || matches!(stmt.op, Op::Drop { .. })) {
        block.record = 0;
        for slot in block.stmts.iter_mut().filter_map(|stmt| stmt.op.slot_mut()) {
            *slot = Slot::UNASSIGNED;
        }
        return verified(block);
    }
    let sizes: Vec<usize> = block.stmts.iter().filter_map(|stmt| block.slot_bytes(stmt)).collect();
    match layout(&sizes, HEADER) {
        Some((offsets, record)) => {
            for (slot, offset) in block.stmts.iter_mut().filter_map(|stmt| stmt.op.slot_mut()).zip(offsets) {
                *slot = Slot(offset);
            }
            block.record = record;
        }
        None => {
            block.stmts.clear();
            block.record = 0;
        }
    }
    verified(block)
}

/// Where fields of these sizes go behind a header, if there is one, and how many bytes all take.
fn layout(sizes: &[usize], header: usize) -> Option<(Vec<u16>, u16)> {
    if !sizes.iter().all(|size| matches!(*size, 2 | 4 | 8 | 16 | IMAGE)) {
        return None;
    }
    let wide: usize = sizes.iter().filter(|&&size| size >= RECORD_ALIGN).sum();
    let mut next_wide = header.next_multiple_of(RECORD_ALIGN);
    let behind_wide = next_wide + wide;
    let before_wide = next_wide;

    let mut offsets = vec![0; sizes.len()];
    let mut next_narrow = header;
    for width in [IMAGE, 16, 8, 4, 2] {
        for (offset, _) in offsets.iter_mut().zip(sizes).filter(|(_, size)| **size == width) {
            if width >= RECORD_ALIGN {
                *offset = next_wide as u16;
                next_wide += width;
                continue;
            }
            if next_narrow == before_wide {
                next_narrow = behind_wide;
            }
            *offset = next_narrow as u16;
            next_narrow += width;
        }
    }

    let record = next_wide.max(next_narrow).next_multiple_of(RECORD_ALIGN);
    (record <= MAX_RECORD).then_some((offsets, record as u16))
}

impl Block {
    /// How many bytes a statement takes in the record, if it logs: those of the value that it defines, or checks.
    pub fn logged_bytes(&self, stmt: &Stmt) -> Option<usize> {
        stmt.op.slot()?;
        let ty = match stmt.op {
            Op::Check { value, .. } => self.type_of(value),
            _ => stmt.ty,
        };
        Some(match ty {
            Some(Type::Image) => IMAGE,
            ty => ty.map_or(0, |ty| ty.bytes()),
        })
    }

    /// How many bytes of the record are set aside for it: ten are kept like sixteen.
    pub(crate) fn slot_bytes(&self, stmt: &Stmt) -> Option<usize> {
        self.logged_bytes(stmt).map(|bytes| if bytes == Type::F80.bytes() { 16 } else { bytes })
    }
}

fn verified(block: Block) -> Block {
    debug_assert_eq!(verify(&block).map_err(|error| error.to_string()), Ok(()));
    block
}
