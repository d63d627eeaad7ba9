/** The language model writes: its text, what one head attends to, and the next token. Drawn by `selfattn_book/figures/generated_text.py`. */
import { type Canvas, type Look, type Point, number, sentences } from "./canvas.js";
import { LanguageModel } from "./language.js";
import { type State } from "./link.js";
import { type Hot, type Kind } from "./live.js";
import { ModelFile, type Packed, unpack } from "./model_file.js";
import { descending, distribution, draw, uniform } from "./sampling.js";
import { Reading } from "./reading.js";
import { panel } from "./writer_panel.js";

export interface Writer extends State { text: string; written: number; seed: number; temperature: number; k: number; p: number; block: number; head: number; back: number }
type Bar = [name: string, probability: number];
interface Words { pieces: string[]; weights: number[]; first: number; at: number; written: number }
interface Place { corner: Point; wide: number; rows: number }
export const LETTERS = 160, MOST = 100, SEEDS = 9999; // letters of a beginning; tokens that are added; seeds
const LONGEST = 11, SHOWN = 8, NAMED = 3, NOTHING = 1e-9, ROW = 40, HIGH = 16, BOX = 20, BAR = 24, NARROW = " !'(),-.:;Ifijlrt·", WIDE = "mwMW";

let packed: Packed, model: LanguageModel | undefined, reading: Reading;
/** Takes the script of weights, which is loaded when a figure is woken. */
export function take(given: Packed): void { packed = given; }
export const digest = (): string => packed.digest;
export function writerModel(): LanguageModel {
  if (!model) reading = new Reading(model = new LanguageModel(new ModelFile(unpack(packed))));
  return model;
}

const samples = { of: "", tokens: [] as number[] };
/** Returns the tokens of a beginning and those that the model adds to it: the same for the same seed and settings. */
export function tokensOf({ text, written, seed, temperature, k, p }: Writer): number[] {
  const { tokenizer } = writerModel(), start = tokenizer.encode(text || "\n"), of = JSON.stringify([text, seed, temperature, k, p]);
  if (samples.of !== of) Object.assign(samples, { of, tokens: [] });
  while (samples.tokens.length < written) {
    const logits = lastLogits([...start, ...samples.tokens]);
    samples.tokens.push(draw(distribution(logits, temperature, k, p), uniform(seed, samples.tokens.length)));
  }
  return [...start, ...samples.tokens.slice(0, written)];
}
/** Returns the logits after a text; of a long one, the model reads as much as its context window holds. */
export function lastLogits(tokens: readonly number[]): Float64Array {
  const window = tokens.slice(-writerModel().contextLength);
  return reading.follow(window).next(window.length - 1);
}

export const shorten = (token: string): string => { const shown = token.replace(/ /g, "·").replace(/\n/g, "⏎").replace(/[\x00-\x1f\x7f]/g, "�"); return shown.length > LONGEST ? `${shown.slice(0, LONGEST - 1)}…` : shown; };

export interface Seen { words: Words; title: string; largest: string; next: { bars: Bar[]; rest: number; actual: string }; after: string; text: string; sample: { u: number; name: string } }
const kept: { of?: string; seen?: Seen } = {};
/** Returns what the picture shows. */
export function see(s: Writer): Seen {
  const of = JSON.stringify(s);
  if (kept.of !== of) Object.assign(kept, { of, seen: look(s) });
  return kept.seen!;
}
function look(s: Writer): Seen {
  const { tokenizer, contextLength } = writerModel(), tokens = tokensOf(s), first = Math.max(0, tokens.length - contextLength), at = tokens.length - 1 - s.back;
  const u = uniform(s.seed, at + 1 - tokens.length + s.written); // of the token after it, if the model chooses it
  reading.follow(tokens.slice(first));
  const logits = reading.next(at - first), probabilities = distribution(logits, s.temperature, s.k, s.p);
  const weights = [...Array<number>(first).fill(0), ...reading.attention(s.block, s.head, at - first)], name = (token: number): string => shorten(tokenizer.decode([token])), pieces = tokens.map(name);
  const bars = descending(logits).slice(0, SHOWN).map((i): Bar => [name(i), probabilities[i]!]);
  const rest = 1 - bars.reduce((sum, [, p]) => sum + p, 0), largest = descending(weights.slice(first)).slice(0, NAMED).map((i) => `${pieces[first + i]} ${number(weights[first + i]!)}`).join(", ");
  return { words: { pieces, weights, first, at, written: tokens.length - s.written }, title: `block ${s.block + 1}, head ${s.head + 1}: ${pieces[at]} attends to`, largest,
    next: { bars, rest: rest > NOTHING ? rest : 0, actual: pieces[at + 1] ?? "" }, after: `after ${pieces[at]}`, text: tokenizer.decode(tokens),
    sample: { u, name: name(draw(probabilities, u)) } };
}

