/** Step through decoding, with or without a KV cache, and count the work. Drawn by `selfattn_book/figures/decoding_work.py`. */
import { type Canvas, type Point, listed, sentences } from "./canvas.js";
import { type State } from "./link.js";
import { type Kind } from "./live.js";
import { type Mat, type Vec } from "./nn.js";

interface Decoding extends State { points: Mat; outputs: Mat; weights: Mat; given: number; step: number; cached: boolean }
interface Layer { points: Mat; outputs: Mat; weights: Mat; positions: number; added: number; new: number }
interface Places { query: number; left: number; wide: number; high: number; half: number; out: number; back: number; top: number }
const INPUTS = -76, KEYS = -44, VALUES = -20, EMPTY = { filled: false, dashed: true, width: 1 };

const last = ({ weights, given }: Decoding): number => weights.length - given + 1;
export function layerOf({ points, outputs, weights, given, step, cached }: Decoding): Layer {
  const positions = given + step - 1, added = step === 1 ? given : 1, unit = Math.max(...points.flat().map(Math.abs)) || 1;
  const scaled = (rows: Mat): Mat => rows.map((p) => p.map((v) => v / unit));
  return { points: scaled(points), outputs: scaled(outputs), weights, positions, added, new: cached ? added : positions };
}
/** Returns how many keys and scores some steps compute, with a cache and without one. */
export function work({ given, step }: Decoding): { keys: [number, number]; scores: [number, number] } {
  const lengths = Array.from({ length: step }, (_, i) => given + i), sum = (v: Vec): number => v.reduce((a, b) => a + b, 0);
  return { keys: [given + step - 1, sum(lengths)], scores: [given ** 2 + sum(lengths.slice(1)), sum(lengths.map((t) => t * t))] };
}
const counted = (count: number, name: string): string => `${count} ${name}${count === 1 ? "" : "s"}`;
const entering = (n: number): string => `${counted(n, "point")} ${n === 1 ? "goes" : "go"} in`;
const computed = (s: Decoding): string => { const { new: n, positions } = layerOf(s); return `${counted(n, "key")}, ${counted(n * positions, "score")}`; };
const phase = ({ step, cached }: Decoding): string => (cached ? (step === 1 ? "prefill" : "decode") : "whole sequence");
const soFar = (s: Decoding): string => { const { keys, scores } = work(s); return `Computed up to this step: keys ${keys[0]} cached, ${keys[1]} uncached; scores ${scores[0]} cached, ${scores[1]} uncached`; };

export const decoding: Kind<Decoding> = {
  vary: ["step", "cached"],
  clamp: (s) => ({ ...s, step: Math.max(1, Math.min(last(s), Math.round(s.step))) }),
  values(s) {
    const layer = layerOf(s), { keys, scores } = work(s);
    return { layer, title: [`Step ${s.step}: ${phase(s)}`, entering(layer.new), `${computed(s)} computed`], keys: [...keys, s.cached], scores: [...scores, s.cached] };
  },
  label(s) {
    const { new: n, positions: t } = layerOf(s), told = (p: Vec): string => `(${listed(p)})`;
    return sentences(`Step ${s.step} of decoding ${s.cached ? "with" : "without"} a KV cache`, `${entering(n)}, ${s.points.slice(t - n, t).map(told).join(", ")}`, `Computed: ${computed(s)}`,
      n < t ? `Read from the cache: ${counted(t - n, "key")}` : "", `${told(s.points[t]!)} comes out`, soFar(s));
  },
  said: (s) => sentences(`Step ${s.step}, ${phase(s)}`, entering(layerOf(s).new), `Computed: ${computed(s)}`, soFar(s)),
  painters: { layer, lines, bars },
  panel(live) {
    live.slider("Step", [1, last(live.first), 1], (s) => s.step, (s, v) => { s.step = v; }, (v) => `${v} of ${last(live.first)}`);
    live.choices("KV cache", ["on", "off"], (s) => (s.cached ? 0 : 1), (s, i) => { s.cached = i === 0; });
    const next = live.button("", () => live.change((s) => { s.step = s.step === last(s) ? 1 : s.step + 1; }));
    live.show(() => { next.textContent = live.state.step === last(live.state) ? "Back to step 1" : "Next step"; });
    live.paragraph(about);
    live.paragraph(() => "Go from step 1 to the last, first with the cache and then without it. Notice that the outputs are the same, that without the cache each step computes a whole square of scores and uses only its last row, and that with it a step computes that row alone.");
  },
};

