/** What the language model computes of a text that grows: as `LanguageModel.hidden_states`, with the KV cache of `selfattn_book/cache.py`. */
import { type LanguageModel, type Vector, apply, normalize, plus, rectify, softmax } from "./language.js";

/** What the model computes of a text; each number once, and only if it is asked for. */
export class Reading {
  tokens: readonly number[] = [];
  private readonly states: Vector[][]; // of each token, before each block and after the last
  private readonly keys: Vector[][];
  private readonly values: Vector[][];
  private readonly weights: Vector[][][]; // of each block, token and head
  private readonly logits: Vector[] = [];

  constructor(readonly model: LanguageModel) {
    [this.keys, this.values, this.weights, this.states] = [model.blocks.map(() => []), model.blocks.map(() => []), model.blocks.map(() => []), model.blocks.map(() => [])];
    this.states.push([]);
  }
  /** Takes a text, at most a context window of it, and keeps what was computed of an equal beginning. */
  follow(tokens: readonly number[]): this {
    let same = 0;
    while (same < tokens.length && tokens[same] === this.tokens[same]) same++;
    for (const kept of [...this.states, ...this.keys, ...this.values, ...this.weights, this.logits]) kept.length = Math.min(kept.length, same);
    this.tokens = [...tokens];
    return this;
  }
  /** Returns the logits of the token after position t. */
  next(t: number): Vector {
    const last = this.model.blocks.length;
    this.compute(last, [t]);
    return (this.logits[t] ??= this.model.unembed(this.states[last]![t]!));
  }
  /** Returns the attention weights of position t, on itself and those before it. */
  attention(block: number, head: number, t: number): Vector {
    this.compute(block + 1, [t]);
    return this.weights[block]![t]![head]!;
  }

  /** Computes the states of some positions before a block or after the last, and what they depend on. */
  private compute(level: number, positions: number[]): void {
    const states = this.states[level]!, missing = positions.filter((t) => !states[t]);
    if (!missing.length) return;
    if (!level) return missing.forEach((t) => { states[t] = this.model.embed(this.tokens[t]!, t); });
    const { norm1, norm2, key, value, query, output, expand, contract } = this.model.blocks[level - 1]!, keys = this.keys[level - 1]!, values = this.values[level - 1]!;
    const all = Array.from({ length: Math.max(...missing) + 1 }, (_, t) => t), unread = all.filter((t) => !keys[t]), inputs = this.states[level - 1]!;
    this.compute(level - 1, all);
    const normalized: Vector[] = [];
    for (const t of [...unread, ...missing]) normalized[t] ??= normalize(norm1, inputs[t]!);
    apply(key, unread.map((t) => normalized[t]!)).forEach((k, i) => { keys[unread[i]!] = k; });
    apply(value, unread.map((t) => normalized[t]!)).forEach((v, i) => { values[unread[i]!] = v; });
    const queries = apply(query, missing.map((t) => normalized[t]!));
    const contexts = apply(output, missing.map((t, i) => this.attend(level - 1, t, queries[i]!))), attended = missing.map((t, i) => plus(inputs[t]!, contexts[i]!));
    const hidden = apply(expand, attended.map((x) => normalize(norm2, x))).map(rectify);
    apply(contract, hidden).forEach((x, i) => { states[missing[i]!] = plus(attended[i]!, x); });
  }
  private attend(block: number, t: number, query: Vector): Vector {
    const { heads } = this.model, size = query.length / heads, context = new Float64Array(query.length), keys = this.keys[block]!, values = this.values[block]!;
    this.weights[block]![t] = Array.from({ length: heads }, (_, h) => {
      const scores = new Float64Array(t + 1), [from, to] = [h * size, (h + 1) * size];
      for (let s = 0; s <= t; s++) {
        const key = keys[s]!;
        let score = 0;
        for (let k = from; k < to; k++) score += query[k]! * key[k]!;
        scores[s] = score / Math.sqrt(size);
      }
      const weights = softmax(scores);
      for (let s = 0; s <= t; s++) {
        const value = values[s]!, weight = weights[s]!;
        for (let k = from; k < to; k++) context[k]! += weight * value[k]!;
      }
      return weights;
    });
    return context;
  }
}
