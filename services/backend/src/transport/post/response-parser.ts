/**
 * Reads the responses to requests on one connection (RFC 9112). It is strict: a response whose end is not certain, or that a second reader could
 * read otherwise, is an error, and its connection is closed.
 */

/** Names in lower case; a name that occurs several times has its values in order. */
export type ResponseHeaders = Record<string, string | string[] | undefined>;

export interface ResponseHears {
  /** The status line and the headers of a response have come, or of an interim one (1xx). */
  head(status: number, headers: ResponseHeaders, message: string): void;
  data(chunk: Buffer): void;
  /** @param keptMs milliseconds that the connection may be idle before its next request; 0 if it must not be used again. */
  end(keptMs: number): void;
}

/** The bytes of a server are no valid response. Clients read its message, which repeats nothing that the server sent. */
export class ResponseProblem extends Error {}

/** Bound on the bytes of a head, and on those of trailers. */
const maxHeadBytes = 16 * 1_024;
/** Bound on the bytes of the line before a chunk, extensions included. */
const maxSizeLine = 4 * 1_024;
/** Milliseconds for which a connection is kept if its server names no time. */
const keptMs = 2_000;
/** Milliseconds by which a connection is kept shorter than its server says. */
const distanceMs = 2_000;
const longestKeptMs = 600_000;

const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// oxlint-disable-next-line no-control-regex -- the characters that no head may have, except for the ends of its lines (RFC 9110, 5.5)
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
const sizeLine = /^([0-9A-Fa-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const endOfHead = Buffer.from('\r\n\r\n');
const endOfLine = Buffer.from('\r\n');

type State = 'head' | 'length' | 'until-close' | 'size' | 'chunk' | 'chunk-end' | 'trailers';

export class ResponseParser {
  readonly #hears: ResponseHears;
  #state: State = 'head';
  /** The beginning of a head or line that is not complete. */
  #held: Buffer | undefined;
  /** Bytes that are missing of the body, or of the chunk. */
  #missing = 0;
  #keptMs = 0;
  #trailerBytes = 0;
  /** The latest head, as far as it says how long the connection is kept: a server says the same each time. */
  #kept: Kept = { connection: undefined, keepAlive: undefined, isPersistent: true, ms: keptMs };

  constructor(hears: ResponseHears) {
    this.#hears = hears;
  }

  /**
   * @returns whether the bytes end between two responses: nothing of the next one has come.
   * @throws {ResponseProblem} after which nothing more can be read.
   */
  read(chunk: Buffer): boolean {
    let rest: Buffer | undefined = chunk;
    while (rest !== undefined && rest.length > 0) rest = this.#step(rest);
    return this.#state === 'head' && this.#held === undefined;
  }

  /** The server has closed the connection. @returns whether that ends a response. */
  closed(): boolean {
    if (this.#state !== 'until-close') return false;
    this.#end();
    return true;
  }

  /** @returns the bytes that follow; undefined if there are none. */
  #step(bytes: Buffer): Buffer | undefined {
    switch (this.#state) {
      case 'head': {
        const head = this.#until(endOfHead, bytes, maxHeadBytes, 'the head of its response is too long');
        if (head !== undefined) this.#readHead(head.text);
        return head?.rest;
      }
      case 'length':
      case 'chunk':
        return this.#readBody(bytes);
      case 'until-close':
        this.#hears.data(bytes);
        return undefined;
      case 'size': {
        const tooLong = 'the line before a chunk of its response is too long';
        const line = this.#until(endOfLine, bytes, maxSizeLine, tooLong);
        if (line !== undefined) this.#readSize(line.text);
        return line?.rest;
      }
      case 'chunk-end': {
        const tooLong = 'a chunk of its response is longer than it says';
        const line = this.#until(endOfLine, bytes, endOfLine.length, tooLong);
        if (line === undefined) return undefined;
        if (line.text !== '') throw new ResponseProblem(tooLong);
        this.#state = 'size';
        return line.rest;
      }
      case 'trailers': {
        const tooLong = 'the trailers of its response are too long';
        const line = this.#until(endOfLine, bytes, maxHeadBytes, tooLong);
        if (line === undefined) return undefined;
        this.#trailerBytes += line.text.length;
        if (this.#trailerBytes > maxHeadBytes) throw new ResponseProblem(tooLong);
        if (line.text === '') this.#end();
        return line.rest;
      }
    }
  }

  /**
   * @param most bound on the bytes before the mark.
   * @param tooLong the problem if there are more.
   * @returns the text before a mark, and the bytes that follow it; undefined while the mark has not come.
   */
  #until(
    mark: Buffer,
    bytes: Buffer,
    most: number,
    tooLong: string,
  ): { readonly text: string; readonly rest: Buffer } | undefined {
    const all = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes]);
    const at = all.indexOf(mark);
    if ((at === -1 ? all.length : at) > most) throw new ResponseProblem(tooLong);
    this.#held = at === -1 ? all : undefined;
    return at === -1 ? undefined : { text: all.toString('latin1', 0, at), rest: all.subarray(at + mark.length) };
  }

  #readHead(text: string): void {
    const [first = '', ...lines] = text.split('\r\n');
    const [, minor, code, message = ''] = statusLine.exec(first) ?? [];
    if (code === undefined) throw new ResponseProblem('its response is not HTTP/1.1');
    if (forbidden.test(text)) throw new ResponseProblem('the head of its response has a control character');
    const status = Number(code);
    const headers = headersOf(lines);
    if (status === 100 || status === 101)
      throw new ResponseProblem(`it answered HTTP ${status}, which the request did not ask for`);
    if (status >= 200) this.#frame(status, minor === '1', headers);
    this.#hears.head(status, headers, message);
    if (this.#state === 'length' && this.#missing === 0) this.#end();
  }

  /** Finds out where the body ends (RFC 9112, 6.3). */
  #frame(status: number, isPersistent: boolean, headers: ResponseHeaders): void {
    const { 'content-length': length, 'transfer-encoding': coding } = headers;
    const { connection, 'keep-alive': keepAlive } = headers;
    const before = this.#kept;
    if (connection !== before.connection || keepAlive !== before.keepAlive || isPersistent !== before.isPersistent)
      this.#kept = { connection, keepAlive, isPersistent, ms: keptMsOf(connection, keepAlive, isPersistent) };
    this.#keptMs = this.#kept.ms;
    if (coding !== undefined && length !== undefined)
      throw new ResponseProblem('its response has two lengths (Content-Length and Transfer-Encoding)');
    if (status === 204 || status === 304) {
      // A body that must not be there would be read as the next response.
      if (coding !== undefined || (length !== undefined && length !== '0')) this.#keptMs = 0;
      this.#state = 'length';
    } else if (coding !== undefined) {
      if (typeof coding !== 'string' || coding.toLowerCase() !== 'chunked' || !isPersistent)
        throw new ResponseProblem('its response has a Transfer-Encoding other than chunked');
      this.#state = 'size';
    } else if (length === undefined) {
      this.#keptMs = 0;
      this.#state = 'until-close';
    } else {
      if (typeof length !== 'string' || !/^\d{1,15}$/.test(length))
        throw new ResponseProblem('the Content-Length of its response is no number');
      this.#state = 'length';
      this.#missing = Number(length);
    }
  }

  #readBody(bytes: Buffer): Buffer {
    const part = bytes.length <= this.#missing ? bytes : bytes.subarray(0, this.#missing);
    this.#missing -= part.length;
    this.#hears.data(part);
    if (this.#missing === 0) {
      if (this.#state === 'length') this.#end();
      else this.#state = 'chunk-end';
    }
    return bytes.subarray(part.length);
  }

  #readSize(line: string): void {
    const [, digits] = sizeLine.exec(line) ?? [];
    if (digits === undefined) throw new ResponseProblem('a chunk of its response does not say its size');
    this.#trailerBytes = 0;
    this.#missing = Number.parseInt(digits, 16);
    this.#state = this.#missing === 0 ? 'trailers' : 'chunk';
  }

  #end(): void {
    this.#state = 'head';
    this.#hears.end(this.#keptMs);
  }
}

