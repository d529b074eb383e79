/**
 * Requests to a secret store that speaks the HTTP API of Vault. Those of one start, reload or refresh share their connections and the
 * operator's patience. Only five requests of that API are needed here, and undici makes them, so no further library is used.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { callbackify } from 'node:util';
import { backoffMs, openTunnel, proxyTo } from '@omnibus/lifecycle';
import { objectIn, printable, readWithin, type JsonObject } from '@omnibus/protocol';
import { Agent, buildConnector, request as send } from 'undici';

/** Where the store is, and how long it is waited for. */
export interface StoreTarget {
  readonly address: string;
  readonly namespace: string | undefined;
  /** Absolute. */
  readonly caFile: string | undefined;
  /** Milliseconds for one request. */
  readonly timeoutMs: number;
  /** Milliseconds for all requests together, with those that are repeated. */
  readonly patienceMs: number;
}

/**
 * Why the store did not return a value. `passing`: it cannot answer now. `refused`: it answers that this gateway may not. `gone`: it
 * answers that there is no such thing. The message names neither tokens nor values.
 */
export class StoreProblem extends Error {
  readonly kind: 'passing' | 'refused' | 'gone';

  constructor(kind: StoreProblem['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

/** Why a question got no answer, and the time before another question. `isCut`: it had less time than one has, as patience ended. */
interface Failure {
  readonly problem: string;
  readonly again: boolean;
  readonly afterMs: number;
  readonly isCut?: boolean;
}

interface Question {
  readonly method?: 'GET' | 'POST';
  readonly token?: string | undefined;
  readonly body?: JsonObject | undefined;
}

/** Bound on an answer; a store keeps secrets of up to a mebibyte. */
const maxBytes = 1024 * 1024;
const pauses = { minMs: 250, maxMs: 2_000 } as const;
/** 412: a replica has not heard yet of the token that another one gave. */
const isPassing = (status: number): boolean => status >= 500 || status === 429 || status === 412;
const distrusted = /^(CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/;

const open = callbackify(openTunnel);

/** The proxy of the environment leads to the store too; its configuration is not read yet. */
function throughProxy(direct: buildConnector.connector, limitMs: number): buildConnector.connector {
  return (options, callback) => {
    const proxy = proxyTo(options, undefined);
    if (proxy === undefined) direct(options, callback);
    else
      open(proxy, options, limitMs, (error, socket) => {
        if (error === null) direct({ ...options, httpSocket: socket }, callback);
        else callback(error, null);
      });
  };
}

export class StoreRequests implements AsyncDisposable {
  readonly #target: StoreTarget;
  readonly #agent: Agent;
  readonly #giveUpAt: number;
  /** The problem at the end of patience; there are no further questions. */
  #lost: StoreProblem | undefined;

  /** @throws {StoreProblem} when the file of the authority cannot be read. */
  constructor(target: StoreTarget) {
    this.#target = target;
    this.#giveUpAt = performance.now() + target.patienceMs;
    this.#agent = new Agent({
      connections: 8,
      connect: throughProxy(
        buildConnector({
          timeout: target.timeoutMs,
          ...(target.caFile === undefined ? {} : { ca: authorities(target.caFile) }),
        }),
        target.timeoutMs,
      ),
    });
  }

  /**
   * Asks the store, again with growing pauses while it cannot answer.
   * @param path below `/v1/`, percent-encoded where needed.
   * @returns its answer, with any status that a retry would not change.
   * @throws {StoreProblem} when patience has ended.
   */
  async ask(path: string, question: Question = {}): Promise<Answer> {
    let reason: string | undefined;
    for (let failures = 0; ; failures += 1) {
      if (this.#lost !== undefined && performance.now() >= this.#giveUpAt) throw this.#lost;
      const tried = await this.#try(path, question);
      if ('status' in tried) return tried;
      if (reason === undefined || tried.isCut !== true) reason = tried.problem;
      const pause = Math.max(backoffMs(failures, pauses, Math.random()), tried.afterMs);
      if (tried.again && performance.now() + pause < this.#giveUpAt) {
        await delay(pause);
        continue;
      }
      const problem = new StoreProblem('passing', `the secret store at ${this.#target.address} ${reason}`);
      if (tried.again) this.#lost = problem;
      throw problem;
    }
  }

  async #try(path: string, { method = 'GET', token, body }: Question): Promise<Answer | Failure> {
    const { address, namespace, timeoutMs } = this.#target;
    const leftMs = Math.max(1, Math.floor(this.#giveUpAt - performance.now()));
    const isCut = leftMs < timeoutMs;
    try {
      const answer = await send(`${address.replace(/\/+$/, '')}/v1/${path}`, {
        method,
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(isCut ? leftMs : timeoutMs),
        headers: {
          accept: 'application/json',
          'x-vault-request': 'true',
          ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
          ...(token === undefined ? {} : { 'x-vault-token': token }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = (await readWithin(answer.body, maxBytes, () => new TooLarge())).toString();
      const { statusCode: status, headers } = answer;
      if (status >= 300 && status < 400)
        return {
          problem: `sends requests elsewhere (${status}${originOf(headers['location'])}), where the token is not sent: set secrets.vault.address to the address that answers`,
          again: false,
          afterMs: 0,
        };
      if (isPassing(status))
        return {
          problem: wordsOf(status),
          again: true,
          afterMs: Math.max(0, Number(headers['retry-after'] ?? 0) * 1_000 || 0),
        };
      const value = objectIn(text);
      return value === undefined && status < 400
        ? {
            problem: `answers ${status} without a JSON object: is it the address of a secret store?`,
            again: false,
            afterMs: 0,
          }
        : { status, body: value ?? {} };
    } catch (error) {
      return this.#failureOf(error, isCut);
    }
  }

  #failureOf(error: unknown, isCut: boolean): Failure {
    const { timeoutMs, patienceMs } = this.#target;
    if (error instanceof TooLarge)
      return { problem: `answers with more than ${maxBytes} bytes`, again: false, afterMs: 0 };
    const { name, code } = error as NodeJS.ErrnoException;
    if (code !== undefined && distrusted.test(code))
      return {
        problem: `shows a certificate that is not trusted (${code}): secrets.vault.caFile names its authority`,
        again: false,
        afterMs: 0,
      };
    if (name === 'TimeoutError')
      return {
        problem: `did not answer within ${isCut ? `${patienceMs} ms, which is secrets.vault.patience` : `${timeoutMs} ms`}`,
        again: true,
        afterMs: 0,
        isCut,
      };
    return { problem: `cannot be reached (${code ?? name})`, again: true, afterMs: 0 };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#agent.destroy();
  }
}

class TooLarge extends Error {}

function wordsOf(status: number): string {
  switch (status) {
    case 429:
      return 'takes no more requests now (429)';
    case 501:
      return 'is not initialized (501)';
    case 503:
      return 'is sealed or under maintenance (503): unseal it';
    default:
      return `cannot answer now (${status})`;
  }
}

function originOf(location: string | readonly string[] | undefined): string {
  return typeof location === 'string' && URL.canParse(location) ? `, to ${printable(new URL(location).origin)}` : '';
}

function authorities(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new StoreProblem(
      'passing',
      `the authority of the secret store cannot be read: ${file} (${(error as NodeJS.ErrnoException).code ?? 'unreadable'})`,
    );
  }
}
