//! Whether this CPU has what an encoding needs.

use iced_x86::{Code, CpuidFeature};

/// The features of an encoding that are not there: it cannot be run.
pub fn lacking(code: Code) -> Vec<CpuidFeature> {
    code.cpuid_features().iter().copied().filter(|feature| !is_there(*feature)).collect()
}

fn is_there(feature: CpuidFeature) -> bool {
    match feature {
        // Every x86-64 CPU has these.
        CpuidFeature::INTEL8086
        | CpuidFeature::INTEL186
        | CpuidFeature::INTEL286
        | CpuidFeature::INTEL386
        | CpuidFeature::INTEL486
        | CpuidFeature::X64
        | CpuidFeature::CMOV
        | CpuidFeature::CX8
        | CpuidFeature::FPU
        | CpuidFeature::FPU287
        | CpuidFeature::FPU387
        | CpuidFeature::FXSR
        | CpuidFeature::MMX
        | CpuidFeature::MULTIBYTENOP
        | CpuidFeature::SSE
        | CpuidFeature::SSE2 => true,
        CpuidFeature::SSE3 => is_x86_feature_detected!("sse3"),
        CpuidFeature::SSSE3 => is_x86_feature_detected!("ssse3"),
        CpuidFeature::SSE4_1 => is_x86_feature_detected!("sse4.1"),
        CpuidFeature::SSE4_2 => is_x86_feature_detected!("sse4.2"),
        CpuidFeature::SSE4A => is_x86_feature_detected!("sse4a"),
        CpuidFeature::AVX => is_x86_feature_detected!("avx"),
        CpuidFeature::AVX2 => is_x86_feature_detected!("avx2"),
        CpuidFeature::FMA => is_x86_feature_detected!("fma"),
        CpuidFeature::F16C => is_x86_feature_detected!("f16c"),
        CpuidFeature::AVX512F => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"),
        CpuidFeature::AVX512VL => is_x86_feature_detected!("avx512vl"),
        CpuidFeature::AVX512DQ => is_x86_feature_detected!("avx512dq"),
        CpuidFeature::AVX512BW => is_x86_feature_detected!("avx512bw"),
        CpuidFeature::AVX512CD => is_x86_feature_detected!("avx512cd"),
        CpuidFeature::AVX512_BF16 => is_x86_feature_detected!("avx512bf16"),
        CpuidFeature::AVX512_FP16 => is_x86_feature_detected!("avx512fp16"),
        CpuidFeature::AVX512_BITALG => is_x86_feature_detected!("avx512bitalg"),
        CpuidFeature::AVX512_IFMA => is_x86_feature_detected!("avx512ifma"),
        CpuidFeature::AVX512_VBMI => is_x86_feature_detected!("avx512vbmi"),
        CpuidFeature::AVX512_VBMI2 => is_x86_feature_detected!("avx512vbmi2"),
        CpuidFeature::AVX512_VNNI => is_x86_feature_detected!("avx512vnni"),
        CpuidFeature::AVX512_VPOPCNTDQ => is_x86_feature_detected!("avx512vpopcntdq"),
        CpuidFeature::AVX512_VP2INTERSECT => is_x86_feature_detected!("avx512vp2intersect"),
        CpuidFeature::AVX_VNNI => is_x86_feature_detected!("avxvnni"),
        CpuidFeature::AVX_IFMA => is_x86_feature_detected!("avxifma"),
        CpuidFeature::AVX_NE_CONVERT => is_x86_feature_detected!("avxneconvert"),
        CpuidFeature::GFNI => is_x86_feature_detected!("gfni"),
        CpuidFeature::AES => is_x86_feature_detected!("aes"),
        CpuidFeature::VAES => is_x86_feature_detected!("vaes"),
        CpuidFeature::PCLMULQDQ => is_x86_feature_detected!("pclmulqdq"),
        CpuidFeature::VPCLMULQDQ => is_x86_feature_detected!("vpclmulqdq"),
        CpuidFeature::SHA => is_x86_feature_detected!("sha"),
        CpuidFeature::BMI1 => is_x86_feature_detected!("bmi1"),
        CpuidFeature::BMI2 => is_x86_feature_detected!("bmi2"),
        CpuidFeature::LZCNT => is_x86_feature_detected!("lzcnt"),
        CpuidFeature::POPCNT => is_x86_feature_detected!("popcnt"),
        CpuidFeature::MOVBE => is_x86_feature_detected!("movbe"),
        CpuidFeature::CMPXCHG16B => is_x86_feature_detected!("cmpxchg16b"),
        CpuidFeature::XSAVE => is_x86_feature_detected!("xsave"),
        CpuidFeature::XSAVEC => is_x86_feature_detected!("xsavec"),
        CpuidFeature::XSAVEOPT => is_x86_feature_detected!("xsaveopt"),
        _ => false,
    }
}
