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
  const most = scores.reduce((a, b) => Math.max(a, b)), e = scores.map((s) => Math.exp(s - most)), sum = e.reduce((a, b) => a + b);
  return e.map((v) => v / sum);
}
export const plus = (x: Vector, y: Vector): Vector => x.map((v, k) => v + y[k]!);
/** Applies a linear layer, with an even number of rows, to several vectors: two rows to two vectors at a time. */
export function apply({ rows, columns, weight, bias }: Linear, xs: readonly Vector[]): Vector[] {
  const ys = xs.map(() => new Float64Array(rows));
  for (let t = 0; t < xs.length; t += 2) {
    const u = Math.min(t + 1, xs.length - 1), x = xs[t]!, x2 = xs[u]!, y = ys[t]!, y2 = ys[u]!;
    for (let r = 0; r < rows; r += 2) {
      let a = bias ? bias[r]! : 0, b = bias ? bias[r + 1]! : 0, a2 = a, b2 = b;
      for (let k = 0, at = r * columns; k < columns; k++, at++) {
        const w = weight[at]!, w2 = weight[at + columns]!, v = x[k]!, v2 = x2[k]!;
        a += w * v;
        b += w2 * v;
        a2 += w * v2;
        b2 += w2 * v2;
      }
      y[r] = a;
      y[r + 1] = b;
      y2[r] = a2;
      y2[r + 1] = b2;
    }
  }
  return ys;
}
export function normalize({ weight, bias }: Norm, x: Vector): Vector {
  const mean = x.reduce((a, b) => a + b) / x.length, variance = x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length;
  return x.map((v, k) => ((v - mean) / Math.sqrt(variance + 1e-5)) * weight[k]! + bias[k]!);
}
