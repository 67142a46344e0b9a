// Level 5 of attention: the position of a decode step in the device's memory, set, or advanced after the step.
//
// Launch: one thread. In a chain (kernels/src/launch/chain.rs) the next step begins after the position is advanced.
//
// Prediction: what a launch costs, 0.7 µs in a graph, 0.6 µs in a chain. Outcome: an empty one takes 0.5 there (benches/NOTES.md).
// To be faster: the last kernel of the step advances the position, as the head of one sequence does
// (linear/level5/next_step.cuh).
//
// Compiled for sm_75 and sm_90: from sm_90 on, a launch may overlap with the one before.
#include "common/overlap.cuh"

extern "C" __global__ void __launch_bounds__(1) position_set_level5(unsigned *position, unsigned value) {
  *position = value;
}

extern "C" __global__ void __launch_bounds__(1) position_advance_level5(const unsigned *from, unsigned *to,
                                                                         unsigned tokens) {
  let_next_start();
  wait_for_previous();
  *to = *from + tokens;
}
