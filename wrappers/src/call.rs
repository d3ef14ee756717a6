//! Where a call's arguments are: the calling convention of the System V ABI for AMD64, section 3.2.3 (passing)
//! and 3.5.7 (variable argument lists).

use fpgrind_analysis::log::Origin;
use fpgrind_ir::Type;

/// Reads guest memory into the whole buffer; false if any of it cannot be read.
pub type Memory<'a> = dyn Fn(u64, &mut [u8]) -> bool + 'a;

/// The registers at a function's first instruction, when rsp points at the return address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallState {
    /// In hardware numbering: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8 to 15.
    pub gpr: [u64; 16],
    /// xmm0 to xmm7.
    pub xmm: [u128; 8],
}

const RSP: usize = 4;
/// rdi, rsi, rdx, rcx, r8, r9: the registers of integer arguments, in order.
pub(crate) const INTEGER_REGISTERS: [usize; 6] = [7, 6, 2, 1, 8, 9];

impl CallState {
    pub fn return_address(&self, memory: &Memory) -> Option<u64> {
        read_u64(memory, self.gpr[RSP])
    }

    /// The integer argument with this number, from 0.
    pub fn integer(&self, number: u8, memory: &Memory) -> Option<u64> {
        match INTEGER_REGISTERS.get(number as usize) {
            Some(register) => Some(self.gpr[*register]),
            None => self.stack_argument(u64::from(number) - INTEGER_REGISTERS.len() as u64, memory),
        }
    }

    /// The word with this number, from 0, among the arguments that came on the stack.
    pub fn stack_argument(&self, number: u64, memory: &Memory) -> Option<u64> {
        read_u64(memory, self.stack_arguments().wrapping_add(8 * number))
    }

    fn stack_arguments(&self) -> u64 {
        self.gpr[RSP].wrapping_add(8)
    }
}

/// The register save area that `va_start` lays out: six integer registers of 8 bytes, then eight vector registers of 16
/// (ABI figure 3.33). `gp_offset` and `fp_offset` count in it, also where the registers are still live.
const GP_END: u32 = 6 * 8;
const FP_END: u32 = GP_END + 8 * 16;

/// A walk over variable arguments, whether of a function that has them or of a `va_list`.
pub(crate) struct VarArgs<'a> {
    registers: Registers<'a>,
    gp_offset: u32,
    fp_offset: u32,
    /// Where the next argument is that came on the stack.
    stack: u64,
    memory: &'a Memory<'a>,
}

enum Registers<'a> {
    Live(&'a CallState),
    /// The address of the save area.
    Saved(u64),
}

impl<'a> VarArgs<'a> {
    /// The arguments behind the `named` integer arguments of a function declared with `...`.
    pub fn of_call(call: &'a CallState, named: u8, memory: &'a Memory<'a>) -> VarArgs<'a> {
        let named_on_stack = u64::from(named).saturating_sub(INTEGER_REGISTERS.len() as u64);
        VarArgs {
            registers: Registers::Live(call),
            gp_offset: u32::from(named) * 8,
            fp_offset: GP_END,
            stack: call.stack_arguments().wrapping_add(8 * named_on_stack),
            memory,
        }
    }

    /// The arguments of the `va_list` at an address (ABI figure 3.34).
    pub fn of_va_list(address: u64, memory: &'a Memory<'a>) -> Option<VarArgs<'a>> {
        let offsets = read_u64(memory, address)?;
        Some(VarArgs {
            gp_offset: offsets as u32,
            fp_offset: (offsets >> 32) as u32,
            stack: read_u64(memory, address.wrapping_add(8))?,
            registers: Registers::Saved(read_u64(memory, address.wrapping_add(16))?),
            memory,
        })
    }

    pub fn skip_integer(&mut self) {
        if self.gp_offset < GP_END {
            self.gp_offset += 8;
        } else {
            self.stack = self.stack.wrapping_add(8);
        }
    }

    /// The next long double, ten bytes, and where it is. Long doubles are always passed on the stack, aligned to 16.
    pub fn long_double(&mut self) -> Option<(u128, Origin)> {
        let address = self.stack.wrapping_add(15) & !15;
        self.stack = address.wrapping_add(16);
        let mut bytes = [0; 16];
        (self.memory)(address, &mut bytes[..10]).then(|| (u128::from_le_bytes(bytes), Origin::Memory(address)))
    }

    /// The next double, or _Float128, and where it is; nothing if its memory cannot be read. Each is aligned to its size on the stack.
    pub fn float(&mut self, ty: Type) -> Option<(u128, Origin)> {
        let bytes = ty.bytes() as u64;
        let address = if self.fp_offset < FP_END {
            let offset = self.fp_offset;
            self.fp_offset += 16;
            match self.registers {
                Registers::Live(call) => {
                    let number = (offset - GP_END) / 16;
                    let bits = *call.xmm.get(number as usize)? & (u128::MAX >> (128 - 8 * bytes));
                    return Some((bits, Origin::Register(number as u8)));
                }
                Registers::Saved(area) => area.wrapping_add(u64::from(offset)),
            }
        } else {
            let address = self.stack.wrapping_add(bytes - 1) & !(bytes - 1);
            self.stack = address.wrapping_add(bytes);
            address
        };
        Some((read_u128(self.memory, address, ty.bytes())?, Origin::Memory(address)))
    }
}

pub(crate) fn read_u128(memory: &Memory, address: u64, bytes: usize) -> Option<u128> {
    let mut buffer = [0; 16];
    memory(address, buffer.get_mut(..bytes)?).then(|| u128::from_le_bytes(buffer))
}

pub(crate) fn read_u64(memory: &Memory, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
}
