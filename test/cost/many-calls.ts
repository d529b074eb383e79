/** Clients of one era that call the benchmark's server, some calls at a time. */
import { Pool } from 'undici';

const base = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const modernMeta =
  '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}';

const clients = 32;

export const eras = ['2025-11-25', '2026-07-28'] as const;
export type Era = (typeof eras)[number];

export class ManyCalls implements AsyncDisposable {
  readonly #pool: Pool;
  readonly #path: string;
  /** Those of each client. */
  readonly #headers: Record<string, string>[] = [];
  readonly #more: string;
  readonly #inFlight: number;
  #id = 0;

  private constructor(url: string, inFlight: number, isModern: boolean) {
    const { origin, pathname } = new URL(url);
    this.#pool = new Pool(origin, { connections: inFlight, bodyTimeout: 0, headersTimeout: 0 });
    this.#path = pathname;
    this.#inFlight = inFlight;
    this.#more = isModern ? `,"_meta":${modernMeta}` : '';
  }

  /** @param inFlight how many calls are in flight; 32 clients share them. */
  static async open(url: string, era: Era, inFlight: number): Promise<ManyCalls> {
    const calls = new ManyCalls(url, inFlight, era === '2026-07-28');
    for (let client = 0; client < clients; client += 1) calls.#headers.push(await calls.#client(era));
    return calls;
  }

  /**
   * Resolves when so many further calls are answered.
   * @throws {Error} at the first answer that is not the result.
   */
  async run(calls: number): Promise<void> {
    let left = calls;
    const work = async (headers: Record<string, string>): Promise<void> => {
      while (left > 0) {
        left -= 1;
        this.#id += 1;
        const text = `hello ${this.#id}`;
        const { body } = await this.#post(
          headers,
          `{"jsonrpc":"2.0","id":${this.#id},"method":"tools/call","params":{"name":"tool-0","arguments":{"text":"${text}"}${this.#more}}}`,
        );
        if (!body.includes(`"text":"${text}"`)) throw new Error(`a call was answered: ${body}`);
      }
    };
    const works = Array.from({ length: this.#inFlight }, (_, index) => work(this.#headers[index % clients] ?? base));
    await Promise.all(works);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
  }

  async #client(era: Era): Promise<Record<string, string>> {
    if (era === '2026-07-28')
      return { ...base, 'mcp-protocol-version': era, 'mcp-method': 'tools/call', 'mcp-name': 'tool-0' };
    const { session } = await this.#post(
      base,
      `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"${era}","capabilities":{},"clientInfo":{"name":"many","version":"1"}}}`,
    );
    const headers = { ...base, 'mcp-session-id': session, 'mcp-protocol-version': era };
    await this.#post(headers, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
    return headers;
  }

  async #post(
    headers: Record<string, string>,
    body: string,
  ): Promise<{ readonly body: string; readonly session: string }> {
    const answer = await this.#pool.request({ method: 'POST', path: this.#path, headers, body });
    return { body: await answer.body.text(), session: String(answer.headers['mcp-session-id']) };
  }
}
