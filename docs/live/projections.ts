/** Choose the query and the three projections. Drawn by `selfattn_book/figures/projections.py`. */
import { type Canvas, type Point, number, sentences } from "./canvas.js";
import { type State } from "./link.js";
import { type Kind, type Live, el } from "./live.js";
import { type Mat, dot, softmax } from "./nn.js";

interface Projections extends State { names: string[]; x: Mat; row: number; entries: Mat }
interface Shown { names: string[]; x: Mat; roles: Mat; scores: number[]; weights: number[]; context: number; row: number }
interface Places { word: number; cell: number; role: number; size: number; trunk: number; softmax: number; half: number; weight: number; unit: number; times: number; context: number; result: number; text: number; words: number }
const ROLES = ["query", "key", "value"], FEATURES = ["negates", "is bad", "is a verb"], MOST = 8, DESK_HALF = 13;
const minus = (v: number): string => number(v).replace("-", "−");
const settings = (s: State): Record<string, Mat> => s.settings as unknown as Record<string, Mat>;

export function project({ names, x, row, entries }: Projections): Shown {
  const roles = entries.map((w) => x.map((word) => dot(word, w))), scores = roles[1]!.map((k) => k * roles[0]![row]!), weights = softmax(scores);
  return { names, x, roles, scores, weights, context: dot(weights, roles[2]!), row };
}

export const projections: Kind<Projections> = {
  vary: ["row", "entries"],
  clamp: (s) => ({ ...s, row: s.names[s.row] ? s.row : 0, entries: s.entries.map((w) => w.map((v) => Math.max(-MOST, Math.min(MOST, v)))) }),
  values: (s) => ({ attention: project(s) }),
  label(s) {
    const { roles: [q, k, v], scores, weights, context } = project(s), name = s.names[s.row]!;
    return sentences("Each word becomes a query, a key and a value", `The query of ${name} is ${number(q![s.row]!)}`,
      ...s.names.map((other, i) => `The key of ${other} is ${number(k![i]!)}, the score ${number(scores[i]!)}, the weight ${number(weights[i]!)}, the value ${number(v![i]!)}`),
      `The context of ${name} is ${number(context)}`);
  },
  said: (s) => `${s.names[s.row]} attends ${project(s).weights.map((w, i) => `${Math.round(100 * w)} percent to ${s.names[i]}`).join(", ")}; its context is ${number(project(s).context).replace("-", "minus ")}.`,
  painters: { attention },
  panel(live) {
    const { names } = live.first, given = Object.entries(settings(live.first));
    live.choices("Query of", names, (s) => s.row, (s, i) => { s.row = i; });
    if (given.length) live.choices("Projections", given.map(([name]) => name), (s) => given.findIndex(([, w]) => String(w) === String(s.entries)), (s, i) => { s.entries = structuredClone(given[i]![1]); });
    live.panel.append(el("div", { class: "live-columns" }, ...ROLES.map((role, r) => column(live, role, r))));
    live.paragraph(() => "Choose projections, and then the query of each word. In the projection of the query, move “negates” to the other side of 0: “never” now avoids the words that it attended to. (An entry matters only to words that have its feature.) Notice that a query of 0 attends to all words alike, and that a context is a mixture of the values: query and keys decide only how much of each.");
  },
};

/** Makes a slider for each entry of a projection. */
function column(live: Live<Projections>, role: string, r: number): HTMLElement {
  const sliders = FEATURES.map((name, k) => live.slider(name, [-MOST, MOST, 0.05], (s) => s.entries[r]![k]!, (s, v) => { s.entries[r]![k] = v; }, minus));
  return el("fieldset", { class: "live-choices" }, el("legend", {}, `Projection of the ${role}`), ...sliders);
}

function attention(c: Canvas, shown: Shown, { at, step, pitch }: { at: Places; step: number; pitch: number }): void {
  const { names, row, scores, weights } = shown, ys = names.map((_, i) => 104 + pitch * i), [first, last] = [ys[0]!, ys.at(-1)!], middle = (first + last) / 2;
  c.box([at.softmax, middle], [2 * at.half, last - first + 36], "ink", "", { order: 1 });
  c.say([at.softmax, (first + ys[1]!) / 2 + 16], "softmax", "ink", { turned: true });
  ys.forEach((y, i) => {
    c.say([at.word, y - 25], names[i]!, "ink", { align: "left", bold: i === row });
    c.vector([at.word, y], shown.x[i]!, "ink", { cell: [at.cell, 26], digits: 0 });
    threeRoles(c, at, y, step, shown.roles.map((role) => role[i]!), i !== row);
  });
  for (const to of [first, last]) {
    const up = ys[row]! - step;
    c.wire([[at.role + at.size / 2, up], [at.trunk, up], [at.trunk, to]], "query", { width: 2.4, head: false, over: true });
  }
  ys.forEach((y, i) => {
    weigh(c, at, y, step, scores[i]!, weights[i]!);
    c.wire([[at.times + 8, y + step], [at.context - at.result / 2, middle + step + 0.1 * (y - middle)]], "value", { width: 1 + 14 * weights[i]!, head: false, curved: true });
    c.node([at.times, y + step], "×");
  });
  c.box([at.context, middle + step], [at.result, 46], "context", "", { width: 2.4 });
  ([["context", "ink", -10], [number(shown.context), "ink", 10], [`of ${names[row]}`, "context", -36]] as const)
    .forEach(([text, role, down]) => c.say([at.context, middle + step + down], text, role, { bold: role === "ink", size: at.text }));
}

function threeRoles(c: Canvas, at: Places, y: number, step: number, entries: number[], idle: boolean): void {
  ROLES.forEach((role, r) => {
    const down = (r - 1) * step, unused = idle && r === 0, color = unused ? "muted" : role;
    c.wire([[at.word + at.words, y], [at.role - at.size / 2, y + down]], color, { curved: true, width: unused ? 1 : 2, dashed: unused });
    c.box([at.role, y + down], [at.size, 26], color, `${role} ${number(entries[r]!)}`, { size: at.text, dashed: unused, filled: !unused });
  });
  c.wire([[at.role + at.size / 2, y + step], [at.times, y + step]], "value", { width: 2, head: false, over: true });
}

function weigh(c: Canvas, at: Places, y: number, step: number, score: number, weight: number): void {
  const isDesk = at.half === DESK_HALF, end = at.weight + at.unit * weight;
  c.wire([[at.role + at.size / 2, y], [at.trunk, y]], "key", { width: 2, head: false });
  c.node([at.trunk, y], "·");
  if (isDesk) c.say([at.trunk + 13, y], number(score), "ink", { align: "left" });
  c.wire([[at.trunk + (isDesk ? 52 : 8), y], [at.softmax - at.half, y]]);
  c.wire([[at.softmax + at.half, y], [at.weight - 2, y]], "ink", { head: isDesk });
  c.hbar([at.weight, y], at.unit * weight, "weights");
  c.say((isDesk ? [end + 5, y] : [at.weight, y - 18]) as Point, number(weight), "weights", { align: "left", size: at.text });
  c.wire([[end + (isDesk ? 38 : 2), y], [at.times, y], [at.times, y + step - 8]], "weights");
}
