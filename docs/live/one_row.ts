/** Drag the words: scores, weights and the weighted sum follow. Drawn by `selfattn_book/figures/one_row.py`. */
import { type Canvas, type Look, type Point, listed, number, sentences } from "./canvas.js";
import { type State } from "./link.js";
import { type Kind } from "./live.js";
import { bars, vector, word } from "./marks.js";
import { type Mat, dot, mix, softmax } from "./nn.js";
import { hull, labels, plane } from "./plane.js";

interface Row extends State { names: string[]; x: Mat; row: number; temperature: number }
interface Steps { steps: Mat; weights: number[]; names: string[] }
const PLANE: Point = [312, 236], UNIT = 24, MOST = 1.1, LETTER = 5.6, FINEST = 0.0055;
const rounded = (log: number): number => Number((10 ** log).toPrecision(2));
const within = (v: number): number => Math.max(-1, Math.min(1, Math.round(v * 100) / 100)) + 0;

export function attend({ x, row, temperature }: Row): { scores: number[]; weights: number[]; context: number[] } {
  const scores = x.map((key) => dot(key, x[row]!)), weights = softmax(scores.map((s) => s / Math.SQRT2 / temperature));
  return { scores, weights, context: mix(weights, x) };
}

export const oneRow: Kind<Row> = {
  vary: ["x", "row", "temperature"],
  clamp: (s) => ({ ...s, x: s.x.map((p) => p.map(within)), row: s.names[s.row] ? s.row : 0, temperature: Math.max(0.01, Math.min(10, s.temperature)) }),
  values(s) {
    const { scores, weights, context } = attend(s), name = s.names[s.row]!;
    const sum: Steps = { steps: s.x.map((p, i) => p.map((v) => v * weights[i]!)), weights, names: s.names };
    return { name, query: s.x[s.row], ...Object.fromEntries(s.x.map((p, i) => [`key${i}`, p])), scores, weights, context, sum, temperature: s.temperature, new: `new ${name}` };
  },
  label(s) {
    const { scores, weights, context } = attend(s), name = s.names[s.row]!;
    return sentences("One row of attention as a machine", `The query ${name}, (${listed(s.x[s.row]!)}), is compared with each word`,
      ...s.names.map((n, i) => `${n} scores ${number(scores[i]!)} and weighs ${number(weights[i]!)}`), `The weighted sum is the new vector of ${name}, (${listed(context)})`);
  },
  said: (s) => `${s.names[s.row]} takes ${attend(s).weights.map((w, i) => `${Math.round(100 * w)} percent of ${s.names[i]}`).join(", ")}.`,
  painters: {
    steps: (c: Canvas, temperature: number, { at, turned }: { at: Point } & Look) => c.say(at, `${turned ? "" : "softmax:  "}÷ √2${temperature === 1 ? "" : `,  ÷ ${number(temperature)}`},  exp,  ÷ sum`, "ink", { turned }),
    word, vector, bars,
    score_bars(c: Canvas, scores: number[], { zero, ys, end }: { zero: number; ys: number[]; end: number }) {
      const unit = UNIT * Math.min(1, MOST / Math.max(MOST, ...scores.map(Math.abs)));
      bars(c, scores, { zero, ys, unit, role: "ink" });
      if (end) scores.forEach((score, i) => c.wire([[zero + 10 + unit * Math.max(score, 0) + (score >= 0 ? 34 : 0), ys[i]!], [end, ys[i]!]]));
    },
    tip_to_tail: tipToTail,
  },
  panel(live) {
    const { names } = live.first, size = PLANE;
    plane(live, { name: "The words in the plane", size, unit: 100, names, get: (s, i) => s.x[i] as unknown as Point, put: (s, i, at) => { s.x[i] = [...at]; },
      draw(c, s, place) {
        const { x, row } = s;
        const origin = place([0, 0]), { context } = attend(s), around = hull(x).map(place), role = (i: number) => (i === row ? "query" : "key");
        c.line([place([-1.12, 0]), place([1.12, 0])], "residual", { width: 0.8 });
        c.line([place([0, -1.12]), place([0, 1.12])], "residual", { width: 0.8 });
        c.line([...around, around[0]!], "key", { dashed: true });
        x.forEach((p, i) => { if (Math.hypot(...p) > 0.05) c.wire([origin, place(p)], role(i), { width: i === row ? 2.4 : 1.4, head: false }); });
        if (Math.hypot(...context) > 0.02) c.wire([origin, place(context)], "context", { width: 3.6 });
        x.forEach((p, i) => c.disc(place(p), 6, role(i)));
        labels(x.map(place), names, size).forEach((at, i) => c.note(at, names[i]!, i === row ? "query" : "ink", { bold: i === row }));
      } });
    live.choices("Query", names, (s) => s.row, (s, i) => { s.row = i; });
    live.slider("Temperature", [-2, 1, 0.1], (s) => Math.log10(s.temperature), (s, v) => { s.temperature = rounded(v); }, (v) => String(rounded(v)));
    live.button("Replace every word by its new vector", () => live.change((s) => { s.x = s.x.map((_, row) => attend({ ...s, row }).context); }));
    live.paragraph(() => "Drag a word by its dot, or focus it and use the arrow keys. Notice that the new vector (thick) never leaves the dashed outline of the words, wherever you put them. Scores are also divided by the temperature: the lower it is, the more of the weight goes to the highest score. Replace every word ten times at temperature 1, and then, after a reset, at 0.1: do they end at one point?");
  },
};

function tipToTail(c: Canvas, { steps, weights, names }: Steps, { corner, plane: [wide, high] }: { corner: Point; plane: Point }): void {
  const tips: Mat = [[0, 0]];
  for (const [dx, dy] of steps as [number, number][]) tips.push([tips.at(-1)![0]! + dx, tips.at(-1)![1]! + dy]);
  const low = [0, 1].map((k) => Math.min(...tips.map((t) => t[k]!))), high_ = [0, 1].map((k) => Math.max(...tips.map((t) => t[k]!)));
  const shrink = Math.max((high_[0]! - low[0]!) / wide, (high_[1]! - low[1]!) / high, FINEST);
  const places = tips.map((t): Point => [corner[0] + (t[0]! - low[0]!) / shrink, corner[1] + high - (t[1]! - low[1]!) / shrink]);
  const above: string[] = [], taken: number[] = [];
  places.slice(1).forEach((end, i) => {
    const start = places[i]!, text = `${number(weights[i]!)} ${names[i]}`;
    c.wire([start, end], "value", { width: 2 });
    const x = (start[0] + end[0]) / 2 + 7, y = (start[1] + end[1]) / 2 + 7;
    const isFree = taken.every((other) => Math.abs(y - other) > 15), isInside = x + LETTER * text.length < corner[0] + wide + 18;
    if (Math.abs(end[1] - start[1]) > 30 && isFree && isInside) {
      c.note([x, y], text, "value", { align: "left" });
      taken.push(y);
    } else above.unshift(text);
  });
  const middle = corner[0] + Math.max(50, (high_[0]! - low[0]!) / shrink / 2), top = Math.min(...places.map((p) => p[1]));
  above.forEach((text, i) => c.note([middle, top - 11 - 15 * i], text, "value"));
  c.wire([places[0]!, places.at(-1)!], "context", { width: 3.6 });
  c.disc(places[0]!, 5, "context");
}
