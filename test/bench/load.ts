/** Many sessions, each with one open call at a time. */
import { Pool } from 'undici';

export interface LoadOptions {
  readonly url: string;
  readonly sessions: number;
  /** Public names of the called tools, in turn. */
  readonly tools: readonly string[];
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Characters of each result beside its text; 0 if left out. */
  readonly bytes?: number;
  /** Whether the clients are of 2026-07-28, without sessions. */
  readonly isModern?: boolean;
  /** Whether each session has a connection of its own, as the client of one user; else its calls take any. */
  readonly ownConnections?: boolean;
}

export interface LoadResult {
  readonly calls: number;
  readonly seconds: number;
  /** Milliseconds, sorted. */
  readonly latencies: Float64Array;
}

interface Session {
  readonly pool: Pool;
  readonly headers: Record<string, string>;
}

const modernRevision = '2026-07-28';
const modernMeta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"${modernRevision}","io.modelcontextprotocol/clientCapabilities":{}}`;

const baseHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** Sessions that are opened once and used for several rounds. */
export class Load {
  readonly #pools: readonly Pool[];
  readonly #path: string;
  readonly #tools: readonly string[];
  readonly #headers: Readonly<Record<string, string>>;
  readonly #sessions: Session[] = [];
  readonly #bytes: string;
  readonly #isModern: boolean;
  #count = 0;

  private constructor(options: LoadOptions) {
    const { url, tools, sessions, headers = {}, bytes = 0, isModern = false, ownConnections = false } = options;
    this.#headers = headers;
    this.#bytes = bytes === 0 ? '' : `,"bytes":${bytes}`;
    this.#isModern = isModern;
    const { origin, pathname } = new URL(url);
    this.#pools = Array.from(
      { length: ownConnections ? sessions : 1 },
      () => new Pool(origin, { connections: ownConnections ? 1 : sessions, bodyTimeout: 0, headersTimeout: 0 }),
    );
    this.#path = pathname;
    this.#tools = tools;
  }

  static async open(options: LoadOptions): Promise<Load> {
    const load = new Load(options);
    for (let session = 0; session < options.sessions; session += 1) await load.#openSession();
    return load;
  }

  /** Resolves with the names of all tools of the endpoint. */
  static async toolNames(url: string, headers?: Readonly<Record<string, string>>): Promise<string[]> {
    const load = await Load.open({ url, sessions: 1, tools: [], headers });
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await load.#post(load.#sessions[0] as Session, {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: cursor === undefined ? {} : { cursor },
      });
      const { result } = parseAnswer(body) as { result: { tools: { name: string }[]; nextCursor?: string } };
      names.push(...result.tools.map(({ name }) => name));
      cursor = result.nextCursor;
    } while (cursor !== undefined);
    await load.close();
    return names;
  }

  /** @throws {Error} at the first wrong answer. */
  run(durationMs: number): Promise<LoadResult> {
    const startedAt = performance.now();
    const latencies: number[] = [];
    return new Promise((resolve, reject) => {
      let open = this.#sessions.length;
      const next = (session: Session): void => {
        const sentAt = performance.now();
        if (sentAt - startedAt >= durationMs) {
          open -= 1;
          if (open === 0)
            resolve({
              calls: latencies.length,
              seconds: (sentAt - startedAt) / 1_000,
              latencies: Float64Array.from(latencies).sort(),
            });
          return;
        }
        this.#count += 1;
        const id = this.#count;
        const text = `hello ${id}`;
        const name = this.#tools[id % this.#tools.length];
        this.#dispatch(
          session.pool,
          this.#isModern ? { ...session.headers, 'mcp-name': String(name) } : session.headers,
          `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":{"text":"${text}"${this.#bytes}}${this.#isModern ? modernMeta : ''}}}`,
          (status, body) => {
            if (
              status !== 200 ||
              !body.includes(`"id":${id}`) ||
              !body.includes(`"text":"${text}${this.#bytes === '' ? '"' : 'x'}`)
            ) {
              reject(new Error(`wrong answer to call ${id} of ${name}: HTTP ${status} ${body.slice(0, 300)}`));
              return;
            }
            latencies.push(performance.now() - sentAt);
            next(session);
          },
          reject,
        );
      };
      for (const session of this.#sessions) next(session);
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.destroy()));
  }

  async #openSession(): Promise<void> {
    const own = { ...baseHeaders, ...this.#headers };
    const pool = this.#pools[this.#sessions.length % this.#pools.length] as Pool;
    if (this.#isModern) {
      this.#sessions.push({
        pool,
        headers: { ...own, 'mcp-protocol-version': modernRevision, 'mcp-method': 'tools/call' },
      });
      return;
    }
    const { session } = await this.#post(
      { pool, headers: own },
      {
        jsonrpc: '2.0',
        id: 0,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
      },
    );
    const headers = session === undefined ? own : { ...own, 'mcp-session-id': session };
    await this.#post({ pool, headers }, { jsonrpc: '2.0', method: 'notifications/initialized' });
    this.#sessions.push({ pool, headers });
  }

  #post(
    { pool, headers }: Session,
    message: object,
  ): Promise<{ readonly session: string | undefined; readonly body: string }> {
    return new Promise((resolve, reject) => {
      this.#dispatch(
        pool,
        headers,
        JSON.stringify(message),
        (_status, body, session) => resolve({ session, body }),
        reject,
      );
    });
  }

  #dispatch(
    pool: Pool,
    headers: Record<string, string>,
    body: string,
    done: (status: number, body: string, session: string | undefined) => void,
    failed: (error: Error) => void,
  ): void {
    let status = 0;
    let session: string | undefined;
    let chunks = '';
    pool.dispatch(
      { method: 'POST', path: this.#path, headers, body },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, code, answerHeaders) => {
          status = code;
          const value = answerHeaders['mcp-session-id'];
          if (typeof value === 'string') session = value;
        },
        onResponseData: (_controller, chunk) => {
          chunks += chunk.toString();
        },
        onResponseEnd: () => done(status, chunks, session),
        onResponseError: (_controller, error) => failed(error),
      },
    );
  }
}

function parseAnswer(body: string): unknown {
  return JSON.parse(body.startsWith('{') ? body : (/^data: (.+)$/m.exec(body)?.[1] ?? '{}'));
}
