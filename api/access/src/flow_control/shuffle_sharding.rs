//! Shuffle sharding: the hand of queues that a flow may use, dealt from a deck by its hash.
//!
//! Pure. Invariants: the cards of a hand differ; the same hash gets the same hand; every hand is
//! about as likely as any other one.

use smallvec::SmallVec;

/// A hand; its usual sizes need no allocation.
pub(super) type Hand = SmallVec<[u32; 16]>;

/// Deals a hand of so many cards of a deck.
pub(super) fn deal(hash: u64, deck_size: u32, hand_size: u32) -> Hand {
    debug_assert!(hand_size <= deck_size);
    let mut rest = hash;
    // A draw is the place of a card among those that are left; `sorted` are the cards that are
    // gone, in ascending order.
    let (mut hand, mut sorted) = (Hand::new(), Hand::new());
    for drawn in 0..hand_size {
        let left = u64::from(deck_size - drawn);
        // The remainder is less than the size of the deck.
        let mut card = (rest % left) as u32;
        rest /= left;
        let mut place = 0;
        while sorted.get(place).is_some_and(|gone| *gone <= card) {
            card += 1;
            place += 1;
        }
        sorted.insert(place, card);
        hand.push(card);
    }
    hand
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hands_are_dealt_by_the_hash() {
        let check = |hash, deck, hand, expect: &[u32]| {
            assert_eq!(deal(hash, deck, hand).as_slice(), expect, "{hash} {deck} {hand}");
        };
        check(0, 4, 4, &[0, 1, 2, 3]);
        check(23, 4, 4, &[3, 2, 1, 0]);
        check(3, 4, 2, &[3, 0]);
        check(5, 4, 2, &[1, 2]);
        check(u64::MAX, 1, 1, &[0]);
    }

    #[test]
    fn a_hand_has_no_card_twice_and_all_cards_are_dealt_alike() {
        let mut counts = [0_u32; 64];
        let rounds = 64_000_u64;
        for round in 0..rounds {
            let hash = round.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
            let hand = deal(hash, 64, 6);
            let mut sorted = hand.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), 6, "{hand:?}");
            hand.iter().for_each(|card| counts[*card as usize] += 1);
        }
        let expected = u32::try_from(rounds * 6 / 64).unwrap();
        for (card, count) in counts.iter().enumerate() {
            assert!(count.abs_diff(expected) < expected / 5, "{card}: {count} of {expected}");
        }
    }
}
