/** A state in a link: `#fig-NAME~x=0.7,0.6&row=1`. A value has the shape of the first state's value of that name. */

export type Value = number | boolean | string | readonly Value[];
export type State = Record<string, Value>;

const flat = (value: Value): (number | boolean | string)[] => (Array.isArray(value) ? value.flatMap(flat) : [value as number]);

const encoded = (value: number | string): string => encodeURIComponent(value).replace(/~/g, "%7E"); // which comes before the state

export function write(state: State, names: readonly string[]): string {
  return names.map((name) => `${name}=${flat(state[name]!).map((v) => encoded(typeof v === "boolean" ? Number(v) : v)).join(",")}`).join("&");
}

/** Returns the state of a link; what cannot be read stays as it was, and `whole` is false. */
export function read<S extends State>(text: string, first: S, names: readonly string[]): { state: S; whole: boolean } {
  const given = new Map(text.split("&").map((part) => part.split("=", 2) as [string, string]));
  const state: State = structuredClone(first);
  let whole = [...given.keys()].every((name) => names.includes(name));
  for (const name of names) {
    const parts = (given.get(name) ?? "").split(",");
    whole &&= parts.length === flat(first[name]!).length;
    const fill = (value: Value): Value => {
      if (Array.isArray(value)) return value.map(fill);
      const part = parts.shift(), number = part ? Number(part) : NaN;
      if (typeof value === "string") {
        try { if (part !== undefined) return decodeURIComponent(part); } catch { /* no text */ }
      } else if (typeof value === "boolean" ? number === 0 || number === 1 : Number.isFinite(number)) {
        return typeof value === "boolean" ? number === 1 : number;
      }
      whole = false;
      return value;
    };
    state[name] = fill(first[name]!);
  }
  return { state: state as S, whole };
}
