/** Wakes figures; each kind has the name that its drawing gives with `begin`. */
import { Canvas, learn } from "./canvas.js";
import { decoding } from "./decoding.js";
import { heads } from "./heads.js";
import { read, write } from "./link.js";
import { type Kind, Live, dataOf, paintAll } from "./live.js";
import { clocks } from "./clocks.js";
import { knockout } from "./knockout.js";
import { masks } from "./masks.js";
import { oneRow } from "./one_row.js";
import { projections } from "./projections.js";
import { reversal } from "./reversal.js";
import { Reading } from "./reading.js";
import { rope } from "./rope.js";
import { distribution, draw, uniform } from "./sampling.js";
import { whyDivide } from "./why_divide.js";
import { take, tokensOf, writer, writerModel as model } from "./writer.js";

const kinds: Record<string, Kind<any>> = { clocks, decoding, heads, knockout, masks, "one-row": oneRow, projections, reversal, rope, "why-divide": whyDivide, writer };

/** Wakes the figure that holds a bar, in the state of a link, after the script that its kind needs. */
async function wake(bar: HTMLElement, linked: string, load: (file: string) => Promise<unknown>): Promise<void> {
  const { figure } = dataOf(bar.closest("figure")!.querySelector(".picture > svg")!), kind = kinds[figure]!;
  if (kind.script) await load(kind.script);
  Object.assign(bar, { live: new Live(bar, kind, linked) });
}
const language = { model, Reading, tokensOf, distribution, draw, uniform };
Object.assign(globalThis, { liveFigures: { wake, kinds, take, language, Canvas, learn, read, write, paintAll } });
