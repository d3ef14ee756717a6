//! Encodings that sequences do not contain, or only in a controlled form, and why.

use iced_x86::{Code, DecoderOptions, FlowControl, Mnemonic, OpCodeOperandKind, Register};

/// Why an encoding is never generated as such; nothing if it is.
pub fn excluded(code: Code) -> Option<&'static str> {
    let info = code.op_code();
    let kinds = info.op_kinds();
    let touches = |kind: OpCodeOperandKind| kinds.contains(&kind);
    Some(match code.mnemonic() {
        _ if !info.is_instruction() || !info.mode64() => "not an instruction of 64-bit mode",
        _ if info.decoder_option() != DecoderOptions::NONE => "has these bytes only on other CPUs",
        Mnemonic::Fclex
        | Mnemonic::Fdisi
        | Mnemonic::Feni
        | Mnemonic::Finit
        | Mnemonic::Fsetpm
        | Mnemonic::Fstcw
        | Mnemonic::Fstsw => "is two instructions, the first of them `wait`",
        Mnemonic::Montmul => "belongs to VIA, whose address prefix iced reads otherwise",
        _ if code == Code::Ud0 => "is an older reading of bytes that are `ud0` with operands",
        Mnemonic::Rdtsc | Mnemonic::Rdtscp | Mnemonic::Rdpmc | Mnemonic::Rdpru => "reads a clock or a counter",
        Mnemonic::Rdrand | Mnemonic::Rdseed => "reads random numbers",
        // Linux keeps it in a segment limit too.
        Mnemonic::Rdpid | Mnemonic::Lsl => "reads the number of the CPU",
        Mnemonic::Smsw | Mnemonic::Sgdt | Mnemonic::Sidt | Mnemonic::Sldt | Mnemonic::Str => {
            "reads state of the CPU that it runs on, or what the kernel makes of it"
        }
        Mnemonic::Sysenter | Mnemonic::Int | Mnemonic::Into => "enters the kernel as 32-bit programs do",
        Mnemonic::Vmcall | Mnemonic::Vmmcall | Mnemonic::Vmgexit | Mnemonic::Tdcall | Mnemonic::Vmfunc => {
            "asks a hypervisor"
        }
        Mnemonic::Enclu | Mnemonic::Senduipi | Mnemonic::Uiret => "talks to other parts of the machine",
        Mnemonic::Xbegin | Mnemonic::Xabort | Mnemonic::Xend | Mnemonic::Xtest => "aborts when it pleases the CPU",
        Mnemonic::Monitor
        | Mnemonic::Mwait
        | Mnemonic::Monitorx
        | Mnemonic::Mwaitx
        | Mnemonic::Umonitor
        | Mnemonic::Umwait
        | Mnemonic::Tpause => "waits for an event",
        Mnemonic::Rdgsbase | Mnemonic::Wrgsbase => "touches GS, which is the translator's",
        Mnemonic::Lfs | Mnemonic::Lgs | Mnemonic::Lss => "loads a selector from memory",
        Mnemonic::Xsaveopt | Mnemonic::Xsaveopt64 | Mnemonic::Xsavec | Mnemonic::Xsavec64 => {
            "writes what changed since the kernel last looked"
        }
        Mnemonic::Wrpkru => "takes memory away",
        Mnemonic::Movdir64b | Mnemonic::Enqcmd | Mnemonic::Enqcmds => "has an address in a register operand",
        Mnemonic::Ldtilecfg | Mnemonic::Sttilecfg | Mnemonic::Tilerelease => "needs a permission from the kernel",
        _ if touches(OpCodeOperandKind::sibmem) || touches(OpCodeOperandKind::tmm_reg) => "needs a tile configuration",
        _ if touches(OpCodeOperandKind::fs) && code.mnemonic() == Mnemonic::Pop => "loads a selector",
        _ if touches(OpCodeOperandKind::gs) => "touches GS, which is the translator's",
        _ if info.op_kinds().first() == Some(&OpCodeOperandKind::seg_reg) => "loads a selector",
        _ if is_far_or_short(code) => "leaves 64-bit code, or its meaning depends on the CPU's maker",
        _ => return None,
    })
}

/// Far branches, and near ones with a 16-bit operand size: AMD's CPUs cut the pc, Intel's ignore the prefix.
fn is_far_or_short(code: Code) -> bool {
    let near = match code.flow_control() {
        FlowControl::IndirectBranch => code == Code::Jmp_rm64,
        FlowControl::IndirectCall => code == Code::Call_rm64,
        FlowControl::Return => matches!(code, Code::Retnq | Code::Retnq_imm16),
        _ => true,
    };
    !near || code.op_code().op_kinds().contains(&OpCodeOperandKind::br16_1)
}

/// Encodings that need a certain state or image in memory, or that move the pc: `packages` and `control` write them.
pub fn needs_a_package(code: Code) -> bool {
    let branches = !matches!(code.flow_control(), FlowControl::Next | FlowControl::Exception);
    branches
        || matches!(
            code.mnemonic(),
            Mnemonic::Popf
                | Mnemonic::Popfd
                | Mnemonic::Popfq
                | Mnemonic::Fldcw
                | Mnemonic::Ldmxcsr
                | Mnemonic::Vldmxcsr
                | Mnemonic::Fnstenv
                | Mnemonic::Fstenv
                | Mnemonic::Fldenv
                | Mnemonic::Fnsave
                | Mnemonic::Fsave
                | Mnemonic::Frstor
                | Mnemonic::Fxsave
                | Mnemonic::Fxsave64
                | Mnemonic::Fxrstor
                | Mnemonic::Fxrstor64
                | Mnemonic::Xsave
                | Mnemonic::Xsave64
                | Mnemonic::Xrstor
                | Mnemonic::Xrstor64
                | Mnemonic::Cpuid
                | Mnemonic::Xgetbv
                | Mnemonic::Enter
                | Mnemonic::Leave
                | Mnemonic::Wrfsbase
        )
}

/// Selectors that may be read.
pub const SELECTORS: [Register; 5] = [Register::ES, Register::CS, Register::SS, Register::DS, Register::FS];
