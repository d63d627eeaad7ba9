/** Wakes figures; each kind has the name that its drawing gives with `begin`. */
import { Canvas, learn } from "./canvas.js";
import { decoding } from "./decoding.js";
import { heads } from "./heads.js";
import { read, write } from "./link.js";
import { type Kind, Live, dataOf, paintAll } from "./live.js";
import { clocks } from "./clocks.js";
import { masks } from "./masks.js";
import { oneRow } from "./one_row.js";
import { projections } from "./projections.js";
import { rope } from "./rope.js";
import { whyDivide } from "./why_divide.js";

const kinds: Record<string, Kind<any>> = { clocks, decoding, heads, masks, "one-row": oneRow, projections, rope, "why-divide": whyDivide };

/** Wakes the figure that holds a bar, in the state of a link. */
function wake(bar: HTMLElement, linked: string): void {
  const { figure } = dataOf(bar.closest("figure")!.querySelector(".picture > svg")!);
  Object.assign(bar, { live: new Live(bar, kinds[figure]!, linked) });
}
Object.assign(globalThis, { liveFigures: { wake, kinds, Canvas, learn, read, write, paintAll } });