const whole = (v: number, low: number, high: number): number => Math.max(low, Math.min(high, Math.round(v)));
const named = ({ next: { bars } }: Seen): string => bars.slice(0, NAMED).map(([name, p]) => `${name} ${number(p)}`).join(", ");

export const writer: Kind<Writer> = {
  script: "writer-weights.js",
  vary: ["text", "written", "seed", "temperature", "k", "p", "block", "head", "back"],
  clamp(s) {
    const { blocks, heads, contextLength, tokenizer } = writerModel();
    const text = s.text.slice(0, LETTERS).replace(/[^\P{C}\n]|\p{Cs}/gu, ""), written = whole(s.written, 0, MOST), length = tokenizer.encode(text || "\n").length + written;
    return { ...s, text, written, seed: whole(s.seed, 1, SEEDS), temperature: Math.max(0.1, Math.min(2, s.temperature)), k: whole(s.k, 0, 40), p: Math.max(0, Math.min(0.95, s.p)),
      block: whole(s.block, 0, blocks.length - 1), head: whole(s.head, 0, heads - 1), back: whole(s.back, 0, Math.min(contextLength, length) - 1) };
  },
  values: (s) => ({ ...see(s) }),
  label: (s) => {
    const seen = see(s);
    return sentences(`The text: “${seen.text.replace(/\n/g, "⏎")}”`, `In ${seen.title} ${seen.largest}`, `The most likely tokens ${seen.after}: ${named(seen)}`);
  },
  said: (s) => { const seen = see(s); return `${seen.title} ${seen.largest}. The most likely tokens ${seen.after}: ${named(seen)}.`; },
  painters: { text: (c: Canvas, text: string, { at, role, ...look }: { at: Point; role: string } & Look) => c.say(at, text, role, look), words, next },
  panel,
  hot(live, calls): Hot[] {
    const place = calls.find(([, name]) => name === "words")![2] as Place, { words: seen } = see(live.state), last = seen.pieces.length - 1;
    return boxes(seen, place).filter(({ i }) => i >= seen.first).map(({ i, at, size }) => ({ at, size, tab: -1, name: `Attention of ${seen.pieces[i]}`, pressed: i === seen.at,
      act: () => live.change((s) => { s.back = last - i; }) }));
  },
};

/** Returns about how wide a text of 13 pixels is. */
function lettersWidth(text: string): number {
  const [small, large] = [NARROW, WIDE].map((some) => [...text].filter((c) => some.includes(c)).length) as [number, number];
  return 7.2 * (text.length - small - large) + 4.2 * small + 11 * large;
}
/** Returns the boxes of the tokens in the last rows. */
function boxes({ pieces }: Words, { corner, wide, rows }: Place): { i: number; at: Point; size: Point }[] {
  let row = 0, x = 0;
  const places = pieces.map((piece): [number, number, number] => {
    const size = Math.max(16, lettersWidth(piece) + 8);
    if (x + size > wide) [row, x] = [row + 1, 0];
    const left = x;
    x += size + 2;
    return [row, left, size];
  });
  const hidden = Math.max(0, row + 1 - rows);
  return places.flatMap(([r, left, size], i) => (r < hidden ? [] : [{ i, at: [corner[0] + left + size / 2, corner[1] + (r - hidden + 1) * ROW - BOX / 2 - 2] as Point, size: [size, BOX] as Point }]));
}
function words(c: Canvas, shown: Words, place: Place): void {
  const top = Math.max(...shown.weights);
  for (const { i, at: [x, y], size } of boxes(shown, place)) {
    const isChosen = i === shown.at, isRead = i >= shown.first, role = isChosen ? "query" : i >= shown.written ? "context" : "ink";
    c.box([x, y], size, isRead ? role : "muted", "", { filled: isRead, dashed: !isRead, width: isChosen ? 2.4 : 1 });
    c.note([x, y], shown.pieces[i]!, isRead ? "ink" : "muted");
    if (isRead && i <= shown.at) c.vbar([x, y - BOX / 2 - 1], HIGH * shown.weights[i]! / top, "weights", size[0] - 4);
  }
}
function next(c: Canvas, { bars, rest, actual }: Seen["next"], { corner, wide }: Place): void {
  const start = 92, unit = wide - start - 44;
  [...bars.map(([name, p]) => [name, p, "context"] as const), ["all others", rest, "muted"] as const].forEach(([name, p, role], i) => {
    const ink = p > 0 ? "ink" : "muted", x = corner[0] + start, y = corner[1] + BAR * i;
    c.note([x - 8, y], name, role === "muted" ? "muted" : ink, { align: "right", bold: name === actual });
    c.hbar([x, y], unit * p, role, 14);
    c.note([x + unit * p + 6, y], p > 0 ? number(p) : "–", ink, { align: "left" });
  });
}
