//! Functions that copy, overwrite or hand out memory, and with it the shadows of the floats in it.

use crate::unversioned;

/// What a call does to memory. Arguments are named by their numbers among the integer ones, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `len` bytes are copied, as by memmove.
    Copy { dst: u8, src: u8, len: u8 },
    /// `len` times `unit` bytes are overwritten with something else.
    Fill { dst: u8, len: u8, unit: u8 },
    /// `size` bytes, or `count` times as many, are handed out; they hold what was at `old`.
    Allocate { old: Option<u8>, count: Option<u8>, size: u8, place: AllocatedAt },
}

/// How a function tells where the memory is that it hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocatedAt {
    /// By its result; null if there is none.
    Returned,
    /// In memory that its first argument points to. Its result is 0 then, else nothing was written.
    Written,
}

const COPY: Change = Change::Copy { dst: 0, src: 1, len: 2 };
const FILL: Change = Change::Fill { dst: 0, len: 2, unit: 1 };
const ZERO: Change = Change::Fill { dst: 0, len: 1, unit: 1 };

const fn allocate(old: Option<u8>, count: Option<u8>, size: u8) -> Change {
    Change::Allocate { old, count, size, place: AllocatedAt::Returned }
}

const FUNCTIONS: &[(&str, Change)] = &[
    ("memcpy", COPY),
    ("memmove", COPY),
    ("mempcpy", COPY),
    ("__mempcpy", COPY),
    ("__memcpy_chk", COPY),
    ("__memmove_chk", COPY),
    ("__mempcpy_chk", COPY),
    ("__libc_memmove", COPY),
    ("__new_memcpy", COPY),
    ("bcopy", Change::Copy { dst: 1, src: 0, len: 2 }),
    ("memset", FILL),
    ("__memset_chk", FILL),
    ("__libc_memset", FILL),
    ("bzero", ZERO),
    ("__bzero", ZERO),
    ("explicit_bzero", ZERO),
    ("__explicit_bzero_chk", ZERO),
    ("wmemset", Change::Fill { dst: 0, len: 2, unit: 4 }),
    ("__wmemset_chk", Change::Fill { dst: 0, len: 2, unit: 4 }),
    ("malloc", allocate(None, None, 0)),
    ("__libc_malloc", allocate(None, None, 0)),
    ("valloc", allocate(None, None, 0)),
    ("pvalloc", allocate(None, None, 0)),
    ("calloc", allocate(None, Some(0), 1)),
    ("__libc_calloc", allocate(None, Some(0), 1)),
    ("memalign", allocate(None, None, 1)),
    ("__libc_memalign", allocate(None, None, 1)),
    ("aligned_alloc", allocate(None, None, 1)),
    ("realloc", allocate(Some(0), None, 1)),
    ("__libc_realloc", allocate(Some(0), None, 1)),
    ("reallocarray", allocate(Some(0), Some(1), 2)),
    ("__libc_reallocarray", allocate(Some(0), Some(1), 2)),
    ("posix_memalign", Change::Allocate { old: None, count: None, size: 2, place: AllocatedAt::Written }),
];

/// Functions that move the program's numbers in code of their own: as its comparisons say (what they copy by memcpy is followed
/// anyway, and bsearch and the like move nothing), or from a register to the heap, where Go has what an interface holds.
const MOVERS: &[&str] = &["qsort", "qsort_r", "runtime.convT64", "runtime.convT32"];

/// Does the function with this symbol move elements, in code that must be looked at?
pub fn moves_elements(symbol: &str) -> bool {
    MOVERS.contains(&unversioned(symbol))
}

/// The variants among which glibc's IFUNC resolvers choose carry a processor feature in their names
/// (`__memmove_avx_unaligned_erms`, `__memcpy_chk_erms`: glibc, sysdeps/x86_64/multiarch/ifunc-impl-list.c).
const VARIANTS: &[(&str, Change)] =
    &[("__memcpy_", COPY), ("__memmove_", COPY), ("__mempcpy_", COPY), ("__memset_", FILL)];
const VARIANT_FEATURES: &[&str] = &["avx", "avx2", "avx512", "evex", "sse2", "ssse3", "erms"];

/// What the function with this symbol does to memory.
pub fn change(symbol: &str) -> Option<Change> {
    let symbol = unversioned(symbol);
    if let Some((_, change)) = FUNCTIONS.iter().find(|(name, _)| *name == symbol) {
        return Some(*change);
    }
    let strip = |(prefix, change): &(&str, Change)| Some((symbol.strip_prefix(prefix)?, *change));
    let (variant, change) = VARIANTS.iter().find_map(strip)?;
    let feature = variant.strip_prefix("chk_").unwrap_or(variant).split('_').next()?;
    VARIANT_FEATURES.contains(&feature).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copying_functions_say_where_their_arguments_are() {
        for name in ["memcpy", "memmove", "mempcpy", "__memcpy_chk", "__memmove_chk@@GLIBC_2.3.4", "__mempcpy_chk"] {
            assert_eq!(change(name), Some(COPY), "{name}");
        }
    }

    #[test]
    fn bcopy_has_its_source_first() {
        assert_eq!(change("bcopy"), Some(Change::Copy { dst: 1, src: 0, len: 2 }));
    }

    #[test]
    fn variants_that_a_resolver_picks_are_what_it_is_and_the_resolver_is_not() {
        for name in ["__memmove_avx_unaligned_erms", "__memcpy_ssse3", "__memcpy_chk_erms", "__mempcpy_evex_unaligned"]
        {
            assert_eq!(change(name), Some(COPY), "{name}");
        }
        for name in ["__memset_avx2_unaligned_erms", "__memset_erms", "__memset_chk_sse2_unaligned"] {
            assert_eq!(change(name), Some(FILL), "{name}");
        }
        for name in ["__mempcpy_ifunc", "__libc_memmove_ifunc", "wmemcpy", "strcpy", "__memcpy_", "free"] {
            assert_eq!(change(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_handed_out_is_as_long_as_the_arguments_say() {
        assert_eq!(change("malloc"), Some(allocate(None, None, 0)));
        assert_eq!(change("calloc@@GLIBC_2.2.5"), Some(allocate(None, Some(0), 1)));
        assert_eq!(change("reallocarray"), Some(allocate(Some(0), Some(1), 2)));
    }
}