/** Names in lower case, by how servers write them. */
const names = new Map<string, string>();
/** Bound on them, since servers choose the names. */
const maxNames = 1_000;

function newName(written: string): string {
  if (!token.test(written)) throw new ResponseProblem('its response has a header that is none');
  const name = written.toLowerCase();
  if (names.size < maxNames) names.set(written, name);
  return name;
}

/** @throws {ResponseProblem} at a line that is no header: a line that begins with a space could be read in two ways (RFC 9112, 5.2). */
function headersOf(lines: readonly string[]): ResponseHeaders {
  const headers = Object.create(null) as ResponseHeaders;
  for (const line of lines) {
    const colon = line.indexOf(':');
    const written = line.slice(0, Math.max(0, colon));
    const name = names.get(written) ?? newName(written);
    const value = line.slice(colon + 1).trim();
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}

type Said = ResponseHeaders[string];

/** How long a connection is kept, and the parts of a head that say so. */
interface Kept {
  readonly connection: Said;
  readonly keepAlive: Said;
  readonly isPersistent: boolean;
  /** Milliseconds for which the connection may be used again; 0 if it must be closed. */
  readonly ms: number;
}

/** @param isPersistent whether the connection stays open if the server does not say. */
function keptMsOf(connection: Said, keepAlive: Said, isPersistent: boolean): number {
  const said = String(connection ?? '');
  if (/(?:^|,)\s*close\s*(?:,|$)/i.test(said)) return 0;
  if (!isPersistent && !/(?:^|,)\s*keep-alive\s*(?:,|$)/i.test(said)) return 0;
  if (keepAlive === undefined) return keptMs;
  const [, seconds] = /(?:^|,)\s*timeout=(\d+)/i.exec(String(keepAlive)) ?? [];
  if (seconds === undefined) return keptMs;
  return Math.min(Math.max(0, Number(seconds) * 1_000 - distanceMs), longestKeptMs);
}
