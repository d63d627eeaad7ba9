/** Choose a mask, or press its entries: the weights follow, and what reaches what through two layers. Drawn by `selfattn_book/figures/masking.py`. */
import { Canvas, type Point, listed, number, sentences } from "./canvas.js";
import { type State } from "./link.js";
import { type Hot, type Kind, type Live, draw, el, set } from "./live.js";
import { type Mat, maskedSoftmax, softmax } from "./nn.js";

interface Masks extends State { names: string[]; scores: Mat; mask: boolean[][]; late: boolean; output: number }
interface Grid { corner: Point; cell: Point }
type Preset = [name: string, sees: (i: number, j: number, last: number) => boolean, about: string];
const PRESETS: Preset[] = [
  ["none", () => true, "Every word may attend to every word."],
  ["causal", (i, j) => j <= i, "No word may attend to a later one. Through two layers, none depends on a later one either."],
  ["padding", (_, j, last) => j < last, "The last word is padding, and no word may attend to it. Its own row is computed all the same; nothing depends on it."],
  ["causal and padding", (i, j, last) => j <= i && j < last, "A weight is left where both masks allow it."],
  ["inverted", (i, j) => j > i, "A bug: True and False are confused. Words attend to later ones only, and the last row is fully masked."],
  ["causal, too late", (i, j) => j <= i, "A bug: zeros after the softmax. Rows no longer sum to 1, and hidden scores still count in the denominators, so every word depends on all words."],
];
const preset = (k: number, n: number): boolean[][] => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => PRESETS[k]![1](i, j, n - 1)));
const isLate = (k: number): boolean => k === PRESETS.length - 1;
const which = ({ mask, late }: Masks): number => PRESETS.findIndex((_, k) => isLate(k) === late && String(preset(k, mask.length)) === String(mask));

export const weightsOf = ({ scores, mask, late }: Masks): Mat => (late ? scores.map((row, i) => softmax(row).map((w, j) => (mask[i]![j] ? w : 0))) : maskedSoftmax(scores, mask));

/** Returns which words each word depends on: the rows with a sum of weights come from scores of all words if the mask is too late. */
const flow = (s: Masks): boolean[][] => s.mask.map((row) => (s.late && row.some(Boolean) ? row.map(() => true) : row));
/** Returns the words that an output depends on: itself, and those of one and of two layers below. */
export function reached(s: Masks): Set<number>[] {
  const levels = [new Set([s.output])];
  for (let layer = 0; layer < 2; layer++) levels.unshift(new Set(flow(s).flatMap((row, i) => (levels[0]!.has(i) ? row.flatMap((v, j) => (v ? [j] : [])) : []))));
  return levels;
}
const quoted = (word: string): string => `“${word}”`;
const empty = (s: Masks): string => {
  const rows = s.names.filter((_, i) => !s.mask[i]!.some(Boolean)).map(quoted);
  return rows.length ? `${rows.join(" and ")} may attend to nothing: ${rows.length > 1 ? "fully masked rows, whose weights" : "a fully masked row, whose weights"} the book sets to 0 (a softmax would give NaN).` : "";
};
function through(s: Masks): string {
  const words = [...reached(s)[0]!].sort().map((i) => quoted(s.names[i]!));
  return `Through two layers of attention alone, ${quoted(s.names[s.output]!)} depends on ${words.join(", ") || "no word"}.`;
}

