//! What is translated: where it lies, what it was translated from, and which branches lead to it.
//!
//! The unit that is forgotten when code changes is the chain: blocks that were emitted one behind the other and fall through to
//! each other. Forgetting is unlinking: branches to its blocks ask again. The code itself stays, for threads that are in it.

use crate::exits::Key;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;

pub const PAGE_SHIFT: u32 = 12;

/// A direct branch out of a block: the displacement to fill in, and the code that asks for its target.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub site: u64,
    pub stub: u64,
}

/// Blocks emitted one behind the other.
#[derive(Clone, Default)]
pub struct Chain {
    /// In the order of their code.
    pub blocks: Vec<(Key, u64)>,
    /// Entries into the midst of them.
    pub inner: Vec<(Key, u64)>,
    /// Return addresses of the calls in them.
    pub returns: Vec<Key>,
    /// Where the code ends.
    pub end: u64,
    /// What was translated, if it may change without notice: then this is one block, which compares at its entry.
    pub source: Option<Box<[u8]>>,
}

impl Chain {
    pub fn entries(&self) -> impl Iterator<Item = (Key, u64)> {
        self.blocks.iter().chain(&self.inner).copied()
    }
}

/// A place in the guest that is translated, or that a branch leads to.
#[derive(Clone, Copy, Default)]
struct Target {
    /// Of its translation; 0 if there is none.
    entry: u64,
    /// The number of the chain that has it.
    chain: u32,
    /// The last link to it, counted from 1.
    last_link: u32,
}

impl Target {
    fn entry(&self) -> Option<u64> {
        (self.entry != 0).then_some(self.entry)
    }
}

/// Where a block begins; nothing where what follows is no block.
type Place = (u64, Option<(Key, u32)>);

#[derive(Clone, Default)]
pub struct Blocks {
    targets: FxHashMap<Key, Target>,
    /// Each with the link to the same target that came before it, counted from 1.
    links: Vec<(Link, u32)>,
    chains: FxHashMap<u32, Chain>,
    next_chain: u32,
    /// Chains by the pages that they were translated from. Some of them may be gone.
    by_page: BTreeMap<u64, Vec<u32>>,
    /// By zone, in ascending order, which is the order in which zones are filled.
    places: Vec<Vec<Place>>,
}

impl Blocks {
    pub fn entry(&self, key: Key) -> Option<u64> {
        self.targets.get(&key)?.entry()
    }

    /// The block in whose code an address in a zone lies: its key, its entry, and what it was translated from if that may change.
    pub fn at(&self, zone: usize, address: u64) -> Option<(Key, u64, Option<&[u8]>)> {
        let places = self.places.get(zone)?;
        let (entry, block) = places[..places.partition_point(|(at, _)| *at <= address)].last()?;
        let (key, chain) = (*block)?;
        Some((key, *entry, self.chains.get(&chain)?.source.as_deref()))
    }

    /// A chain in a zone, behind all that is there, from code on these pages. Branches that wait for its blocks are handed to `link`
    /// with the entries.
    pub fn insert(&mut self, zone: usize, chain: Chain, pages: &[u64], mut link: impl FnMut(Link, u64)) {
        let number = self.next_chain;
        self.next_chain += 1;
        if self.places.len() <= zone {
            self.places.resize_with(zone + 1, Vec::new);
        }
        let places = &mut self.places[zone];
        // A jump that is fallen through has no code of its own: then another block begins there.
        let mut begin = |address: u64, block| match places.last_mut() {
            Some(last) if last.0 == address => last.1 = block,
            _ => places.push((address, block)),
        };
        chain.blocks.iter().for_each(|(key, entry)| begin(*entry, Some((*key, number))));
        begin(chain.end, None);
        for (key, entry) in chain.entries() {
            self.set_entry(key, entry, number, &mut link);
        }
        for page in pages {
            let on_page = self.by_page.entry(*page).or_default();
            if on_page.last() != Some(&number) {
                on_page.push(number);
            }
        }
        self.chains.insert(number, chain);
    }

    /// One more entry into the chain that has the block `of`.
    pub fn add_entry(&mut self, of: Key, key: Key, entry: u64, mut link: impl FnMut(Link, u64)) {
        let Some(number) = self.chain_of(of) else { return };
        let Some(chain) = self.chains.get_mut(&number) else { return };
        chain.inner.push((key, entry));
        self.set_entry(key, entry, number, &mut link);
    }

    fn set_entry(&mut self, key: Key, entry: u64, chain: u32, link: &mut impl FnMut(Link, u64)) {
        let target = self.targets.entry(key).or_default();
        (target.entry, target.chain) = (entry, chain);
        links_to(&self.links, target).for_each(|waiting| link(waiting, entry));
    }

    /// A branch to `target`; its entry if it is translated.
    pub fn add_link(&mut self, target: Key, link: Link) -> Option<u64> {
        let target = self.targets.entry(target).or_default();
        self.links.push((link, target.last_link));
        target.last_link = u32::try_from(self.links.len()).expect("a zone does not hold so many branches");
        target.entry()
    }

