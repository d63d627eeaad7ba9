/** A figure that has been woken: its state, its controls, and the marks in the pictures of the page. */
import { Canvas, learn, type Point } from "./canvas.js";
import { type State, read, write } from "./link.js";

const SVG = "http://www.w3.org/2000/svg";
type Attributes = Record<string, unknown>;
type Places = Record<string, any>; // as the drawing in Python has noted them
export type Call = [painter: string, name: string, places: Places];
export type Painter = (canvas: Canvas, value: any, places: any) => void;
export interface Hot { at: Point; size: Point; name: string; pressed: boolean; tab?: number; act: () => void }

/** What one kind of figure computes; `vary` are the parts of its state that a reader changes. */
export interface Kind<S extends State> {
  script?: string; // loaded before a figure of this kind is woken
  vary: readonly (keyof S & string)[];
  clamp(state: S): S;
  values(state: S): Record<string, unknown>;
  label(state: S): string;
  said(state: S): string;
  painters: Record<string, Painter>;
  panel(live: Live<S>): void;
  hot?(live: Live<S>, calls: Call[]): Hot[];
}
interface Picture { svg: SVGSVGElement; calls: Call[]; marks: SVGGElement; touch: Element; still: string; label: string }
export interface Data { figure: string; state: State; calls: Call[] }

export const dataOf = (svg: Element): Data => JSON.parse(svg.querySelector("metadata")!.textContent!) as Data;

/** Makes an element; a function is a listener, and `false` or nothing leaves an attribute out. */
export function el<T extends Element = HTMLElement>(tag: string, attributes: Attributes = {}, ...children: (Node | string)[]): T {
  const isDrawn = ["svg", "g", "rect", "circle"].includes(tag);
  const made = isDrawn ? document.createElementNS(SVG, tag) : document.createElement(tag);
  set(made, attributes);
  made.append(...children);
  return made as unknown as T;
}
export function set(node: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value as EventListener);
    else if (value === false || value === undefined) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value === true ? "" : String(value));
  }
}

