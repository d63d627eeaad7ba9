/** The marks of `selfattn_book/draw/canvas.py`: what both write of the same call is the same, letter for letter. */

export type Point = readonly [number, number];
export interface Look { align?: string; bold?: boolean; turned?: boolean; size?: number }
export interface Line { width?: number; dashed?: boolean; head?: boolean; curved?: boolean; over?: boolean }
interface Mark { z: number; d: string; look: string; text?: string }
type Segment = ["M" | "l" | "q" | "c" | "z", ...number[]];

const TEXT = 14, SMALL = 13, LINE = 1.4, HALO = 6, BELOW_MIDDLE = 0.34, CELL: Point = [42, 26];

/** Rounds halves to even, as NumPy does. */
function rint(v: number): number {
  const near = Math.round(v);
  return Math.abs(v % 1) === 0.5 && near % 2 ? near - 1 : near;
}
const tenth = (v: number): number => rint(v * 10) + 0; // no negative zero
function short(t: number): string {
  const a = Math.abs(t), whole = Math.trunc(a / 10), rest = a % 10;
  return (t < 0 ? "-" : "") + (rest ? `${whole || ""}.${rest}` : `${whole}`);
}
const glue = (s: string): string => (s.startsWith("-") ? s : ` ${s}`);
const join = (...t: number[]): string => t.map((n) => glue(short(n))).join("").trimStart();

/** Writes segments in tenths of a pixel, from point to point: `written` in `paths.py`. */
function written(segments: Segment[]): string {
  let text = "", last = "", x = 0, y = 0, x0 = 0, y0 = 0;
  for (const [code, ...at] of segments) {
    let step = "z";
    if (code === "z") [x, y] = [x0, y0];
    else {
      const t = at.map(tenth), moves = t.map((v, i) => v - (i % 2 ? y : x));
      if (code === "M") { step = `M${join(t[0]!, t[1]!)}`; [x0, y0] = [t[0]!, t[1]!]; }
      else if (moves.every((m) => !m)) step = "";
      else if (code === "l" && moves.some((m) => !m)) step = moves[1] ? `v${join(moves[1])}` : `h${join(moves[0]!)}`;
      else step = code + join(...moves);
      [x, y] = [t.at(-2)!, t.at(-1)!];
    }
    text += step && step[0] === last && "lqc".includes(last) ? glue(step.slice(1)) : step;
    last = step[0] ?? last;
  }
  return text;
}