export const masks: Kind<Masks> = {
  vary: ["mask", "late", "output"],
  clamp: (s) => ({ ...s, output: s.names[s.output] ? s.output : s.names.length - 1 }),
  values(s) {
    const { scores, mask, late } = s, all = preset(0, mask.length), weights = weightsOf(s), order = late ? ["softmax", "mask"] : ["mask", "softmax"];
    return { scores: [scores, all], masked: late ? [scores.map(softmax), all] : [scores, mask], weights: [weights, mask], first: order[0], second: order[1],
      heading: late ? "softmax" : "masked", ...Object.fromEntries(weights.map((row, i) => [`sum${i}`, `sum ${number(row.reduce((a, b) => a + b))}`])) };
  },
  label: (s) => sentences("A mask laid over scores", ...s.names.map((name, i) => `Row ${name}: scores ${listed(s.scores[i]!)}; the mask leaves ${s.names.filter((_, j) => s.mask[i]![j]).join(", ") || "nothing"}; weights ${listed(weightsOf(s)[i]!)}`)),
  said: (s) => `${empty(s)} ${through(s)}`.trim(),
  painters: {
    scores: (c: Canvas, [scores, mask]: [Mat, boolean[][]], { corner, cell }: Grid) => cells(corner, cell, scores, (at, size, score, i, j) => {
      if (mask[i]![j]) c.box(at, size, "ink", number(score), { width: 1 });
      else c.masked(at, size, "−∞");
    }),
    weights: (c: Canvas, [weights, mask]: [Mat, boolean[][]], { corner, cell }: Grid) => cells(corner, cell, weights, (at, size, weight, i, j) => {
      if (!mask[i]![j]) return c.masked(at, size, "0");
      const long = size[0] - 11;
      c.box(at, size, "weights", "", { width: 1 });
      c.say([at[0], at[1] - 6], number(weight));
      c.hbar([at[0] - long / 2, at[1] + 10], long * weight, "weights", 6);
    }),
  },
  panel(live) {
    live.choices("Mask", PRESETS.map(([name]) => name), which, (s, k) => { s.mask = preset(k, s.mask.length); s.late = isLate(k); });
    live.paragraph((s) => `${PRESETS[which(s)]?.[2] ?? "A mask of your own."} ${empty(s)} Press an entry of the ${s.late ? "weights" : "masked scores"} to change the mask.`);
    live.choices("Which words does this output depend on, through two layers?", live.first.names, (s) => s.output, (s, i) => { s.output = i; });
    layers(live);
    live.paragraph(through);
  },
  hot(live, calls): Hot[] {
    const { corner, cell } = calls.find(([, name]) => name === (live.state.late ? "weights" : "masked"))![2] as Grid, out: Hot[] = [];
    cells(corner, cell, live.state.scores, (at, size, _, i, j) => out.push({ at, size, name: `${live.first.names[i]} may attend to ${live.first.names[j]}`, pressed: live.state.mask[i]![j]!,
      act: () => live.change(({ mask }) => { mask[i]![j] = !mask[i]![j]; }) }));
    return out;
  },
};

function cells(corner: Point, cell: Point, rows: Mat, each: (at: Point, size: Point, value: number, i: number, j: number) => void): void {
  rows.forEach((row, i) => row.forEach((value, j) => each([corner[0] + (j + 0.5) * cell[0], corner[1] + (i + 0.5) * cell[1]], [cell[0] - 3, cell[1] - 3], value, i, j)));
}

/** Draws the words at the inputs and after two layers, with what the chosen output depends on. */
function layers(live: Live<Masks>): void {
  const group = el("g"), svg = el("svg", { viewBox: "0 0 312 166", width: 312, height: 166, role: "img" }, group);
  const x = (i: number): number => 100 + 78 * i, y = (level: number): number => 148 - 65 * level;
  live.panel.append(svg);
  live.show(() => {
    const c = new Canvas(), s = live.state, used = reached(s);
    ["inputs", "layer 1", "layer 2"].forEach((name, level) => {
      c.note([2, y(level)], name, "muted", { align: "left", bold: true });
      if (level) flow(s).forEach((row, i) => row.forEach((open, j) => {
        if (!open) return;
        const isUsed = used[level]!.has(i), ends: Point[] = [[x(j), y(level - 1) - 14], [x(i), y(level) + 14]];
        c.wire(ends, isUsed ? "value" : "muted", isUsed ? { width: 2.4 } : { width: 1, dashed: true, head: false });
      }));
      s.names.forEach((word, i) => {
        const isUsed = used[level]!.has(i);
        c.box([x(i), y(level)], [62, 26], isUsed ? (level === 2 ? "context" : "value") : "muted", word, { width: isUsed ? 2.4 : 1, bold: isUsed, filled: isUsed, dashed: !isUsed });
      });
    });
    draw(group, c);
    set(svg, { "aria-label": through(s) });
  });
}