    pub fn touches(&self, memory: Range<u64>) -> bool {
        self.by_page.range(pages(memory)).next().is_some()
    }

    /// Forgets what was translated from this memory. The chains, and the branches that led to them.
    pub fn forget(&mut self, memory: Range<u64>) -> (Vec<Chain>, Vec<Link>) {
        let pages = pages(memory);
        let numbers = self.by_page.extract_if(pages, |_, _| true).flat_map(|(_, chains)| chains).collect::<Vec<_>>();
        self.forget_chains(&numbers)
    }

    pub fn forget_block(&mut self, key: Key) -> (Vec<Chain>, Vec<Link>) {
        self.forget_chains(self.chain_of(key).as_slice())
    }

    fn chain_of(&self, key: Key) -> Option<u32> {
        self.targets.get(&key).filter(|target| target.entry().is_some()).map(|target| target.chain)
    }

    fn forget_chains(&mut self, numbers: &[u32]) -> (Vec<Chain>, Vec<Link>) {
        let chains: Vec<Chain> = numbers.iter().filter_map(|number| self.chains.remove(number)).collect();
        let mut links = Vec::new();
        for (key, entry) in chains.iter().flat_map(Chain::entries) {
            // It may have been translated again since, elsewhere.
            if let Some(target) = self.targets.get_mut(&key)
                && target.entry == entry
            {
                target.entry = 0;
                links.extend(links_to(&self.links, target));
            }
        }
        (chains, links)
    }

    /// Forgets everything but where code lies that threads may still be in. The branches that led to blocks.
    pub fn retire(&mut self) -> Vec<Link> {
        let targets = std::mem::take(&mut self.targets);
        let links = std::mem::take(&mut self.links);
        self.by_page.clear();
        let translated = targets.values().filter(|target| target.entry().is_some());
        translated.flat_map(|target| links_to(&links, target)).collect()
    }

    /// Nobody is in the code in this zone any more.
    pub fn forget_places(&mut self, zone: usize) {
        let places = self.places.get_mut(zone).map(std::mem::take).unwrap_or_default();
        for (_, chain) in places.into_iter().filter_map(|(_, block)| block) {
            self.chains.remove(&chain);
        }
    }
}

fn links_to(links: &[(Link, u32)], target: &Target) -> impl Iterator<Item = Link> {
    let mut next = target.last_link;
    std::iter::from_fn(move || {
        let (link, before) = *links.get((next as usize).checked_sub(1)?)?;
        next = before;
        Some(link)
    })
}

fn pages(memory: Range<u64>) -> Range<u64> {
    let end = memory.end.div_ceil(1 << PAGE_SHIFT);
    (memory.start >> PAGE_SHIFT).min(end)..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Mode;

    const A: Key = (0x1000, Mode::Quiet);
    const B: Key = (0x1010, Mode::Quiet);
    const C: Key = (0x5000, Mode::Quiet);

    fn two_chains() -> Blocks {
        let mut blocks = Blocks::default();
        let chain = |blocks: Vec<(Key, u64)>, end| Chain { blocks, end, ..Chain::default() };
        assert_eq!(blocks.add_link(C, Link { site: 1, stub: 2 }), None);
        blocks.insert(0, chain(vec![(A, 0x100), (B, 0x120)], 0x140), &[1], |_, _| panic!("nothing waits"));
        let mut linked = Vec::new();
        blocks.insert(0, chain(vec![(C, 0x200)], 0x240), &[5], |link, entry| linked.push((link.site, entry)));
        assert_eq!(linked, [(1, 0x200)]);
        blocks
    }

    #[test]
    fn code_is_found_by_key_and_by_address() {
        let blocks = two_chains();
        assert_eq!(blocks.entry(B), Some(0x120));
        assert_eq!(blocks.at(0, 0x130).map(|(key, entry, _)| (key, entry)), Some((B, 0x120)));
        assert!(blocks.at(0, 0x150).is_none() && blocks.at(0, 0xff).is_none());
    }

    #[test]
    fn what_changed_is_unlinked_and_the_rest_stays() {
        let mut blocks = two_chains();
        assert!(blocks.touches(0x5fff..0x6000) && !blocks.touches(0x6000..0x9000));
        let (chains, links) = blocks.forget(0x5000..0x5001);
        assert_eq!((chains.len(), links.len(), links[0].stub), (1, 1, 2));
        assert_eq!((blocks.entry(C), blocks.entry(A)), (None, Some(0x100)));
        assert!(blocks.at(0, 0x210).is_none());
        assert!(blocks.forget(0x5000..0x5001).0.is_empty());
    }

    #[test]
    fn retired_code_is_no_target_but_still_a_place() {
        let mut blocks = two_chains();
        assert_eq!(blocks.retire().len(), 1);
        assert_eq!(blocks.entry(A), None);
        assert!(blocks.at(0, 0x100).is_some());
        blocks.forget_places(0);
        assert!(blocks.at(0, 0x100).is_none());
    }
}
