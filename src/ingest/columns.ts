/** Columns of numbers and digests that grow: a hundred thousand rows cost some megabytes, where objects cost ten times that. */
const CAPACITY_FIRST = 1024;

type Numbers = Uint8Array | Uint32Array | Float64Array | BigInt64Array;
type ValueOf<Column extends Numbers> = Column extends BigInt64Array ? bigint : number;

export class GrowingColumn<Column extends Numbers> {
  readonly #make: (capacity: number) => Column;
  #values: Column;
  #length = 0;

  constructor(make: (capacity: number) => Column) {
    this.#make = make;
    this.#values = make(CAPACITY_FIRST);
  }

  get length(): number {
    return this.#length;
  }

  push(value: ValueOf<Column>): void {
    if (this.#length === this.#values.length) this.#grow();
    this.#values[this.#length++] = value;
  }

  at(index: number): ValueOf<Column> {
    if (index >= this.#length) throw new RangeError(`No row ${index}`);
    return this.#values[index] as ValueOf<Column>;
  }

  #grow(): void {
    const grown = this.#make(this.#values.length * 2);
    grown.set(this.#values as never);
    this.#values = grown;
  }
}

const DIGEST_BYTES = 32;

/** SHA-256 digests, in and out as lower-case hex. */
export class DigestColumn {
  #bytes = Buffer.alloc(CAPACITY_FIRST * DIGEST_BYTES);
  #length = 0;

  push(hex: string): void {
    if ((this.#length + 1) * DIGEST_BYTES > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)]);
    }
    this.#length += 1;
    this.set(this.#length - 1, hex);
  }

  set(index: number, hex: string): void {
    this.#bytes.write(hex, index * DIGEST_BYTES, 'hex');
  }

  at(index: number): string {
    return this.#bytes.toString('hex', index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
  }
}
