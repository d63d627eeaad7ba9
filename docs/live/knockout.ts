/** Remove cells of the last rows, or whole heads, or replace a letter: does the answer change? Drawn by `selfattn_book/figures/knockout.py`. */
import { type Canvas, type Point, listed, number, sentences } from "./canvas.js";
import { type State } from "./link.js";
import { type Call, type Hot, type Kind, type Live } from "./live.js";
import { type Mat, type Vec, dot, mix, softmax } from "./nn.js";
import { type Packed, type Weights, attend, layerNorm, linear, once, plus, unpack } from "./weights.js";

interface Knockout extends State { names: string[]; letters: string; text: number[]; replaced: number; cut: boolean[][][]; off: boolean[][] }
interface Strip { weights: number[]; cut: boolean[] }
interface Shown { off: boolean[]; strips: Strip[]; next: { now: number[]; before: number[] } }
interface Row { at: Point; pitch: number; high: number }
const DRAWN = 0.005, SEEN = 0.095;
const packed = (s: Knockout): Packed[] => s.models as unknown as Packed[];
const spare = (s: Knockout): number => [...s.letters].findIndex((_, i) => !s.text.includes(i));
const replaced = (s: Knockout): number[] => s.text.map((i, j) => (i === s.replaced && j < s.text.length - 1 ? spare(s) : i));
/** Returns the positions some steps after earlier copies of the last letter. */
const after = ({ text }: Knockout, steps: number): boolean[] => text.map((_, j) => text[j - steps] === text.at(-1));
const best = (p: Vec): number => p.indexOf(Math.max(...p));

/** Removes cells from a row, and divides it by the sum of the rest; a row without a rest is zero. */
function remove(row: Vec, cut: readonly boolean[]): number[] {
  const left = row.map((w, j) => (cut[j] ? 0 : w)), sum = left.reduce((a, b) => a + b, 0);
  return left.map((w) => w / (sum || 1));
}
interface Second { last: number[]; weights: Mat; adds: Mat[] }
/** Returns the last letter's state after layer 1, and for each head of layer 2 its weights and what each key adds to the state. */
function second(w: Weights, text: readonly number[], off: readonly boolean[]): Second {
  const x = text.map((letter, i) => plus(w["embedding.weight"]![letter]!, w["positions.weight"]![i]!)), y = layerNorm(w, "blocks.0.attention_norm", x);
  const { weights, values } = attend(w, "blocks.0.attention", y, y, off.length, true);
  const context = (i: number, h: number): number[] => (off[h] ? values[h]![0]!.map(() => 0) : mix(weights[h]![i]!, values[h]!));
  const states = linear(w, "blocks.0.attention.project_output", x.map((_, i) => off.flatMap((_, h) => context(i, h)))).map((row, i) => plus(row, x[i]!));
  const z = layerNorm(w, "blocks.1.attention_norm", states), two = attend(w, "blocks.1.attention", z.slice(-1), z, off.length, true);
  const output = "blocks.1.attention.project_output", size = two.values[0]![0]!.length;
  const adds = two.values.map((value, h) => value.map((v) => w[`${output}.weight`]!.map((to) => dot(v, to.slice(h * size, (h + 1) * size)))));
  return { last: plus(states.at(-1)!, w[`${output}.bias`]![0]!), weights: two.weights.map((rows) => rows[0]!), adds };
}
/** Returns the rows of layer 2 without some cells, and the probabilities of the next letter. */
function run(w: Weights, { last, weights, adds }: Second, cut: boolean[][]): { strips: Strip[]; chances: number[] } {
  const strips = cut.map((hidden, h) => ({ cut: hidden, weights: remove(weights[h]!, hidden) }));
  const state = strips.map((strip, h) => mix(strip.weights, adds[h]!)).reduce(plus, last);
  return { strips, chances: softmax(linear(w, "unembedding", layerNorm(w, "norm", [state]))[0]!) };
}

