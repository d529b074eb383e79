/** Metadata documents of clients, whose client id is the address of the document: their fetches, and the problems of unusable ones. */
import type { IncomingMessage } from 'node:http';
import { objectIn } from '@omnibus/protocol';
import { TokenBuckets } from '@omnibus/lifecycle';
import { fetchPublic } from './public-address.ts';
import { describeClient } from './registration.ts';

export interface ClientDocumentsOptions {
  /** Hosts that may have any address. */
  readonly allowedHosts: readonly string[];
  /** Gets the reason, in words for the operator, why a document is unusable. */
  readonly failed: (client: string, problem: string) => void;
}

interface Failure {
  /** For the user and the author of the client; nothing about places that only the gateway reaches. */
  readonly words: string;
  /** Monotonic milliseconds. */
  readonly until: number;
}

/** A problem with the contents of a document, which every reader of the document sees too. */
class DocumentProblem extends Error {}

const maxIdCharacters = 2_000;
/** How long a failure is remembered: the library asks again within the same request. */
const failureMs = 5_000;
const maxFailures = 1_000;

export class ClientDocuments {
  readonly #options: ClientDocumentsOptions;
  /** By client id; the oldest comes first. */
  readonly #failures = new Map<string, Failure>();
  /** Why nothing was fetched for a request; others of the same client are not affected. */
  readonly #refused = new WeakMap<IncomingMessage, string>();
  /** Bound for each address on fetches of documents of unknown clients, since each makes the gateway send a request to another host. */
  readonly #fetches = new TokenBuckets({ burst: 20, everyMs: 3_000, maxNames: 10_000 });

  constructor(options: ClientDocumentsOptions) {
    this.#options = options;
  }

  /** Whether a document may be fetched. @param address under which the sender of the request is counted. */
  mayFetch(id: string, request: IncomingMessage, address: string): boolean {
    if (this.#failureOf(id) !== undefined) return true; // Nothing is fetched.
    const words =
      new URL(id).pathname === '/' || id.length > maxIdCharacters
        ? 'its address has no path, or is too long'
        : this.#fetches.take(address) > 0
          ? 'too many documents of programs were fetched for your network just now; try again in a minute'
          : undefined;
    if (words !== undefined) this.#refused.set(request, words);
    return words === undefined;
  }

  /** Fetches a document; its contents are checked like a registration. @throws {Error} when it cannot be used. */
  async fetch(id: string, options: RequestInit | undefined): Promise<Response> {
    const known = this.#failureOf(id);
    if (known !== undefined) throw new DocumentProblem(known);
    try {
      return await this.#read(id, options);
    } catch (error) {
      this.#options.failed(id, (error as Error).message);
      this.#remember(
        id,
        error instanceof DocumentProblem
          ? error.message
          : 'it cannot be fetched, is too large, or is not at an address of the public Internet',
      );
      throw error;
    }
  }

  /** Why a document could not be used for a request, in words for its user; undefined when it could. */
  problemOf(id: string, request: IncomingMessage): string | undefined {
    return this.#refused.get(request) ?? this.#failureOf(id);
  }

  #failureOf(id: string): string | undefined {
    const failure = this.#failures.get(id);
    return failure === undefined || failure.until <= performance.now() ? undefined : failure.words;
  }

  async #read(id: string, options: RequestInit | undefined): Promise<Response> {
    const answer = await fetchPublic(new URL(id), new Headers(options?.headers), this.#options.allowedHosts);
    if (answer.status !== 200) throw new DocumentProblem(`its address answers HTTP ${answer.status}`);
    const document = objectIn(await answer.text());
    if (document === undefined) throw new DocumentProblem('it is no JSON object');
    if (document['client_id'] !== id) throw new DocumentProblem('its client_id is not its address');
    if ('client_secret' in document) throw new DocumentProblem('it contains a client_secret, which everybody can read');
    const described = describeClient(document);
    if ('problem' in described) throw new DocumentProblem(described.problem);
    const { token_endpoint_auth_method: method = 'none' } = described.metadata;
    if (method !== 'none')
      throw new DocumentProblem('its token_endpoint_auth_method is not none: such a client has no secret');
    return new Response(JSON.stringify({ ...described.metadata, client_id: id, token_endpoint_auth_method: method }), {
      status: 200,
      headers: answer.headers,
    });
  }

  #remember(id: string, words: string): void {
    this.#failures.delete(id);
    if (this.#failures.size >= maxFailures) this.#failures.delete(this.#failures.keys().next().value as string);
    this.#failures.set(id, { words, until: performance.now() + failureMs });
  }
}
