//! What the guest shows to the outside, read while it waits and written into its log.

use crate::guest::Guest;
use crate::ring::MAX_OUTPUT;
use crate::service::Service;
use fpgrind_analysis::log::{Bytes, Event, Output};
use fpgrind_frontend_x86::{Direction, Memory, Transfer};
use fpgrind_wrappers::{CallState, OutputFunction, bytes_shown, output_call, written};
use std::sync::PoisonError;

/// Of what one call writes as it is so much is looked at: the first bytes.
const MAX_WRITTEN: u64 = 1 << 20;
/// Pieces of one call (UIO_MAXIOV in linux/uio.h).
const MAX_PIECES: u64 = 1024;

/// Where `struct msghdr` has its array of pieces, and how many they are (recvmsg(2)).
const MESSAGE_PIECES: u64 = 16;
const MESSAGE_COUNT: u64 = 24;

impl Service {
    /// An output function is entered: the floats that it shows are told.
    pub(crate) fn output(&self, function: OutputFunction) {
        let context = self.context();
        let mut call = CallState { gpr: context.gpr, xmm: [0; 8] };
        for (all, [low, high]) in call.xmm.iter_mut().zip(context.xmm) {
            *all = u128::from(low) | u128::from(high) << 64;
        }
        let guest = Guest::new(self.thread.tid);
        let memory = |address: u64, buffer: &mut [u8]| guest.read(address, buffer);
        if let Some(piece) = bytes_shown(&function, &call, &memory) {
            return self.show_bytes(&guest, &[piece], function.number, || self.caller(&call.gpr, None, &guest));
        }
        let args = output_call(&function, &call, &memory);
        if args.is_empty() {
            return;
        }
        let pc = self.caller(&call.gpr, None, &guest);
        for args in args.chunks(Output::max_args(MAX_OUTPUT)) {
            self.append(&Output { pc, function: function.number, args: args.to_vec() }.encode());
        }
    }

    /// A system call is about to read or to write memory: what it writes to is forgotten, what it shows is told.
    pub(crate) fn transfer(&self, transfer: Transfer, next: u64) {
        let guest = Guest::new(self.thread.tid);
        let gpr = self.context().gpr;
        let pieces = pieces(transfer.memory, &gpr, &guest);
        match transfer.direction {
            Direction::Out => {
                self.show_bytes(&guest, &pieces, written(), || self.caller(&gpr, Some(next), &guest));
            }
            Direction::In => {
                self.hand_over();
                let process = self.thread.process.number;
                for (start, length) in pieces {
                    let end = start.saturating_add(length);
                    self.publisher.send(Event::Overwritten { process, start, end });
                }
            }
        }
    }

    /// Memory is shown as it is. Text has no floats in it.
    fn show_bytes(&self, guest: &Guest, pieces: &[(u64, u64)], function: u32, caller: impl FnOnce() -> u64) {
        self.show_bytes_from(0, guest, pieces, function, caller);
    }

    /// The same where so many bytes came before.
    pub(crate) fn show_bytes_from(
        &self,
        before: u64,
        guest: &Guest,
        pieces: &[(u64, u64)],
        function: u32,
        caller: impl FnOnce() -> u64,
    ) {
        let mut caller = Some(caller);
        let mut pc = 0;
        let mut offset = 0;
        for (start, length) in pieces.iter().copied() {
            let end = start.saturating_add(length.min(MAX_WRITTEN.saturating_sub(offset)));
            let mut address = start;
            while address < end {
                let mut bytes = vec![0; (end - address).min(Bytes::max(MAX_OUTPUT) as u64) as usize];
                if !guest.read(address, &mut bytes) {
                    break;
                }
                let (at, length) = (before + offset + (address - start), bytes.len() as u64);
                if !is_text(&bytes) {
                    if let Some(caller) = caller.take() {
                        pc = caller();
                    }
                    self.append(&Bytes { pc, function, address, offset: at, bytes }.encode());
                }
                address += length;
            }
            offset = offset.saturating_add(length);
        }
    }

    /// Writes a record as the guest would.
    pub(crate) fn append(&self, record: &[u8]) {
        self.hand_over_full();
        if !self.thread.memory.ring.append(record) {
            self.hand_over();
            self.thread.memory.ring.append(record);
        }
    }

    /// Where the call returns to by which the program's own code came to where it stands: at a function's entry, or at this address in it.
    pub(crate) fn caller(&self, gpr: &[u64; 16], inside: Option<u64>, guest: &Guest) -> u64 {
        let space = self.space();
        let mut translator = space.lock();
        translator.guest.tid = self.thread.tid;
        let mapping_of = |pc| translator.guest.mapping_of(pc).cloned();
        let mut unwinder = self.unwinder.lock().unwrap_or_else(PoisonError::into_inner);
        unwinder.caller(gpr, inside, guest, mapping_of)
    }
}

/// The memory that a system call with these registers is about, in pieces: addresses and lengths.
fn pieces(memory: Memory, gpr: &[u64; 16], guest: &Guest) -> Vec<(u64, u64)> {
    let register = |number: u8| gpr[number as usize & 15];
    let word = |address: u64| guest.read_u64(address).unwrap_or(0);
    let (array, count) = match memory {
        Memory::Buffer { start, len } => return vec![(register(start), register(len))],
        Memory::Pieces { array, count } => (register(array), register(count)),
        Memory::Message { header } => {
            let header = register(header);
            (word(header.wrapping_add(MESSAGE_PIECES)), word(header.wrapping_add(MESSAGE_COUNT)))
        }
    };
    let piece = |number: u64| {
        let at = array.wrapping_add(16 * number);
        Some((guest.read_u64(at)?, guest.read_u64(at.wrapping_add(8))?))
    };
    (0..count.min(MAX_PIECES)).map_while(piece).collect()
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | 0x1b | 0x08))
}
