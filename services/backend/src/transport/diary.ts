/** What became of one server lately, for whoever runs the gateway: lines of its program's stderr, and of its connection. Secrets are taken out when it is read. */

/** Of one server: what a person looks through. */
const maxLines = 500;
const maxLength = 2_000;

export interface DiaryLine {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly text: string;
}

interface Written extends DiaryLine {
  readonly redact: ((text: string) => string) | undefined;
}

export class Diary {
  readonly #lines: Written[] = [];
  /** The last line of a program as far as it came. */
  #rest = '';

  /** A piece of what a program writes. @param redact takes out what is secret. */
  write(piece: string, redact: (text: string) => string): void {
    const lines = `${this.#rest}${piece}`.split('\n');
    this.#rest = (lines.pop() ?? '').slice(-maxLength);
    // More than is kept need not be looked at.
    for (const line of lines.slice(-maxLines)) if (line.trim() !== '') this.#add(line, redact);
  }

  /** Something of the gateway's own. */
  note(text: string): void {
    this.#add(text, undefined);
  }

  #add(text: string, redact: Written['redact']): void {
    this.#lines.push({ at: Date.now(), text: text.slice(0, maxLength), redact });
    // In halves, so that a program that writes without end moves little.
    if (this.#lines.length > 2 * maxLines) this.#lines.splice(0, maxLines);
  }

  /** The last ones, oldest first. */
  get lines(): readonly DiaryLine[] {
    return this.#lines.slice(-maxLines).map(({ at, text, redact }) => ({ at, text: redact === undefined ? text : redact(text) }));
  }

  /** What a program wrote last. */
  get lastWords(): string | undefined {
    const last = this.#lines.findLast(({ redact }) => redact !== undefined);
    return last?.redact?.(last.text);
  }
}
