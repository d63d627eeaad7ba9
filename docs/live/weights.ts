/** The layers of a small trained model, from weights that travel with the figure: `selfattn_book/figures/rounded_weights.py`. */
import { type Mat, type Vec, dot, softmax } from "./nn.js";

export interface Packed { tables: [name: string, rows: number, columns: number, step: number][]; text: string }
export type Weights = Record<string, Mat>;
export interface Heads { weights: Mat[]; values: Mat[] } // of each head, a row for each query or key

const SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcde", LEVELS = 15;

/** Returns a function that makes what belongs to a key, and keeps the last few that it made. */
export function once<T>(most = 64): (key: string, make: () => T) => T {
  const kept = new Map<string, T>();
  return (key, make) => {
    if (!kept.has(key)) {
      if (kept.size === most) kept.clear();
      kept.set(key, make());
    }
    return kept.get(key)!;
  };
}
const unpacked = once<Weights>();

/** Returns the tables of weights by name. */
export function unpack({ tables, text }: Packed): Weights {
  return unpacked(text, () => {
    let place = 0;
    const table = (rows: number, columns: number, step: number): Mat =>
      Array.from({ length: rows }, () => Array.from({ length: columns }, () => step * (SIGNS.indexOf(text[place++]!) - LEVELS)));
    return Object.fromEntries(tables.map(([name, ...size]) => [name, table(...size)]));
  });
}

export const plus = (a: Vec, b: Vec): number[] => a.map((v, i) => v + b[i]!);

/** Applies a linear layer to rows. */
export function linear(w: Weights, name: string, x: readonly Vec[]): Mat {
  const bias = w[`${name}.bias`]?.[0];
  return x.map((row) => w[`${name}.weight`]!.map((to, k) => {
    let sum = bias?.[k] ?? 0;
    for (let i = 0; i < to.length; i++) sum += row[i]! * to[i]!;
    return sum;
  }));
}
export function layerNorm(w: Weights, name: string, x: readonly Vec[]): Mat {
  const [gain, bias] = [w[`${name}.weight`]![0]!, w[`${name}.bias`]![0]!];
  return x.map((row) => {
    const mean = row.reduce((a, b) => a + b, 0) / row.length, centered = row.map((v) => v - mean), deviation = Math.sqrt(dot(centered, centered) / row.length + 1e-5);
    return centered.map((v, k) => (v / deviation) * gain[k]! + bias[k]!);
  });
}

/** Returns the weights of each head, under the causal mask if asked for, and its values. */
export function attend(w: Weights, name: string, queries: readonly Vec[], keys: readonly Vec[], heads: number, isCausal = false): Heads {
  const [q, k, v] = [linear(w, `${name}.project_query`, queries), linear(w, `${name}.project_key`, keys), linear(w, `${name}.project_value`, keys)];
  const size = q[0]!.length / heads, late = keys.length - queries.length, part = (row: Vec, h: number): number[] => row.slice(h * size, (h + 1) * size);
  const each = Array.from({ length: heads }, (_, h) => h);
  const weights = each.map((h) => {
    const parts = k.map((row) => part(row, h));
    return q.map((row, i) => { const own = part(row, h); return softmax(parts.map((key, j) => (isCausal && j > i + late ? -Infinity : dot(own, key) / Math.sqrt(size)))); });
  });
  return { weights, values: each.map((h) => v.map((row) => part(row, h))) };
}
