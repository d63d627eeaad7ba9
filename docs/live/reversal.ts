/** Change the word, or what the decoder reads: its maps and its answer follow. Drawn by `selfattn_book/figures/reversal.py`. */
import { type Canvas, type Point, number, sentences } from "./canvas.js";
import { type State } from "./link.js";
import { type Hot, type Kind, el } from "./live.js";
import { type Mat, mix } from "./nn.js";
import { type Packed, type Weights, attend, linear, once, plus, unpack } from "./weights.js";

interface Reversal extends State { word: string; row: number; given: number; inputs: string[] }
interface Shown { read: string; written: string; maps: Mat[] }
interface Map3 { rows: string; columns: string; weights: Mat; row: number }
const LETTERS = "·abcdefghij", MAPS = ["encoder self-attention", "decoder self-attention", "cross-attention"], LONG = 6, RULE = "six letters from a to j";
const spelled = (numbers: number[]): string => numbers.map((i) => LETTERS[i]).join("");
const known = (word: string): string => [...word.toLowerCase()].filter((letter) => LETTERS.indexOf(letter) > 0).join("").slice(0, LONG);
const reversed = (word: string): string => [...word].reverse().join("");

/** Adds sine and cosine positions to the vectors of letters, the first of which has a position. */
const placed = (w: Weights, letters: number[], first = 0): Mat => letters.map((letter, p) => w["embed.weight"]![letter]!.map((v, k, row) => {
  const angle = (p + first) / 10000 ** ((k - (k % 2)) / row.length);
  return v + (k % 2 ? Math.cos(angle) : Math.sin(angle));
}));
const fed = (w: Weights, name: string, x: Mat): Mat => linear(w, `${name}.contract`, linear(w, `${name}.expand`, x).map((row) => row.map((v) => Math.max(0, v)))).map((row, i) => plus(row, x[i]!));
function added(w: Weights, name: string, x: Mat, keys: Mat): { x: Mat; weights: Mat } {
  const { weights: [weights], values: [values] } = attend(w, name, x, keys, 1);
  return { weights: weights!, x: linear(w, `${name}.project_output`, weights!.map((row) => mix(row, values!))).map((row, i) => plus(row, x[i]!)) };
}

const made = once<Shown>();
/** Runs the encoder once, and the decoder row by row, which reads its own letters, the true ones, one letter, or start symbols. */
export function run(packed: Packed, word: string, given: number): Shown {
  return made(`${packed.text} ${word} ${given}`, () => {
    const w = unpack(packed), source = [...word].map((letter) => LETTERS.indexOf(letter)), read = [0], written: number[] = [], y: Mat = [], self: Mat = [], across: Mat = [];
    const encoded = added(w, "encoder_attention", placed(w, source), placed(w, source)), memory = fed(w, "encoder_feed_forward", encoded.x);
    source.forEach((_, i) => {
      y.push(...placed(w, [read[i]!], i));
      const own = added(w, "self_attention", [y[i]!], y), cross = added(w, "cross_attention", own.x, memory);
      const logits = linear(w, "output", fed(w, "decoder_feed_forward", cross.x))[0]!;
      self.push([...own.weights[0]!, ...source.slice(i + 1).map(() => 0)]);
      across.push(cross.weights[0]!);
      written.push(logits.indexOf(Math.max(...logits)));
      read.push([written[i]!, source.at(-1 - i)!, 1, 0][given]!);
    });
    return { read: spelled(read.slice(0, -1)), written: spelled(written), maps: [encoded.weights, self, across] };
  });
}
const shown = (s: Reversal): Shown => run(s.model as unknown as Packed, s.word, s.given);
const largest = (row: number[]): number => row.indexOf(Math.max(...row));

