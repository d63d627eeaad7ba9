/** Follow an entry through the split into heads, the attention and the merge. Drawn by `selfattn_book/figures/heads_steps.py`. */
import { type Canvas, type Point, sentences } from "./canvas.js";
import { type State } from "./link.js";
import { type Hot, type Kind } from "./live.js";

interface Heads extends State { names: string[]; entry: [number, number]; scrambled: boolean; step: number }
type Cell = [text: string, look: string];
interface Grid { k: number; corner: Point; side: string; size: Point }
const SIZE = 2, COLUMNS = 4, BETWEEN = 8, BELOW = 24, PARTS = [1, 4], HEADS = [2, 3], LAST = 5;
const STEPS = ["values", "1 reshape", "2 transpose or not", "3 attention", "4 transpose back", "5 reshape"];

/** Returns the head, row and column of an entry after the split. */
export function place([word, c]: readonly [number, number], count: number, scrambled: boolean): [number, number, number] {
  const piece = (word * COLUMNS) / SIZE + Math.floor(c / SIZE); // of all pieces in memory
  return scrambled ? [Math.floor(piece / count), piece % count, c % SIZE] : [Math.floor(c / SIZE), word, c % SIZE];
}
/** Returns how much of the entry is in each entry of the output. */
export function outputs({ names, entry, scrambled }: Heads): number[][] {
  const [head, row, j] = place(entry, names.length, scrambled);
  return names.map((_, r) => Array.from({ length: COLUMNS }, (_, c) => (c === head * SIZE + j && r >= row ? 1 / (r + 1) : 0)));
}
const called = ({ names, entry: [word, c] }: Heads): string => `${names[word]![0]}${c + 1}`;
function verdict(s: Heads): string[] {
  const { names, entry: [word, c] } = s, [head, row, j] = place(s.entry, names.length, s.scrambled);
  const found = `column ${head * SIZE + j + 1}: ${names.slice(row).join(", ")}`, wanted = `column ${c + 1}: ${names.slice(word).join(", ")}`;
  return [`${called(s)} ends in ${found}`, ...(found === wanted ? [] : [`It should end in ${wanted}`])];
}
const isWrong = (s: Heads): boolean => verdict(s).length > 1;

export function tables(s: Heads): Cell[][][] {
  const { names, entry: [word, column], scrambled } = s, count = names.length, [head, row, j] = place(s.entry, count, scrambled);
  const cell = (t: number, c: number): Cell => [`${names[t]![0]}${c + 1}`, `${t === word && c === column ? "followed" : "word"} ${t}`];
  const share = (r: number, isThere: boolean, isLast = false): Cell => {
    if (!isThere || r < row) return ["", "empty"];
    return [r ? `1/${r + 1}` : "1", `${isLast && (r < word || head * SIZE + j !== column) ? "wrong" : "followed"} ${word}`];
  };
  const grid = (make: (t: number, c: number) => Cell): Cell[][] => names.map((_, t) => Array.from({ length: COLUMNS }, (_, c) => make(t, c)));
  const matrix = grid(cell), split: Cell[][] = Array.from({ length: (COLUMNS / SIZE) * count }, () => []);
  matrix.forEach((line, t) => line.forEach((one, c) => { const [h, r, i] = place([t, c], count, scrambled); split[h * count + r]![i] = one; }));
  const mixed = split.map((line, k) => line.map((_, i) => share(k % count, Math.floor(k / count) === head && i === j)));
  return [matrix, matrix, split, mixed, ...[false, true].map((last) => grid((r, c) => share(r, c === head * SIZE + j, last)))];
}

export const heads: Kind<Heads> = {
  vary: ["entry", "scrambled", "step"],
  clamp: (s) => ({ ...s, entry: [[s.names.length, 0], [COLUMNS, 1]].map(([most, i]) => Math.max(0, Math.min(most! - 1, Math.round(s.entry[i!]!)))) as Heads["entry"], step: Math.max(0, Math.min(LAST, Math.round(s.step))) }),
  values(s) {
    const { names, scrambled, step } = s, count = names.length, [head, row] = place(s.entry, count, scrambled), said = verdict(s);
    const flow = names.flatMap((_, r) => (step > 2 && r >= row ? [[head * count + row, head * count + r]] : []));
    const shown = tables(s).map((cells, k) => [k <= step ? cells : cells.map((line) => line.map(() => ["", "later"])), cells.map((line, i) => names[k === HEADS[0] ? Number(line[0]![1].split(" ")[1]) : i % count])]);
    return { ...Object.fromEntries(shown.map((table, k) => [`table${k}`, table])), heading: [`2 ${scrambled ? "no " : ""}transpose`, scrambled ? "wrong" : "ink"], flow, verdict: [step === LAST ? said : [], said.length > 1], outputs: outputs(s) };
  },
  label(s) {
    const { names, entry: [word, c], scrambled, step } = s, count = names.length, [head, row] = place(s.entry, count, scrambled), rows = names.flatMap((_, r) => (r >= row ? [r + 1] : []));
    return sentences(`The entry ${called(s)} is column ${c + 1} of ${names[word]}, split into two ${scrambled ? "scrambled " : ""}heads`, step > 1 ? `After the split it is in head ${head + 1}, row ${row + 1}` : "",
      step > 2 ? `After the attention it is in row${rows.length > 1 ? "s" : ""} ${rows.join(", ")} of that head` : "", ...(step === LAST ? verdict(s) : []));
  },
  said: (s) => (s.step < LAST ? heads.label(s) : sentences(...verdict(s))),
  painters: { table, title: (c: Canvas, [text, role]: [string, string], { at }: { at: Point }) => c.say(at, text, role, { bold: true }), flow, lines },
  panel(live) {
    live.choices("Split", ["right: reshape, transpose", "scrambled: reshape only"], (s) => Number(s.scrambled), (s, i) => { s.scrambled = i === 1; });
    live.choices("Show up to step", STEPS, (s) => s.step, (s, i) => { s.step = i; });
    live.choices("Follow the word", live.first.names, (s) => s.entry[0], (s, i) => { s.entry[0] = i; });
    live.choices("and its column", ["1", "2", "3", "4"], (s) => s.entry[1], (s, i) => { s.entry[1] = i; });
    live.paragraph(about);
    live.paragraph(() => "Choose an entry, here or by pressing it in the first table. Follow it with both splits, step by step. Notice that all shapes are the same, and that a right split ends in the column where it began, in its own row and later rows only. Look for an entry that the scrambled split also leaves where it belongs.");
  },
  hot(live, calls): Hot[] {
    const { corner: [x, y], size: [w, h] } = calls.find(([, name]) => name === "table0")![2] as Grid, { names, entry } = live.state;
    return names.flatMap((name, t) => Array.from({ length: COLUMNS }, (_, c): Hot => ({ at: [x + (c + 0.5) * w, y + (t + 0.5) * h], size: [w - 2, h - 2], name: `Follow column ${c + 1} of ${name}`, pressed: t === entry[0] && c === entry[1],
      act: () => live.change((s) => { s.entry = [t, c]; }) })));
  },
};

