/** One HTTP request, with what all requests have in common: refusals, exceptions, reading the body, the answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Pieces } from '@omnibus/collections';
import {
  errorText,
  fault,
  httpStatusOf,
  toErrorObject,
  type GatewayFault,
  type JsonBytes,
  type JsonRpcId,
  type Limits,
} from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { Boundary } from '../requests/boundary.ts';
import type { ByteBudget } from '../bounds/byte-budget.ts';
import type { OpeningRate } from '../bounds/opening-rate.ts';
import { smallBytes, type Unread } from '../bounds/unread.ts';
import type { Callers, Sender } from '../callers/callers.ts';
import { readTarget } from './target.ts';

/** The parts that all transports of an edge share, with bounds for clients. */
export interface Gate {
  readonly boundary: Boundary;
  readonly callers: Callers;
  /** Limits the rate at which sessions are opened. */
  readonly rate: OpeningRate;
  /** Bounds bodies that are being read or served. */
  readonly bodies: ByteBudget;
  readonly unread: Unread;
  readonly metrics: Metrics;
  readonly limits: Limits;
}

/** Default of `Retry-After`, in seconds. */
const retrySeconds = 1;
const retryable = new Set([429, 503]);
const nothing = Buffer.alloc(0);
const revoked = fault('auth.invalid', 'the credential of this request was revoked while its body was sent');

export class Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Set when the request is admitted; earlier work on a request does not depend on its sender. */
  sender!: Sender;
  readonly #gate: Gate;
  /** Whether its client waits for `100 Continue` before it sends the body. */
  #waitsForContinue: boolean;

  constructor(request: IncomingMessage, response: ServerResponse, gate: Gate, waitsForContinue: boolean) {
    this.request = request;
    this.response = response;
    this.#gate = gate;
    this.#waitsForContinue = waitsForContinue;
  }

  /** Address key that its client is counted under. */
  address(): string {
    return this.#gate.callers.addresses.of(this.request);
  }

  /**
   * @param end called when the sender would not be admitted any more.
   * @param otherRights called when the sender has other rights, such as other groups; left out where a later request says so.
   */
  whenUnproven(end: () => void, otherRights?: () => void): void {
    const forget = this.sender.follow((_caller, hasOtherRights) => {
      if (hasOtherRights) otherRights?.();
    }, end);
    if (forget !== undefined) this.response.once('close', forget);
  }

  /** Runs a part of the work on it; its exception becomes the answer. */
  run(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.failed(error);
    }
  }

  /** Answers after an exception in the work on it. */
  failed(error: unknown): void {
    this.#gate.boundary.failed((gatewayFault) => this.refuse(gatewayFault), error);
  }

  /** Answers with an error. If the answer has begun already, the connection is broken off instead. */
  refuse(gatewayFault: GatewayFault, id?: JsonRpcId): void {
    const { metrics, limits } = this.#gate;
    metrics.refused(gatewayFault.reason);
    const { request, response } = this;
    if (response.headersSent) {
      if (!response.writableEnded) response.destroy();
      return;
    }
    if (this.#waitsForContinue) response.setHeader('connection', 'close');
    else if (!request.complete) discardRest(request, limits.maxBodyBytes);
    const status = httpStatusOf(gatewayFault.reason);
    if (gatewayFault.reason === 'http.content_encoding') response.setHeader('accept-encoding', 'identity');
    const seconds = gatewayFault.data?.['retryAfterSeconds'];
    if (retryable.has(status)) response.setHeader('retry-after', typeof seconds === 'number' ? seconds : retrySeconds);
    this.json(status, errorText(id, toErrorObject(gatewayFault)));
  }

  json(status: number, text: string | JsonBytes, headers: Readonly<Record<string, string>> = {}): void {
    const { response } = this;
    const length = typeof text === 'string' ? Buffer.byteLength(text) : text.length;
    response.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': length });
    if (typeof text === 'string') response.end(text);
    else {
      response.cork();
      for (const part of text.parts) response.write(part);
      response.end();
    }
    if (this.response.writableLength > smallBytes) this.#gate.unread.wrote(this.response, this);
  }

  /** Answers a request with too few scopes, so that its client knows which one to ask for. @param text the error as JSON-RPC. */
  challenge(gatewayFault: GatewayFault, text: string): void {
    const target = readTarget(this.request);
    const challenge = 'fault' in target ? undefined : this.#gate.callers.challenge(gatewayFault, target.path);
    this.json(
      httpStatusOf(gatewayFault.reason),
      text,
      challenge === undefined ? {} : { 'www-authenticate': challenge },
    );
  }

  /** Reads the whole body, after the check of its headers. `done` is not called when the client disconnects before its end. */
  readBody(done: (body: Buffer) => void): void {
    const { request, response } = this;
    if (this.#waitsForContinue) {
      this.#waitsForContinue = false;
      response.writeContinue();
    }
    const {
      limits: { maxBodyBytes },
      bodies,
    } = this.#gate;
    const declared = Number(request.headers['content-length']);
    /** Nearly every body comes in one piece. */
    let held: Buffer | Pieces = nothing;
    let bytes = 0;
    let lease: ReturnType<ByteBudget['lease']> | undefined;
    let isRefused = false;
    const refuse = (gatewayFault: GatewayFault): void => {
      isRefused = true;
      held = nothing;
      lease?.release();
      this.refuse(gatewayFault);
    };
    request.on('data', (chunk: Buffer) => {
      if (isRefused) return;
      bytes += chunk.length;
      if (bytes > maxBodyBytes) {
        refuse(fault('message.too_large', `the body is larger than ${maxBodyBytes} bytes`, { maxBytes: maxBodyBytes }));
        return;
      }
      // What comes whole at once is not held, but served.
      if (lease === undefined && bytes !== declared) {
        lease = bodies.lease(this.address());
        // Its message is about as large, and is there until it is answered.
        response.once('close', () => lease?.release());
      }
      if (lease?.add(chunk.length) === false) refuse(fault('gateway.busy'));
      else if (held instanceof Pieces) held.add(chunk);
      else held = held === nothing ? chunk : new Pieces(held, chunk);
    });
    request.on('end', () => {
      if (isRefused) return;
      // A body may take as long as its sender likes, within the time limit of a request.
      if (this.sender.isOver()) {
        this.#gate.metrics.refused(revoked.reason);
        this.challenge(revoked, errorText(undefined, toErrorObject(revoked)));
        return;
      }
      const body = held instanceof Pieces ? held.joined() : held;
      held = nothing; // An idle connection keeps its last request, with what listens to it.
      try {
        done(body);
      } catch (error) {
        this.failed(error);
      }
    });
  }
}

/**
 * Reads and discards the rest of a request, so that the client reads the answer instead of a connection reset (RFC 9112, 9.6). A client that sends
 * more than any request may have is disconnected, and a slow one after the time limit of a request.
 */
function discardRest(request: IncomingMessage, maxBytes: number): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) request.destroy();
  });
}