const drawn = new WeakMap<Element, string[]>();
/** Draws marks into a group; what has not changed since the last time is left alone. */
export function draw(group: Element, canvas: Canvas): void {
  const now = canvas.written(), before = drawn.get(group) ?? [];
  drawn.set(group, now);
  if (now.length === group.children.length) now.forEach((mark, i) => { if (mark !== before[i]) change(group.children[i]!, mark); });
  else exchange(group, before, now);
}
/** Removes the marks that are drawn no more, and puts new ones between those that stay. */
function exchange(group: Element, before: string[], now: string[]): void {
  const nodes = [...group.children], old = new Map(before.map((mark, i) => [mark, nodes[i]!])), made = el("g");
  const stay = now.map((mark) => { const node = old.get(mark); old.delete(mark); return node; }), staying = new Set(stay);
  for (const node of nodes) if (!staying.has(node)) node.remove();
  made.innerHTML = now.filter((_, i) => !stay[i]).join("");
  let next = group.firstElementChild;
  for (const node of stay) {
    if (node && node === next) next = next.nextElementSibling;
    else group.insertBefore(node ?? made.firstElementChild!, next);
  }
}
function change(node: Element, mark: string): void {
  const [, tag, look, text] = /^<(\w+)(.*?)(?:\/>|>(.*)<\/text>)$/s.exec(mark)!;
  if (tag !== node.tagName) { node.outerHTML = mark; return; }
  const given = Object.fromEntries([...look!.matchAll(/ ([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
  set(node, given);
  for (const name of node.getAttributeNames()) if (!(name in given)) node.removeAttribute(name);
  if (text !== undefined && node.innerHTML !== text) node.innerHTML = text;
}

const say: Painter = (canvas, text: string, { at, role, ...look }) => canvas.say(at, text, role, { size: 14, ...look });
export function paintAll(painters: Record<string, Painter>, calls: Call[], values: Record<string, unknown>): Canvas {
  const canvas = new Canvas(), all: Record<string, Painter> = { say, ...painters };
  for (const [painter, name, places] of calls) all[painter]!(canvas, values[name], places);
  return canvas;
}

export class Live<S extends State> {
  state: S;
  readonly first: S;
  readonly panel = el("div", { class: "live-panel" });
  private readonly status = el("span", { role: "status", class: "live-said" });
  private readonly note = el("span", { class: "live-note" });
  private readonly link = el("a", { class: "live-link" }, "Link to this state");
  private readonly pictures: Picture[];
  private readonly shows: (() => void)[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private seen: Picture[] = [];
  private isPrinted = false;

  constructor(private readonly bar: HTMLElement, readonly kind: Kind<S>, linked: string) {
    const figure = bar.closest("figure")!, svgs = [...figure.querySelectorAll<SVGSVGElement>(".picture > svg")];
    this.first = dataOf(svgs[0]!).state as S;
    this.state = structuredClone(this.first);
    this.pictures = svgs.map((svg) => {
      const marks = svg.querySelector<SVGGElement>(":scope > g")!, touch = el("g");
      learn(svg.innerHTML);
      svg.append(touch);
      return { svg, marks, touch, calls: dataOf(svg).calls, still: marks.innerHTML, label: svg.getAttribute("aria-label")! };
    });
    bar.replaceChildren(this.button("Reset", () => this.reset(), false), this.link, this.note, this.status);
    bar.after(this.panel);
    kind.panel(this);
    addEventListener("beforeprint", () => { this.rest(); this.isPrinted = true; });
    addEventListener("afterprint", () => { this.isPrinted = false; this.update(); });
    // Which picture is shown is asked when the width changes, and not at each step: the answer costs a layout.
    let before = 0;
    new ResizeObserver(() => {
      if (figure.clientWidth === before) return;
      before = figure.clientWidth;
      this.choose();
      this.update();
    }).observe(figure);
    this.choose();
    if (linked) this.take(linked);
    else this.update();
  }

  private choose(): void { this.seen = this.pictures.filter(({ svg }) => getComputedStyle(svg).display !== "none"); }
  /** Shows what the page showed at first. */
  private rest(): void {
    for (const { svg, marks, touch, still, label } of this.pictures) {
      marks.innerHTML = still;
      drawn.delete(marks);
      touch.replaceChildren();
      set(svg, { "aria-label": label });
    }
  }
  /** Takes the state of a link; what cannot be is brought within range. */
  take(linked: string): void {
    const { state, whole } = read(linked, this.first, this.kind.vary), clamped = this.kind.clamp(structuredClone(state));
    this.state = clamped;
    const kept = whole && write(state, this.kind.vary) === write(clamped, this.kind.vary);
    this.note.textContent = kept ? "" : "The link held values that cannot be; they were brought within range.";
    this.update();
  }
  reset(): void {
    this.state = structuredClone(this.first);
    this.note.textContent = "";
    this.update("Reset.");
  }
  /** Changes the state by a function, clamps it, draws it, and says what has come of it. */
  change(by: (state: S) => void): void {
    by(this.state);
    this.state = this.kind.clamp(this.state);
    this.update(this.kind.said(this.state));
  }

  update(said = ""): void {
    if (this.isPrinted) return; // a fold that opens for print changes widths
    const begun = performance.now(), values = this.kind.values(this.state), label = this.kind.label(this.state);
    for (const { svg, marks, touch, calls } of this.seen) {
      draw(marks, paintAll(this.kind.painters, calls, values));
      set(svg, { "aria-label": label });
      const hot = this.kind.hot?.(this, calls) ?? [];
      if (hot.length) set(svg, { role: "group" });
      place(touch, hot);
    }
    for (const show of this.shows) show();
    set(this.link, { href: `#${this.bar.closest("figure")!.id}~${write(this.state, this.kind.vary)}` });
    set(this.bar, { "data-ms": (performance.now() - begun).toFixed(2) });
    clearTimeout(this.timer); // says something when the hand rests, and not at each step
    if (said) this.timer = setTimeout(() => { this.status.textContent = said; }, 250);
  }

  /** Calls a function at each update. */
  show(show: () => void): void { this.shows.push(show); }
  button(text: string, act: () => void, inPanel = true): HTMLElement {
    const made = el("button", { type: "button", click: act }, text);
    if (inPanel) this.panel.append(made);
    return made;
  }
  paragraph(text: (state: S) => string): HTMLElement {
    const made = el("p");
    this.show(() => { const now = text(this.state); if (made.textContent !== now) made.textContent = now; });
    this.panel.append(made);
    return made;
  }
  slider(name: string, [min, max, step]: readonly [number, number, number], get: (s: S) => number, put: (s: S, v: number) => void, text = (v: number) => String(v)): HTMLElement {
    const input = el<HTMLInputElement>("input", { type: "range", min, max, step, input: () => this.change((s) => put(s, Number(input.value))) });
    const output = el("output"), made = el("label", { class: "live-slider" }, el("span", {}, name), input, output);
    this.show(() => {
      const said = text(get(this.state));
      input.value = String(get(this.state));
      if (output.textContent !== said) output.textContent = said;
      set(input, { "aria-valuetext": said.replace("−", "minus ") });
    });
    this.panel.append(made);
    return made;
  }
  choices(legend: string, names: readonly string[], get: (s: S) => number, put: (s: S, i: number) => void): HTMLElement {
    const group = `live-${Math.random().toString(36).slice(2)}`;
    const inputs = names.map((_, i) => el<HTMLInputElement>("input", { type: "radio", name: group, change: () => this.change((s) => put(s, i)) }));
    const made = el("fieldset", { class: "live-choices" }, el("legend", {}, legend), ...names.map((name, i) => el("label", {}, inputs[i]!, ` ${name}`)));
    this.show(() => inputs.forEach((input, i) => { input.checked = i === get(this.state); }));
    this.panel.append(made);
    return made;
  }
}

/** Lays places to press over a picture; they stay the same elements, so that none loses the focus. */
function place(group: Element, hots: Hot[]): void {
  while (group.children.length > hots.length) group.lastChild!.remove();
  hots.forEach(({ at: [x, y], size: [w, h], name, pressed, act, tab = 0 }, i) => {
    let rect = group.children[i] as (SVGRectElement & { act?: () => void }) | undefined;
    if (!rect) {
      const made: SVGRectElement & { act?: () => void } = el<SVGRectElement>("rect", { role: "button", class: "live-hot", rx: 3 });
      set(made, { click: () => made.act!(), keydown: (e: KeyboardEvent) => {
        const beside = { ArrowLeft: made.previousElementSibling, ArrowRight: made.nextElementSibling }[e.key] as SVGElement | null | undefined;
        if (beside === undefined && e.key !== "Enter" && e.key !== " ") return;
        e.preventDefault();
        if (beside === undefined) made.act!();
        else beside?.focus();
      } });
      group.append(rect = made);
    }
    rect.act = act;
    set(rect, { x: x - w / 2, y: y - h / 2, width: w, height: h, tabindex: tab, "aria-label": name, "aria-pressed": String(pressed) });
  });
}
