//! What is not lifted, and why. Such an instruction runs as it stands, and what it writes counts as data without a history.

use iced_x86::Mnemonic::{self, *};

const INTEGERS: &str = "works on integers";
const BYTES: &str = "moves single bytes or pairs of them";
const MASKS: &str = "works on mask registers, which are logged where they are used";
const CLASSES: &str = "tells classes of numbers apart, by bits that are not followed";
const TILES: &str = "works on tile registers, which are not followed";
const MMX: &str = "works on MMX registers, which hold integers";
const GONE: &str = "no processor that runs this program has it (3DNow!, XOP, SSE4a, Knights Corner and Mill)";
const UNDOCUMENTED: &str = "copies an x87 register even if it is empty, and no manual has it";
const PREFETCH: &str = "moves nothing";

/// Nothing for an instruction that should be lifted.
pub fn why_dropped(mnemonic: Mnemonic) -> Option<&'static str> {
    let name = format!("{mnemonic:?}");
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let moves_bytes = [
        "Pshufhw",
        "Pshuflw",
        "Pshufw",
        "Punpcklbw",
        "Punpckhbw",
        "Punpcklwd",
        "Punpckhwd",
        "Pinsrb",
        "Pextrb",
        "Pblendvb",
        "Pbroadcastb",
        "Permb",
        "Permw",
        "Permi2b",
        "Permi2w",
        "Permt2b",
        "Permt2w",
        "Pblendmb",
        "Pblendmw",
        "Pcompressb",
        "Pcompressw",
        "Pexpandb",
        "Pexpandw",
        "Maskmovq",
        "Maskmovdqu",
        "Pmultishiftqb",
    ];
    let plain = name.strip_prefix('V').map_or(name.clone(), |rest| rest[..1].to_uppercase() + &rest[1..]);
    match mnemonic {
        _ if moves_bytes.contains(&plain.as_str()) => Some(BYTES),
        Vfpclassps | Vfpclasspd | Vfpclassph | Vfpclassss | Vfpclasssd | Vfpclasssh | Vtestps | Vtestpd => {
            Some(CLASSES)
        }
        _ if begins(&["Vgatherpf", "Vscatterpf"]) => Some(PREFETCH),
        V4fmaddps | V4fmaddss | V4fnmaddps | V4fnmaddss | Vp4dpwssd | Vp4dpwssds => Some(GONE),
        Vfrczps | Vfrczpd | Vfrczss | Vfrczsd | Vpcmov | Vpperm | Vpermil2ps | Vpermil2pd => Some(GONE),
        Fstpnce => Some(UNDOCUMENTED),
        Extrq | Insertq => Some(GONE),
        Jknzd | Jkzd | Femms | Pi2fd | Pi2fw | Pf2id | Pf2iw | Pfnacc | Pfpnacc | Pfcmpge | Pfmin | Pfrcp | Pfrsqrt
        | Pfsub | Pfadd | Pfcmpgt | Pfmax | Pfrcpit1 | Pfrsqit1 | Pfsubr | Pfacc | Pfcmpeq | Pfmul | Pfrcpit2
        | Pmulhrw | Pswapd | Pavgusb | Pfrcpv | Pfrsqrtv => Some(GONE),
        Movdq2q | Movq2dq | Movntq | Cvtps2pi | Cvttps2pi | Cvtpd2pi | Cvttpd2pi | Emms => Some(MMX),
        _ if begins(&["Tile", "Tdp", "Tcmm"]) => Some(TILES),
        _ if begins(&["K", "Vpmovm2", "Vpbroadcastm"]) => Some(MASKS),
        Vpmovb2m | Vpmovw2m | Vpmovd2m | Vpmovq2m => Some(MASKS),
        _ if begins(&["P", "Vp", "Sha", "Aes", "Vaes", "Vsha", "Vsm", "Gf2", "Vgf2", "Encodekey", "Crc32"]) => {
            Some(INTEGERS)
        }
        Mpsadbw | Vmpsadbw | Vdbpsadbw | Loadiwkey => Some(INTEGERS),
        _ => None,
    }
}
