/** Temperature, top-k and top-p of `selfattn_book/generation.py`, and the samples of `selfattn_book/experiments/portable_sampling.py`. */
import { softmax } from "./language.js";

/** Returns the probabilities of the next token; with `k` or `p` of 0, all tokens remain. */
export function distribution(logits: Float64Array, temperature: number, k: number, p: number): Float64Array {
  const order = descending(logits), most = logits[order[0]!]!, sharp = logits.map((v) => (v - most) / temperature);
  if (k) for (const i of order.slice(k)) sharp[i] = -Infinity;
  if (p) {
    const probabilities = softmax(sharp);
    let sum = 0;
    for (const i of order) {
      sum += probabilities[i]!;
      if (sum - probabilities[i]! >= p) sharp[i] = -Infinity;
    }
  }
  return softmax(sharp);
}

/** Returns the indices of numbers from the largest; of equal ones, the first comes first. */
export const descending = (values: ArrayLike<number>): number[] => Array.from(values, (_, i) => i).sort((a, b) => values[b]! - values[a]! || a - b);

/** Returns the token at which the running sum, from the most probable token on, passes u. */
export function draw(probabilities: Float64Array, u: number): number {
  let sum = 0, last = -1;
  for (const i of descending(probabilities)) {
    if (!probabilities[i]) break;
    last = i;
    sum += probabilities[i]!;
    if (u < sum) break;
  }
  return last;
}

/** Returns a number from 0 to 1 (mulberry32): the same on every machine. */
export function uniform(seed: number, step: number): number {
  const a = (Math.imul(seed, 0x9e3779b1) + Math.imul(step + 1, 0x6d2b79f5)) | 0;
  let t = Math.imul(a ^ (a >>> 15), 1 | a);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
