/**
 * Workloads of other systems that get tokens of agents for assertions of their issuers (RFC 7523, 2.1): service accounts of Kubernetes, SPIFFE, jobs, clouds.
 * An assertion is checked completely before anything is stored, and each works once at all edges, unless the workload may use it again.
 */
import { hash } from 'node:crypto';
import { errors, jwtVerify, decodeJwt, type JWTPayload } from 'jose';
import { KeySet, KeysUnavailable, requireProblem } from '@omnibus/identity';
import { starred, type JsonObject } from '@omnibus/protocol';
import type { SealedStore } from '../sealed-store.ts';
import { agentClientMark, type Agents } from './agents.ts';

export interface WorkloadOptions {
  /** Name of the agent. */
  readonly agent: string;
  readonly issuer: string;
  readonly jwksUri?: string | undefined;
  /** Patterns, in which `*` stands for any text. */
  readonly subject: readonly string[];
  /** If empty: the gateway, and its token endpoint. */
  readonly audience: readonly string[];
  readonly algorithms: readonly string[];
  readonly require: Readonly<Record<string, readonly string[]>>;
  /** Whether an assertion works until it expires. */
  readonly reuse: boolean;
}

interface WorkloadsOptions {
  readonly publicUrl: string;
  readonly workloads: readonly WorkloadOptions[];
  readonly agents: () => Agents | undefined;
  /** Remembers used assertions for all edges. Its age is more than `maxAgeSeconds`. */
  readonly seen: SealedStore;
  /** Reports that the keys of an issuer cannot be fetched. */
  readonly failed: (issuer: string, problem: string) => void;
}

/** The client id of the agent, and a secret for one request; or why there is no token. */
type Admitted =
  | { readonly client: string; readonly ticket: string }
  | { readonly error: string; readonly problem: string };

/** An assertion that works once is accepted for so long after it was issued, and remembered for as long. */
const maxAgeSeconds = 600;
const toleranceSeconds = 30;
/** Assertions name whole seconds. */
const rememberedSeconds = maxAgeSeconds + 2 * toleranceSeconds + 1;
const maxCharacters = 8_192;

interface Trusted extends WorkloadOptions {
  readonly keys: KeySet;
  readonly fits: (subject: string) => boolean;
}

export class Workloads {
  readonly #options: WorkloadsOptions;
  readonly #trusted: readonly Trusted[];

  constructor(options: WorkloadsOptions) {
    this.#options = options;
    const keySets = new Map<string, KeySet>();
    this.#trusted = options.workloads.map((workload) => {
      const { issuer, jwksUri, subject } = workload;
      const place = `${issuer} ${jwksUri ?? ''}`;
      const keys =
        keySets.get(place) ?? new KeySet({ issuer, jwksUri, failed: (problem) => options.failed(issuer, problem) });
      keySets.set(place, keys);
      const patterns = subject.map(starred);
      return { ...workload, keys, fits: (text: string) => patterns.some((fits) => fits(text)) };
    });
  }

  /** @param authorization the header of the request, which a workload does not have. */
  async admit(form: URLSearchParams, authorization: string | undefined): Promise<Admitted> {
    const [assertion = '', ...more] = form.getAll('assertion');
    if (assertion === '' || more.length > 0 || assertion.length > maxCharacters)
      return invalid(`expected one assertion, of ${maxCharacters} characters at most`, 'invalid_request');
    const said = decoded(assertion);
    if (typeof said?.iss !== 'string' || typeof said.sub !== 'string')
      return invalid('the assertion is no JWT with an issuer and a subject');
    const { iss, sub } = said;
    const fitting = this.#trusted.filter(({ issuer, fits }) => issuer === iss && fits(sub));
    if (fitting.length === 0) return invalid('no workload with this issuer and subject is trusted here');
    const given = form.get('client_id');
    const entry = fitting.find(({ agent }) => given === null || given === `${agentClientMark}${agent}`);
    if (authorization !== undefined || entry === undefined)
      return invalid('the assertion is not of this client', 'invalid_client');
    const client = `${agentClientMark}${entry.agent}`;
    const problem = await this.#problemOf(assertion, entry);
    if (problem !== undefined) return problem;
    const agents = this.#options.agents();
    if (agents?.find(client)?.isWorkload !== true)
      return invalid('the agent of this workload is not there, has expired, or is no workload');
    const wait = agents.waitOf(client);
    if (wait > 0) return invalid(`too many requests; try again in ${wait} seconds`, 'invalid_request');
    if (!entry.reuse && !(await this.#isFirst(assertion, iss, said.jti)))
      return invalid('the assertion was used before');
    return { client, ticket: agents.ticketFor(client) };
  }

  done(ticket: string): void {
    this.#options.agents()?.endTicket(ticket);
  }

  async #problemOf(assertion: string, entry: Trusted): Promise<Admitted | undefined> {
    const { publicUrl } = this.#options;
    const { issuer, algorithms, audience, require, reuse, keys } = entry;
    try {
      const { payload } = await jwtVerify(assertion, keys.find, {
        issuer,
        audience: audience.length > 0 ? [...audience] : [publicUrl, `${publicUrl}/token`],
        algorithms: [...algorithms],
        requiredClaims: ['exp', 'sub', ...(reuse ? [] : ['iat'])],
        clockTolerance: toleranceSeconds,
        ...(reuse ? {} : { maxTokenAge: maxAgeSeconds }),
      });
      const unfit = requireProblem(payload as JsonObject, require);
      return unfit === undefined ? undefined : invalid(`the assertion is not accepted: ${unfit}`);
    } catch (error) {
      if (error instanceof KeysUnavailable)
        return invalid('the keys of the issuer cannot be had now; try again', 'temporarily_unavailable');
      return invalid(`the assertion is not accepted: ${wordsOf(error)}`);
    }
  }

  /** Whether an assertion comes for the first time, at any edge. */
  async #isFirst(assertion: string, issuer: string, jti: unknown): Promise<boolean> {
    // Of the signature, the first half of its bytes: an issuer may sign the same text twice in a second, and a twin of a signature by ECDSA differs in the second half alone.
    const dot = assertion.lastIndexOf('.');
    const signature = Buffer.from(assertion.slice(dot + 1), 'base64url');
    const said = `${assertion.slice(0, dot)}.${signature.toString('hex', 0, signature.length / 2)}`;
    const id = typeof jti === 'string' && jti !== '' ? `${issuer} ${jti}` : hash('sha256', said, 'base64url');
    const now = Date.now();
    let isFirst = true;
    await this.#options.seen.change<{ readonly until: number }>('Assertion', id, (kept) => {
      isFirst = kept === undefined || kept.until <= now;
      return isFirst ? { until: now + rememberedSeconds * 1_000 } : undefined;
    });
    return isFirst;
  }
}

const invalid = (problem: string, error = 'invalid_grant'): Admitted => ({ error, problem });

function decoded(assertion: string): JWTPayload | undefined {
  try {
    return decodeJwt(assertion);
  } catch {
    return undefined; // It is then said to be no JWT.
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired, or was issued too long ago';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `its claim "${error.claim}" is ${error.reason === 'missing' ? 'missing' : 'wrong'}`;
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed)
    return 'its signature is not of the issuer';
  return 'it is malformed, or signed by an algorithm that is not accepted';
}
