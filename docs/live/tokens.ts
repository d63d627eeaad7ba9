/** Byte-pair encoding, as `selfattn_book/tokens.py` has it. */
const WORD = / ?[A-Za-z\x80-\xff]+|[^A-Za-z\x80-\xff]/g, MOST = 65536; // tokens

export class BPETokenizer {
  readonly symbols: Uint8Array[] = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  private readonly ranks = new Map<number, number>();
  private readonly kept = new Map<string, number[]>(); // words encoded earlier

  constructor(merges: ArrayLike<number>) {
    for (let i = 0; i < merges.length; i += 2) {
      const a = merges[i]!, b = merges[i + 1]!;
      this.ranks.set(a * MOST + b, this.symbols.length);
      this.symbols.push(Uint8Array.of(...this.symbols[a]!, ...this.symbols[b]!));
    }
  }
  encode(text: string): number[] {
    let bytes = "";
    for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
    return (bytes.match(WORD) ?? []).flatMap((word) => this.split(word));
  }
  decode(tokens: readonly number[]): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(tokens.flatMap((t) => [...this.symbols[t]!])));
  }
  private split(word: string): number[] {
    const before = this.kept.get(word);
    if (before) return before;
    let numbers = Array.from(word, (c) => c.charCodeAt(0));
    for (;;) {
      let first = Infinity; // learned first
      for (let i = 0; i + 1 < numbers.length; i++) first = Math.min(first, this.rank(numbers, i));
      if (first === Infinity) break;
      const merged: number[] = [];
      for (let i = 0; i < numbers.length; i++) {
        if (this.rank(numbers, i) === first) { merged.push(first); i++; }
        else merged.push(numbers[i]!);
      }
      numbers = merged;
    }
    this.kept.set(word, numbers);
    return numbers;
  }
  private rank(numbers: readonly number[], i: number): number { return this.ranks.get(numbers[i]! * MOST + (numbers[i + 1] ?? -1)) ?? Infinity; }
}
