/** One HTTP request, with what all requests have in common: refusals, exceptions, reading the body, the answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  errorText,
  fault,
  httpStatusOf,
  toErrorObject,
  type Caller,
  type EndpointName,
  type GatewayFault,
  type JsonRpcId,
  type Limits,
} from '@omnibus/protocol';
import type { Facts, Proofs } from '@omnibus/identity';
import type { Metrics } from '@omnibus/telemetry';
import type { Boundary } from '../requests/boundary.ts';
import type { ByteBudget } from '../bounds/byte-budget.ts';
import type { ClientAddresses } from '../callers/client-address.ts';
import type { OpeningRate } from '../bounds/opening-rate.ts';
import type { CredentialLifetimes } from '../callers/credential-lifetimes.ts';
import type { Unread } from '../bounds/unread.ts';
import { readTarget } from './steps/read-target.ts';

/** The parts that all transports of an edge share, with bounds for clients. */
export interface Gate {
  readonly boundary: Boundary;
  readonly addresses: ClientAddresses;
  /** Limits the rate at which sessions are opened. */
  readonly rate: OpeningRate;
  /** Bounds bodies that are being read or served. */
  readonly bodies: ByteBudget;
  readonly unread: Unread;
  readonly credentialLifetimes: CredentialLifetimes;
  /** Undefined where callers are not authenticated, and in a gateway of one process, where nobody else is on the bus. */
  readonly proofs: Proofs | undefined;
  /** Whether some rule depends on the network of a client. */
  readonly rules: { askForNetworks: boolean };
  /** The `WWW-Authenticate` of a refusal; undefined where callers need not be known. */
  readonly challenge: ((gatewayFault: GatewayFault, path: string) => string) | undefined;
  readonly metrics: Metrics;
  readonly limits: Limits;
}

/** Default of `Retry-After`, in seconds. */
const retrySeconds = 1;
const retryable = new Set([429, 503]);
const revoked = fault('auth.invalid', 'the credential of this request was revoked while its body was sent');

export class Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  #caller: Caller;
  #facts: Facts | undefined;
  #provenAt = 0;
  readonly #gate: Gate;
  /** Whether its client waits for `100 Continue` before it sends the body. */
  #waitsForContinue: boolean;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    gate: Gate,
    waitsForContinue: boolean,
  ) {
    this.request = request;
    this.response = response;
    this.#caller = caller;
    this.#gate = gate;
    this.#waitsForContinue = waitsForContinue;
  }

  /** Address key that its client is counted under. */
  readonly address = (): string => this.#gate.addresses.of(this.request);

  get caller(): Caller {
    return this.#caller;
  }

  /** Notes the proven facts about its sender. */
  identify(facts: Facts): void {
    this.#facts = facts;
    this.#provenAt = this.#gate.credentialLifetimes.reviews;
    this.#caller = withAddress(knownCaller(facts, this.#caller.endpoint, this.#gate.proofs), this.request, this.#gate);
  }

  /**
   * @param end called when the facts about the reader of the answer are no longer valid.
   * @param otherRights called when they permit something else, such as other groups; left out where a later request says so.
   */
  whenUnproven(end: () => void, otherRights?: () => void): void {
    const facts = this.#facts;
    if (facts === undefined) return;
    const changed = (_now: Facts, hasOtherRights: boolean): void => {
      if (hasOtherRights) otherRights?.();
    };
    this.response.once(
      'close',
      this.#gate.credentialLifetimes.begin(
        { facts, request: this.request, endpoint: this.#caller.endpoint, changed },
        end,
      ),
    );
  }

  /** The caller of a request without a session; an anonymous one has its address, by which shares are counted. */
  get callerByOrigin(): Caller {
    if (this.#facts !== undefined) return this.#caller;
    const { addresses } = this.#gate;
    const [origin, client] = [addresses.originOf(this.request), addresses.clientOf(this.request)];
    return {
      ...this.#caller,
      ...(origin === undefined ? {} : { origin }),
      ...(client === undefined ? {} : { client }),
    };
  }

  /** Runs a part of the work on it; what it throws becomes the answer. */
  run(work: () => void): void {
    this.#gate.boundary.run((gatewayFault) => this.refuse(gatewayFault), work);
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

  json(status: number, text: string, headers: Readonly<Record<string, string>> = {}): void {
    this.response
      .writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      .end(text);
    this.#gate.unread.wrote(this.response, this.address);
  }

  /** Answers a request whose token does not suffice, so that its client knows which one to ask for. @param text the error as JSON-RPC. */
  challenge(gatewayFault: GatewayFault, text: string): void {
    const target = readTarget(this.request);
    const challenge = 'fault' in target ? undefined : this.#gate.challenge?.(gatewayFault, target.path);
    this.json(
      httpStatusOf(gatewayFault.reason),
      text,
      challenge === undefined ? {} : { 'www-authenticate': challenge },
    );
  }

  /** Reads the whole body, whose headers have been checked. `done` is not called when the client disconnects before its end. */
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
      if (isRefused) return;
      // A body may take as long as its sender likes, within the time limit of a request.
      if (this.#facts !== undefined && this.#gate.credentialLifetimes.areOver(this.#facts, this.#provenAt)) {
        this.#gate.metrics.refused(revoked.reason);
        this.challenge(revoked, errorText(undefined, toErrorObject(revoked)));
        return;
      }
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      chunks.length = 0; // An idle connection keeps its last request, with what listens to it.
      this.run(() => done(body));
    });
  }
}

/** In a gateway of one process, the last caller that some facts are about, so that requests at one endpoint with the same credential have the same caller. */
const callers = new WeakMap<Facts, Caller>();

export function knownCaller(facts: Facts, endpoint: EndpointName, proofs: Proofs | undefined): Caller {
  const { principal } = facts;
  if (proofs !== undefined) return { principal, endpoint, proof: proofs.of(facts) };
  const known = callers.get(facts);
  if (known?.endpoint === endpoint) return known;
  const caller = { principal, endpoint, facts };
  callers.set(facts, caller);
  return caller;
}

/** The caller, with its network address if a rule depends on that. */
export function withAddress(
  caller: Caller,
  request: IncomingMessage,
  { addresses, rules }: Pick<Gate, 'addresses' | 'rules'>,
): Caller {
  return rules.askForNetworks ? { ...caller, address: addresses.exact(request) } : caller;
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