const colors: Record<string, string> = {};
/** Takes the colors that the page's pictures name, as what a page without the style sheet shows. */
export function learn(svg: string): void {
  for (const [, role, color] of svg.matchAll(/var\(--fig-([\w-]+),(#\w+)\)/g)) colors[role!] = color!;
}
export const paint = (role: string): string => `var(--fig-${role}${colors[role] ? `,${colors[role]}` : ""})`;
const g3 = (v: number): string => String(Number(v.toPrecision(3)));
const escaped = (s: string): string => s.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const letters = (s: string): string => escaped(s).replace(/(?<![\w-])-(?=[\d.])/g, "−");
function stroke(role: string, width: number, dashed = false): string {
  const wide = width === 1 ? "" : ` stroke-width="${g3(width)}"`; // dashes grow with the line
  return ` stroke="${paint(role)}"${wide}${dashed ? ` stroke-dasharray="${g3(3 * width)} ${g3(2 * width)}"` : ""}`;
}

export class Canvas {
  private readonly marks: Mark[] = [];
  private patches = 0;

  private path(segments: Segment[], look: string, z: number): void { this.marks.push({ z, d: written(segments), look }); this.patches++; }
  private polygon([first, ...rest]: Point[], look: string, z: number): void {
    this.path([["M", ...first!], ...[...rest, first!].map((p): Segment => ["l", ...p])], look, z);
  }
  say(at: Point, text: string, role = "ink", { align = "center", bold, turned, size = TEXT }: Look = {}): void {
    const lower = BELOW_MIDDLE * size, x = tenth(at[0] + (turned ? lower : 0)), y = tenth(at[1] + (turned ? 0 : lower));
    let look = ` x="${join(x)}" y="${join(y)}"`;
    if (align !== "left") look += ` text-anchor="${align === "right" ? "end" : "middle"}"`;
    if (size !== SMALL) look += ` font-size="${g3(size)}"`;
    if (role !== "ink") look += ` fill="${paint(role)}"`;
    if (bold) look += ' font-weight="600"';
    if (turned) look += ` transform="rotate(-90 ${join(x, y)})"`;
    this.marks.push({ z: 6, d: "", look, text: letters(text) });
  }
  note(at: Point, text: string, role = "ink", look: Look = {}): void { this.say(at, text, role, { ...look, size: SMALL }); }
  box([x, y]: Point, [w, h]: Point, role = "ink", text = "", look: { filled?: boolean; width?: number; order?: number; dashed?: boolean } & Look = {}): void {
    const { filled = true, width = LINE, order = 3, dashed } = look, r = 3, l = x - w / 2, t = y - h / 2, [e, b] = [l + w, t + h];
    const drawn = (filled ? ` fill="${paint(`${role}-tint`)}"` : ' fill="none"') + (width ? stroke(role, width, dashed) : "");
    this.path([["M", l + r, t], ["l", e - r, t], ["q", e, t, e, t + r], ["l", e, b - r], ["q", e, b, e - r, b],
      ["l", l + r, b], ["q", l, b, l, b - r], ["l", l, t + r], ["q", l, t, l + r, t], ["z"]], drawn, order);
    if (text) this.say([x, y], text, "ink", look);
  }
  vector([x, y]: Point, values: readonly number[], role: string, look: { cell?: Point; width?: number; bold?: boolean; digits?: number } = {}): void {
    const [w, h] = look.cell ?? CELL;
    this.box([x + (w * values.length) / 2, y], [w * values.length, h], role, "", { width: look.width });
    values.forEach((value, i) => {
      this.say([x + (i + 0.5) * w, y], number(value, look.digits), "ink", { bold: look.bold });
      if (i) this.line([[x + i * w, y - h / 2], [x + i * w, y + h / 2]], role, { width: 0.8 });
    });
  }
  private rectangle(x: number, y: number, w: number, h: number, role: string): void {
    this.polygon([[x, y], [x + w, y], [x + w, y + h], [x, y + h]], ` fill="${paint(role)}"`, 3);
  }
  hbar([x, y]: Point, length: number, role: string, thick = 16): void {
    this.rectangle(Math.min(x, x + length), y - thick / 2, Math.abs(length), thick, role);
  }
  vbar([x, y]: Point, height: number, role: string, thick = 16): void {
    this.rectangle(x - thick / 2, Math.min(y, y - height), thick, Math.abs(height), role);
  }
  line([first, ...rest]: Point[], role = "muted", { width = 1, dashed }: Line = {}): void {
    const d = written([["M", ...first!], ...rest.map((p): Segment => ["l", ...p])]);
    this.marks.push({ z: 5, d, look: ` fill="none"${stroke(role, width, dashed)}` });
  }
  wire(points: Point[], role = "ink", { width = LINE, head = true, curved, dashed, over }: Line = {}): void {
    const end = points.at(-1)!, before: Point = curved ? [end[0] - 1, end[1]] : points.at(-2)!, size = 7 + width / 2;
    const way = head ? [...points.slice(0, -1), towards(end, before, size - 1)] : points;
    const [a, b] = [way[0]!, way.at(-1)!], middle = (a[0] + b[0]) / 2;
    const segments = curved ? ([["M", ...a], ["c", middle, a[1], middle, b[1], ...b]] as Segment[]) : way.map((p, i): Segment => [i ? "l" : "M", ...p]);
    const z = 2 + this.patches / 1000;
    if (over) this.path(segments, ` fill="none"${stroke("paper", width + HALO)}`, z);
    this.path(segments, ` fill="none"${stroke(role, width, dashed)}`, z);
    if (!head) return;
    const one = towards(before, end, 1), [u, v] = [one[0] - before[0], one[1] - before[1]], [x, y] = [end[0] - size * u, end[1] - size * v];
    this.polygon([end, [x - 0.5 * size * v, y + 0.5 * size * u], [x + 0.5 * size * v, y - 0.5 * size * u]], ` fill="${paint(role)}"`, 2.9);
  }
  private circle([x, y]: Point, r: number, look: string, z: number): void {
    const m = 0.2652031, s = Math.SQRT1_2, k = s * m; // as matplotlib has a circle
    const c = [[0, -1], [m, -1], [s - k, -s - k], [s, -s], [s + k, -s + k], [1, -m], [1, 0], [1, m], [s + k, s - k], [s, s], [s - k, s + k], [m, 1], [0, 1],
      [-m, 1], [-s + k, s + k], [-s, s], [-s - k, s - k], [-1, m], [-1, 0], [-1, -m], [-s - k, -s + k], [-s, -s], [-s + k, -s - k], [-m, -1], [0, -1]]
      .map(([a, b]) => [x + r * a!, y + r * b!]);
    const segments: Segment[] = [["M", ...c[0]!]];
    for (let i = 1; i < c.length; i += 3) segments.push(["c", ...c[i]!, ...c[i + 1]!, ...c[i + 2]!]);
    this.path([...segments, ["z"]], look, z);
  }
  node(at: Point, sign: string, role = "ink"): void {
    this.circle(at, 8, ` fill="${paint("paper")}"${stroke(role, LINE)}`, 4);
    this.say(at, sign, role, { bold: true });
  }
  disc(at: Point, radius: number, role: string): void { this.circle(at, radius, ` fill="${paint(role)}"`, 4); }
  ring(at: Point, radius: number, role: string): void { this.circle(at, radius, ` fill="none"${stroke(role, LINE)}`, 5); }
  masked(at: Point, [w, h]: Point, text = ""): void {
    const [x, y] = at;
    this.box(at, [w, h], "mask", "", { width: 1 });
    for (let c = 6 - (w + h) / 2; c < (w + h) / 2; c += 6) {
      const left = Math.max(-w / 2, c - h / 2), right = Math.min(w / 2, c + h / 2);
      this.line([[x + left, y + c - left], [x + right, y + c - right]], "mask", { width: 0.8 });
    }
    if (text) this.box(at, [24, 20], "mask", text, { width: 0, order: 5.5 });
  }

  /** Writes the marks, the lowest first; a line that looks like the line before it goes on with it. */
  written(): string[] {
    const out: Mark[] = [];
    for (const mark of [...this.marks].sort((a, b) => a.z - b.z)) {
      const before = out.at(-1), isLine = mark.text === undefined && mark.look.includes('fill="none"');
      if (isLine && before?.look === mark.look) before.d += mark.d;
      else if (mark.d || mark.text !== undefined) out.push({ ...mark });
    }
    return out.map(({ d, look, text }) => (text === undefined ? `<path d="${d}"${look}/>` : `<text${look}>${text}</text>`));
  }
}

function towards(start: Point, end: Point, distance: number): Point {
  const [dx, dy] = [end[0] - start[0], end[1] - start[1]], long = Math.max(Math.hypot(dx, dy), 1e-9);
  return [start[0] + (distance * dx) / long, start[1] + (distance * dy) / long];
}

/** Writes a number as Python does: ties go to the even digit, and nothing is minus zero. */
export function number(value: number, digits = 2): string {
  const isTie = Math.abs((value * 2 ** (digits + 1)) % 2) === 1;
  const text = (isTie ? rint(value * 10 ** digits) / 10 ** digits : value).toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text;
}
export const listed = (values: readonly number[], digits = 2): string => values.map((v) => number(v, digits)).join(", ");
export const sentences = (...parts: string[]): string => parts.filter(Boolean).map((part) => `${part}.`).join(" ");
