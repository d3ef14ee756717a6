//! Functions that copy memory, and with it the shadows of the floats in it.

use crate::unversioned;

/// Which integer arguments of the function (from 0, in the order of the calling convention) are what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    pub dst: u8,
    pub src: u8,
    /// The number of bytes.
    pub len: u8,
}

const DST_SRC_LEN: Copy = Copy { dst: 0, src: 1, len: 2 };

const FUNCTIONS: &[(&str, Copy)] = &[
    ("memcpy", DST_SRC_LEN),
    ("memmove", DST_SRC_LEN),
    ("mempcpy", DST_SRC_LEN),
    ("__mempcpy", DST_SRC_LEN),
    ("__memcpy_chk", DST_SRC_LEN),
    ("__memmove_chk", DST_SRC_LEN),
    ("__mempcpy_chk", DST_SRC_LEN),
    ("__libc_memmove", DST_SRC_LEN),
    ("__new_memcpy", DST_SRC_LEN),
    ("bcopy", Copy { dst: 1, src: 0, len: 2 }),
];

/// The variants among which glibc's IFUNC resolvers choose carry a processor feature in their names
/// (`__memmove_avx_unaligned_erms`, `__memcpy_chk_erms`: glibc, sysdeps/x86_64/multiarch/ifunc-impl-list.c).
const VARIANT_PREFIXES: &[&str] = &["__memcpy_", "__memmove_", "__mempcpy_"];
const VARIANT_FEATURES: &[&str] = &["avx", "avx512", "evex", "sse2", "ssse3", "erms"];

/// The copying function with this symbol.
pub fn copy(symbol: &str) -> Option<Copy> {
    let symbol = unversioned(symbol);
    if let Some((_, copy)) = FUNCTIONS.iter().find(|(name, _)| *name == symbol) {
        return Some(*copy);
    }
    let variant = VARIANT_PREFIXES.iter().find_map(|prefix| symbol.strip_prefix(prefix))?;
    let feature = variant.strip_prefix("chk_").unwrap_or(variant).split('_').next()?;
    VARIANT_FEATURES.contains(&feature).then_some(DST_SRC_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copying_functions_say_where_their_arguments_are() {
        for name in ["memcpy", "memmove", "mempcpy", "__memcpy_chk", "__memmove_chk@@GLIBC_2.3.4", "__mempcpy_chk"] {
            assert_eq!(copy(name), Some(DST_SRC_LEN), "{name}");
        }
    }

    #[test]
    fn bcopy_has_its_source_first() {
        assert_eq!(copy("bcopy"), Some(Copy { dst: 1, src: 0, len: 2 }));
    }

    #[test]
    fn variants_that_a_resolver_picks_are_copies_and_the_resolver_is_not() {
        for name in ["__memmove_avx_unaligned_erms", "__memcpy_ssse3", "__memcpy_chk_erms", "__mempcpy_evex_unaligned"]
        {
            assert_eq!(copy(name), Some(DST_SRC_LEN), "{name}");
        }
        for name in ["__mempcpy_ifunc", "__libc_memmove_ifunc", "memset", "wmemcpy", "strcpy", "__memcpy_"] {
            assert_eq!(copy(name), None, "{name}");
        }
    }
}
