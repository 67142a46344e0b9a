//! Properties of every block on every GPU.

use occupancy::{Block, Change, MAX_REGISTERS, MAX_THREADS, Raise, SMS, Sm};

/// Blocks of many sizes that a launch may have.
fn blocks(sm: &Sm) -> Vec<Block> {
    let most = sm.shared_per_block();
    let mut blocks = vec![];
    for threads in (1..=MAX_THREADS).step_by(155) {
        for registers in (1..=MAX_REGISTERS).step_by(29) {
            for shared in (0..=most).step_by(most as usize / 5) {
                blocks.push(Block {
                    threads,
                    registers,
                    shared,
                });
            }
        }
    }
    blocks
}

#[test]
fn an_sm_holds_no_more_than_it_has() {
    for sm in SMS {
        for block in blocks(&sm) {
            let resident = sm.resident_blocks(&block);
            assert!(sm.resident_warps(&block) <= sm.warps, "{block:?}");
            assert!(resident * block.registers_per_warp() * block.warps() <= 65536);
            assert!(resident * sm.shared_taken(&block) <= sm.shared, "{block:?}");
            assert!(!sm.limits(&block).is_empty(), "{block:?}");
        }
    }
}

/// A raise has the warps that it says, and one register or byte more does not raise them.
#[test]
fn a_raise_is_the_smallest_change() {
    for sm in SMS {
        for block in blocks(&sm) {
            let now = sm.resident_warps(&block);
            for raise in sm.raises(&block) {
                let with = |more: u32| match raise.change {
                    Change::Registers(n) => Block {
                        registers: n + more,
                        ..block
                    },
                    Change::Shared(n) => Block {
                        shared: n + more,
                        ..block
                    },
                    Change::Threads(threads) => Block { threads, ..block },
                    Change::Both { registers, shared } => Block {
                        threads: block.threads,
                        registers: registers + more,
                        shared: shared + more,
                    },
                };
                assert!(raise.warps > now, "{block:?}: {raise:?}");
                assert_eq!(sm.resident_warps(&with(0)), raise.warps, "{block:?}");
                let is_size = matches!(raise.change, Change::Threads(_));
                assert!(
                    is_size || sm.resident_warps(&with(1)) <= now,
                    "{block:?}: {raise:?}"
                );
            }
        }
    }
}

/// Registers allow 3 blocks and shared memory 4, so that fewer registers help and nothing else does.
#[test]
fn a_limit_alone_has_a_raise() {
    let sm = Sm::of(9, 0).unwrap();
    let block = Block {
        threads: 128,
        registers: 168,
        shared: 50_000,
    };
    let changes: Vec<Change> = sm.raises(&block).iter().map(|r| r.change).collect();
    assert_eq!(changes, [Change::Registers(128)]);
    let both = Block {
        threads: 256,
        registers: 64,
        shared: 49152,
    };
    let change = Change::Both {
        registers: 48,
        shared: 45568,
    };
    assert_eq!(sm.raises(&both), [Raise { change, warps: 40 }]);
    let full = Block {
        threads: 256,
        registers: 32,
        shared: 0,
    };
    assert_eq!((sm.occupancy(&full), sm.raises(&full)), (1., vec![]));
}
