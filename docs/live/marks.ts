/** Marks that several figures draw again, as `selfattn_book/figures/live_marks.py` has them. */
import { type Canvas, type Look, type Point, number } from "./canvas.js";

interface Bars { zero: number; ys: number[]; unit: number; role: string; most?: number }

export const word = (c: Canvas, text: string, { at, role, ...look }: { at: Point; role: string } & Look): void => c.say(at, text, role, { bold: true, ...look });
export const vector = (c: Canvas, values: number[], { at, role, ...look }: { at: Point; role: string; cell?: Point; width?: number; bold?: boolean }): void => c.vector(at, values, role, look);
export function bars(c: Canvas, values: number[], { zero, ys, unit, role, most = Infinity }: Bars): void {
  values.forEach((value, i) => {
    const long = unit * Math.max(-most, Math.min(most, value));
    c.hbar([zero, ys[i]!], long, role);
    c.say([zero + long + (value >= 0 ? 6 : -6), ys[i]!], number(value), role, { align: value >= 0 ? "left" : "right" });
  });
  c.line([[zero, ys[0]! - 16], [zero, ys.at(-1)! + 16]]);
}
export function meter(c: Canvas, value: number, { at: [x, y], long, role }: { at: Point; long: number; role: string }): void {
  c.box([x + long / 2, y], [long, 14], role, "", { filled: false, width: 1 });
  c.hbar([x, y], long * value, role, 14);
}
