//! Fused multiply and add of FMA3: three operands in three orders. The digits of a mnemonic say which operands are the
//! factors and which is added; the first NaN in that order is the result (as observed, Zen 3).

use super::{Entry, Operation, Rest};
use fpgrind_ir::{
    Operator::{self, *},
    Type::{self, F32, F64},
};
use iced_x86::Code::{self, *};

const ORDER_132: &[u32] = &[0, 2, 1];
const ORDER_213: &[u32] = &[1, 0, 2];
const ORDER_231: &[u32] = &[1, 2, 0];

pub const TABLE: &[Entry] = &[
    scalar(VEX_Vfmadd132ss_xmm_xmm_xmmm32, ORDER_132, Fma, F32),
    scalar(VEX_Vfmadd132sd_xmm_xmm_xmmm64, ORDER_132, Fma, F64),
    packed(VEX_Vfmadd132ps_xmm_xmm_xmmm128, ORDER_132, Fma, F32, 4),
    packed(VEX_Vfmadd132pd_xmm_xmm_xmmm128, ORDER_132, Fma, F64, 2),
    packed(VEX_Vfmadd132ps_ymm_ymm_ymmm256, ORDER_132, Fma, F32, 8),
    packed(VEX_Vfmadd132pd_ymm_ymm_ymmm256, ORDER_132, Fma, F64, 4),
    scalar(VEX_Vfmadd213ss_xmm_xmm_xmmm32, ORDER_213, Fma, F32),
    scalar(VEX_Vfmadd213sd_xmm_xmm_xmmm64, ORDER_213, Fma, F64),
    packed(VEX_Vfmadd213ps_xmm_xmm_xmmm128, ORDER_213, Fma, F32, 4),
    packed(VEX_Vfmadd213pd_xmm_xmm_xmmm128, ORDER_213, Fma, F64, 2),
    packed(VEX_Vfmadd213ps_ymm_ymm_ymmm256, ORDER_213, Fma, F32, 8),
    packed(VEX_Vfmadd213pd_ymm_ymm_ymmm256, ORDER_213, Fma, F64, 4),
    scalar(VEX_Vfmadd231ss_xmm_xmm_xmmm32, ORDER_231, Fma, F32),
    scalar(VEX_Vfmadd231sd_xmm_xmm_xmmm64, ORDER_231, Fma, F64),
    packed(VEX_Vfmadd231ps_xmm_xmm_xmmm128, ORDER_231, Fma, F32, 4),
    packed(VEX_Vfmadd231pd_xmm_xmm_xmmm128, ORDER_231, Fma, F64, 2),
    packed(VEX_Vfmadd231ps_ymm_ymm_ymmm256, ORDER_231, Fma, F32, 8),
    packed(VEX_Vfmadd231pd_ymm_ymm_ymmm256, ORDER_231, Fma, F64, 4),
    scalar(VEX_Vfmsub132ss_xmm_xmm_xmmm32, ORDER_132, Fms, F32),
    scalar(VEX_Vfmsub132sd_xmm_xmm_xmmm64, ORDER_132, Fms, F64),
    packed(VEX_Vfmsub132ps_xmm_xmm_xmmm128, ORDER_132, Fms, F32, 4),
    packed(VEX_Vfmsub132pd_xmm_xmm_xmmm128, ORDER_132, Fms, F64, 2),
    packed(VEX_Vfmsub132ps_ymm_ymm_ymmm256, ORDER_132, Fms, F32, 8),
    packed(VEX_Vfmsub132pd_ymm_ymm_ymmm256, ORDER_132, Fms, F64, 4),
    scalar(VEX_Vfmsub213ss_xmm_xmm_xmmm32, ORDER_213, Fms, F32),
    scalar(VEX_Vfmsub213sd_xmm_xmm_xmmm64, ORDER_213, Fms, F64),
    packed(VEX_Vfmsub213ps_xmm_xmm_xmmm128, ORDER_213, Fms, F32, 4),
    packed(VEX_Vfmsub213pd_xmm_xmm_xmmm128, ORDER_213, Fms, F64, 2),
    packed(VEX_Vfmsub213ps_ymm_ymm_ymmm256, ORDER_213, Fms, F32, 8),
    packed(VEX_Vfmsub213pd_ymm_ymm_ymmm256, ORDER_213, Fms, F64, 4),
    scalar(VEX_Vfmsub231ss_xmm_xmm_xmmm32, ORDER_231, Fms, F32),
    scalar(VEX_Vfmsub231sd_xmm_xmm_xmmm64, ORDER_231, Fms, F64),
    packed(VEX_Vfmsub231ps_xmm_xmm_xmmm128, ORDER_231, Fms, F32, 4),
    packed(VEX_Vfmsub231pd_xmm_xmm_xmmm128, ORDER_231, Fms, F64, 2),
    packed(VEX_Vfmsub231ps_ymm_ymm_ymmm256, ORDER_231, Fms, F32, 8),
    packed(VEX_Vfmsub231pd_ymm_ymm_ymmm256, ORDER_231, Fms, F64, 4),
    scalar(VEX_Vfnmadd132ss_xmm_xmm_xmmm32, ORDER_132, Fnma, F32),
    scalar(VEX_Vfnmadd132sd_xmm_xmm_xmmm64, ORDER_132, Fnma, F64),
    packed(VEX_Vfnmadd132ps_xmm_xmm_xmmm128, ORDER_132, Fnma, F32, 4),
    packed(VEX_Vfnmadd132pd_xmm_xmm_xmmm128, ORDER_132, Fnma, F64, 2),
    packed(VEX_Vfnmadd132ps_ymm_ymm_ymmm256, ORDER_132, Fnma, F32, 8),
    packed(VEX_Vfnmadd132pd_ymm_ymm_ymmm256, ORDER_132, Fnma, F64, 4),
    scalar(VEX_Vfnmadd213ss_xmm_xmm_xmmm32, ORDER_213, Fnma, F32),
    scalar(VEX_Vfnmadd213sd_xmm_xmm_xmmm64, ORDER_213, Fnma, F64),
    packed(VEX_Vfnmadd213ps_xmm_xmm_xmmm128, ORDER_213, Fnma, F32, 4),
    packed(VEX_Vfnmadd213pd_xmm_xmm_xmmm128, ORDER_213, Fnma, F64, 2),
    packed(VEX_Vfnmadd213ps_ymm_ymm_ymmm256, ORDER_213, Fnma, F32, 8),
    packed(VEX_Vfnmadd213pd_ymm_ymm_ymmm256, ORDER_213, Fnma, F64, 4),
    scalar(VEX_Vfnmadd231ss_xmm_xmm_xmmm32, ORDER_231, Fnma, F32),
    scalar(VEX_Vfnmadd231sd_xmm_xmm_xmmm64, ORDER_231, Fnma, F64),
    packed(VEX_Vfnmadd231ps_xmm_xmm_xmmm128, ORDER_231, Fnma, F32, 4),
    packed(VEX_Vfnmadd231pd_xmm_xmm_xmmm128, ORDER_231, Fnma, F64, 2),
    packed(VEX_Vfnmadd231ps_ymm_ymm_ymmm256, ORDER_231, Fnma, F32, 8),
    packed(VEX_Vfnmadd231pd_ymm_ymm_ymmm256, ORDER_231, Fnma, F64, 4),
    scalar(VEX_Vfnmsub132ss_xmm_xmm_xmmm32, ORDER_132, Fnms, F32),
    scalar(VEX_Vfnmsub132sd_xmm_xmm_xmmm64, ORDER_132, Fnms, F64),
    packed(VEX_Vfnmsub132ps_xmm_xmm_xmmm128, ORDER_132, Fnms, F32, 4),
    packed(VEX_Vfnmsub132pd_xmm_xmm_xmmm128, ORDER_132, Fnms, F64, 2),
    packed(VEX_Vfnmsub132ps_ymm_ymm_ymmm256, ORDER_132, Fnms, F32, 8),
    packed(VEX_Vfnmsub132pd_ymm_ymm_ymmm256, ORDER_132, Fnms, F64, 4),
    scalar(VEX_Vfnmsub213ss_xmm_xmm_xmmm32, ORDER_213, Fnms, F32),
    scalar(VEX_Vfnmsub213sd_xmm_xmm_xmmm64, ORDER_213, Fnms, F64),
    packed(VEX_Vfnmsub213ps_xmm_xmm_xmmm128, ORDER_213, Fnms, F32, 4),
    packed(VEX_Vfnmsub213pd_xmm_xmm_xmmm128, ORDER_213, Fnms, F64, 2),
    packed(VEX_Vfnmsub213ps_ymm_ymm_ymmm256, ORDER_213, Fnms, F32, 8),
    packed(VEX_Vfnmsub213pd_ymm_ymm_ymmm256, ORDER_213, Fnms, F64, 4),
    scalar(VEX_Vfnmsub231ss_xmm_xmm_xmmm32, ORDER_231, Fnms, F32),
    scalar(VEX_Vfnmsub231sd_xmm_xmm_xmmm64, ORDER_231, Fnms, F64),
    packed(VEX_Vfnmsub231ps_xmm_xmm_xmmm128, ORDER_231, Fnms, F32, 4),
    packed(VEX_Vfnmsub231pd_xmm_xmm_xmmm128, ORDER_231, Fnms, F64, 2),
    packed(VEX_Vfnmsub231ps_ymm_ymm_ymmm256, ORDER_231, Fnms, F32, 8),
    packed(VEX_Vfnmsub231pd_ymm_ymm_ymmm256, ORDER_231, Fnms, F64, 4),
    alternate(VEX_Vfmaddsub132ps_xmm_xmm_xmmm128, ORDER_132, Fms, Fma, F32),
    alternate(VEX_Vfmaddsub132ps_ymm_ymm_ymmm256, ORDER_132, Fms, Fma, F32),
    alternate(VEX_Vfmaddsub132pd_xmm_xmm_xmmm128, ORDER_132, Fms, Fma, F64),
    alternate(VEX_Vfmaddsub132pd_ymm_ymm_ymmm256, ORDER_132, Fms, Fma, F64),
    alternate(VEX_Vfmaddsub213ps_xmm_xmm_xmmm128, ORDER_213, Fms, Fma, F32),
    alternate(VEX_Vfmaddsub213ps_ymm_ymm_ymmm256, ORDER_213, Fms, Fma, F32),
    alternate(VEX_Vfmaddsub213pd_xmm_xmm_xmmm128, ORDER_213, Fms, Fma, F64),
    alternate(VEX_Vfmaddsub213pd_ymm_ymm_ymmm256, ORDER_213, Fms, Fma, F64),
    alternate(VEX_Vfmaddsub231ps_xmm_xmm_xmmm128, ORDER_231, Fms, Fma, F32),
    alternate(VEX_Vfmaddsub231ps_ymm_ymm_ymmm256, ORDER_231, Fms, Fma, F32),
    alternate(VEX_Vfmaddsub231pd_xmm_xmm_xmmm128, ORDER_231, Fms, Fma, F64),
    alternate(VEX_Vfmaddsub231pd_ymm_ymm_ymmm256, ORDER_231, Fms, Fma, F64),
    alternate(VEX_Vfmsubadd132ps_xmm_xmm_xmmm128, ORDER_132, Fma, Fms, F32),
    alternate(VEX_Vfmsubadd132ps_ymm_ymm_ymmm256, ORDER_132, Fma, Fms, F32),
    alternate(VEX_Vfmsubadd132pd_xmm_xmm_xmmm128, ORDER_132, Fma, Fms, F64),
    alternate(VEX_Vfmsubadd132pd_ymm_ymm_ymmm256, ORDER_132, Fma, Fms, F64),
    alternate(VEX_Vfmsubadd213ps_xmm_xmm_xmmm128, ORDER_213, Fma, Fms, F32),
    alternate(VEX_Vfmsubadd213ps_ymm_ymm_ymmm256, ORDER_213, Fma, Fms, F32),
    alternate(VEX_Vfmsubadd213pd_xmm_xmm_xmmm128, ORDER_213, Fma, Fms, F64),
    alternate(VEX_Vfmsubadd213pd_ymm_ymm_ymmm256, ORDER_213, Fma, Fms, F64),
    alternate(VEX_Vfmsubadd231ps_xmm_xmm_xmmm128, ORDER_231, Fma, Fms, F32),
    alternate(VEX_Vfmsubadd231ps_ymm_ymm_ymmm256, ORDER_231, Fma, Fms, F32),
    alternate(VEX_Vfmsubadd231pd_xmm_xmm_xmmm128, ORDER_231, Fma, Fms, F64),
    alternate(VEX_Vfmsubadd231pd_ymm_ymm_ymmm256, ORDER_231, Fma, Fms, F64),
];

/// What lies above the result stays, up to 16 bytes.
const fn scalar(code: Code, sources: &'static [u32], operator: Operator, ty: Type) -> Entry {
    Entry { code, sources, rest: Rest::From(0), operation: Operation::Apply { operator, ty, lanes: 1 } }
}

const fn packed(code: Code, sources: &'static [u32], operator: Operator, ty: Type, lanes: usize) -> Entry {
    Entry { code, sources, rest: Rest::Zero, operation: Operation::Apply { operator, ty, lanes } }
}

const fn alternate(code: Code, sources: &'static [u32], even: Operator, odd: Operator, ty: Type) -> Entry {
    Entry { code, sources, rest: Rest::Zero, operation: Operation::Alternate { even, odd, ty } }
}
