/** Lines that change while one looks: rewritten in place on a terminal, told once each elsewhere. */

/** What is written to; `process.stdout` is one. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const COLUMNS_DEFAULT = 100;

export class LiveLines {
  readonly #screen: Screen;
  #shown: readonly string[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  get isLive(): boolean {
    return this.#screen.isTTY === true;
  }

  get width(): number {
    return (this.#screen.columns ?? COLUMNS_DEFAULT) - 1;
  }

  /** On a terminal the lines take the place of those shown before; elsewhere only those are told that are new. */
  show(lines: readonly string[]): void {
    if (this.isLive) this.#rewrite(lines);
    else for (const line of lines) if (!this.#shown.includes(line)) this.#screen.write(`${line}\n`);
    this.#shown = lines;
  }

  /** What was shown stays; on a terminal the next lines stand below it. */
  keep(): void {
    if (this.isLive) this.#shown = [];
  }

  #rewrite(lines: readonly string[]): void {
    const up = this.#shown.length > 0 ? `\u001b[${this.#shown.length}A` : '';
    const text = lines.map((line) => `\u001b[2K${line.slice(0, this.width)}\n`).join('');
    this.#screen.write(`${up}${text}\u001b[0J`);
  }
}