const seconds = once<Second>(), unchanged = once<number[]>(), latest = once<Shown>();
const shown = (s: Knockout): Shown[] => s.names.map((_, m) => one(s, m));
function one(s: Knockout, m: number): Shown {
  const { text } = packed(s)[m]!, off = s.off[m]!, cut = s.cut[m]!;
  return latest(String([text, s.text, s.replaced, cut, off]), () => {
    const w = unpack(packed(s)[m]!), none = off.map(() => false);
    const after = (letters: number[], heads: boolean[]): Second => seconds(String([text, letters, heads]), () => second(w, letters, heads));
    const { strips, chances } = run(w, after(replaced(s), off), cut);
    const before = unchanged(String([text, s.text]), () => run(w, after(s.text, none), cut.map((row) => row.map(() => false))).chances);
    return { off, strips, next: { now: chances, before } };
  });
}
const predicted = (s: Knockout, { next: { now } }: Shown): string => `predicts ${s.letters[best(now)]} with probability ${number(Math.max(...now))}`;

export const knockout: Kind<Knockout> = {
  vary: ["replaced", "cut", "off"],
  clamp: (s) => ({ ...s, replaced: s.text.includes(s.replaced) ? s.replaced : -1 }),
  values(s) {
    const now = replaced(s), answer = after(s, 1), right = answer.indexOf(true), letters = s.letters;
    const words = { text: now.map((i) => letters[i]).join(""), changed: now.map((i, j) => i !== s.text[j]), answer };
    return { words, ...Object.fromEntries(shown(s).flatMap(({ off, strips, next }, m) => [
      [`next${m}`, { ...next, letters, right: right < 0 ? -1 : s.text[right]! }],
      ...strips.flatMap((strip, h) => [[`strip${m}${h}`, strip], [`off${m}${h}`, [off[h], `head ${h + 1}`]], [`row${m}${h}`, [strip.cut.every(Boolean), `layer 2, head ${h + 1}`]]]),
    ])) };
  },
  label(s) {
    const text = `The text ${s.text.map((i) => s.letters[i]).join(" ")}`;
    return sentences(s.replaced < 0 ? text : `${text}, with ${s.letters[spare(s)]} for ${s.letters[s.replaced]}`, ...shown(s).flatMap((one, m) => [
      `${s.names[m]} ${predicted(s, one)}`, ...one.off.flatMap((off, h) => (off ? [`Layer 1, head ${h + 1}: removed`] : [])),
      ...one.strips.map(({ weights, cut }, h) => {
        const gone = cut.flatMap((isCut, j) => (isCut ? [j] : []));
        return `Layer 2, head ${h + 1}, weights ${listed(weights)}${gone.length ? `, removed at ${gone.join(", ")}` : ""}`;
      })]));
  },
  said: (s) => shown(s).map((one, m) => `${s.names[m]} ${predicted(s, one)}.`).join(" "),
  painters: { head, letters, strip, next },
  panel,
  hot,
};

function panel(live: Live<Knockout>): void {
  const { text, letters } = live.first, different = [...new Set(text)];
  const none = text.map(() => false), sets = [none, ...[1, 2, 3].map((steps) => after(live.first, steps))].map((row) => live.first.cut.map((model) => model.map(() => [...row]))), names = sets.map(String);
  live.choices("Cells removed from layer 2", ["none", "the answer’s", "one position later", "two positions later"], (s) => names.indexOf(String(s.cut)), (s, i) => { s.cut = structuredClone(sets[i]!); });
  live.choices(`Replace a letter by ${letters[spare(live.first)]} (the last one stays)`, ["none", ...different.map((i) => letters[i]!)], (s) => different.indexOf(s.replaced) + 1, (s, i) => { s.replaced = i ? different[i - 1]! : -1; });
  const [first, second] = [1, 2].map((steps) => letters[text[after(live.first, steps).indexOf(true)]!]);
  live.paragraph(() => `Press a cell of layer 2, or the name of a head of either layer, to remove it (by keyboard, arrow keys go along a row); the rest of a row is divided by its sum. Choose none, and remove only the largest weight of head 2: its twin, the same letter in the other round, takes over. Remove both (the answer’s for Ada, one position later for Ben). Choose none again, and replace ${first}, and then ${second}: which decides?`);
}

