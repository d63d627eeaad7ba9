/** The book's language model, in 64 bits: `selfattn_book/language.py` with the blocks of `blocks.py`. */
import { type Linear, ModelFile, type Norm } from "./model_file.js";
import { BPETokenizer } from "./tokens.js";

export type Vector = Float64Array;
interface Block { norm1: Norm; norm2: Norm; query: Linear; key: Linear; value: Linear; output: Linear; expand: Linear; contract: Linear }

export class LanguageModel {
  readonly tokenizer: BPETokenizer;
  readonly contextLength: number;
  readonly heads: number;
  readonly blocks: Block[];
  /** The characters of the text that it was trained on. */
  readonly characters: string;
  private readonly embedding: Linear;
  private readonly positions: Linear;
  private readonly norm: Norm;

  constructor(file: ModelFile) {
    this.tokenizer = new BPETokenizer(file.numbers("merges"));
    this.embedding = file.linear("embedding");
    this.positions = file.linear("positions");
    this.contextLength = this.positions.rows;
    this.heads = Number(file.metadata.num_heads);
    this.characters = JSON.parse(file.metadata.record!).characters as string;
    const count = 1 + Math.max(...file.names.map((name) => Number(/^blocks\.(\d+)/.exec(name)?.[1] ?? 0)));
    this.blocks = Array.from({ length: count }, (_, i) => {
      const at = `blocks.${i}`, own = (name: string): Linear => file.linear(`${at}.attention.project_${name}`);
      return { norm1: file.norm(`${at}.attention_norm`), norm2: file.norm(`${at}.feed_forward_norm`), query: own("query"), key: own("key"), value: own("value"), output: own("output"),
        expand: file.linear(`${at}.feed_forward.expand`), contract: file.linear(`${at}.feed_forward.contract`) };
    });
    this.norm = file.norm("norm");
  }
  get dimension(): number { return this.embedding.columns; }
  embed(token: number, position: number): Vector {
    const d = this.embedding.columns;
    return Float64Array.from({ length: d }, (_, k) => this.embedding.weight[token * d + k]! + this.positions.weight[position * d + k]!);
  }
  unembed(state: Vector): Vector { return apply(this.embedding, [normalize(this.norm, state)])[0]!; }
}

export function softmax(scores: Vector): Vector {
  const weights = new Float64Array(scores.length);
  let most = -Infinity, sum = 0;
  for (let i = 0; i < scores.length; i++) most = Math.max(most, scores[i]!);
  for (let i = 0; i < scores.length; i++) sum += weights[i] = Math.exp(scores[i]! - most);
  for (let i = 0; i < scores.length; i++) weights[i]! /= sum;
  return weights;
}
export function plus(x: Vector, y: Vector): Vector {
  const sum = new Float64Array(x.length);
  for (let k = 0; k < sum.length; k++) sum[k] = x[k]! + y[k]!;
  return sum;
}
/** Sets what is below zero to zero. */
export function rectify(x: Vector): Vector {
  for (let k = 0; k < x.length; k++) if (x[k]! < 0) x[k] = 0;
  return x;
}
/** Applies a linear layer, whose number of rows four divides, to several vectors: four rows to two vectors at a time. */
export function apply({ rows, columns, weight, bias }: Linear, xs: readonly Vector[]): Vector[] {
  const ys = xs.map(() => new Float64Array(rows)), start = bias ?? new Float32Array(rows), used = new Int32Array(columns);
  for (let t = 0; t < xs.length; t += 2) {
    const u = Math.min(t + 1, xs.length - 1), x = xs[t]!, x2 = xs[u]!, y = ys[t]!, y2 = ys[u]!;
    let count = 0;
    for (let k = 0; k < columns; k++) if (x[k] || x2[k]) used[count++] = k; // after a ReLU, few
    for (let r = 0; r < rows; r += 4) {
      let a = start[r]!, b = start[r + 1]!, c = start[r + 2]!, d = start[r + 3]!, a2 = a, b2 = b, c2 = c, d2 = d;
      for (let i = 0; i < count; i++) {
        const k = used[i]!, at = r * columns + k, wa = weight[at]!, wb = weight[at + columns]!, wc = weight[at + 2 * columns]!, wd = weight[at + 3 * columns]!, v = x[k]!, v2 = x2[k]!;
        a += wa * v;
        b += wb * v;
        c += wc * v;
        d += wd * v;
        a2 += wa * v2;
        b2 += wb * v2;
        c2 += wc * v2;
        d2 += wd * v2;
      }
      y.set([a, b, c, d], r);
      y2.set([a2, b2, c2, d2], r);
    }
  }
  return ys;
}
export function normalize({ weight, bias }: Norm, x: Vector): Vector {
  const normal = new Float64Array(x.length);
  let mean = 0, variance = 0;
  for (let k = 0; k < x.length; k++) mean += x[k]! / x.length;
  for (let k = 0; k < x.length; k++) variance += (x[k]! - mean) ** 2 / x.length;
  const deviation = Math.sqrt(variance + 1e-5);
  for (let k = 0; k < x.length; k++) normal[k] = ((x[k]! - mean) / deviation) * weight[k]! + bias[k]!;
  return normal;
}
