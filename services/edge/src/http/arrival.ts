/** One HTTP request on its way through, with everything that is done the same way for each: refusals, throws, its body, its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorText, fault, httpStatusOf, toErrorObject, type Caller, type EndpointName, type GatewayFault, type JsonRpcId, type Limits } from '@omnibus/protocol';
import type { Facts, Proofs } from '@omnibus/identity';
import type { Metrics } from '@omnibus/telemetry';
import type { Boundary } from '../requests/boundary.ts';
import type { ByteBudget } from '../bounds/byte-budget.ts';
import type { ClientAddresses } from '../callers/client-address.ts';
import type { OpeningRate } from '../bounds/opening-rate.ts';
import type { Tenures } from '../callers/tenures.ts';
import type { Unread } from '../bounds/unread.ts';

/** What all ways in share: each bounds what strangers may take of it. */
export interface Gate {
  readonly boundary: Boundary;
  readonly addresses: ClientAddresses;
  /** How fast sessions are opened. */
  readonly rate: OpeningRate;
  /** Bodies that are being read, or served. */
  readonly bodies: ByteBudget;
  readonly unread: Unread;
  readonly tenures: Tenures;
  /** Undefined where nobody need be known, and in one process, where nobody else is on the bus. */
  readonly proofs: Proofs | undefined;
  /** Whether some rule asks which network a client is in. */
  readonly rules: { askForNetworks: boolean };
  readonly metrics: Metrics;
  readonly limits: Limits;
}

/** Seconds after which it is worth trying again, where nothing better is known. */
const retrySeconds = 1;
const retryable = new Set([429, 503]);

export class Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  #caller: Caller;
  #facts: Facts | undefined;
  readonly #gate: Gate;
  /** Its client has asked whether to send the body (`Expect: 100-continue`), and was not told yet. */
  #waitsForContinue: boolean;

  constructor(request: IncomingMessage, response: ServerResponse, caller: Caller, gate: Gate, waitsForContinue: boolean) {
    this.request = request;
    this.response = response;
    this.#caller = caller;
    this.#gate = gate;
    this.#waitsForContinue = waitsForContinue;
  }

  /** What its client is counted under. */
  readonly address = (): string => this.#gate.addresses.of(this.request);

  get caller(): Caller {
    return this.#caller;
  }

  /** It has been proven who sends it. */
  identify(facts: Facts): void {
    this.#facts = facts;
    this.#caller = withAddress(knownCaller(facts, this.#caller.endpoint, this.#gate.proofs), this.request, this.#gate);
  }

  /** @param end is called when it is not proven any more who reads the answer. */
  whenUnproven(end: () => void): void {
    if (this.#facts !== undefined) this.response.once('close', this.#gate.tenures.begin(this.#facts, end));
  }

  /** The caller of a request without a session: those who cannot be told apart otherwise have shares by where they are. */
  get callerByOrigin(): Caller {
    if (this.#facts !== undefined) return this.#caller;
    const { addresses } = this.#gate;
    const [origin, client] = [addresses.originOf(this.request), addresses.clientOf(this.request)];
    return { ...this.#caller, ...(origin === undefined ? {} : { origin }), ...(client === undefined ? {} : { client }) };
  }

  /** Does a part of the work on it; a throw becomes its answer. */
  run(work: () => void): void {
    this.#gate.boundary.run((gatewayFault) => this.refuse(gatewayFault), work);
  }

  /** Answers with an error. Where an answer has begun, nothing can be said any more but that it is not whole. */
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

  json(status: number, text: string, headers: Readonly<Record<string, string>> = {}): void {
    this.response.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
    this.#gate.unread.wrote(this.response, this.address);
  }

  /** Reads the body, whose headers have been checked, and hands it over whole. Says nothing when the client goes away in the middle. */
  readBody(done: (body: Buffer) => void): void {
    const { request, response } = this;
    if (this.#waitsForContinue) {
      this.#waitsForContinue = false;
      response.writeContinue();
    }
    const { limits: { maxBodyBytes }, bodies } = this.#gate;
    const declared = Number(request.headers['content-length']);
    const chunks: Buffer[] = [];
    let bytes = 0;
    let lease: ReturnType<ByteBudget['lease']> | undefined;
    let isRefused = false;
    const refuse = (gatewayFault: GatewayFault): void => {
      isRefused = true;
      chunks.length = 0;
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
      else chunks.push(chunk);
    });
    request.on('end', () => {
      if (!isRefused) this.run(() => done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    });
  }
}

export function knownCaller(facts: Facts, endpoint: EndpointName, proofs: Proofs | undefined): Caller {
  const { principal } = facts;
  return proofs === undefined ? { principal, endpoint, facts } : { principal, endpoint, proof: proofs.of(facts) };
}

/** The caller with where it connects from, where somebody asks for that. */
export function withAddress(caller: Caller, request: IncomingMessage, { addresses, rules }: Pick<Gate, 'addresses' | 'rules'>): Caller {
  return rules.askForNetworks ? { ...caller, address: addresses.exact(request) } : caller;
}

/**
 * Lets a client finish its request, so that it reads the answer instead of finding its connection reset (RFC 9112, 9.6). One that
 * goes on beyond what any request may have is cut off; one that is slow, by the time a request may take.
 */
function discardRest(request: IncomingMessage, maxBytes: number): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) request.destroy();
  });
}
