//! Hostile input: claimed lengths, depth, and too many items.

use super::*;

#[track_caller]
fn refused(body: &[u8], problem: &Problem) {
    assert_eq!(&parse(body).unwrap_err().problem, problem);
}

#[test]
fn claimed_lengths_are_not_believed() {
    for head in [
        "5bffffffffffffffff",
        "7bffffffffffffffff",
        "9bffffffffffffffff",
        "bbffffffffffffffff",
        "5b7fffffffffffffff",
        "9b7fffffffffffffff",
        "bb00ffffffffffffff",
        "9a7fffffff",
        "5f5affffffff",
    ] {
        refused(&bytes(head), &Problem::Truncated);
        refused(
            &[bytes(head), vec![0xf6; 64]].concat(),
            if head.starts_with('b') { &Problem::Key } else { &Problem::Truncated },
        );
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |head: &[u8], depth: usize| [head.repeat(depth), vec![0xf6]].concat();
    for head in [&[0x81][..], &[0xa1, 0x60], &[0xc6], &[0xd9, 0xd9, 0xf7]] {
        assert!(parse(&nested(head, MAX_DEPTH)).is_ok());
        refused(&nested(head, MAX_DEPTH + 1), &Problem::TooDeep);
        refused(&nested(head, 1_000_000), &Problem::TooDeep);
    }
    refused(&[0x9f].repeat(1_000_000), &Problem::TooDeep);
    let deep = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    assert!(encode(None, &deep(MAX_DEPTH), &mut Vec::new()).is_ok());
    assert!(encode(None, &deep(MAX_DEPTH + 1), &mut Vec::new()).is_err());
}

#[test]
fn the_number_of_items_is_bounded() {
    let items =
        |count: u32| [&[0x9a][..], &count.to_be_bytes(), &vec![0xf6; count as usize]].concat();
    let most = u32::try_from(MAX_NODES).unwrap() - 1;
    assert!(parse(&items(most)).is_ok());
    refused(&items(most + 1), &Problem::TooMany);
    refused(&vec![0; MAX_BYTES + 1], &Problem::TooLarge);
}
