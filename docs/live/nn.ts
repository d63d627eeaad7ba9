/** What the live figures compute; the session `browser` holds it to the package. */
export type Vec = readonly number[];
export type Mat = number[][];

export function softmax(scores: Vec): number[] {
  const most = Math.max(...scores);
  if (most === -Infinity) return scores.map(() => 0); // a fully masked row
  const e = scores.map((s) => Math.exp(s - most)), sum = e.reduce((a, b) => a + b, 0);
  return e.map((v) => v / sum);
}
export const dot = (a: Vec, b: Vec): number => a.reduce((s, v, i) => s + v * b[i]!, 0);
export const mix = (weights: Vec, rows: readonly Vec[]): number[] => rows[0]!.map((_, k) => weights.reduce((s, w, i) => s + w * rows[i]![k]!, 0));
export const maskedSoftmax = (scores: Mat, mask: boolean[][]): Mat => scores.map((row, i) => softmax(row.map((s, j) => (mask[i]![j] ? s : -Infinity))));
export const times = (a: Mat, b: Mat): Mat => a.map((row) => mix(row, b));
export const entropy = (weights: Vec): number => -weights.reduce((s, w) => s + (w > 0 ? w * Math.log(w) : 0), 0);
