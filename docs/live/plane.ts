/** A plane with points that can be dragged, or moved with the arrow keys. */
import { Canvas, type Point } from "./canvas.js";
import { draw, el, set, type Live } from "./live.js";
import { type State } from "./link.js";

export interface Plane<S> {
  name: string;
  size: Point;
  unit: number; // pixels
  names: readonly string[];
  get(state: S, i: number): Point;
  put(state: S, i: number, at: Point): void;
  draw(canvas: Canvas, state: S, place: (at: readonly number[]) => Point): void;
}
const spoken = (v: number): string => v.toFixed(2).replace("-", "minus ");

export function plane<S extends State>(live: Live<S>, { name, size: [wide, high], unit, names, get, put, draw: marks }: Plane<S>): void {
  const group = el("g"), place = (p: readonly number[]): Point => [wide / 2 + unit * p[0]!, high / 2 - unit * p[1]!];
  const move = (i: number, at: Point): void => live.change((s) => put(s, i, at));
  const away = (knob: Element, e: PointerEvent): number => {
    const box = knob.getBoundingClientRect();
    return Math.hypot(box.x + box.width / 2 - e.clientX, box.y + box.height / 2 - e.clientY);
  };
  const knobs = names.map((_, i) => {
    const knob = el("circle", { r: 15, class: "live-knob", role: "slider", tabindex: 0, "aria-valuemin": -1, "aria-valuemax": 1,
      touchstart: (e: TouchEvent) => e.preventDefault(), // a page scrolls although a mark in an SVG has `touch-action: none`
      pointerdown: (e: PointerEvent) => { // where points are over each other, the nearest is taken, not the uppermost
        const nearest = knobs.reduce((a, b) => (away(b, e) < away(a, e) ? b : a));
        e.preventDefault();
        nearest.focus({ preventScroll: true });
        nearest.setPointerCapture(e.pointerId);
      },
      pointermove: (e: PointerEvent) => {
        if (!knob.hasPointerCapture(e.pointerId)) return;
        const box = svg.getBoundingClientRect(), x = ((e.clientX - box.left) / box.width) * wide, y = ((e.clientY - box.top) / box.height) * high;
        move(i, [(x - wide / 2) / unit, (high / 2 - y) / unit]);
      },
      keydown: (e: KeyboardEvent) => {
        const step = e.shiftKey ? 0.2 : 0.05, [x, y] = get(live.state, i);
        const to = ({ ArrowLeft: [x - step, y], ArrowRight: [x + step, y], ArrowUp: [x, y + step], ArrowDown: [x, y - step] } as Record<string, Point>)[e.key];
        if (!to) return;
        e.preventDefault();
        move(i, to);
      } });
    return knob;
  });
  const svg = el("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, class: "live-plane", role: "group", "aria-label": name }, group, ...knobs);
  live.panel.append(svg);
  live.show(() => {
    const canvas = new Canvas();
    marks(canvas, live.state, place);
    draw(group, canvas);
    knobs.forEach((knob, i) => {
      const at = get(live.state, i), [cx, cy] = place(at);
      set(knob, { cx, cy, "aria-label": names[i], "aria-valuenow": at[0].toFixed(2), "aria-valuetext": `${spoken(at[0])} across, ${spoken(at[1])} up` });
    });
  });
}

/** Places names beside points, each where it covers no point and no other name, away from the middle if it can. */
export function labels(points: readonly Point[], names: readonly string[], [wide, high]: Point): Point[] {
  type Box = [number, number, number, number];
  const taken: Box[] = points.map(([x, y]) => [x - 7, y - 7, x + 7, y + 7]);
  return points.map(([x, y], i) => {
    const half = 3.6 * names[i]!.length, out = (11 + half) * (x < wide / 2 ? -1 : 1), down = y > high / 2 ? 15 : -15;
    const places: Point[] = [[x + out, y], [x, y + down], [x, y - down], [x - out, y], [x + out, y + down], [x - out, y + down]];
    const box = ([u, v]: Point): Box => [u - half, v - 7, u + half, v + 7];
    const isFree = (p: Point): boolean => {
      const [l, t, r, b] = box(p);
      return l > 0 && r < wide && t > 0 && b < high && !taken.some((o) => l < o[2] && r > o[0] && t < o[3] && b > o[1]);
    };
    const place = places.find(isFree) ?? places[1]!;
    taken.push(box(place));
    return place;
  });
}

/** Returns the corners of the convex hull of points. */
export function hull(points: readonly (readonly number[])[]): (readonly number[])[] {
  const sorted = [...points].sort((a, b) => a[0]! - b[0]! || a[1]! - b[1]!);
  const half = (row: typeof sorted): typeof sorted => {
    const out: typeof sorted = [];
    for (const p of row) {
      for (let a = out.at(-2), b = out.at(-1); a && b && (b[0]! - a[0]!) * (p[1]! - a[1]!) - (b[1]! - a[1]!) * (p[0]! - a[0]!) <= 0; a = out.at(-2), b = out.at(-1)) out.pop();
      out.push(p);
    }
    return out.slice(0, -1);
  };
  return [...half(sorted), ...half([...sorted].reverse())];
}