/** Says what happens at a step. */
function about(s: Decoding): string {
  const { new: n, positions: t, added } = layerOf(s), next = t < s.weights.length ? `, which is the next input` : "";
  if (s.step === 1) return `The ${s.given} given points go in at once, and the last row gives corner ${t + 1}${next}. Nothing is in the cache yet, so both ways do the same work.`;
  if (s.cached) return `Corner ${t}, the last output, goes in alone. It adds one key and one value; its query attends to all ${t} keys, ${t - 1} of them from the cache. No older row is computed. Out comes corner ${t + 1}${next}.`;
  return `All ${t} corners go in again. Only ${counted(added, "key")} of ${t} is new: the other ${n - added} come out as they did before, and so do the older rows. Only the last row is used: it gives corner ${t + 1}${next}.`;
}

function lines(c: Canvas, texts: string[], { at: [x, y] }: { at: Point }): void {
  texts.forEach((text, i) => c.say([x, y + 20 * i], text, "ink", { align: "left", bold: i === 0 }));
}
function bars(c: Canvas, [one, other, cached]: [number, number, boolean], { at: [x, top], unit, role }: { at: Point; unit: number; role: string }): void {
  ([["cached", one], ["uncached", other]] as const).forEach(([name, count], i) => {
    const y = top + 19 * i, look = { align: "left", bold: cached === (i === 0) };
    c.note([x, y], name, "ink", look);
    c.hbar([x + 66, y], unit * count, role, 11);
    c.note([x + 71 + unit * count, y], String(count), role, look);
  });
}

function layer(c: Canvas, { points, outputs, weights, positions: t, added, new: n }: Layer, { at }: { at: Places }): void {
  const { left, wide, high, half, out, top } = at, xs = weights.map((_, s) => left + (s + 0.5) * wide), first = t - n;
  xs.forEach((x, s) => {
    column(c, x, at, s + 1, s >= t ? "later" : s < first ? "kept" : s < t - added ? "again" : "new");
    if (s <= t) dot(c, [x, top + INPUTS], half, points[s]!, s === t ? "context" : s >= first ? "query" : "muted");
  });
  for (let i = first; i < t; i++) {
    const isLast = i === t - 1, role = isLast ? "context" : "muted", end: Point = [out, top + (i + 0.5) * high];
    row(c, at, i, xs.slice(0, t), weights[i]!);
    c.box(end, [2 * half, high - 4], role, "", { filled: false, width: isLast ? 2.4 : 1 });
    dot(c, end, half, outputs[i]!, role);
  }
  if (first) c.note([left + 2, top + 0.5 * first * high], "not computed again", "muted", { align: "left" });
  if (t >= xs.length) return;
  const y = top + (t - 0.5) * high, up = top + INPUTS - half - 14, x = xs[t]!;
  c.wire([[out + half, y], [at.back, y], [at.back, up], [x, up], [x, up + 13]], "context", { width: 2 });
}

function column(c: Canvas, x: number, { top, wide, half }: Places, s: number, status: string): void {
  const isNew = status === "new", fresh = isNew || status === "again", later = status === "later", size: Point = [wide - 4, 20];
  c.box([x, top + INPUTS], [2 * half, 2 * half], fresh ? "query" : "residual", "", later ? EMPTY : { filled: false, width: 1 });
  ([["key", KEYS], ["value", VALUES]] as const).forEach(([name, down]) => {
    if (later) c.box([x, top + down], size, "residual", "", EMPTY);
    else c.box([x, top + down], size, name, `${name[0]}${s}`, { size: 13, filled: fresh, bold: isNew, width: isNew ? 2.4 : 1 });
  });
}

function row(c: Canvas, { query, top, wide, high }: Places, i: number, xs: number[], weights: Vec): void {
  const y = top + (i + 0.5) * high, size: Point = [wide - 4, high - 4], long = size[0] - 8;
  c.box([query, y], [wide - 6, 20], "query", `q${i + 1}`, { size: 13 });
  xs.forEach((x, s) => {
    if (s > i) return c.masked([x, y], size);
    c.box([x, y], size, "weights", "", { width: 1 });
    c.hbar([x - long / 2, y], long * weights[s]!, "weights", 8);
  });
}

function dot(c: Canvas, [x, y]: Point, half: number, point: Vec, role: string): void {
  c.disc([x + 0.6 * half * point[0]!, y - 0.6 * half * point[1]!], role === "muted" ? 3 : 4, role);
}