/** Says what the last step that is shown does. */
function about(s: Heads): string {
  const { names, scrambled, step, entry } = s, [head, row] = place(entry, names.length, scrambled), me = called(s), name = names[entry[0]]!;
  const leaks = tables(s)[LAST]!.flat().some(([, look]) => look.startsWith("wrong"));
  return [
    `${me} is column ${entry[1] + 1} of the value of ${name}.`,
    "Each value is cut into two pieces, one for each head.",
    scrambled ? `The pieces are dealt out in the order of memory, so each word fills two rows of one head. ${me} is in head ${head + 1}, row ${row + 1}, where attention expects a piece of ${names[row]}.`
      : `The axes of words and heads are exchanged: each head has one piece of every word. ${me} is in head ${head + 1}, row ${row + 1}, the row of ${name}.`,
    `Each row attends equally to all rows up to its own: row 2 gets half of row 1 and half of row 2, row 3 a third of each of three, and so on. So ${row + 1 < names.length ? `rows ${row + 1} to ${names.length} of this head get` : `only row ${names.length} of this head gets`} a share of ${me}.`,
    "The rows of both heads are put side by side again: row 1 of each head is taken for the first word, and so on.",
    `The two pieces become one row. ${isWrong(s) ? `${leaks ? `Outputs with a red dashed edge must not contain ${me}` : `An output that should contain ${me} does not`}: compare the two lines below the tables.` : `${me} ends where it should.`}`,
  ][step]!;
}

function table(c: Canvas, [cells, names]: [Cell[][], string[]], { k, corner: [x, top], side, size: [wide, high] }: Grid): void {
  const isParts = PARTS.includes(k), isHeads = HEADS.includes(k);
  cells.forEach((row, i) => {
    const y = top + (i + 0.5) * high + (i >= 4 ? BELOW : 0);
    if (isHeads && i % 4 === 0) c.note([x + (SIZE * wide) / 2, y - high / 2 - 11], `head ${Math.floor(i / 4) + 1}`, "muted");
    row.forEach(([text, look], j) => cell(c, [x + (j + 0.5) * wide + (isParts && j >= SIZE ? BETWEEN : 0), y], [wide - 2, high - 2], text, look));
    if (side) c.note([side === "left" ? x - 5 : x + row.length * wide + (isParts ? BETWEEN : 0) + 5, y], names[i]!, "ink", { align: side === "left" ? "right" : "left" });
  });
}
function cell(c: Canvas, at: Point, size: Point, text: string, look: string): void {
  const [kind, word] = look.split(" ");
  if (kind === "empty" || kind === "later") return c.box(at, size, "residual", "", { filled: false, width: 1, dashed: kind === "later" });
  if (kind === "wrong") return c.box(at, size, "wrong", text, { width: 2.4, dashed: true, bold: true, size: 13 });
  if (kind === "word") return c.box(at, size, `word-${word}`, text, { width: 1, size: 13 });
  c.box(at, size, `word-${word}`, "", { width: 1 });
  c.box(at, size, "ink", text, { filled: false, width: 2.4, bold: true, size: 13 });
}
function flow(c: Canvas, wires: [number, number][], { ends, top, high, count }: { ends: [number, number]; top: number; high: number; count: number }): void {
  for (const pair of wires) c.wire(pair.map((k, i): Point => [ends[i]!, top + (k + 0.5) * high + (k >= count ? BELOW : 0)]), "value", { curved: true });
}
function lines(c: Canvas, [texts, wrong]: [string[], boolean], { at: [x, y] }: { at: Point }): void {
  texts.forEach((text, i) => c.note([x, y + 19 * i], `${text}.`, wrong && i === 0 ? "wrong" : "ink", { align: "left", bold: wrong && i === 0 }));
}
