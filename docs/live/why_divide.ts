/** Change the dimension and the divisor: the softmax saturates, or not. Drawn by `selfattn_book/figures/divided_scores.py`. */
import { type Canvas, type Point, listed, number, sentences } from "./canvas.js";
import { type State } from "./link.js";
import { type Kind } from "./live.js";
import { bars, meter } from "./marks.js";
import { type Mat, entropy, softmax } from "./nn.js";

interface Divided extends State { products: Mat; step: number; power: number; scale: number }
const within = (v: number, low: number, high: number): number => Math.max(low, Math.min(high, v));

export function divide({ products, step, power, scale }: Divided): { divisor: number; scores: number[]; weights: number[]; shared: number; slope: number } {
  const divisor = 2 ** (step * power), scores = products[step]!.map((s) => (s * scale ** 2) / divisor), weights = softmax(scores);
  return { divisor, scores, weights, shared: Math.exp(entropy(weights)), slope: Math.max(...weights.map((w) => w * (1 - w))) };
}

export const whyDivide: Kind<Divided> = {
  vary: ["step", "power", "scale"],
  clamp: (s) => ({ ...s, step: Math.round(within(s.step, 0, s.products.length - 1)), power: within(s.power, 0, 1), scale: within(s.scale, 0.1, 3) }),
  values(s) {
    const { scores, weights, shared, slope } = divide(s), count = scores.length;
    return { scores, weights, share0: (shared - 1) / (count - 1), share1: 4 * slope, reading0: `${number(shared)} of ${count}`, reading1: `${number(slope, 3)} of at most 0.250` };
  },
  label(s) {
    const { divisor, scores, weights, shared, slope } = divide(s);
    return sentences(`Dimension ${2 ** s.step}, scores divided by ${number(divisor)}`, `Scores: ${listed(scores)}`, `Weights: ${listed(weights)}`,
      `Keys that share the weight, by the entropy: ${number(shared)} of ${scores.length}`, `Largest derivative: ${number(slope, 3)}`);
  },
  said(s) {
    const { weights, shared, slope } = divide(s);
    return `The largest weight is ${number(Math.max(...weights))}; ${number(shared, 1)} keys share the weight. The largest derivative is ${number(slope, 3)}.`;
  },
  painters: { bars, meter, reading: (c: Canvas, text: string, { at }: { at: Point }) => c.note(at, text, "ink", { align: "left" }) },
  panel(live) {
    live.slider("Dimension d", [0, live.first.products.length - 1, 1], (s) => s.step, (s, v) => { s.step = v; }, (v) => String(2 ** v));
    live.slider("Divisor", [0, 1, 0.05], (s) => s.power, (s, v) => { s.power = v; }, (v) => (v === 0 ? "1: undivided" : v === 0.5 ? `√d = ${number(2 ** (live.state.step / 2), 1)}` : `${v === 1 ? "d" : `d to the ${number(v)}`} = ${number(2 ** (live.state.step * v), 1)}`));
    live.slider("Size of entries", [0.1, 3, 0.1], (s) => s.scale, (s, v) => { s.scale = v; }, (v) => `times ${number(v, 1)}`);
    live.paragraph(() => "Move the dimension, first with the divisor at 1 and then at √d. Notice that undivided, one key usually gets nearly all the weight from dimension 16 on, and then the derivatives are small; with d itself, all keys get nearly the same. (Each dimension adds random entries to the same query and keys, so the way is uneven: at 128, two keys happen to be close.) Larger entries saturate the softmax even with √d. (Bars of scores end at 4; their numbers go on.)");
  },
};
