/** Move the position, the base and the dimension: a shift rotates each clock by its own angle. Drawn by `selfattn_book/figures/shifted_clocks.py`. */
import { type Canvas, type Point, number, sentences } from "./canvas.js";
import { type State } from "./link.js";
import { type Kind } from "./live.js";

interface Clocks extends State { position: number; steps: number; base: number; dimension: number }
interface Shown { speeds: number[]; starts: [number, number]; steps: number }
interface Places { high: number; dials: [number, number]; most: number; left: number; unit: number; desk: boolean }
const TURN = 2 * Math.PI, LAST = 40, FAR = 30, LONG = 9, WIDE = 16;
const whole = (v: number, low: number, high: number): number => Math.max(low, Math.min(high, Math.round(v)));
const minus = (v: number): string => number(v).replace("-", "−");

export function rotations({ position, steps, base, dimension }: Clocks): Shown {
  const count = dimension / 2;
  return { speeds: Array.from({ length: count }, (_, i) => 10 ** ((-base * i) / count)), starts: [0, position], steps };
}
/** Returns the encoding of a position: the sine and the cosine of each clock. */
export const encoding = ({ speeds }: Shown, position: number): number[] => speeds.flatMap((speed) => [Math.sin(position * speed), Math.cos(position * speed)]);

export const clocks: Kind<Clocks> = {
  vary: ["position", "steps", "base", "dimension"],
  clamp: (s) => ({ position: whole(s.position, 0, FAR), steps: whole(s.steps, 0, LONG), base: Math.max(1, Math.min(6, s.base)), dimension: 2 * whole(s.dimension / 2, 1, WIDE / 2) }),
  values(s) {
    const shown = rotations(s);
    return { clocks: shown, encoding: encoding(shown, s.position) };
  },
  label(s) {
    const { speeds, starts } = rotations(s), { position, steps } = s;
    return sentences(`The ${speeds.length} clocks of dimension ${s.dimension} with base ${number(10 ** s.base, 0)}, over ${steps} steps`, ...speeds.map((speed, i) => {
      const ways = starts.map((start) => number((start + steps) * speed - start * speed, 3));
      return `Clock ${i} has a full turn in ${number(TURN / speed, 1)} steps: from position 0 to ${steps} it rotates by ${ways[0]} rad, and from ${position} to ${position + steps} by ${ways[1]} rad`;
    }));
  },
  said(s) {
    const ways = rotations(s).speeds.map((speed) => number(s.steps * speed, 3));
    return `Over ${s.steps} steps the clocks rotate by ${ways.join(", ")} radians, from position 0 as from position ${s.position}.`;
  },
  painters: { clocks: rows },
  panel(live) {
    live.slider("Position", [0, FAR, 1], (s) => s.position, (s, v) => { s.position = v; });
    live.slider("Steps", [0, LONG, 1], (s) => s.steps, (s, v) => { s.steps = v; });
    live.slider("Base", [1, 6, 0.5], (s) => s.base, (s, v) => { s.base = v; }, (v) => number(10 ** v, 0));
    live.slider("Dimension", [2, WIDE, 2], (s) => s.dimension, (s, v) => { s.dimension = v; });
    live.paragraph((s) => `The encoding of position ${s.position} is (${encoding(rotations(s), s.position).map(minus).join(", ")}): sine and cosine of each clock.`);
    live.paragraph(() => "Move the position: its hands point elsewhere, and yet each rotates by the same angle as from position 0. Then change the base and the dimension: clock 0 always rotates by one radian a step; a small base makes the others nearly as fast, and a larger dimension adds clocks, closer together, of which the slowest is slower.");
  },
};

function rows(c: Canvas, { speeds, starts, steps }: Shown, { at, top }: { at: Places; top: number }): void {
  const { high, left, unit, desk } = at, pitch = high / speeds.length, head = desk ? 0 : 16;
  at.dials.forEach((x, i) => c.note([x + 14, 14], `${starts[i]} to ${starts[i]! + steps}`, "ink", { bold: true }));
  for (const [p, dashed] of [[starts[1], true], [starts[1] + steps, false]] as const) {
    const x = left + unit * p;
    c.line([[x, top], [x, top + high + 8]], dashed ? "muted" : "ink", { dashed });
  }
  speeds.forEach((speed, i) => {
    const y = top + (i + 0.5) * pitch + head / 2, face = Math.min(at.most, (pitch - head) / 2 - 3), turn = `${number(TURN / speed, 0)} steps a turn`;
    if (desk) {
      c.note([0, y - 8], `clock ${i}`, "ink", { align: "left", bold: true });
      c.note([0, y + 8], turn, "muted", { align: "left" });
    } else c.note([4, y - face - 9], `clock ${i}: ${turn}`, "ink", { align: "left" });
    at.dials.forEach((x, k) => dial(c, [x, y], face, [starts[k]! * speed, (starts[k]! + steps) * speed], desk ? " rad" : ""));
    const wave = (first: number, last: number, ahead = 0): Point[] => {
      const count = 3 + Math.ceil((16 * speed * (last - first)) / TURN);
      return Array.from({ length: count + 1 }, (_, k) => first + ((last - first) * k) / count).map((p) => [left + unit * p, y - face * Math.sin(speed * p + ahead)]);
    };
    c.line(wave(0, LAST, Math.PI / 2), "muted", { dashed: true });
    c.line(wave(0, LAST));
    for (const start of starts) c.line(wave(start, start + steps), "query", { width: 3 });
  });
}

function dial(c: Canvas, at: Point, face: number, [start, end]: Point, unit: string): void {
  const on = (radius: number, angle: number): Point => [at[0] + radius * Math.cos(angle), at[1] - radius * Math.sin(angle)];
  const tip = Math.min(4, 2 + face / 15), width = Math.min(2.4, face / 8);
  c.ring(at, face, "residual");
  c.line(Array.from({ length: 40 }, (_, k) => ((end - start) * k) / 39).map((a) => on((0.4 + 0.025 * a) * face, start + a)), "query", { width });
  for (const [angle, role, small, look] of [[start, "muted", 1, { width: 1.4, dashed: true }], [end, "ink", 0, { width }]] as const) {
    c.line([at, on(face, angle)], role, look);
    c.disc(on(face, angle), tip - small, role);
  }
  c.note([at[0] + face + 7, at[1]], number(end - start, 3) + unit, "query", { align: "left" });
}
