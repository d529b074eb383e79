/** The recent lines of one server for operators: of its program's stderr, and of its connection. Secrets are removed when it is read. */

/** Bound on the lines of one server, of which a person reads the latest. */
const maxLines = 500;
const maxLength = 2_000;
/** Last lines of a program in which the reason of its end is looked for: longer than a stack trace is. */
const reasonLines = 40;
/** A line that names an error, as Node, Python, Java, Go, Rust and shells write them; lines of a stack trace are indented. */
const names =
  /^(?:[\w.$ ]*(?:Error|Exception)\b|panic\b|fatal\b|thread '|Traceback)|^\S.*(?:\b(?:cannot|can't|could not|unable to|not found|no such|denied|refused|missing|required|invalid)\b)/i;

const ofNpm = /^npm (?:error|ERR!)/;
/** Lines of npm that do not say what failed: codes, and lines without words. */
const codesOfNpm = /^npm (?:error|ERR!)(?:\s+(?:code|errno|syscall|path|dest)\b.*|\s+\w+)?\s*$/;

export interface DiaryLine {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly text: string;
  /** Whether the gateway has written the line, and not the program. */
  readonly isOwn: boolean;
}

interface Written extends Omit<DiaryLine, 'isOwn'> {
  readonly redact: ((text: string) => string) | undefined;
}

export class Diary {
  readonly #lines: Written[] = [];
  /** The last line of the program, as far as it was received. */
  #rest = '';
  #strays = 0;
  #written = 0;

  /** Adds a piece of the program's output. @param redact removes secrets. */
  write(piece: string, redact: (text: string) => string): void {
    const lines = `${this.#rest}${piece}`.split('\n');
    this.#rest = (lines.pop() ?? '').slice(-maxLength);
    // Lines beyond the bound need no processing.
    this.#written += Math.max(0, lines.length - maxLines);
    for (const line of lines.slice(-maxLines)) if (line.trim() !== '') this.#add(line, redact);
  }

  /**
   * Counts output of a server that is not a message, such as text on the stdout of a program. @param said describes the first of several; undefined for
   * the others.
   */
  stray(said: string | undefined): void {
    this.#strays += 1;
    if (said !== undefined) this.note(`said something that is no message: ${said}`);
  }

  get strays(): number {
    return this.#strays;
  }

  /** Number of lines so far, those included that are not kept any more. */
  get written(): number {
    return this.#written;
  }

  /** Adds a line of the gateway. */
  note(text: string): void {
    this.#add(text, undefined);
  }

  #add(text: string, redact: Written['redact']): void {
    this.#written += 1;
    this.#lines.push({ at: Date.now(), text: text.slice(0, maxLength), redact });
    // Old lines are removed in blocks, so that continuous output moves few entries.
    if (this.#lines.length > 2 * maxLines) this.#lines.splice(0, maxLines);
  }

  /** The latest lines, oldest first. */
  get lines(): readonly DiaryLine[] {
    return this.#lines.slice(-maxLines).map(({ at, text, redact }) => ({
      at,
      text: redact === undefined ? text : redact(text),
      isOwn: redact === undefined,
    }));
  }

  /** The last line that the program has written. */
  get lastWords(): string | undefined {
    const last = this.#lines.findLast(({ redact }) => redact !== undefined);
    return last?.redact?.(last.text);
  }

  /** Of the last lines of the program the one that says why it ended: the last that names an error, else the last one. */
  get reason(): string | undefined {
    const lines = this.#lines.slice(-reasonLines).filter(({ redact }) => redact !== undefined);
    const named = lines.findLast(({ text }) => names.test(text));
    // npm says first what failed, and last where its log is.
    const isOfNpm = named !== undefined && ofNpm.test(named.text);
    const last = isOfNpm ? (lines.find(({ text }) => ofNpm.test(text) && !codesOfNpm.test(text)) ?? named) : named;
    return last === undefined ? this.lastWords : last.redact?.(last.text);
  }
}
