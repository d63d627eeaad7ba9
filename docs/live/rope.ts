/** Shift a query and a key: only their relative position counts. Drawn by `selfattn_book/figures/rotation.py`. */
import { type Canvas, type Point, number, sentences } from "./canvas.js";
import { type State } from "./link.js";
import { type Kind } from "./live.js";
import { dot } from "./nn.js";
import { labels, plane } from "./plane.js";

interface Rope extends State { query: [number, number]; key: [number, number]; positions: [number, number]; shift: number; pair: number; base: number; dimension: number }
interface Clock { at: [number, number]; arc: [number, number]; lengths: [number, number]; score: string }
const ROLES = ["query", "key"], SIZE: Point = [248, 236], FAR = 100, whole = (v: number, most: number): number => Math.max(0, Math.min(most, Math.round(v)));
const within = (v: number): number => Math.max(-1, Math.min(1, Math.round(v * 100) / 100)) + 0;
/** Returns a point of the plane that has a direction. */
const pointed = (p: readonly number[]): [number, number] => (Math.hypot(...p) < 0.1 ? [0.1, 0] : [within(p[0]!), within(p[1]!)]);

/** Rotates two entries by an angle. */
export const rotate = ([x, y]: readonly number[], angle: number): [number, number] => [x! * Math.cos(angle) - y! * Math.sin(angle), x! * Math.sin(angle) + y! * Math.cos(angle)];
const frequency = ({ pair, base, dimension }: Rope): number => 10 ** ((-2 * base * pair) / dimension);

export function clocks(s: Rope): Clock[] {
  const { query, key, positions: [p, k], shift } = s, speed = frequency(s);
  return ([[p, k], [p + shift, k + shift], [p + shift, k]] as [number, number][]).map((at) => {
    const a = rotate(query, at[0] * speed), b = rotate(key, at[1] * speed), start = Math.atan2(b[1], b[0]), way = Math.atan2(a[1], a[0]) - start;
    return { at, arc: [start, way - 2 * Math.PI * Math.round(way / (2 * Math.PI))], lengths: [Math.hypot(...a), Math.hypot(...b)], score: number(dot(a, b)) };
  });
}

export const rope: Kind<Rope> = {
  vary: ["query", "key", "positions", "shift", "pair", "base"],
  clamp: (s) => ({ ...s, query: pointed(s.query), key: pointed(s.key), positions: s.positions.map((v) => whole(v, FAR)) as Rope["positions"],
    shift: whole(s.shift, FAR), pair: whole(s.pair, s.dimension / 2 - 1), base: Math.max(1, Math.min(6, s.base)) }),
  values: (s) => Object.fromEntries(clocks(s).map((clock, i) => [`clock${i}`, clock])),
  label: (s) => sentences(...clocks(s).map(({ at, arc, score }) => `The query at ${at[0]} and the key at ${at[1]} are ${number(Math.abs(arc[1]))} rad apart, and their score is ${score}`)),
  said: (s) => `The scores are ${clocks(s).map(({ score }) => score.replace("-", "minus ")).join(", ")}.`,
  painters: { clock },
  panel(live) {
    plane(live, { name: "Query and key before they are rotated", size: SIZE, unit: 100, names: ROLES, get: (s, i) => (i ? s.key : s.query), put: (s, i, at) => { s[i ? "key" : "query"] = [...at]; },
      draw(c, s, place) {
        c.line([place([-1.1, 0]), place([1.1, 0])], "residual", { width: 0.8 });
        c.line([place([0, -1.1]), place([0, 1.1])], "residual", { width: 0.8 });
        const points = [s.query, s.key].map(place), texts = labels(points, ROLES, SIZE);
        ROLES.forEach((name, i) => {
          c.wire([place([0, 0]), points[i]!], name, { width: 2.4, head: false });
          c.disc(points[i]!, 6, name);
          c.note(texts[i]!, name, name, { bold: true });
        });
      } });
    live.slider("Position of query", [0, FAR, 1], (s) => s.positions[0], (s, v) => { s.positions[0] = v; });
    live.slider("Position of key", [0, FAR, 1], (s) => s.positions[1], (s, v) => { s.positions[1] = v; });
    live.slider("Shift", [0, FAR, 1], (s) => s.shift, (s, v) => { s.shift = v; });
    live.slider("Pair of entries", [0, live.first.dimension / 2 - 1, 1], (s) => s.pair, (s, v) => { s.pair = v; }, (v) => `${v} (0 to ${live.first.dimension / 2 - 1})`);
    live.slider("Base", [1, 6, 0.5], (s) => s.base, (s, v) => { s.base = v; }, (v) => String(Math.round(10 ** v)));
    live.paragraph((s) => `This pair rotates by ${Number(frequency(s).toPrecision(3))} rad per position. Move the shift: the first two clocks keep one angle and one score, however far both move; the third changes, less in slow pairs. Later pairs rotate more slowly, and so do larger bases, except that pair 0 always rotates by 1 rad. Drag the query or the key: their own angle counts, too. Then move the query alone: does the score fall with the distance?`);
  },
};

function clock(c: Canvas, { at: [p, k], arc: [start, way], lengths, score }: Clock, { at: [x, y], high, face }: { at: Point; high: number; face: number }): void {
  const top = y - high / 2 + 6, middle: Point = [x, top + 40 + face], on = (radius: number, angle: number): Point => [x + radius * Math.cos(angle), middle[1] - radius * Math.sin(angle)];
  c.line(Array.from({ length: 40 }, (_, i) => on(0.42 * face, start + (way * i) / 39)), "ink", { width: 2.4 });
  c.note(on(0.66 * face, start + 0.5 * way), number(Math.abs(way)));
  const longest = Math.max(...lengths, 1e-9);
  ([["query", p, -8, "right", start + way], ["key", k, 8, "left", start]] as const).forEach(([role, position, side, align, angle], i) => {
    c.say([x + side, top + 14], `${role} at ${position}`, role, { align, bold: true });
    const end = on((lengths[i]! / longest) * (face - 5), angle);
    c.line([middle, end], role, { width: 3 });
    c.disc(end, 5, role);
  });
  c.box([x, middle[1] + face + 24], [112, 26], "weights", `score ${score}`);
}
