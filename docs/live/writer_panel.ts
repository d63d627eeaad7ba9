/** The controls of the model that writes. */
import { number } from "./canvas.js";
import { type Live, el, set } from "./live.js";
import { uniform } from "./sampling.js";
import { LETTERS, MOST, type Writer, digest, see, tokensOf, visible, writerModel } from "./writer.js";

const PAUSE = 40, BUDGET = 8; // milliseconds from one token that is written to the next, and of work at a time
const settled = ({ text, written, seed, temperature, k, p }: Writer): string => JSON.stringify([text, written, seed, temperature, k, p]);
const percent = (v: number): string => `${Math.round(100 * v)} percent`;

export function panel(live: Live<Writer>): void {
  const { blocks, heads, characters, contextLength, tokenizer } = writerModel();
  beginning(live);
  const write = pen(live), again = (by: (s: Writer) => void): void => {
    const goal = Math.max(write.goal(), live.state.written);
    live.change((s) => { by(s); s.written = s.back = 0; });
    write.to(goal, 0);
  };
  const row = el("div", { class: "live-row" });
  for (const [text, act] of [
    ["Write one token", () => write.to(live.state.written + 1)],
    ["Write 20", () => write.to(live.state.written + 20)],
    ["Another sample", () => again((s) => { s.seed = (s.seed % 9999) + 1; })],
    ["Erase what it wrote", () => { write.stop(); live.change((s) => { s.written = s.back = 0; }); }],
  ] as const) row.append(live.button(text, act, false));
  live.panel.append(row);
  story(live);
  live.paragraph((s) => {
    const strange = [...new Set(s.text)].filter((c) => !characters.includes(c)), gone = Math.max(0, tokensOf(s).length - contextLength);
    return [strange.length ? `Never in the training text: ${strange.join(" ")}; the model has learned nothing about ${strange.length > 1 ? "them" : "it"}.` : "",
      gone ? `The context window holds ${contextLength} tokens: the first ${gone}, dashed, are not read any more.` : ""].join(" ");
  });
  live.panel.append(el("div", { class: "live-columns" },
    el("div", {}, 
      live.slider("Temperature", [0.1, 2, 0.1], (s) => s.temperature, (s, v) => { s.temperature = v; }, (v) => number(v, 1)),
      live.slider("Top-k", [1, 41, 1], (s) => s.k || 41, (s, v) => { s.k = v > 40 ? 0 : v; }, (v) => (v > 40 ? "all tokens" : `${v} tokens`)),
      live.slider("Top-p", [0.05, 1, 0.05], (s) => s.p || 1, (s, v) => { s.p = v > 0.97 ? 0 : v; }, (v) => (v > 0.97 ? "all tokens" : number(v)))),
    el("div", {},
      live.choices("Block", blocks.map((_, i) => String(i + 1)), (s) => s.block, (s, i) => { s.block = i; }),
      live.choices("Head", Array.from({ length: heads }, (_, i) => String(i + 1)), (s) => s.head, (s, i) => { s.head = i; }),
      live.slider("Tokens back", [0, contextLength - 1, 1], (s) => s.back, (s, v) => { s.back = v; }, (v) => (v ? String(v) : "the last")))));
  live.paragraph(() => "");
  void [visible, see, tokenizer, percent, uniform, digest, MOST, set];
}

/** Makes the field for the beginning of the text. */
function beginning(live: Live<Writer>): void {
  const field = el<HTMLTextAreaElement>("textarea", { rows: 2, maxlength: LETTERS, spellcheck: "false", input: () => live.change((s) => { s.text = field.value; s.written = s.back = 0; }) });
  live.panel.append(el("label", { class: "live-field" }, el("span", {}, "The text begins"), field));
  live.show(() => { if (field.value !== live.state.text) field.value = live.state.text; });
}

/** Shows the whole text, which the picture may not hold. */
function story(live: Live<Writer>): void {
  const added = el("strong"), made = el("p", { class: "live-text" }, el("span"), added);
  live.panel.append(made);
  live.show(() => {
    const tokens = tokensOf(live.state), start = tokens.length - live.state.written, { tokenizer } = writerModel();
    made.firstChild!.textContent = tokenizer.decode(tokens.slice(0, start));
    added.textContent = tokenizer.decode(tokens.slice(start));
  });
}

/** Writes one token after the other; another change of what is written ends it. */
function pen(live: Live<Writer>): { to(goal: number, pause?: number): void; goal(): number; stop(): void } {
  let goal = 0, expected = "", timer: ReturnType<typeof setTimeout> | undefined;
  const step = (pause: number): void => {
    if (settled(live.state) !== expected) { goal = 0; return; }
    const begun = performance.now(), state = { ...live.state };
    do tokensOf({ ...state, written: ++state.written }); while (!pause && state.written < goal && performance.now() - begun < BUDGET);
    live.change((s) => { s.written = state.written; s.back = 0; });
    expected = settled(live.state);
    if (state.written < goal) timer = setTimeout(step, pause, pause);
    else goal = 0;
  };
  return {
    goal: () => goal,
    stop: () => { clearTimeout(timer); goal = 0; },
    to(wanted, pause = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : PAUSE) {
      clearTimeout(timer);
      goal = Math.min(MOST, wanted);
      if (goal <= live.state.written) return;
      expected = settled(live.state);
      step(pause);
    },
  };
}
