/**
 * Unpacks the body of a response while it is read (RFC 9110, 8.4.1: gzip, deflate; RFC 7932: br). What comes out passes through the same bounds as a body that was not
 * packed. A bound on the ratio stops a body of few bytes that keeps a process busy with its unpacked contents.
 */
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  type BrotliDecompress,
  type Gunzip,
  type Inflate,
  type InflateRaw,
} from 'node:zlib';

/** Accepted codings in requests; the gateway also reads `deflate`, but does not request it, since servers differ in its meaning. */
export const acceptedCodings = 'gzip, br';

/** Bytes that may come out whatever the ratio. */
const freeBytes = 1_024 * 1_024;
/** Bytes that may come out for each byte that was received. Messages are packed to a tenth, repetitive ones to a hundredth; a bomb to a thousandth. */
const maxRatio = 250;

export interface UnpackerPort {
  readonly data: (chunk: Buffer) => void;
  readonly end: () => void;
  /** The body cannot be unpacked, or not within the bound. It is not read any further. */
  readonly refused: (problem: string) => void;
  /** Packed bytes wait to be unpacked, so no more are to be received, or are again. */
  readonly pause: () => void;
  readonly resume: () => void;
}

type Stream = Gunzip | Inflate | InflateRaw | BrotliDecompress;

/** Whether a coding can be unpacked. @param coding the value of `Content-Encoding`, in lower case. */
export function canUnpack(coding: string): boolean {
  return ['gzip', 'x-gzip', 'br', 'deflate'].includes(coding);
}

/** Words of servers in `Content-Encoding` that name no coding: character sets, and words for a body that is not packed. */
const packsNothing =
  /^(?:identity|none|binary|[78]bit|utf-?(?:8|16)|us-ascii|ascii|iso-8859-\d+|latin-?1|windows-125\d)$/;

/** Whether a `Content-Encoding` leaves the body as it is. @param coding its value, in lower case. */
export function isUnpacked(coding: string): boolean {
  return packsNothing.test(coding);
}

export class Unpacker {
  readonly #coding: string;
  readonly #port: UnpackerPort;
  #stream: Stream | undefined;
  #received = 0;
  #unpacked = 0;
  /** Whether packed bytes wait. */
  #isFull = false;
  #isOver = false;

  constructor(coding: string, port: UnpackerPort) {
    this.#coding = coding;
    this.#port = port;
  }

  write(chunk: Buffer): void {
    if (this.#isOver || chunk.length === 0) return;
    this.#received += chunk.length;
    const stream = (this.#stream ??= this.#open(chunk));
    if (stream.write(chunk) || this.#isFull) return;
    this.#isFull = true;
    this.#port.pause();
    stream.once('drain', () => {
      this.#isFull = false;
      if (!this.#isOver) this.#port.resume();
    });
  }

  /** No more is received. @param then runs when everything received is unpacked, in place of `end`. */
  end(then: () => void = this.#port.end): void {
    const stream = this.#stream;
    if (this.#isOver) return;
    if (stream === undefined) {
      this.stop();
      then();
      return;
    }
    stream.once('end', () => {
      if (this.#isOver) return;
      this.stop();
      then();
    });
    stream.end();
  }

  pause(): void {
    this.#stream?.pause();
  }

  resume(): void {
    this.#stream?.resume();
  }

  /** Unpacks nothing more. */
  stop(): void {
    this.#isOver = true;
    this.#stream?.destroy();
  }

  #open(first: Buffer): Stream {
    const stream = openStream(this.#coding, first);
    stream.on('data', (chunk: Buffer) => {
      if (this.#isOver) return;
      this.#unpacked += chunk.length;
      if (this.#unpacked > freeBytes && this.#unpacked > maxRatio * this.#received)
        this.#refuse(`its answer unpacks to more than ${maxRatio} times its size`);
      else this.#port.data(chunk);
    });
    stream.on('error', () => this.#refuse(`its answer is not packed as it says (${this.#coding})`));
    return stream;
  }

  #refuse(problem: string): void {
    if (this.#isOver) return;
    this.stop();
    this.#port.refused(problem);
  }
}

/** A stream that ends without its last bytes is unpacked as far as it goes, since streams of events often break off. */
function openStream(coding: string, first: Buffer): Stream {
  if (coding === 'br') return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
  const options = { finishFlush: constants.Z_SYNC_FLUSH };
  if (coding !== 'deflate') return createGunzip(options);
  // Most servers send the zlib format (RFC 9110, 8.4.1.2), some the plain one; the first byte tells them apart (RFC 1950, 2.2).
  return ((first[0] as number) & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options);
}
