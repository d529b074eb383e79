/**
 * The operations of one document, shared by all connections to its server. A file is followed; a document at an address is asked for again when the lists of the
 * server are. If a changed document cannot be used, the operations from before stay, and the log says why.
 */
import { createHash } from 'node:crypto';
import { stat, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isDocumentAddress, type OpenApiConfig } from '@omnibus/config';
import { apiAddress, maxDocumentBytes, operationsOf, readDocument, type Operations } from '@omnibus/openapi';
import { printable } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { Dispatcher } from 'undici';
import { Troubled } from '../../transport/trouble.ts';
import { exchange } from './exchange.ts';

export interface DocumentOptions {
  readonly settings: OpenApiConfig;
  /** The address of the API; undefined for that of the document. */
  readonly url: string | undefined;
  /** Sent to the document's address only if it has the origin of `url`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly baseFolder: string;
  /** Checks the addresses that it connects to. */
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>;
  readonly log: Logger;
}

/** The operations, and the address that their requests go to. */
export interface Api extends Operations {
  readonly title: string;
  readonly address: URL;
  /** A hash of the list of tools with those that cannot be offered. */
  readonly digest: string;
}

interface Source {
  readonly text: string;
  /** Marks this version of the document; an equal mark is an equal document. */
  readonly mark: string;
}

/** Time for a document at an address. */
const fetchMs = 20_000;

export class KeptDocument {
  readonly #options: DocumentOptions;
  readonly #listeners = new Set<() => void>();
  #api: Api | undefined;
  #mark: string | undefined;
  /** The reading in progress; further ones wait for it. */
  #reading: Promise<void> | undefined;
  #watcher: { close(): unknown } | undefined;
  #isClosed = false;

  constructor(options: DocumentOptions) {
    this.#options = options;
  }

  /** Values of security schemes by their names. */
  get secrets(): ReadonlyMap<string, string> {
    return new Map(Object.entries(this.#options.settings.security));
  }

  /** Reads the document, unless it was read. @throws {Troubled} */
  async open(): Promise<Api> {
    if (this.#api === undefined) await this.#read();
    await this.#follow();
    return this.current;
  }

  /** The operations as they are known. */
  get current(): Api {
    if (this.#api === undefined) throw new Troubled('configuration', 'the OpenAPI document was not read yet');
    return this.#api;
  }

  /** Reads the document again if it has changed. Problems are logged. */
  async renew(): Promise<Api> {
    try {
      await this.#read();
    } catch (error) {
      this.#options.log.warn(
        { problem: (error as Error).message },
        'a changed OpenAPI document cannot be used; the operations from before stay',
      );
    }
    return this.current;
  }

  /** @param changed called when the list of operations is another one. @returns ends that. */
  onChange(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
    void this.#watcher?.close();
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readNow(): Promise<void> {
    const { settings, url } = this.#options;
    const { document: place } = settings;
    const isRemote = isDocumentAddress(place);
    try {
      const source = isRemote ? await this.#fetch(place) : await this.#load(place);
      if (source === undefined || (source.mark !== '' && source.mark === this.#mark)) return;
      const document = await readDocument(source.text);
      const operations = await operationsOf(document, {
        operations: settings.operations,
        tags: settings.tags,
        hasAnswers: settings.outputSchemas,
      });
      const address = url === undefined ? apiAddress(document, isRemote ? place : undefined) : new URL(url);
      const digest = digestOf(operations);
      const before = this.#api;
      this.#api = { ...operations, title: document.title, address, digest };
      this.#mark = source.mark;
      if (before !== undefined && before.digest !== digest) for (const changed of this.#listeners) changed();
    } catch (error) {
      if (error instanceof Troubled) throw error;
      throw new Troubled('configuration', `openapi: ${shownPlace(place)}: ${(error as Error).message}`);
    }
  }

  async #load(place: string): Promise<Source | undefined> {
    const file = resolve(this.#options.baseFolder, place);
    const { size, mtimeMs, ino } = await stat(file);
    const mark = `${mtimeMs} ${size} ${ino}`;
    if (mark === this.#mark) return undefined;
    if (size > maxDocumentBytes) throw new Error(`the document is larger than ${maxDocumentBytes} bytes`);
    return { text: await readFile(file, 'utf8'), mark };
  }

  async #fetch(place: string): Promise<Source | undefined> {
    const { dispatcher, url, headers } = this.#options;
    const { origin, pathname, search } = new URL(place);
    const isOfApi = url !== undefined && new URL(url).origin === origin;
    const open = exchange({
      dispatcher,
      origin,
      path: `${pathname}${search}`,
      method: 'GET',
      headers: {
        accept: 'application/json, application/yaml, */*;q=0.5',
        'accept-encoding': 'gzip, br',
        ...(isOfApi ? headers : {}),
        ...(this.#mark === undefined || this.#mark === '' ? {} : { 'if-none-match': this.#mark }),
      },
      maxBytes: maxDocumentBytes,
    });
    const limit = setTimeout(() => open.abort(), fetchMs);
    try {
      const { status, headers: said, body } = await open.answer;
      if (status === 304) return undefined;
      if (status >= 300) throw new Troubled('address', `openapi: ${shownPlace(place)}: HTTP ${status}`);
      const etag = said['etag'];
      return {
        text: body.toString('utf8'),
        mark: typeof etag === 'string' && /^[\x21-\x7E]{1,200}$/.test(etag) ? etag : '',
      };
    } catch (error) {
      if (error instanceof Troubled) throw error;
      throw new Troubled('address', `openapi: ${shownPlace(place)}: ${printable((error as Error).message, 200)}`);
    } finally {
      clearTimeout(limit);
    }
  }

  async #follow(): Promise<void> {
    const { settings, baseFolder, log } = this.#options;
    if (this.#watcher !== undefined || this.#isClosed || isDocumentAddress(settings.document)) return;
    const { watch } = await import('chokidar');
    if (this.#isClosed) return;
    const watcher = watch(resolve(baseFolder, settings.document), {
      ignoreInitial: true,
      awaitWriteFinish: { stabilityThreshold: 100, pollInterval: 25 },
    });
    this.#watcher = watcher;
    for (const event of ['change', 'add'] as const) watcher.on(event, () => void this.renew());
    watcher.on('error', (error) =>
      log.warn({ err: error }, 'changes of an OpenAPI document are noticed only when its lists are read again'),
    );
  }
}

function digestOf({ tools, leftOut }: Operations): string {
  const hash = createHash('sha256');
  for (const each of [...tools, ...leftOut]) hash.update(JSON.stringify(each)).update('\n');
  return hash.digest('base64');
}

/** The place without the query of an address, which may hold secrets. */
function shownPlace(place: string): string {
  return printable(place.replace(/\?.*$/s, ''), 200);
}
