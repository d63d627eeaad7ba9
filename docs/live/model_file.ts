/** Reads the weights of the language model: a file of safetensors, whose matrices have 8 bits and one scale for each row. */
interface Entry { dtype: "F32" | "I8" | "I32"; shape: number[]; data_offsets: [number, number] }
export interface Linear { rows: number; columns: number; weight: Float32Array; bias?: Float32Array }
export interface Norm { weight: Float32Array; bias: Float32Array }

/** The script that the page loads sets them: the file in base64, and its SHA-256. */
export interface Packed { base64: string; digest: string }

export function unpack({ base64 }: Packed): ArrayBuffer { return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer; }

export class ModelFile {
  readonly metadata: Record<string, string>;
  private readonly entries: Record<string, Entry>;
  private readonly start: number;

  constructor(private readonly file: ArrayBuffer) {
    const size = Number(new DataView(file).getBigUint64(0, true));
    const { __metadata__: metadata, ...entries } = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, size)));
    this.metadata = metadata as Record<string, string>;
    this.entries = entries as Record<string, Entry>;
    this.start = 8 + size;
  }
  get names(): string[] { return Object.keys(this.entries); }
  shape(name: string): number[] { return this.entries[name]!.shape; }
  numbers(name: string): ArrayLike<number> {
    const { dtype, data_offsets: [a, b] } = this.entries[name]!, Kind = { F32: Float32Array, I8: Int8Array, I32: Int32Array }[dtype];
    return new Kind(this.file.slice(this.start + a, this.start + b));
  }
  /** Returns a tensor in 32 bits, rounded as the package rounds it. */
  tensor(name: string): Float32Array {
    const raw = this.numbers(name);
    if (this.entries[name]!.dtype !== "I8") return Float32Array.from(raw);
    const scale = this.numbers(`${name}.scale`), columns = this.shape(name)[1]!;
    return Float32Array.from(raw, (v, i) => v * scale[Math.floor(i / columns)]!);
  }
  linear(name: string): Linear {
    const [rows, columns] = this.shape(`${name}.weight`) as [number, number];
    return { rows, columns, weight: this.tensor(`${name}.weight`), bias: this.entries[`${name}.bias`] && this.tensor(`${name}.bias`) };
  }
  norm(name: string): Norm { return { weight: this.tensor(`${name}.weight`), bias: this.tensor(`${name}.bias`) }; }
}
