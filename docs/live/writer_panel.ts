/** The controls of the model that writes. */
import { number } from "./canvas.js";
import { type Live, el, set } from "./live.js";
import { LETTERS, MOST, SEEDS, type Writer, digest, see, tokensOf, writerModel } from "./writer.js";

const PAUSE = 40, BUDGET = 8; // milliseconds between two tokens, and of work at a time
const ALL = 41; // where the slider of top-k ends
const settled = ({ text, written, seed, temperature, k, p }: Writer): string => JSON.stringify([text, written, seed, temperature, k, p]);

export function panel(live: Live<Writer>): void {
  const { blocks, heads, contextLength } = writerModel(), pen = penOf(live);
  const count = (n: number): string[] => Array.from({ length: n }, (_, i) => String(i + 1));
  const anew = (put: (s: Writer, v: number) => void) => (s: Writer, v: number): void => { put(s, v); pen.again(s); };
  beginning(live);
  live.panel.append(el("div", { class: "live-row" },
    live.button("Write one token", () => pen.write(live.state.written + 1), false),
    live.button("Write 20", () => pen.write(live.state.written + 20), false),
    live.button("Write 100", () => pen.write(MOST), false),
    live.button("Another sample", () => live.change((s) => anew(() => { s.seed = (s.seed % SEEDS) + 1; })(s, 0)), false),
    live.button("Erase what it wrote", () => live.change((s) => { s.written = s.back = 0; }), false)));
  story(live);
  live.paragraph(chance);
  live.panel.append(el("div", { class: "live-halves" },
    el("div", {},
      live.slider("Temperature", [0.1, 2, 0.1], (s) => s.temperature, anew((s, v) => { s.temperature = v; }), (v) => number(v, 1)),
      live.slider("Top-k", [1, ALL, 1], (s) => s.k || ALL, anew((s, v) => { s.k = v < ALL ? v : 0; }), (v) => (v < ALL ? String(v) : "all")),
      live.slider("Top-p", [0.05, 1, 0.05], (s) => s.p || 1, anew((s, v) => { s.p = v < 1 ? v : 0; }), (v) => (v < 1 ? number(v) : "all"))),
    el("div", {},
      live.choices("Block", count(blocks.length), (s) => s.block, (s, i) => { s.block = i; }),
      live.choices("Head", count(heads), (s) => s.head, (s, i) => { s.head = i; }),
      live.slider("Tokens back", [0, contextLength - 1, 1], (s) => s.back, (s, v) => { s.back = v; }, (v) => (v ? String(v) : "the last")))));
  live.paragraph(() => "Write 20 tokens and move the temperature: the same random numbers choose again. Press a token, or move it with “Tokens back”: the picture shows what it attends to, and what the model expected after it; what does follow is bold. Compare the heads: which attends to the token just before, and which to an earlier copy of a word? (Where a head attends is not yet the reason for a prediction.)");
  live.paragraph(() => `These are the weights of the package, in 8 bits (SHA-256 ${digest().slice(0, 16)}…), and this page computes with them in 64 bits. What you type stays in this page.`);
}

/** Makes the field for the beginning of the text. */
function beginning(live: Live<Writer>): void {
  const field = el<HTMLTextAreaElement>("textarea", { rows: 2, maxlength: LETTERS, spellcheck: "false", input: () => live.change((s) => { s.text = field.value; s.written = s.back = 0; }) });
  live.panel.append(el("label", { class: "live-field" }, el("span", {}, "The text begins"), field));
  live.show(() => { if (field.value !== live.state.text) field.value = live.state.text; });
}

/** Shows the whole text, which the picture may not hold. */
function story(live: Live<Writer>): void {
  const start = el("span"), added = el("strong");
  live.panel.append(el("p", { class: "live-text" }, start, added));
  live.show(() => {
    const tokens = tokensOf(live.state), split = tokens.length - live.state.written, { tokenizer } = writerModel();
    start.textContent = tokenizer.decode(tokens.slice(0, split));
    added.textContent = tokenizer.decode(tokens.slice(split));
  });
}

/** Says which sample this is, with which random number a token is chosen, and what the model does not know. */
function chance(s: Writer): string {
  const { words: { pieces, at, first, written }, sample } = see(s), { characters, contextLength } = writerModel();
  const after = pieces[at + 1], strange = [...new Set(s.text)].filter((c) => !characters.includes(c));
  return [
    `Sample ${s.seed}.`,
    after === undefined ? `The next random number is ${number(sample.u)}: from the most likely token on, the sum of the probabilities passes it at ${sample.name}.`
      : at + 1 < written ? `The token after it, ${after}, belongs to the beginning.`
      : `The token after it, ${after}, was chosen by the random number ${number(sample.u)}${first ? ", in the window of that time" : ""}.`,
    first ? `The context window has ${contextLength} tokens: the first ${first > 1 ? `${first} tokens (dashed) are` : "token (dashed) is"} no longer read.` : "",
    strange.length ? `Never in the training text: ${strange.join(" ")}` : "",
  ].filter(Boolean).join(" ");
}

interface Pen { write(goal: number, pause?: number): void; again(s: Writer): void }
/** Writes one token after the other, until something else changes what is written. */
function penOf(live: Live<Writer>): Pen {
  let goal = 0, expected = "", timer: ReturnType<typeof setTimeout> | undefined;
  /** Computes tokens up to a number, for a few milliseconds, and returns how many there are. */
  const ahead = (s: Writer, from: number, to: number): number => {
    const begun = performance.now();
    let written = from;
    while (written < to && performance.now() - begun < BUDGET) tokensOf({ ...s, written: ++written });
    return written;
  };
  const busy = (is: boolean): void => set(live.panel, { "aria-busy": is && "true" });
  const later = (pause: number): void => { busy(true); timer = setTimeout(step, pause, pause); };
  const rest = (): void => { busy(false); goal = 0; };
  const step = (pause: number): void => {
    if (settled(live.state) !== expected) return rest();
    const { written } = live.state, next = pause ? written + 1 : ahead(live.state, written, goal);
    live.change((s) => { s.written = next; s.back = 0; });
    expected = settled(live.state);
    if (next < goal) later(pause);
    else rest();
  };
  return {
    write(wanted, pause = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : PAUSE) {
      clearTimeout(timer);
      goal = Math.min(MOST, wanted);
      expected = settled(live.state);
      if (live.state.written < goal) step(pause);
    },
    again(s) {
      clearTimeout(timer);
      goal = Math.max(goal, s.written);
      if (!goal) return;
      s.written = ahead(s, 0, goal);
      s.back = 0;
      expected = settled(s);
      if (s.written < goal) later(0);
      else rest();
    },
  };
}