export const reversal: Kind<Reversal> = {
  vary: ["word", "row", "given"],
  clamp(s) {
    const word = known(s.word).padEnd(LONG, "a");
    return { ...s, word, row: Math.round(Math.max(0, Math.min(LONG - 1, s.row))), given: s.inputs[s.given] ? s.given : 0 };
  },
  values(s) {
    const { read, written, maps } = shown(s), { word, row } = s, names: [string, string][] = [[word, word], [read, read], [read, word]];
    return { word, answers: { written, right: reversed(word), row }, ...Object.fromEntries(maps.map((weights, i) => [`map${i}`, { rows: names[i]![0], columns: names[i]![1], weights, row: i ? row : -1 }])) };
  },
  label(s) {
    const { read, written, maps } = shown(s), names = [[s.word, s.word], [read, read], [read, s.word]] as const;
    return sentences(`The source ${s.word}; the decoder reads ${read} and writes ${written}`, ...maps.map((rows, i) =>
      `Largest weights of the ${MAPS[i]}: ${rows.map((row, k) => `${names[i]![0][k]} to ${names[i]![1][largest(row)]} ${number(Math.max(...row))}`).join(", ")}`));
  },
  said(s) {
    const { written, maps } = shown(s), row = maps[2]![s.row]!;
    return `The decoder writes ${written}; letter ${s.row + 1} is ${written[s.row]}, and its cross-attention gives ${Math.round(100 * Math.max(...row))} percent to ${s.word[largest(row)]}.`;
  },
  painters: { word, map, answers },
  panel(live) {
    const input = el<HTMLInputElement>("input", { type: "text", maxlength: LONG, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      input: () => {
        const given = known(input.value), isWord = given.length === LONG;
        rule.textContent = isWord ? RULE : `${RULE}; got ${input.value || "none"}`;
        if (isWord) live.change((s) => { s.word = given; });
      },
      blur: () => { input.value = live.state.word; rule.textContent = RULE; } });
    const rule = el("span", { "aria-live": "polite" }, RULE);
    live.show(() => { if (document.activeElement !== input) input.value = live.state.word; });
    live.panel.append(el("label", { class: "live-slider" }, el("span", {}, "Word"), input, rule));
    live.slider("Letter written", [0, LONG - 1, 1], (s) => s.row, (s, v) => { s.row = v; }, (v) => `${v + 1} of ${LONG}`);
    live.choices("The decoder reads", live.first.inputs, (s) => s.given, (s, i) => { s.given = i; });
    live.paragraph(followed);
    live.paragraph(() => "Write a word of your own, or press a letter of the source. The encoder’s map changes with the letters; the cross-attention keeps its diagonal while the decoder reads true letters. Write one letter six times: the diagonal blurs, and the answer is still right. Why? Then let the decoder read only start symbols: where does it think it is?");
  },
  hot(live, calls): Hot[] {
    const { at: [x, y], pitch } = calls.find(([, name]) => name === "word")![2] as { at: Point; pitch: number };
    return [...live.state.word].map((letter, i) => ({ at: [x + (i + 0.5) * pitch, y], size: [pitch - 4, 28], pressed: false, name: `Letter ${i + 1} of the source, ${letter}: the next in the alphabet`,
      act: () => live.change((s) => { s.word = s.word.slice(0, i) + (letter === "j" ? "a" : LETTERS[LETTERS.indexOf(s.word[i]!) + 1]) + s.word.slice(i + 1); }) }));
  },
};

function followed(s: Reversal): string {
  const { read, written, maps } = shown(s), [, own, across] = maps.map((map) => map[s.row]!), j = largest(across!), k = largest(own!), percent = (row: number[]): string => `${Math.round(100 * Math.max(...row))} percent`;
  const letter = (name: string): string => (name === "·" ? "the start symbol" : name);
  return `Letter ${s.row + 1}: the decoder reads ${letter(read[s.row]!)}. Its self-attention gives most, ${percent(own!)}, to ${letter(read[k]!)} at position ${k + 1}; its cross-attention gives ${percent(across!)} to ${s.word[j]} at position ${j + 1} of the source. It writes ${letter(written[s.row]!)}.`;
}

function word(c: Canvas, text: string, { at: [x, y], pitch }: { at: Point; pitch: number }): void {
  [...text].forEach((letter, i) => c.box([x + (i + 0.5) * pitch, y], [pitch - 4, 28], "key", letter, { bold: true }));
}
function map(c: Canvas, { rows, columns, weights, row }: Map3, { corner: [x, y], cell }: { corner: Point; cell: number }): void {
  [...columns].forEach((letter, j) => c.say([x + (j + 0.5) * cell, y - 11], letter, "key"));
  [...rows].forEach((letter, i) => {
    const middle = y + (i + 0.5) * cell, isFollowed = i === row;
    c.say([x - 11, middle], letter, "query", { bold: isFollowed });
    weights[i]!.forEach((weight, j) => {
      const at = x + (j + 0.5) * cell, size = (cell - 4) * weight ** 0.5;
      if (weight > 0.0005) c.hbar([at - size / 2, middle], size, "weights", size);
    });
    if (isFollowed) c.box([x + (columns.length * cell) / 2, middle], [columns.length * cell, cell], "query", "", { filled: false, width: 2.4, order: 5 });
  });
}
function answers(c: Canvas, { written, right, row }: { written: string; right: string; row: number }, { at: [x, y], cell }: { at: Point; cell: number }): void {
  c.note([x + 38, y - 11], "writes", "muted", { bold: true });
  [...written].forEach((letter, i) => {
    const middle = y + (i + 0.5) * cell, isRight = letter === right[i];
    c.wire([[x + 4, middle], [x + 24, middle]], "context", { width: 1 });
    c.box([x + 38, middle], [cell - 2, cell - 4], isRight ? "context" : "wrong", letter, { width: 1, dashed: !isRight, bold: i === row });
    if (!isRight) c.note([x + 56, middle], `not ${right[i]}`, "wrong", { align: "left" });
  });
}