function hot(live: Live<Knockout>, calls: Call[]): Hot[] {
  const out: Hot[] = [], s = live.state, places = new Map(calls.map(([, name, place]) => [name, place])), find = (name: string): any => places.get(name), all = shown(s);
  s.names.forEach((name, m) => s.cut[m]!.forEach((cut, h) => {
    const [first, row, { at: [x, y], pitch, high }] = [find(`off${m}${h}`), find(`row${m}${h}`), find(`strip${m}${h}`) as Row], isOff = cut.every(Boolean);
    out.push({ at: first.at, size: [first.wide, 24], name: `${name}: remove head ${h + 1} of layer 1`, pressed: s.off[m]![h]!, act: () => live.change(({ off }) => { off[m]![h] = !off[m]![h]; }) });
    out.push({ at: row.at, size: [row.wide, 24], name: `${name}: remove head ${h + 1} of layer 2`, pressed: isOff, act: () => live.change((now) => { now.cut[m]![h] = cut.map(() => !isOff); }) });
    cut.forEach((isCut, j) => out.push({ at: [x + (j + 0.5) * pitch, y - high / 2], size: [pitch - 1, high], pressed: isCut, tab: j ? -1 : 0,
      name: `${name}, layer 2, head ${h + 1}, position ${j}, weight ${number(all[m]!.strips[h]!.weights[j]!)}: remove`, act: () => live.change((now) => { now.cut[m]![h]![j] = !isCut; }) }));
  }));
  return out;
}

function head(c: Canvas, [isOff, text]: [boolean, string], { at, wide }: { at: Point; wide: number }): void {
  if (!isOff) return c.box(at, [wide, 24], "weights", text, { width: 1, size: 13 });
  c.masked(at, [wide, 24]);
  c.box(at, [wide - 12, 18], "mask", text, { width: 0, order: 5.5, size: 13 });
}
function letters(c: Canvas, { text, changed, answer }: { text: string; changed: boolean[]; answer: boolean[] }, { at: [x, y], pitch }: Row): void {
  [...text].forEach((letter, i) => {
    const role = i === text.length - 1 ? "query" : answer[i] ? "context" : changed[i] ? "ink" : "muted", bold = answer[i]! || changed[i]!;
    c.box([x + (i + 0.5) * pitch, y], [pitch - 3, 26], role, letter, { width: bold ? 2.4 : 1, filled: role !== "muted", dashed: changed[i], bold });
  });
}
function strip(c: Canvas, { weights, cut }: Strip, { at: [x, y], pitch, high }: Row): void {
  weights.forEach((weight, j) => {
    const middle = x + (j + 0.5) * pitch;
    if (cut[j]) return c.masked([middle, y - high / 2], [pitch - 3, high]);
    if (weight >= DRAWN) c.vbar([middle, y], high * weight, "weights", pitch - 9);
    if (weight >= SEEN) c.note([middle, y - high * weight - 9], number(100 * weight, 0), "weights");
  });
  c.line([[x, y], [x + pitch * weights.length, y]]);
}
function next(c: Canvas, values: { now: number[]; before: number[]; letters: string; right: number }, { at: [x, y], wide, high, said }: { at: Point; wide: number; high: number; said: Point }): void {
  const { now } = values, pitch = wide / now.length, most = best(now);
  now.forEach((p, i) => {
    const middle = x + (i + 0.5) * pitch, old = y - high * values.before[i]!, isRight = i === values.right;
    if (p >= DRAWN) c.vbar([middle, y], high * p, "context", pitch - 14);
    c.line([[middle - pitch / 2 + 3, old], [middle + pitch / 2 - 3, old]], "ink", { dashed: true });
    if (p >= SEEN) c.note([middle, (y - high * p - old > 18 ? y - high * p : Math.min(old, y - high * p)) - 9], number(100 * p, 0), "context");
    c.box([middle, y + 17], [pitch - 10, 24], isRight ? "context" : "muted", values.letters[i]!, { width: isRight ? 2.4 : 1, filled: isRight, bold: i === most });
  });
  c.say(said, `predicts ${values.letters[most]}`, "ink", { align: "right", bold: true });
}
